//! Look-ups under a pin.

use hatchery::{Handle, Pinned};

use super::{Drive, Payload, made};
use crate::marks::operation;

/// Entities that each thread has to itself.
const OWN: usize = 64;

/// What a thread looks up, in turn.
struct Reader<'s> {
    session: Pinned<'s, Payload>,
    handles: Vec<Handle>,
    at: usize,
}

impl Reader<'_> {
    fn look(&mut self) {
        let handle = self.handles[self.at % self.handles.len()];
        self.at += 1;
        let first = operation(|| self.session.get(handle).map(|payload| payload[0]));
        assert!(first.is_ok(), "the entity is alive");
    }
}

/// Of the thread's own entities.
pub fn own(drive: Drive) -> Result<(), String> {
    let store = made(|| drive.builder().build())?;
    drive.take_turns(
        |number| {
            let session = operation(|| store.pin());
            let spawn = |_| operation(|| session.spawn_active([number as u64; 8]));
            let handles = (0..OWN).flat_map(spawn).collect();
            Reader { session, handles, at: 0 }
        },
        Reader::look,
    );
    Ok(())
}

/// Of one entity.
pub fn hot(drive: Drive) -> Result<(), String> {
    let store = made(|| drive.builder().build())?;
    let hot = made(|| store.spawn_active([1; 8]))?;
    drive.take_turns(
        |_| Reader { session: operation(|| store.pin()), handles: vec![hot], at: 0 },
        Reader::look,
    );
    Ok(())
}

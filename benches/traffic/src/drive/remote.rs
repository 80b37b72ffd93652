//! Entities that one thread spawns and its neighbour ends.

use std::collections::VecDeque;
use std::sync::Mutex;

use hatchery::{Handle, Pinned};

use super::{Drive, Payload, REPIN, made};
use crate::marks::operation;

/// Entities under way to a thread.
const UNDER_WAY: usize = 64;

/// One thread: it ends what comes to `own` and spawns for `next`. What the mailboxes cost is not
/// looked at: it is outside the operations.
struct Post<'s> {
    session: Pinned<'s, Payload>,
    own: &'s Mutex<VecDeque<Handle>>,
    next: &'s Mutex<VecDeque<Handle>>,
    lives: usize,
}

fn push(mailbox: &Mutex<VecDeque<Handle>>, handle: Handle) {
    mailbox.lock().expect("no thread panics with the lock").push_back(handle);
}

impl Post<'_> {
    fn life(&mut self) {
        self.lives += 1;
        let session = &mut self.session;
        let spawned = operation(|| session.spawn_active([1; 8]));
        push(self.next, spawned.expect("there is room"));
        let oldest = self.own.lock().expect("no thread panics with the lock").pop_front();
        let moves_on = self.lives.is_multiple_of(REPIN);
        // At first nothing has come yet.
        let Some(oldest) = oldest else { return };
        let ended = operation(|| {
            let ended = session.despawn(oldest);
            if moves_on {
                session.repin();
            }
            ended
        });
        assert!(ended.is_ok(), "nobody else ends it");
    }
}

/// Every thread spawns for the next one, and the last one for the first.
pub fn run(drive: Drive) -> Result<(), String> {
    let store = made(|| drive.builder().build())?;
    let mailboxes: Vec<Mutex<VecDeque<Handle>>> =
        (0..drive.threads).map(|_| Mutex::new(VecDeque::with_capacity(2 * UNDER_WAY))).collect();
    drive.take_turns(
        |number| {
            let (own, next) = (&mailboxes[number], &mailboxes[(number + 1) % drive.threads]);
            let session = operation(|| store.pin());
            for _ in 0..UNDER_WAY {
                let spawned = operation(|| session.spawn_active([number as u64; 8]));
                push(next, spawned.expect("there is room"));
            }
            // Ends and spawns need not be level, so a lead is one of the repins alone.
            Post { session, own, next, lives: drive.lead(number) }
        },
        Post::life,
    );
    Ok(())
}

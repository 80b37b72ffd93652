//! A life whose end is settled under a hold.

use hatchery::Pinned;

use super::{Drive, Payload, REPIN, made};
use crate::marks::operation;

/// Spawns, kills with a hold, reaps, and drops the hold, which ends the entity.
pub fn run(drive: Drive) -> Result<(), String> {
    let store = made(|| drive.builder().build())?;
    let life = |(session, lives): &mut (Pinned<'_, Payload>, usize)| {
        *lives += 1;
        let moves_on = *lives % REPIN == 0;
        let ended = operation(|| -> Result<(), String> {
            let handle = session.spawn_active([1; 8]).map_err(|error| error.to_string())?;
            let hold = session.kill_and_hold(handle).map_err(|error| error.to_string())?;
            session.reap(handle).map_err(|error| error.to_string())?;
            drop(hold);
            if moves_on {
                session.repin();
            }
            Ok(())
        });
        ended.expect("nobody else ends it");
    };
    drive.take_turns(
        |number| {
            let mut state = (operation(|| store.pin()), 0);
            (0..drive.lead(number)).for_each(|_| life(&mut state));
            state
        },
        life,
    );
    Ok(())
}

//! Lives of entities that each thread has to itself, first in, first out.

use hatchery::{Handle, Limits, Pinned, Store};

use super::{Drive, Payload, made};
use crate::marks::operation;

/// What a thread keeps alive under a session.
struct Keeper<'s> {
    session: Pinned<'s, Payload>,
    alive: Vec<Handle>,
    lives: usize,
    repin: usize,
}

impl Keeper<'_> {
    fn life(&mut self) {
        let at = self.lives % self.alive.len();
        self.lives += 1;
        let (oldest, session) = (self.alive[at], &mut self.session);
        let moves_on = self.lives.is_multiple_of(self.repin);
        let spawned = operation(|| {
            session.despawn(oldest).map_err(|error| error.to_string())?;
            let spawned = session.spawn_active([1; 8]).map_err(|error| error.to_string());
            if moves_on {
                session.repin();
            }
            spawned
        });
        self.alive[at] = spawned.expect("there is room, and nobody else ends it");
    }
}

/// Under a session that is held, and moved along every `repin` lives.
pub fn session(
    drive: Drive,
    limits: Limits,
    backlog: Option<usize>,
    window: usize,
    repin: usize,
) -> Result<(), String> {
    let builder = drive.builder().limits(limits);
    let builder = match backlog {
        Some(dead) => builder.backlog(dead),
        None => builder,
    };
    let store = made(|| builder.build())?;
    drive.take_turns(
        |number| {
            let session = operation(|| store.pin());
            let spawn = |_| operation(|| session.spawn_active([number as u64; 8]));
            let alive = (0..window).flat_map(spawn).collect();
            let mut keeper = Keeper { session, alive, lives: 0, repin };
            (0..drive.lead(number)).for_each(|_| keeper.life());
            keeper
        },
        Keeper::life,
    );
    Ok(())
}

/// What a thread has that pins for each operation: at first a session, what is alive, its lives.
///
/// The first session is there until every thread has had one, so that each has claimed a magazine
/// of its own. Operations that never overlap would all share one.
type Unpinned<'s> = (Option<Pinned<'s, Payload>>, Vec<Handle>, usize);

/// By the methods of `Store`.
pub fn unpinned(drive: Drive) -> Result<(), String> {
    let store: Store<Payload> = made(|| drive.builder().build())?;
    let life = |(first, alive, lives): &mut Unpinned<'_>| {
        *first = None;
        let at = *lives % alive.len();
        *lives += 1;
        let oldest = alive[at];
        alive[at] = operation(|| {
            let ended = store.despawn(oldest);
            ended.map(|_| store.spawn_active([1; 8]))
        })
        .expect("nobody else ends it")
        .expect("there is room");
    };
    drive.take_turns(
        |number| {
            let first = operation(|| store.pin());
            let spawn = |_| operation(|| first.spawn_active([number as u64; 8]));
            let alive = (0..64).flat_map(spawn).collect();
            (Some(first), alive, drive.lead(number))
        },
        life,
    );
    Ok(())
}

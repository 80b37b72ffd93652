//! Readers: they know handles, and look at what is behind them, while everybody else writes.

use std::time::{Duration, Instant};

use hatchery::{Handle, LookupError, Pinned, StateSet};

use crate::arena::Arena;
use crate::meters::Meters;
use crate::payload::{Chance, Unit};
use crate::siege::Siege;
use crate::tally::Tally;

/// Handles that a reader remembers of each store, living and long dead ones.
const REMEMBERED: usize = 256;

/// A reader rests this many times as long as it reads. The load is writers; on a machine with two
/// cores a reader that never rests would take the place of one of them.
const REST: u32 = 4;

/// Reads until the siege is over.
pub(crate) fn read(siege: &Siege<'_>) -> (Tally, Meters) {
    let mut reader = Reader {
        siege,
        tally: Tally::default(),
        meters: Meters::new(),
        chance: Chance::new(1),
        scanned: Vec::new(),
    };
    let mut remembered = vec![Vec::with_capacity(REMEMBERED); siege.arenas.len()];
    while !siege.is_over() {
        for (arena, remembered) in siege.arenas.iter().zip(&mut remembered) {
            if siege.is_over() {
                break;
            }
            let began = Instant::now();
            reader.visit(arena, remembered);
            std::thread::sleep((began.elapsed() * REST).max(Duration::from_micros(100)));
        }
    }
    (reader.tally, reader.meters)
}

struct Reader<'s, 'r> {
    siege: &'s Siege<'r>,
    tally: Tally,
    meters: Meters,
    chance: Chance,
    scanned: Vec<Handle>,
}

impl Reader<'_, '_> {
    /// Looks at what it remembers of a store, scans it, and remembers some of what it saw.
    fn visit(&mut self, arena: &Arena<'_>, remembered: &mut Vec<Handle>) {
        let session = arena.store.pin();
        remembered.iter().for_each(|&handle| self.look_up(&session, handle));
        self.scan(&session);
        // A quarter is replaced, so that some of the others stay for long after their deaths.
        for _ in 0..REMEMBERED / 4 {
            if self.scanned.is_empty() {
                break;
            }
            let place = self.chance.below(self.scanned.len());
            let handle = self.scanned[place];
            if remembered.len() < REMEMBERED {
                remembered.push(handle);
            } else {
                let place = self.chance.below(REMEMBERED);
                remembered[place] = handle;
            }
        }
    }

    fn look_up(&mut self, session: &Pinned<'_, Unit>, handle: Handle) {
        self.tally.look_ups += 1;
        match self.meters.look_up.time(|| session.get(handle)) {
            Ok(unit) if unit.is(handle) => self.tally.look_ups_found += 1,
            Ok(_) => {
                self.siege.violations.add(|| format!("a look-up of {handle} found a stranger"));
            }
            Err(LookupError::NotFound { .. } | LookupError::Stale { .. }) => {
                self.tally.look_ups_gone += 1;
            }
            // It was readable before, so it is that still, or gone.
            Err(error) => self.siege.violations.add(|| format!("a look-up: {error}")),
        }
    }

    fn scan(&mut self, session: &Pinned<'_, Unit>) {
        self.scanned.clear();
        for (handle, state, unit) in session.iter_in(StateSet::READABLE) {
            if !unit.is(handle) {
                let violations = &self.siege.violations;
                violations.add(|| format!("a scan found a stranger under {handle}, {state}"));
            }
            self.scanned.push(handle);
        }
        self.tally.scans += 1;
        self.tally.scanned += self.scanned.len() as u64;
    }
}

/// What became of the reader that stayed pinned for the whole run.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Stalled {
    /// In whose store.
    pub(crate) game: u64,
    /// References taken early in the run and read at its end.
    pub(crate) references: usize,
    /// Its store, just before the reader went.
    pub(crate) slots: usize,
    pub(crate) dead: usize,
    pub(crate) bytes: usize,
}

/// References to the first units that show up: with a small capacity the store may be full of dead
/// ones soon.
fn see<'p>(siege: &Siege<'_>, session: &'p Pinned<'_, Unit>) -> Vec<(Handle, &'p Unit)> {
    const ENOUGH: usize = 100;
    loop {
        let units = session.iter_in(StateSet::READABLE);
        let seen: Vec<_> = units.map(|(handle, _, unit)| (handle, unit)).collect();
        let late = siege.elapsed() > siege.plan.time / 50;
        if seen.len() >= ENOUGH || (late && !seen.is_empty()) || siege.is_over() {
            return seen;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Stays pinned in the busiest store for the whole run. What it has seen at the start must still
/// be there at the end, however dead; and no other store may notice.
pub(crate) fn stall(siege: &Siege<'_>) -> Stalled {
    let busiest = siege.arenas.iter().max_by_key(|arena| arena.game.rows.len());
    let arena = busiest.expect("a recording has a game");
    let session = arena.store.pin();
    let seen = see(siege, &session);
    while siege.wait_until(siege.elapsed() + Duration::from_secs(1)) {}
    for &(handle, unit) in &seen {
        if !unit.is(handle) {
            siege.violations.add(|| format!("{handle} was dropped under a reader that was pinned"));
        }
    }
    let stats = arena.store.stats();
    // With the session the pin ends; that all of it comes back then is checked after the siege.
    Stalled {
        game: arena.game.number,
        references: seen.len(),
        slots: stats.slots,
        dead: stats.dead,
        bytes: stats.bytes,
    }
}

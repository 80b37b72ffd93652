//! The oracle: compares what is in a store with what the recording says must be in it.
//!
//! It does not believe the workers. For every copy it goes through the rows replayed so far once
//! more, by rules of its own, and only asks the copy how many rows that were and under which
//! handle it keeps a key. Then it looks at the store from three sides: the state of every handle
//! that must be alive, a scan of everything that is readable, and the counters.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use hatchery::{Handle, State, StateSet};

use crate::arena::Arena;
use crate::game::{Life, Replay};
use crate::payload::Unit;
use crate::recording::{Game, Op};
use crate::siege::Siege;
use crate::soak::Kept;

/// Rounds over all stores in a run.
const ROUNDS: u32 = 24;

/// How the checkpoints went.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(crate) struct Checkpoints {
    /// Rounds over all stores, and those in which all of them agreed.
    pub(crate) rounds: u64,
    pub(crate) agreed: u64,
    /// Stores compared, and the handles in them.
    pub(crate) stores: u64,
    pub(crate) pending: u64,
    pub(crate) active: u64,
    pub(crate) dying: u64,
    /// Of the dying, those that wait for nothing but a Hold of the soak.
    pub(crate) outlasting: u64,
    /// The longest time that one store's writers were paused.
    pub(crate) longest_pause_us: u64,
}

/// Holds all checkpoints of a run.
pub(crate) fn consult(siege: &Siege<'_>) -> Checkpoints {
    let mut sums = Checkpoints::default();
    for round in 1..=ROUNDS {
        if !siege.wait_until(siege.plan.time * round / ROUNDS) {
            break;
        }
        let before = siege.violations.count();
        for arena in &siege.arenas {
            check(siege, arena, &mut sums);
        }
        sums.rounds += 1;
        sums.agreed += u64::from(siege.violations.count() == before);
    }
    sums
}

/// What the recording says of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Gone,
    Pending,
    Active,
    /// Active, and the scan has come across it.
    Seen,
}

fn check(siege: &Siege<'_>, arena: &Arena<'_>, sums: &mut Checkpoints) {
    arena.paused(|copies| {
        let paused = Instant::now();
        let places = copies.iter().enumerate().map(|(place, copy)| (copy.number(), place));
        let places = places.collect();
        let (said, outlasting) = (Vec::new(), HashSet::new());
        let (pending, active, holds) = (0, 0, 0);
        let mut check =
            Check { siege, arena, copies, places, said, outlasting, pending, active, holds };
        check.ask_recording();
        check.ask_soak();
        let dying = check.scan();
        check.compare_counters(dying);
        sums.stores += 1;
        sums.pending += check.pending;
        sums.active += check.active;
        sums.dying += dying;
        sums.outlasting += check.outlasting.len() as u64;
        sums.longest_pause_us = sums.longest_pause_us.max(paused.elapsed().as_micros() as u64);
    });
}

/// One store, while its writers are paused.
struct Check<'a, 'r> {
    siege: &'a Siege<'r>,
    arena: &'a Arena<'r>,
    copies: &'a [MutexGuard<'a, Replay>],
    /// Where each copy, by its number, is among them.
    places: HashMap<u32, usize>,
    /// For each of the copies, what is said of each key.
    said: Vec<Vec<Said>>,
    /// Who is Dying only because the soak holds it: settled, or ended by its game's end.
    outlasting: HashSet<Handle>,
    pending: u64,
    active: u64,
    /// Holds that somebody must have.
    holds: u64,
}

impl Check<'_, '_> {
    fn disagree(&self, what: &str) {
        let number = self.arena.game.number;
        self.siege.violations.add(|| format!("checkpoint of game {number}: {what}"));
    }

    /// Every key that is alive in the recording has a handle, in the state that it must have.
    fn ask_recording(&mut self) {
        for copy in self.copies {
            let said = said_by(self.arena.game, copy.replayed(), copy.refused());
            for (key, &said) in said.iter().enumerate() {
                let state = match said {
                    Said::Gone => None,
                    Said::Pending => Some(State::Pending),
                    Said::Active | Said::Seen => Some(State::Active),
                };
                self.pending += u64::from(said == Said::Pending);
                self.active += u64::from(said == Said::Active);
                let life = copy.life(key as u32);
                let found = handle_of(life).map(|handle| self.arena.store.state(handle).ok());
                if found != state.map(Some) {
                    self.disagree(&format!(
                        "key {key} is {said:?}, is kept as {life:?}: {found:?}"
                    ));
                }
            }
            self.said.push(said);
        }
    }

    /// Every Hold of the soak counts, and keeps its unit Dying when nobody else does.
    fn ask_soak(&mut self) {
        let kept = self.arena.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.holds += kept.len() as u64;
        for Kept { hold, .. } in kept.iter() {
            if hold.state() == State::Dying && !hold.is_in_settlement() {
                self.outlasting.insert(hold.handle());
            }
        }
    }

    /// Everything that can be read is one of those keys, or is being settled, or is kept by the
    /// soak; how many are one of the latter two.
    fn scan(&mut self) -> u64 {
        let session = self.arena.store.pin();
        let (mut active, mut dying) = (0, 0);
        for (handle, state, unit) in session.iter_in(StateSet::READABLE) {
            if !unit.is(handle) {
                self.disagree(&format!("{handle} has another payload"));
                continue;
            }
            if state == State::Active {
                active += 1;
                self.must_be_said(handle, unit);
            } else {
                dying += 1;
                self.holds += u64::from(unit.steps_left());
                if !unit.is_in_settlement() && !self.outlasting.contains(&handle) {
                    self.disagree(&format!("{handle} is {state}, and nobody settles it"));
                }
            }
        }
        if active != self.active {
            self.disagree(&format!("{active} seen, of {} active", self.active));
        }
        dying
    }

    /// An active unit is a key that is said to be active, kept under this handle, and not seen
    /// before in this scan.
    fn must_be_said(&mut self, handle: Handle, unit: &Unit) {
        let origin = unit.origin();
        let said = self.places.get(&origin.copy).map(|&place| {
            let said = &mut self.said[place][origin.key as usize];
            let before = std::mem::replace(said, Said::Seen);
            (before, self.copies[place].life(origin.key))
        });
        if said != Some((Said::Active, Life::Active(handle))) {
            self.disagree(&format!("{handle} is active as {origin:?}, which is {said:?}"));
        }
    }

    fn compare_counters(&self, dying: u64) {
        let in_settlement = self.arena.in_settlement.load(Ordering::Relaxed);
        let store = &self.arena.store;
        let stats = store.stats();
        let found = (stats.pending as u64, stats.active as u64, stats.dying as u64);
        let expected = (self.pending, self.active, dying);
        let outlasting = self.outlasting.len() as i64;
        if found != expected || in_settlement + outlasting != dying as i64 {
            let what = "pending, active, dying";
            self.disagree(&format!(
                "{what}: {found:?} counted, {expected:?} there, {in_settlement} in settlement, \
                 {outlasting} only held"
            ));
        }
        if stats.holds as u64 != self.holds {
            self.disagree(&format!("{} holds counted, of {}", stats.holds, self.holds));
        }
        let alive = (self.pending + self.active + dying) as usize;
        if store.len() != alive || stats.live != alive {
            self.disagree(&format!("len {}, live {}, of {alive}", store.len(), stats.live));
        }
        if self.siege.plan.capacity.is_some_and(|capacity| alive > capacity) {
            self.disagree(&format!("{alive} alive, beyond the capacity"));
        }
    }
}

/// What is said of every key after the first `rows` rows, of which the `refused` ones (in their
/// order) gave birth to nobody.
fn said_by(game: &Game, rows: usize, mut refused: &[u32]) -> Vec<Said> {
    let mut said = vec![Said::Gone; game.keys.len()];
    for (index, row) in game.rows[..rows].iter().enumerate() {
        let of_key = &mut said[row.key as usize];
        match (row.op, *of_key) {
            (Op::Spawn, Said::Gone) if refused.first() == Some(&(index as u32)) => {
                refused = &refused[1..];
            }
            (Op::Spawn, Said::Gone) => *of_key = Said::Pending,
            (Op::Activate, Said::Pending) => *of_key = Said::Active,
            (Op::Kill, _) => *of_key = Said::Gone,
            _ => {}
        }
    }
    said
}

fn handle_of(life: Life) -> Option<Handle> {
    match life {
        Life::Pending(handle) | Life::Active(handle) => Some(handle),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::Builder;

    #[test]
    fn odd_rows_change_nothing_of_what_is_said() {
        let mut builder = Builder::default();
        let rows = [
            (Op::Kill, 9), // never born
            (Op::Spawn, 1),
            (Op::Spawn, 1), // alive
            (Op::Activate, 1),
            (Op::Activate, 1), // active
            (Op::Spawn, 2),    // refused
            (Op::Activate, 2),
            (Op::Kill, 1),
            (Op::Kill, 1),  // dead
            (Op::Spawn, 1), // its key again
        ];
        rows.iter().for_each(|&(op, key)| builder.push(1, 0, op, "unit", key));
        let game = &builder.build("test".to_owned()).games[0];
        let after = |rows| said_by(game, rows, &[5]);
        assert_eq!(after(5), [Said::Gone, Said::Active, Said::Gone]);
        assert_eq!(after(9), [Said::Gone; 3]);
        assert_eq!(after(10), [Said::Gone, Said::Pending, Said::Gone]);
    }
}

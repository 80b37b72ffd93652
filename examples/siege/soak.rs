//! The soak: two threads that stand in reclamation's way for the whole run.
//!
//! One pins stores, a few at a time and for up to a millisecond, and reads at the end of its pins
//! what it saw at their beginning. The other takes Holds of units, and keeps each for up to a
//! second: far longer than a unit takes to die and to be settled, so it is often this Hold that
//! carries out the reap. A store with a capacity may not pay for either with ever more memory, so
//! its weight in the end is compared with that at a tenth of the run.

use std::time::Duration;

use hatchery::{Handle, Hold, HoldError, LookupError, Pinned, State, StateSet};
use serde::Serialize;

use crate::arena::Arena;
use crate::payload::{Chance, Unit};
use crate::siege::Siege;
use crate::watch::Watched;

/// Stores that are pinned at a time, at most; the same one more than once, perhaps.
const PINNED: usize = 3;
const LONGEST_PIN_US: usize = 1_000;
/// References that are kept under each pin, at most.
const REFERENCES: usize = 64;

/// Holds that are out at a time, over all stores.
const HOLDS: usize = 256;
const LONGEST_HOLD_US: usize = 1_000_000;
/// Between two rounds over all stores.
const LONGEST_REST_US: usize = 10_000;
/// Holds that one store's visit takes, at most.
const TAKEN_AT_ONCE: usize = 4;
/// One of so many is the clone of another.
const CLONES: usize = 4;

/// Bytes by which a store may have grown, for each of its shards.
const GROWTH_A_SHARD: usize = 64 * 1024;
/// A store has no more shards than this by default.
const MOST_SHARDS: usize = 64;

/// What the soak did.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Soaked {
    pub(crate) pins: Pins,
    pub(crate) holds: Holds,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Pins {
    pub(crate) pins: u64,
    /// Read at the beginning and at the end of a pin, and those that were dead by then.
    pub(crate) references: u64,
    pub(crate) references_of_dead: u64,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Holds {
    /// All that were taken, clones included.
    pub(crate) taken: u64,
    pub(crate) clones: u64,
    /// Taken of units that were Dying.
    pub(crate) of_dying: u64,
    /// Not taken: somebody had asked for the reap, or it was carried out.
    pub(crate) refused: u64,
    pub(crate) gone: u64,
    /// Let go when the settlement of the unit, if there was one, was over.
    pub(crate) outlasting: u64,
    pub(crate) most_at_once: u64,
}

/// A Hold of the soak.
pub(crate) struct Kept {
    pub(crate) hold: Hold<Unit>,
    /// When, in the time of the run, it is let go.
    until: Duration,
}

/// Holds that the soak has in one store at most, and so on one unit. It leaves half of a capacity
/// to the game: what it holds stays Dying, and alive.
pub(crate) fn share(siege: &Siege<'_>) -> usize {
    if !siege.plan.soak {
        return 0;
    }
    let fair = (HOLDS / siege.arenas.len().max(1)).max(TAKEN_AT_ONCE);
    siege.plan.capacity.map_or(fair, |capacity| fair.min(capacity / 2).max(1))
}

/// Pins until the siege is over.
pub(crate) fn pin_at_random(siege: &Siege<'_>) -> Pins {
    let (mut chance, mut pins) = (Chance::new(2), Pins::default());
    while !siege.is_over() {
        let stores = 1 + chance.below(PINNED);
        let arenas = (0..stores).map(|_| &siege.arenas[chance.below(siege.arenas.len())]);
        let sessions: Vec<_> = arenas.map(|arena| arena.store.pin()).collect();
        let seen: Vec<_> = sessions.iter().map(|session| some(session, &mut chance)).collect();
        std::thread::sleep(Duration::from_micros(chance.below(LONGEST_PIN_US + 1) as u64));
        for (session, seen) in sessions.iter().zip(&seen) {
            read_again(siege, session, seen, &mut pins);
        }
        pins.pins += stores as u64;
    }
    pins
}

/// A few readable units, from anywhere in the store.
fn some<'p>(session: &'p Pinned<'_, Unit>, chance: &mut Chance) -> Vec<(Handle, &'p Unit)> {
    let skipped = chance.below(session.store().len().max(1));
    let units = session.iter_in(StateSet::READABLE).skip(skipped).take(REFERENCES);
    units.map(|(handle, _, unit)| (handle, unit)).collect()
}

/// What was seen under this pin is still there, however dead, and nobody else is in its place.
fn read_again(
    siege: &Siege<'_>,
    session: &Pinned<'_, Unit>,
    seen: &[(Handle, &Unit)],
    pins: &mut Pins,
) {
    for &(handle, unit) in seen {
        if !unit.is(handle) {
            siege.violations.add(|| format!("{handle} was dropped under a pin of the soak"));
        }
        match session.get(handle) {
            Ok(found) if std::ptr::eq(found, unit) => {}
            Ok(_) => siege.violations.add(|| format!("{handle} has moved under a pin")),
            // Not Stale: what died under this pin is not used again before its end.
            Err(LookupError::NotFound { .. }) => pins.references_of_dead += 1,
            Err(error) => siege.violations.add(|| format!("seen under this pin, and now: {error}")),
        }
    }
    pins.references += seen.len() as u64;
}

/// Takes Holds, and lets them go, until the siege is over; then none is left.
pub(crate) fn hold_at_random(siege: &Siege<'_>) -> Holds {
    let (share, chance) = (share(siege), Chance::new(3));
    let mut holder = Holder { siege, share, chance, found: Vec::new(), holds: Holds::default() };
    while !siege.is_over() {
        let held: usize = siege.arenas.iter().map(|arena| holder.visit(arena)).sum();
        holder.holds.most_at_once = holder.holds.most_at_once.max(held as u64);
        std::thread::sleep(holder.time(LONGEST_REST_US));
    }
    holder.share = 0;
    for arena in &siege.arenas {
        arena.kept.lock().expect("no checkpoint panicked").iter_mut().for_each(Kept::expire);
        holder.visit(arena);
    }
    holder.holds
}

impl Kept {
    fn expire(&mut self) {
        self.until = Duration::ZERO;
    }
}

struct Holder<'s, 'r> {
    siege: &'s Siege<'r>,
    share: usize,
    chance: Chance,
    found: Vec<Handle>,
    holds: Holds,
}

impl Holder<'_, '_> {
    /// Lets go what has been held for long enough, and takes some more; how many are out.
    fn visit(&mut self, arena: &Arena<'_>) -> usize {
        let _open = arena.gate.read().expect("no checkpoint panicked");
        let mut kept = arena.kept.lock().expect("no checkpoint panicked");
        self.let_go(&mut kept);
        let wanted = self.chance.below(TAKEN_AT_ONCE + 1);
        let wanted = wanted.min(self.share.saturating_sub(kept.len()));
        if wanted > 0 {
            self.take(arena, &mut kept, wanted);
        }
        kept.len()
    }

    fn let_go(&mut self, kept: &mut Vec<Kept>) {
        let now = self.siege.elapsed();
        let mut place = 0;
        while let Some(one) = kept.get(place) {
            if one.until > now {
                place += 1;
                continue;
            }
            let Kept { hold, .. } = kept.swap_remove(place);
            self.verify(&hold);
            let outlasting = hold.is_reap_requested() && !hold.is_in_settlement();
            self.holds.outlasting += u64::from(outlasting);
        }
    }

    fn take(&mut self, arena: &Arena<'_>, kept: &mut Vec<Kept>, wanted: usize) {
        let session = arena.store.pin();
        self.found.clear();
        self.found.extend(session.iter_in(StateSet::READABLE).map(|(handle, ..)| handle));
        for _ in 0..wanted {
            let taken = if self.chance.below(CLONES) == 0 && !kept.is_empty() {
                Some(self.clone_one(kept))
            } else {
                self.take_one(&session)
            };
            let Some(taken) = taken else { continue };
            self.verify(&taken.hold);
            self.holds.taken += 1;
            self.holds.of_dying += u64::from(taken.hold.state() == State::Dying);
            kept.push(taken);
        }
    }

    /// The only new Hold that there is once a reap was asked for. Let go no later than the one
    /// that it comes from: clones of clones could keep a unit for ever.
    fn clone_one(&mut self, kept: &[Kept]) -> Kept {
        let Kept { hold, until } = &kept[self.chance.below(kept.len())];
        self.holds.clones += 1;
        let now = self.siege.elapsed();
        let left = until.saturating_sub(now).as_micros() as usize;
        Kept { hold: hold.clone(), until: now + self.time(left) }
    }

    /// A Hold of whomever this session has seen.
    fn take_one(&mut self, session: &Pinned<'_, Unit>) -> Option<Kept> {
        if self.found.is_empty() {
            return None;
        }
        let handle = self.found[self.chance.below(self.found.len())];
        match session.hold(handle) {
            Ok(hold) => {
                let until = self.siege.elapsed() + self.time(LONGEST_HOLD_US);
                return Some(Kept { hold, until });
            }
            Err(HoldError::ReapRequested { .. }) => self.holds.refused += 1,
            // Not Stale, as under every pin.
            Err(HoldError::Lookup(LookupError::NotFound { .. })) => self.holds.gone += 1,
            Err(error) => self.siege.violations.add(|| format!("a hold of the soak: {error}")),
        }
        None
    }

    fn verify(&self, hold: &Hold<Unit>) {
        let handle = hold.handle();
        if !hold.is(handle) {
            let violations = &self.siege.violations;
            violations.add(|| format!("a hold of the soak on {handle} reads another payload"));
        }
        // In this order: the killer dooms after the kill.
        let (doomed, state) = (hold.is_doomed(), hold.state());
        if state != State::Dying && (doomed || state != State::Active) {
            self.siege.violations.add(|| format!("{handle} is held by the soak, and {state}"));
        }
    }

    fn time(&mut self, longest_us: usize) -> Duration {
        Duration::from_micros(self.chance.below(longest_us + 1) as u64)
    }
}

/// By how many bytes all stores together may have grown since a tenth of the run.
pub(crate) fn allowed_growth(stores: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    stores * cores.next_power_of_two().min(MOST_SHARDS) * GROWTH_A_SHARD
}

/// The stores weigh in the end what they weighed at a tenth of the run. One without a limit keeps
/// what it needed while a reader was off the processor for longest, which may come at any time, so
/// only those with a capacity are judged.
pub(crate) fn check_memory(siege: &Siege<'_>, watched: &Watched) {
    if siege.plan.capacity.is_none() {
        return;
    }
    let (early, late) = (watched.at_10_percent.stores, watched.at_100_percent.stores);
    let allowed = allowed_growth(siege.arenas.len());
    if let Some(complaint) = outgrown(early, late, allowed) {
        siege.violations.add(|| complaint);
    }
}

fn outgrown(early: usize, late: usize, allowed: usize) -> Option<String> {
    let grown = late.checked_sub(early).filter(|&grown| grown > allowed)?;
    Some(format!(
        "the stores took {early} bytes at 10 % of the run and {late} at its end: {grown} more, \
         where {allowed} are allowed, 64 KiB a shard"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_that_outgrow_what_is_allowed_are_complained_of() {
        assert_eq!(outgrown(1_000, 900, 0), None);
        assert_eq!(outgrown(1_000, 1_100, 100), None);
        let told = outgrown(1_000, 1_101, 100).unwrap();
        assert!(told.contains("101 more, where 100 are allowed"), "{told}");
    }
}

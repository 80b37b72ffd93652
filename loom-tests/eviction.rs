//! Ending the oldest: in order, once, never what is held, and never more alive than units.
//!
//! Most of it on a [`Shelf`]: slots, stamps and the shared list, without a store around them.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::grave::{Graveyard, Tomb};
use super::model;
use super::slot::{GENERATION, Lone};
use super::store::overwriting;
use crate::reclaim::{Domain, Session};
use crate::segment::{Index, Sides, Table};
use crate::seniority::{Attempt, Elder, Selection, Seniority};
use crate::state::State;
use crate::store::{Ceiling, Permits, Store};
use crate::sync::Ordering;
use crate::word::{Refusal, SlotWord};
use crate::{Handle, HoldError, SpawnFailure};

/// Slots of a store that ends the oldest. Whoever activates here pins nothing: a model build's
/// pins order more than C11's.
struct Shelf {
    table: Table<u32>,
    seniority: Seniority,
    domain: Domain,
    slots: u32,
}

// SAFETY: what the rules of its parts do not allow, loom reports.
unsafe impl Send for Shelf {}
// SAFETY: as above.
unsafe impl Sync for Shelf {}

impl Shelf {
    fn new(slots: u32, capacity: usize) -> Arc<Shelf> {
        let table = Table::new(Sides { marks: false, stamps: true, links: false });
        table.ensure(0, slots.into()).unwrap();
        let (seniority, domain) = (Seniority::new(capacity), Domain::new());
        Arc::new(Shelf { table, seniority, domain, slots })
    }

    /// Stamps and shows, as every activation does.
    fn activate(&self, index: u32) {
        // Relaxed: as `Core::stamp`.
        self.table.stamp(Index(index)).store(self.seniority.stamp(), Ordering::Relaxed);
        self.table.known(Index(index)).word.publish(GENERATION);
    }

    /// Leaves an entity Pending for whoever activates it by handle.
    fn detach(&self, index: u32) {
        self.table.known(Index(index)).word.detach(GENERATION);
    }

    /// Activates by handle, as `Core::activate_stamped`; `alone` runs under the guard.
    fn activate_by_handle(&self, index: u32, alone: impl FnOnce()) -> bool {
        let claimed = self.table.known(Index(index)).word.claim_pending(GENERATION).is_ok();
        if claimed {
            alone();
            self.activate(index);
        }
        claimed
    }

    /// As `Core::offer_all`.
    fn offer_all(&self, selection: &mut Selection) {
        for index in (0..self.slots).map(Index) {
            let word = self.table.known(index).word.read();
            if word.readable_as(GENERATION) && !word.reap_requested() {
                // Relaxed: as `Core::offer`.
                let stamp = self.table.stamp(index).load(Ordering::Relaxed);
                selection.offer(Elder { stamp, index, generation: GENERATION }, word.holds() > 0);
            }
        }
    }

    /// As `Core::try_evict`, and the end of what it sealed.
    fn try_end(&self, elder: Elder) -> Attempt<u32> {
        let word = &self.table.known(elder.index).word;
        match word.advance(elder.generation, SlotWord::evict) {
            Ok(won) => {
                if won.state() == State::Dying {
                    word.finish(won);
                }
                Attempt::Won(elder.index.0)
            }
            Err((_, Refusal::Held)) => Attempt::InUse,
            Err(_) => Attempt::Ended,
        }
    }

    /// Ends the oldest; its index.
    fn end_oldest(&self) -> Option<u32> {
        let session = Session::own(&self.domain);
        let (scan, end) = (|s: &mut Selection| self.offer_all(s), |elder| self.try_end(elder));
        self.seniority.end_oldest(&session, scan, end).expect("nothing refuses memory here")
    }
}

/// Two are activated one after the other while the oldest is ended: never the second, which would
/// mean that the first was not even listed.
fn ended_in_order(name: &str, first: u32, second: u32) {
    model(name, 100, move || {
        let shelf = Shelf::new(2, 8);
        let evictor = Arc::clone(&shelf);
        let evictor = thread::spawn(move || evictor.end_oldest());
        shelf.activate(first);
        shelf.activate(second);
        let ended = evictor.join().unwrap();
        assert_ne!(ended, Some(second), "the elder is where it was");
    });
}

/// The scan has passed the place of the first when it comes to that of the second.
#[test]
fn elder_behind_the_scan_is_ended_first() {
    ended_in_order("eviction_elder_behind_the_scan", 0, 1);
}

#[test]
fn elder_before_the_scan_is_ended_first() {
    ended_in_order("eviction_elder_before_the_scan", 1, 0);
}

/// A list that was made while two were activated serves a later call: it has both or neither, or
/// the older one alone.
#[test]
fn list_made_during_activations_serves_later_calls_in_order() {
    model("eviction_list_during_activations", 1000, || {
        let shelf = Shelf::new(3, 12);
        shelf.activate(1);
        let evictor = Arc::clone(&shelf);
        let evictor = thread::spawn(move || evictor.end_oldest());
        shelf.activate(0);
        shelf.activate(2);
        assert_eq!(evictor.join().unwrap(), Some(1), "the oldest of all, there from the beginning");
        assert_eq!(shelf.end_oldest(), Some(0), "there throughout the call, and the oldest then");
        assert_eq!(shelf.end_oldest(), Some(2));
        assert_eq!(shelf.end_oldest(), None);
    });
}

/// Two make room: two victims. Each may find the list that the other has made.
#[test]
fn two_evictions_end_two() {
    model("eviction_against_eviction", 1000, || {
        let shelf = Shelf::new(2, 8);
        shelf.activate(1);
        shelf.activate(0);
        let other = Arc::clone(&shelf);
        let there = thread::spawn(move || other.end_oldest().expect("one for each"));
        let here = shelf.end_oldest().expect("one for each");
        assert_ne!(here, there.join().unwrap(), "one victim, two evictions");
    });
}

/// A list is replaced by one thread while another still looks at it, and dropped after both.
#[test]
fn list_is_not_dropped_under_its_readers() {
    model("eviction_list_replaced", 1000, || {
        let shelf = Shelf::new(3, 3);
        (0..3).for_each(|index| shelf.activate(index));
        assert_eq!(shelf.end_oldest(), Some(0), "and a list of one is shared");
        let other = Arc::clone(&shelf);
        let there = thread::spawn(move || other.end_oldest());
        let here = shelf.end_oldest();
        // Moves the epoch, so that the list goes as soon as it may.
        Session::own(&shelf.domain).advance();
        let mut ended = [here, there.join().unwrap()];
        ended.sort_unstable();
        assert_eq!(ended, [Some(1), Some(2)]);
    });
}

/// One unit, its entity, and a cell that only who has the unit may write.
struct Unit {
    slot: Lone,
    permits: Permits,
    alive: UnsafeCell<()>,
}

// SAFETY: loom watches the cell.
unsafe impl Send for Unit {}
// SAFETY: as above.
unsafe impl Sync for Unit {}

impl Unit {
    fn new(slot: Lone) -> Arc<Unit> {
        let permits = Permits::new(Ceiling { capacity: 1, growth: 0 }, 1);
        assert!(permits.take(0));
        Arc::new(Unit { slot, permits, alive: UnsafeCell::new(()) })
    }

    /// As a spawn does it: a free unit, or that of the entity, which this call ends.
    fn spawn(&self) -> bool {
        let alive = self.permits.take(0) || self.slot.evict();
        if alive {
            self.alive.with_mut(|_| ());
        }
        alive
    }

    fn reap(&self) -> bool {
        let reaped = self.slot.reap() == Some(true);
        if reaped {
            self.alive.with_mut(|_| ());
            self.permits.give(0);
        }
        reaped
    }
}

/// One of them ends it, and the unit goes on with the spawn or comes back with the reap: it is
/// neither lost nor there twice, and no two are alive at once.
#[test]
fn eviction_against_kill_and_reap_has_one_unit() {
    model("eviction_against_kill_and_reap", 30, || {
        let unit = Unit::new(Lone::active());
        let other = Arc::clone(&unit);
        let there = thread::spawn(move || other.slot.kill() && other.reap());
        let spawned = unit.spawn();
        let reaped = there.join().unwrap();
        assert!(spawned || reaped, "it ended by one of them");
        assert_eq!(unit.permits.take(0), !spawned, "the unit: spawned {spawned}, reaped {reaped}");
        unit.slot.graveyard.assert_all_dropped();
    });
}

/// Two spawns, one unit: one of them ends the entity, the other finds nothing.
#[test]
fn eviction_against_eviction_has_one_unit() {
    model("eviction_one_unit", 10, || {
        let unit = Unit::new(Lone::active());
        let other = Arc::clone(&unit);
        let there = thread::spawn(move || other.spawn());
        let here = unit.spawn();
        assert!(here ^ there.join().unwrap());
        assert!(!unit.permits.take(0));
        unit.slot.graveyard.assert_all_dropped();
    });
}

/// Held, it is passed over; ended, it is not held.
#[test]
fn eviction_against_hold_passes_over_or_refuses() {
    model("eviction_against_hold", 10, || {
        let slot = Lone::active();
        let other = slot.clone();
        let evicted = thread::spawn(move || other.evict());
        let held = slot.word.advance(GENERATION, SlotWord::hold);
        if let Err((_, refusal)) = held {
            assert!(matches!(refusal, Refusal::ReapRequested | Refusal::Gone), "{refusal:?}");
        } else {
            assert_eq!(slot.read(), 7);
            assert!(!slot.unhold(), "nobody has asked for the reap");
        }
        let evicted = evicted.join().unwrap();
        assert!(evicted || held.is_ok(), "passed over, but not held");
        assert_eq!(slot.graveyard.dropped(), usize::from(evicted));
    });
}

/// A Dying entity is ended whether it comes back to life before or not; nothing revives it after.
#[test]
fn eviction_against_revive_ends_it_once() {
    model("eviction_against_revive", 4, || {
        let slot = Lone::dying(0);
        let other = slot.clone();
        let revived = thread::spawn(move || other.revive());
        assert!(slot.evict(), "nobody holds it");
        revived.join().unwrap();
        assert_eq!(slot.word.peek().state(), State::Dead);
        slot.graveyard.assert_all_dropped();
    });
}

/// A stamp has one writer, though two activate by handle and one cancels.
#[test]
fn activations_by_handle_stamp_once() {
    model("eviction_activations_by_handle", 100, || {
        let (shelf, stamped) = (Shelf::new(1, 1), Arc::new(Stamped(UnsafeCell::new(()))));
        shelf.detach(0);
        let (other, cell) = (Arc::clone(&shelf), Arc::clone(&stamped));
        let there = thread::spawn(move || other.activate_by_handle(0, || cell.0.with_mut(|_| ())));
        let canceller = Arc::clone(&shelf);
        let cancelled =
            thread::spawn(move || canceller.table.known(Index(0)).word.cancel(GENERATION).is_ok());
        let here = shelf.activate_by_handle(0, || stamped.0.with_mut(|_| ()));
        let won = [here, there.join().unwrap(), cancelled.join().unwrap()];
        assert_eq!(won.into_iter().filter(|&won| won).count(), 1, "one of three: {won:?}");
        let activated = here || won[1];
        assert_eq!(shelf.end_oldest(), activated.then_some(0));
    });
}

/// What stands for the stamp, so that loom watches who writes it.
struct Stamped(UnsafeCell<()>);

// SAFETY: loom watches the cell.
unsafe impl Send for Stamped {}
// SAFETY: as above.
unsafe impl Sync for Stamped {}

/// Spawns where the slot is there and only the unit may be missing.
fn spawn(store: &Store<Tomb>, payload: Tomb) -> Option<Handle> {
    let refused = match store.spawn_active(payload) {
        Ok(new) => return Some(new),
        Err(refused) => refused,
    };
    assert!(matches!(refused.failure, SpawnFailure::Exhausted { .. }), "{:?}", refused.failure);
    None
}

/// The spawn ends the entity, or finds it held and is refused.
#[test]
fn spawn_into_a_full_store_against_a_hold() {
    model("eviction_store_hold", 1000, || {
        let (graveyard, store) = (Graveyard::default(), overwriting(1, 1));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || match other.hold(old) {
            Ok(hold) => assert_eq!(hold.read(), 1),
            Err(refused) => assert!(!matches!(refused, HoldError::TooManyHolds { .. })),
        });
        let spawned = spawn(&store, graveyard.tomb(2));
        there.join().unwrap();
        let new = spawned.is_some_and(|new| store.state(new) == Ok(State::Active));
        assert_eq!((new, store.state(old).is_err(), store.len()), (spawned.is_some(), new, 1));
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// The unit comes from the reap or from the eviction, not from both.
#[test]
fn spawn_into_a_full_store_against_kill_and_reap() {
    model("eviction_store_reap", 1000, || {
        let (graveyard, store) = (Graveyard::default(), overwriting(1, 1));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let there = thread::spawn(move || {
            let _ = other.kill(old).and_then(|()| other.reap(old));
        });
        let spawned = spawn(&store, graveyard.tomb(2));
        there.join().unwrap();
        // Refused: the old one was Dead already, and its unit not back yet.
        let new = spawned.is_some_and(|new| store.state(new) == Ok(State::Active));
        assert_eq!((new, store.len()), (spawned.is_some(), usize::from(new)));
        drop(store);
        graveyard.assert_all_dropped();
    });
}

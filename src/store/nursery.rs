//! Slots that a thread has drawn ahead, so that it claims its magazine once for many spawns: a
//! claim is a locked instruction, and takes as long as the rest of a spawn.
//!
//! Drawn slots belong to the owner of the nursery, as if each spawn had begun already (invariant
//! 5), and their words say None. So a nursery is for stores without a capacity, where no spawn is
//! refused because another thread keeps slots. Spawned entities are counted later, many at a time.
//!
//! Where no other thread looks at payloads, there is no reader to wait for, and slots come straight
//! back to the nursery. Idle slots go to the store little by little, where others find them: a
//! quarter, each time, of those that no spawn has needed lately.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU32;

use super::Store;
use super::core::{Core, Vacancy};
use super::lifecycle::Reserved;
use super::pending::Pending;
use super::place::Place;
use crate::error::SpawnFailure;
use crate::free::Event;
use crate::handle::Handle;
use crate::memory::{reserve, reserve_one};
use crate::reclaim::Session;
use crate::segment::{Index, Near};
use crate::state::State;
use crate::sync::planted;
use crate::word::SlotWord;

/// How many slots are drawn at a time.
const AHEAD: usize = if cfg!(all(loom, test)) { 1 } else { 16 };

/// One in so many idle slots goes to the store at a time.
const IDLE_SHARE: usize = 4;

/// How many idle slots stay in any case: fewer are not worth a box.
const FEW: usize = 4 * AHEAD;

/// A slot, and the handle that its next entity gets.
struct Drawn<T> {
    place: Place<T>,
    handle: Handle,
}

/// Slots that are drawn and not used yet, of one store.
pub(crate) struct Nursery<T> {
    /// The last one serves first.
    drawn: Vec<Drawn<T>>,
    /// How many entities were spawned and are not counted yet.
    uncounted: Cell<u64>,
    /// The fewest slots that there have been since idle ones last went to the store.
    idle: usize,
}

impl<T> Nursery<T> {
    pub(crate) const fn new() -> Nursery<T> {
        Nursery { drawn: Vec::new(), uncounted: Cell::new(0), idle: 0 }
    }

    /// The slot that serves next.
    #[inline]
    fn pop(&mut self) -> Option<Drawn<T>> {
        let drawn = self.drawn.pop();
        self.idle = self.idle.min(self.drawn.len());
        drawn
    }
}

impl<T> Core<T> {
    /// Reserves a slot that was drawn.
    #[inline]
    fn reserve_drawn(&self, drawn: Drawn<T>) -> Reserved<'_, T> {
        let Drawn { place, handle } = drawn;
        // SAFETY: it was drawn from this store, and whoever has a slot in hand keeps its segment
        // (invariant 11).
        let slot = unsafe { place.slot() };
        slot.word.set(SlotWord::reserved(handle.generation_bits()));
        Reserved { slot, handle }
    }

    /// Takes back the slot of an entity that has ended and has left nothing to drop, as if the slot
    /// had been drawn; returns whether it did. Only the caller may look at the payload meanwhile,
    /// and owes the store the counting of the entity's end and of the slot's renewal.
    #[inline]
    pub(super) fn take_back(
        &self,
        nursery: &mut Nursery<T>,
        place: Place<T>,
        index: Index,
        generation: NonZeroU32,
    ) -> bool {
        let is_spent = generation >= self.last;
        if is_spent || self.permits.is_some() || reserve_one(&mut nursery.drawn).is_err() {
            // If memory is refused here, the store still has room for the slot.
            return false;
        }
        // SAFETY: the caller has the slot in hand, which keeps its segment (invariant 11).
        let word = &unsafe { place.slot() }.word;
        word.set(SlotWord::new(generation.get(), State::None));
        let next = if planted("slot taken back under its generation") {
            generation
        } else {
            generation.saturating_add(1)
        };
        let handle = self.handle_at(index, Near::of(index.0.into()), next);
        nursery.drawn.push(Drawn { place, handle });
        true
    }

    /// Draws slots that are at hand.
    fn draw(&self, session: &Session, nursery: &mut Nursery<T>) {
        if self.permits.is_some() || Self::nested() || reserve(&mut nursery.drawn, AHEAD).is_err() {
            return;
        }
        while nursery.drawn.len() < AHEAD {
            let Some(vacancy) = self.take_at_hand(session) else { break };
            let Vacancy { slot, handle, .. } = vacancy;
            // None: whoever looks for the dead passes it over.
            slot.word.set(slot.word.peek().vacant());
            nursery.drawn.push(Drawn { place: Place::of(slot), handle });
        }
        // The first one taken is to be used first.
        nursery.drawn.reverse();
    }
}

impl<T: Send + Sync + 'static> Store<T> {
    /// As [`spawn_with`](Store::spawn_with), from a nursery of this store alone. The caller owes
    /// [`count_spawned`](Store::count_spawned), before anything is ended.
    ///
    /// # Errors
    /// As for `spawn_with`.
    ///
    /// # Safety
    /// * The nursery is used with no other store.
    #[inline]
    pub(crate) unsafe fn spawn_from(
        &self,
        nursery: &mut Nursery<T>,
        make: impl FnOnce(Handle) -> T,
    ) -> Result<Pending<'_, T>, SpawnFailure> {
        let reserved = match nursery.pop() {
            Some(drawn) => {
                nursery.uncounted.set(nursery.uncounted.get() + 1);
                self.core().reserve_drawn(drawn)
            }
            None => self.spawn_and_draw(nursery)?,
        };
        Ok(Pending::made(self, reserved, |handle| {
            let unfinished = self.unfinished(nursery);
            let value = make(handle);
            std::mem::forget(unfinished);
            value
        }))
    }

    /// Reserves a slot in the ordinary way, and draws some for the next spawns.
    #[inline(never)]
    fn spawn_and_draw(&self, nursery: &mut Nursery<T>) -> Result<Reserved<'_, T>, SpawnFailure> {
        let session = self.light_session();
        let reserved = self.core().spawn_empty(&session)?;
        self.core().draw(&session, nursery);
        Ok(reserved)
    }

    /// Gives some of the slots that have been idle since the last call to the store.
    pub(crate) fn trim(&self, nursery: &mut Nursery<T>) {
        let idle = nursery.idle;
        if idle > FEW {
            let session = self.session();
            // The first ones would be used last.
            for Drawn { handle, .. } in nursery.drawn.drain(..(idle - FEW).div_ceil(IDLE_SHARE)) {
                self.core().put_back(&session, Core::<T>::index(handle));
            }
        }
        nursery.idle = nursery.drawn.len();
    }

    /// Counts the entities that were spawned from a nursery.
    pub(crate) fn count_spawned(&self, nursery: &Nursery<T>) {
        let spawned = nursery.uncounted.take();
        if spawned == 0 {
            return;
        }
        let (core, session) = (self.core(), self.session());
        core.count_many(&session, Event::Spawned, spawned);
        if let Some(magazine) = core.magazine(&session) {
            magazine.peak.rise_by(spawned);
        }
    }

    /// A guard that counts if the code that follows panics, since the entity ends then.
    #[inline]
    pub(crate) fn unfinished<'n>(&'n self, nursery: &'n Nursery<T>) -> Unfinished<'n, T> {
        Unfinished { store: self, nursery }
    }
}

/// A spawn in progress; `mem::forget` it when the spawn is done.
pub(crate) struct Unfinished<'n, T: Send + Sync + 'static> {
    store: &'n Store<T>,
    nursery: &'n Nursery<T>,
}

impl<T: Send + Sync + 'static> Drop for Unfinished<'_, T> {
    fn drop(&mut self) {
        self.store.count_spawned(self.nursery);
    }
}

impl<T> fmt::Debug for Nursery<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nursery").field("drawn", &self.drawn.len()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::super::Sealing;
    use super::*;
    use crate::limits::Limits;

    fn spawn(store: &Store<u32>, nursery: &mut Nursery<u32>) -> Handle {
        // SAFETY: every test has one store and one nursery (invariant 5).
        unsafe { store.spawn_from(nursery, |_| 7) }.unwrap().activate()
    }

    #[test]
    fn slots_serve_in_the_order_in_which_they_would_one_by_one() {
        let (store, plain, mut nursery) = (Store::new(), Store::new(), Nursery::new());
        for _ in 0..5 * AHEAD {
            let (drawn, one) = (spawn(&store, &mut nursery), plain.spawn(7).unwrap().activate());
            assert_eq!((drawn.seq(), drawn.generation()), (one.seq(), one.generation()));
            assert_eq!(store.pin().get(drawn), Ok(&7));
        }
    }

    #[test]
    fn spawns_are_counted_once_and_with_the_peak() {
        let (store, mut nursery) = (Store::new(), Nursery::new());
        let handles: Vec<_> = (0..100).map(|_| spawn(&store, &mut nursery)).collect();
        store.count_spawned(&nursery);
        store.count_spawned(&nursery);
        handles.iter().for_each(|&handle| assert!(store.despawn(handle).is_ok()));
        spawn(&store, &mut nursery);
        store.count_spawned(&nursery);
        let stats = store.stats();
        assert_eq!((stats.spawned, stats.peak_live, stats.live), (101, 100, 1));
    }

    #[test]
    fn spawn_that_panics_is_counted_before_it_ends() {
        let (store, mut nursery) = (Store::new(), Nursery::new());
        (0..5).for_each(|_| _ = spawn(&store, &mut nursery));
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: as in `spawn` (invariant 5).
            let _ = unsafe { store.spawn_from(&mut nursery, |_| panic!("made badly")) };
        }));
        assert!(panicked.is_err());
        let stats = store.stats();
        assert_eq!((stats.spawned, stats.peak_live, stats.live), (6, 6, 5));
    }

    #[test]
    fn store_with_a_capacity_is_not_drawn_from_ahead() {
        let (limits, mut nursery) = (Limits::reject(4), Nursery::new());
        let store = Store::builder().limits(limits).build().unwrap();
        (0..3).for_each(|_| _ = spawn(&store, &mut nursery));
        assert!(nursery.drawn.is_empty());
        store.spawn_active(7).unwrap();
        assert!(store.spawn_active(7).is_err());
    }

    /// Ends an entity that was spawned from the nursery, as a sweep does.
    fn end(store: &Store<u32>, nursery: &mut Nursery<u32>, handle: Handle) {
        store.count_spawned(nursery);
        store.kill(handle).unwrap();
        // SAFETY: this test alone has the store (invariant 11).
        let (place, _) = unsafe { store.peek(handle) }.unwrap();
        // SAFETY: as above (invariant 11).
        assert!(matches!(unsafe { place.seal(handle.generation(), true) }, Sealing::Sealed));
        let (mut ending, index) = (store.ending(), handle.seq() as u32);
        // SAFETY: sealed just now, and this test alone has the store and the nursery (invariant 5).
        unsafe { ending.finish_empty(nursery, place, index, handle.generation()) };
    }

    #[test]
    fn slot_that_comes_back_serves_next_under_a_handle_of_its_own() {
        let (store, mut nursery) = (Store::new(), Nursery::new());
        let handles: Vec<_> = (0..3 * AHEAD).map(|_| spawn(&store, &mut nursery)).collect();
        for old in handles {
            end(&store, &mut nursery, old);
            assert!(store.pin().get(old).is_err());
            let new = spawn(&store, &mut nursery);
            assert_eq!(new.seq(), old.seq());
            assert!(new.generation() > old.generation());
            assert_eq!(store.pin().get(new), Ok(&7));
            assert!(store.pin().get(old).is_err());
        }
        store.count_spawned(&nursery);
        let stats = store.stats();
        let count = 3 * AHEAD;
        assert_eq!((stats.spawned, stats.reaped), (2 * count as u64, count as u64));
        assert_eq!((stats.live, stats.dead, stats.peak_live), (count, 0, count));
    }

    #[test]
    fn slots_that_lie_idle_go_to_the_store_bit_by_bit_and_used_ones_do_not() {
        let (store, mut nursery) = (Store::new(), Nursery::new());
        let many = 25 * AHEAD;
        let handles: Vec<_> = (0..many).map(|_| spawn(&store, &mut nursery)).collect();
        handles.iter().for_each(|&handle| end(&store, &mut nursery, handle));
        store.trim(&mut nursery);
        let all = nursery.drawn.len();
        assert!(all >= many, "none has lain idle since the last time");
        let used: Vec<_> = (0..many).map(|_| spawn(&store, &mut nursery)).collect();
        used.iter().for_each(|&handle| end(&store, &mut nursery, handle));
        store.trim(&mut nursery);
        assert!(all - nursery.drawn.len() <= AHEAD);
        (0..50).for_each(|_| store.trim(&mut nursery));
        assert_eq!(nursery.drawn.len(), FEW);
        // They serve whoever comes, under handles of their own.
        let (slots, _) = (store.slots(), store.reclaim());
        let mut seen: HashSet<_> = handles.into_iter().chain(used).collect();
        for _ in 0..many - FEW {
            let handle = store.spawn_active(7).unwrap();
            assert!(seen.insert(handle), "{handle} is given out twice");
        }
        assert_eq!(store.slots(), slots);
        let stats = store.stats();
        assert_eq!((stats.live, stats.dead), (many - FEW, 0));
    }

    #[test]
    fn slot_whose_generations_are_spent_does_not_come_back() {
        let last = NonZeroU32::new(2).unwrap();
        let (store, mut nursery) = (Store::builder().last_generation(last), Nursery::new());
        let store = store.build().unwrap();
        let (mut seen, mut spent) = (HashSet::new(), 0);
        for _ in 0..100 {
            let handle = spawn(&store, &mut nursery);
            assert!(seen.insert(handle.to_bytes()), "{handle} is given out twice");
            spent += u64::from(handle.generation() == last);
            end(&store, &mut nursery, handle);
        }
        store.reclaim();
        let stats = store.stats();
        assert_eq!((stats.retired_slots, stats.live, stats.dead), (spent, 0, 0));
        assert!(spent > 30);
    }
}

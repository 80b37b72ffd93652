//! Payload reuse: `StoreBuilder::retain` and `spawn_recycled`.
//!
//! The short way is in place: the slot that a `spawn_recycled` takes is Dead with its last payload
//! still in it, which is cleared and served again where it lies. A payload whose slot is renewed
//! by anybody else is cleared and goes to the [`Stash`], where a `spawn_recycled` that found a bare
//! slot takes it. Before one constructs, it looks whether Dead payloads can be brought back now.
//!
//! What clears a payload is a function pointer that `retain` has put into the store: payload types
//! that cannot be recycled compile to the same code as without all this.

use super::Store;
use super::core::{Core, Vacancy};
use super::lifecycle::Reserved;
use super::pending::Pending;
use super::refill::ADVANCES;
use super::stash::Stash;
use crate::error::SpawnFailure;
use crate::free::{BATCH_CAPACITY, Circulation, Claimed, Event, Owned};
use crate::reclaim::{Gate, Session};
use crate::recycle::Recycle;
use crate::segment::Index;
use crate::slot::{Slot, in_destructor};
use crate::state::State;
use crate::sync::{Arc, Ordering, fence, planted};

/// How many ripe batches without a payload a `spawn_recycled` puts away before it constructs.
const BARE_BATCHES: u32 = 4;

/// What `StoreBuilder::retain` asks for.
pub(super) struct Retain<T> {
    pub(super) payloads: usize,
    recycle: fn(&mut T),
}

/// How a store clears payloads, and where it keeps them. A task that outlives the store may have a
/// reference.
pub(crate) struct Reuse<T> {
    recycle: fn(&mut T),
    pub(crate) stash: Stash<T>,
    gate: Arc<Gate>,
}

/// How a `spawn_recycled` came by its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// A retained one was there.
    Retained,
    /// It was constructed.
    Anew,
}

/// An entity that `spawn_recycled` has reserved.
#[derive(Debug)]
pub(super) struct Furnished<'c, T> {
    reserved: Reserved<'c, T>,
    served: Served,
    /// Whether another entity was ended to make room.
    forced: bool,
}

impl<T: Recycle> Retain<T> {
    pub(super) fn new(payloads: usize) -> Retain<T> {
        Retain { payloads, recycle: T::recycle }
    }
}

impl<T> Reuse<T> {
    /// What a builder asked for, if that keeps anything.
    pub(super) fn asked(retain: Option<Retain<T>>, gate: &Arc<Gate>) -> Option<Arc<Reuse<T>>> {
        let Retain { payloads, recycle } = retain.filter(|retain| retain.payloads > 0)?;
        Some(Arc::new(Reuse::new(payloads, recycle, Arc::clone(gate))))
    }

    pub(crate) fn new(payloads: usize, recycle: fn(&mut T), gate: Arc<Gate>) -> Reuse<T> {
        Reuse { recycle, stash: Stash::new(payloads), gate }
    }

    /// Memory of the stash.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.stash.bytes()
    }

    /// Clears a payload and keeps it, or drops it where there is no room. User code runs here, and
    /// the thread is not inside a destructor.
    pub(crate) fn keep(&self, circulation: &Circulation, mut value: T) {
        // Room first: what is going to be dropped is not cleared before.
        if let Some(cell) = self.stash.claim() {
            if !in_destructor::run(|| (self.recycle)(&mut value)) {
                return self.stash.put(cell, value);
            }
            circulation.count_foreign(0, Event::DropPanicked);
            self.stash.unclaim(cell);
        }
        drop_contained(circulation, value);
    }

    /// As [`keep`](Self::keep), for a call that borrows no `Store`: nothing stays in a store that
    /// is closed or is being closed.
    pub(crate) fn keep_if_open(&self, circulation: &Circulation, value: T) {
        if self.gate.closed() {
            return drop_contained(circulation, value);
        }
        self.keep(circulation, value);
        if !planted("stash closed without a fence") {
            // SeqCst, the stash against the gate: this call has put its payload on the stash and
            // reads the gate below; who closes has shut the gate and takes from the stash below
            // its fence. If this fence is the first, the closer finds the payload; if the other
            // is, this call finds the gate shut.
            fence(Ordering::SeqCst);
        }
        if self.gate.closed() {
            self.drain(circulation);
        }
    }

    /// Drops everything that is kept, after the gate was shut.
    pub(crate) fn close(&self, circulation: &Circulation) {
        if !planted("stash closed without a fence") {
            // SeqCst, the gate against the stash: see `keep_if_open`.
            fence(Ordering::SeqCst);
        }
        self.drain(circulation);
    }

    fn drain(&self, circulation: &Circulation) {
        while let Some(value) = self.stash.take() {
            drop_contained(circulation, value);
        }
    }
}

/// Drops a payload; a panic is counted.
pub(super) fn drop_contained<T>(circulation: &Circulation, value: T) {
    if in_destructor::run(|| drop(value)) {
        circulation.count_foreign(0, Event::DropPanicked);
    }
}

impl<T> Core<T> {
    /// Payloads that are retained now.
    pub(super) fn idle(&self) -> usize {
        self.reuse.as_ref().map_or(0, |reuse| reuse.stash.kept())
    }

    /// Drops what is retained, when the last `Store` is gone.
    pub(super) fn close_stash(&self) {
        if let Some(reuse) = &self.reuse {
            reuse.close(&self.circulation);
        }
    }

    /// Lets a payload go that was taken out of its slot: cleared and kept, or dropped. Inside a
    /// destructor that waits until the outermost one has returned.
    #[cold]
    pub(super) fn let_go(&self, reuse: &Arc<Reuse<T>>, value: T) {
        if !in_destructor::now() {
            return reuse.keep(&self.circulation, value);
        }
        let (reuse, circulation) = (Arc::clone(reuse), Arc::clone(&self.circulation));
        let task = move || reuse.keep_if_open(&circulation, value);
        // SAFETY: the task owns what it touches and runs on this thread, before the destructor
        // that is running here has returned. `T` may borrow nothing that ends before: a `Store<T>`
        // asks for `T: 'static` (invariant 8).
        unsafe { in_destructor::run_outermost(task) };
    }

    /// A Pending and guarded entity for `spawn_recycled`; if it was not served, the caller makes
    /// its payload.
    pub(super) fn spawn_furnished(
        &self,
        session: &Session,
    ) -> Result<Furnished<'_, T>, SpawnFailure> {
        let Some(reuse) = &self.reuse else {
            let vacancy = self.reserve(session)?;
            let forced = vacancy.forced;
            let reserved = self.guard_vacancy(vacancy);
            return Ok(Furnished { reserved, served: Served::Anew, forced });
        };
        let take = || self.take_furnished(session, reuse);
        let (vacancy, furnished) = self.reserve_by(session, take, |bare| (bare, false))?;
        let forced = vacancy.forced;
        let reserved = self.guard_vacancy(vacancy);
        let served = if furnished && self.recycle_in_place(session, reuse, reserved.slot) {
            Served::Retained
        } else if let Some(value) = reuse.stash.take() {
            // SAFETY: the slot is reserved by this call and its cell is empty (invariant 5).
            unsafe { reserved.slot.payload.write(value) };
            Served::Retained
        } else {
            return Ok(Furnished { reserved, served: Served::Anew, forced });
        };
        self.count_served(served, forced);
        Ok(Furnished { reserved, served, forced })
    }

    /// Counts how a `spawn_recycled` came by its payload, once it has it. One that ended somebody
    /// else's entity for its room is neither a hit nor a miss.
    pub(super) fn count_served(&self, served: Served, forced: bool) {
        if served == Served::Anew {
            self.count_here(Event::Created);
        }
        match served {
            _ if forced => {}
            Served::Retained => self.count_here(Event::Hit),
            Served::Anew => self.count_here(Event::Missed),
        }
    }

    /// A vacancy, and whether the payload of its last entity is still in it, which is the caller's
    /// then. A slot with a payload is preferred.
    fn take_furnished(
        &self,
        session: &Session,
        reuse: &Reuse<T>,
    ) -> Result<(Vacancy<'_, T>, bool), SpawnFailure> {
        if in_destructor::now() {
            // Nothing is cleared inside a destructor.
            return Ok((self.take_vacancy(session)?, false));
        }
        loop {
            let magazine = session.magazine(&self.circulation)?;
            if !magazine.peek().is_some_and(|top| self.has_payload(top))
                && reuse.stash.looks_empty()
            {
                self.prefer_furnished(session, magazine)?;
            }
            let Some(index) = magazine.take() else {
                self.refill(session, false)?;
                continue;
            };
            let slot = self.table.known(index);
            let word = slot.word.peek();
            let furnished = self.has_payload(index) && word.generation() < self.last.get();
            if furnished {
                // From here the payload is this call's, and `renew` leaves it alone.
                slot.word.set(word.buried_empty());
            }
            if let Some(generation) = self.renew(session, slot) {
                let handle = self.handle(index, generation);
                let vacancy = Vacancy { slot, index, handle, magazine, forced: false };
                return Ok((vacancy, furnished));
            }
        }
    }

    /// Whether the slot of an index that came out of a batch is Dead with its payload in it.
    #[inline]
    pub(super) fn has_payload(&self, index: Index) -> bool {
        let word = self.table.known(index).word.peek();
        word.state() == State::Dead && !word.emptied()
    }

    /// Clears the payload in a slot that this call has reserved; if that panics it is dropped, and
    /// the cell is empty.
    fn recycle_in_place(&self, session: &Session, reuse: &Reuse<T>, slot: &Slot<T>) -> bool {
        // SAFETY: the slot came out of a batch that has been through limbo, so no reader is left,
        // and this call has reserved it since (invariant 2, 4).
        let payload = unsafe { slot.payload.get_mut() };
        if !session.meanwhile(|| in_destructor::run(|| (reuse.recycle)(payload))) {
            return true;
        }
        self.count(session, Event::DropPanicked);
        // SAFETY: as above, and the borrow has ended (invariant 4).
        if unsafe { slot.payload.drop_in_place() } {
            self.count(session, Event::DropPanicked);
        }
        false
    }

    /// Before a payload is constructed, Dead ones that can be brought back now come first: slots
    /// that have one go on top of the magazine.
    #[cold]
    fn prefer_furnished(
        &self,
        session: &Session,
        magazine: Claimed<'_>,
    ) -> Result<(), SpawnFailure> {
        self.collect_dead(session);
        if session.may_repin() {
            self.hand_over_collected(session);
        }
        for _ in 0..BARE_BATCHES {
            let Some(mut batch) = self.ripe_now(session) else { break };
            if self.sort_furnished(&mut batch) {
                return self.load_on_top(session, magazine, batch);
            }
            self.put_bare(session, batch);
        }
        Ok(())
    }

    /// A batch off a ripe stack or of those that rest, or one that the collector can ripen now;
    /// never from the depot, where no payloads are.
    fn ripe_now(&self, session: &Session) -> Option<Owned> {
        let shards = 0..self.circulation.shard_count();
        let ripe = || {
            let (mut shards, home) = (shards.clone(), session.home());
            shards
                .find_map(|step| self.circulation.take_ripe_of(home + step))
                .or_else(|| self.circulation.take_resting())
        };
        // Under a pin that stays the epoch moves once at most.
        let advances = if session.may_repin() { ADVANCES } else { 1 };
        ripe().or_else(|| {
            let waits = |_: &u32| session.in_limbo(&self.circulation) > 0;
            (0..advances).take_while(waits).find_map(|_| {
                session.advance();
                ripe()
            })
        })
    }

    /// Moves the slots of a batch that have a payload to its end, where they are taken first;
    /// whether there are any.
    fn sort_furnished(&self, batch: &mut Owned) -> bool {
        let mut bare = 0;
        for position in 0..batch.len() {
            if !self.has_payload(batch.at(position)) {
                batch.swap(position, bare);
                bare += 1;
            }
        }
        bare < batch.len()
    }

    /// Puts a batch on top of what the magazine has left, in the same box if there is room.
    fn load_on_top(
        &self,
        session: &Session,
        magazine: Claimed<'_>,
        mut batch: Owned,
    ) -> Result<(), SpawnFailure> {
        let Some(mut below) = magazine.unload() else { return self.load(session, batch) };
        if below.len() + batch.len() > BATCH_CAPACITY {
            // It may have come off a list inside this very pin (Rule L).
            self.hand_over(session, below);
            return self.load(session, batch);
        }
        below.append(&mut batch);
        self.circulation.put_empty(batch);
        self.load(session, below)
    }

    /// Puts a batch away in which no slot has a payload: on the depot. It came off a ripe stack, so
    /// Rule L allows it.
    fn put_bare(&self, session: &Session, mut batch: Owned) {
        for position in (0..batch.len()).rev() {
            let slot = self.table.known(batch.at(position));
            if slot.word.peek().state() == State::Dead && self.renew(session, slot).is_none() {
                batch.swap_remove(position);
            }
        }
        if batch.is_empty() {
            self.circulation.put_empty(batch);
        } else {
            self.circulation.put_drained(batch);
        }
    }
}

impl<'s, T: Recycle> Pending<'s, T> {
    /// Gives an entity of [`Core::spawn_furnished`] its payload, if it has none, and runs `init`.
    pub(super) fn furnished(
        store: &'s Store<T>,
        Furnished { reserved, served, forced }: Furnished<'s, T>,
        init: impl FnOnce(&mut T),
    ) -> Pending<'s, T> {
        let mut pending = match served {
            Served::Retained => Pending::new(store, reserved),
            Served::Anew => {
                let pending = Pending::made(store, reserved, |_| T::default());
                store.core().count_served(Served::Anew, forced);
                pending
            }
        };
        init(&mut pending);
        pending
    }
}

impl<T: Recycle + Send + Sync + 'static> Store<T> {
    /// Reserves a slot with a cleared payload of an earlier entity, or with a new one, and runs
    /// `init` on it.
    ///
    /// Except for the heap memory that it keeps, the payload cannot be told from `T::default()`. It
    /// is one that the store retains ([`StoreBuilder::retain`](super::StoreBuilder::retain)), or
    /// that of an entity which has ended and has no reader left; only if there is neither, a new
    /// one is constructed. [`Stats::hits`](crate::Stats::hits),
    /// [`Stats::misses`](crate::Stats::misses) and [`Stats::created`](crate::Stats::created) count
    /// which it was. Nobody sees the entity before the guard activates it.
    ///
    /// # Errors
    /// As for [`spawn`](Store::spawn); then `init` is not called, and no payload is constructed or
    /// cleared for the call.
    ///
    /// # Panics
    /// If `init` or `T::default()` does: the reservation is cancelled, and the payload is treated
    /// like that of any cancelled entity. A panic of [`recycle`](Recycle::recycle) is contained.
    ///
    /// # Complexity
    /// As for [`spawn`](Store::spawn) if the slot that is taken has a payload, which is cleared in
    /// place, without moving it. At most one other payload is cleared or dropped in the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store: Store<Vec<u64>> = Store::builder().retain(100).build()?;
    /// let mut wave = store.spawn_recycled(|targets| targets.extend(0..1000))?;
    /// wave.push(7);
    /// let wave = wave.activate();
    /// store.despawn(wave)?;
    ///
    /// let next = store.spawn_recycled(|targets| assert!(targets.is_empty()))?;
    /// assert!(next.capacity() > 1000, "the memory is the first one's");
    /// let stats = store.stats();
    /// assert_eq!((stats.created, stats.hits, stats.misses), (1, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_recycled(
        &self,
        init: impl FnOnce(&mut T),
    ) -> Result<Pending<'_, T>, SpawnFailure> {
        let session = self.session();
        let furnished = self.core().spawn_furnished(&session)?;
        drop(session);
        Ok(Pending::furnished(self, furnished, init))
    }
}

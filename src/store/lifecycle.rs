//! The operations of an entity's life, for a session: what `Store` and `Pinned` have in common.

use std::borrow::Borrow;
use std::num::NonZeroU32;

use super::core::{Core, Vacancy};
use crate::error::{HoldError, LookupError, SpawnError, SpawnFailure, TransitionError};
use crate::free::{Claimed, Event};
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::reclaim::Session;
use crate::segment::Index;
use crate::seniority::Seniority;
use crate::slot::Slot;
use crate::state::State;
use crate::sync::{Ordering, planted, thread_ordinal};
use crate::word::{Reap, Refusal, SlotWord, Unhold};

/// What a reap came to: done, or left to the last of this many holds.
///
/// # Examples
///
/// ```
/// use hatchery::{Reaped, Store};
///
/// let store = Store::new();
/// let boss = store.spawn_active("boss")?;
/// let loot = store.kill_and_hold(boss)?;
/// assert_eq!(store.reap(boss)?, Reaped::Deferred { holds: 1 });
/// drop(loot); // the last hold carries the reap out
/// assert!(store.state(boss).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reaped {
    /// The entity is Dead.
    Done,
    /// The entity stays Dying until the last `Hold` drops; no new hold, revive or reap from here.
    Deferred {
        /// How many holds there were at that moment.
        holds: u32,
    },
}

impl From<Reap> for Reaped {
    fn from(reap: Reap) -> Reaped {
        match reap {
            Reap::Done => Reaped::Done,
            Reap::Deferred { holds } => Reaped::Deferred { holds },
        }
    }
}

/// A slot that says Pending and guarded: the caller has its payload to itself.
#[derive(Debug)]
pub(super) struct Reserved<'c, T> {
    pub(super) slot: &'c Slot<T>,
    pub(super) handle: Handle,
}

impl<T> Core<T> {
    pub(super) fn index(handle: Handle) -> Index {
        // Only for handles that `find` has let through.
        Index(handle.seq() as u32)
    }

    /// Counts a spawn, and the population it makes.
    #[inline]
    fn count_spawn(magazine: Claimed<'_>, event: Event) {
        magazine.tally.of(event).add_owned(1);
        magazine.peak.rise();
    }

    /// Spawn, and the payload with it.
    #[inline(always)]
    pub(super) fn spawn(
        &self,
        session: &Session,
        value: T,
    ) -> Result<Reserved<'_, T>, SpawnError<T>> {
        match self.reserve(session) {
            Ok(vacancy) => {
                // SAFETY: the vacancy is owned, and its cell is empty (invariant 5).
                unsafe { vacancy.slot.payload.write(value) };
                Ok(self.guard_vacancy(vacancy))
            }
            Err(failure) => Err(SpawnError { value, failure }),
        }
    }

    /// A Pending and guarded entity whose payload is still to be made. Nobody reads it, but
    /// unlike in `spawn` a cancel must not drop it.
    #[inline]
    pub(super) fn spawn_empty(&self, session: &Session) -> Result<Reserved<'_, T>, SpawnFailure> {
        let vacancy = self.reserve(session)?;
        Ok(self.guard_vacancy(vacancy))
    }

    #[inline]
    pub(super) fn guard_vacancy<'c>(&'c self, vacancy: Vacancy<'c, T>) -> Reserved<'c, T> {
        let Vacancy { slot, handle, magazine, .. } = vacancy;
        slot.word.set(SlotWord::reserved(handle.generation_bits()));
        Self::count_spawn(magazine, Event::Spawned);
        Reserved { slot, handle }
    }

    /// Spawn and activate in a single store: None → Pending → Active, which nobody could see apart.
    ///
    /// Inlined, and no call gets the address of the value: so compilers write the payload straight
    /// into its slot. If it came by way of the stack, it would be loaded 16 bytes at a time right
    /// after it was stored 8 at a time; the loads wait until those stores have reached the cache,
    /// and the next compare-and-swap waits for the loads. For the same reason the session is made
    /// here, by the caller's closure, and not moved.
    #[inline(always)]
    pub(super) fn spawn_active<S: Borrow<Session>>(
        &self,
        session: impl FnOnce() -> S,
        value: T,
    ) -> Result<Handle, SpawnError<T>> {
        let session = session();
        match self.reserve(session.borrow()) {
            Ok(vacancy) => Ok(self.show(vacancy, value)),
            Err(failure) => Err(SpawnError { value, failure }),
        }
    }

    /// The way from a vacancy to an Active entity.
    #[inline(always)]
    pub(super) fn show(&self, vacancy: Vacancy<'_, T>, value: T) -> Handle {
        let Vacancy { slot, index, handle, magazine, .. } = vacancy;
        if planted("publication before the payload") {
            slot.word.publish(handle.generation_bits());
        }
        // SAFETY: the vacancy is owned, and its cell is empty (invariant 5).
        unsafe { slot.payload.write(value) };
        pause_point!("payload written, not published");
        self.stamp(index);
        slot.word.publish(handle.generation_bits());
        if planted("marked after it is shown") {
            self.write_marks(std::iter::once(index), true);
        }
        Self::count_spawn(magazine, Event::Shown);
        handle
    }

    /// Ends what a guard has to itself, before the caller takes the payload or where there is none.
    pub(super) fn cancel_reserved(&self, session: &Session, reserved: &Reserved<'_, T>) {
        let generation = reserved.handle.generation_bits();
        // A store suffices: the word is guarded, so nobody else changes it (invariant 3).
        reserved.slot.word.set(SlotWord::reserved(generation).buried_empty());
        self.bury(session, Self::index(reserved.handle), Event::Cancelled);
    }

    pub(super) fn activate(&self, session: &Session, h: Handle) -> Result<(), TransitionError> {
        let slot = self.find(h)?;
        if self.seniority.is_some() {
            self.activate_stamped(slot, h)?;
        } else {
            slot.word.activate(h.generation_bits()).map_err(|found| Self::refused(h, found))?;
        }
        self.count(session, Event::Activated);
        Ok(())
    }

    /// Where the oldest is ended, a stamp must have one writer: so the caller takes the guard
    /// before, and shows the entity as a guard does.
    fn activate_stamped(&self, slot: &Slot<T>, h: Handle) -> Result<(), TransitionError> {
        slot.word.claim_pending(h.generation_bits()).map_err(|found| Self::refused(h, found))?;
        pause_point!("guard taken, not stamped");
        self.stamp(Self::index(h));
        slot.word.publish(h.generation_bits());
        Ok(())
    }

    /// Stamps an entity that the caller is about to show, in a store that ends the oldest.
    #[inline]
    pub(super) fn stamp(&self, index: Index) {
        if let Some(seniority) = &self.seniority {
            self.stamp_by(seniority, index);
        }
    }

    /// Apart, so that the way of all other stores stays short.
    #[inline(never)]
    fn stamp_by(&self, seniority: &Seniority, index: Index) {
        // Relaxed: the caller has the entity to itself, and shows it with Release afterwards; a
        // scan reads the stamp after it saw the entity, with Acquire.
        self.table.stamp(index).store(seniority.stamp(), Ordering::Relaxed);
    }

    /// Cancels by handle: the winner owns the payload, which comes back for its destructor.
    fn cancel_taking(&self, session: &Session, h: Handle) -> Result<T, TransitionError> {
        let slot = self.find(h)?;
        slot.word.cancel(h.generation_bits()).map_err(|found| Self::refused(h, found))?;
        // SAFETY: this call won the edge, which received the payload (P2); nobody reads a Pending
        // entity, and the word says emptied (invariant 2, 4).
        let value = unsafe { slot.payload.take() };
        self.bury(session, Self::index(h), Event::Cancelled);
        Ok(value)
    }

    pub(super) fn cancel(&self, session: &Session, h: Handle) -> Result<(), TransitionError> {
        let value = self.cancel_taking(session, h)?;
        session.meanwhile(|| self.drop_taken(value));
        Ok(())
    }

    #[inline(always)]
    pub(super) fn kill(&self, session: &Session, h: Handle) -> Result<(), TransitionError> {
        let slot = self.find(h)?;
        pause_point!("found, not killed");
        slot.word
            .advance_plain(h.generation_bits(), State::Active, SlotWord::kill)
            .map_err(|found| Self::refused(h, found))?;
        self.count(session, Event::Killed);
        self.tell_dying(session, slot, h, EndReason::Killed);
        Ok(())
    }

    /// Kills and takes the first hold in one step; the caller owns the hold.
    pub(super) fn kill_and_hold(
        &self,
        session: &Session,
        h: Handle,
    ) -> Result<&Slot<T>, TransitionError> {
        let slot = self.find(h)?;
        slot.word
            .advance(h.generation_bits(), SlotWord::kill_and_hold)
            .map_err(|found| Self::refused(h, found))?;
        self.count(session, Event::Killed);
        self.count(session, Event::HoldTaken);
        Ok(slot)
    }

    pub(super) fn revive(&self, session: &Session, h: Handle) -> Result<(), TransitionError> {
        let slot = self.find(h)?;
        slot.word
            .advance(h.generation_bits(), SlotWord::revive)
            .map_err(|found| Self::refused(h, found))?;
        self.count(session, Event::Revived);
        Ok(())
    }

    #[inline(always)]
    pub(super) fn reap(&self, session: &Session, h: Handle) -> Result<Reaped, TransitionError> {
        let slot = self.find(h)?;
        let word = slot
            .word
            .advance_plain(h.generation_bits(), State::Dying, SlotWord::reap)
            .map_err(|found| Self::refused(h, found))?;
        if word.state() == State::Dead {
            self.bury(session, Self::index(h), Event::Reaped);
            return Ok(Reap::Done.into());
        }
        Ok(Reap::Deferred { holds: word.holds() }.into())
    }

    /// Ends an entity from any alive state.
    ///
    /// Seals it in its first step, so that it cannot kill and then lose to a revive.
    #[inline(always)]
    pub(super) fn despawn(
        &self,
        session: &Session,
        h: Handle,
        reason: EndReason,
    ) -> Result<Reaped, TransitionError> {
        let slot = self.find(h)?;
        // Nobody is to be told, so nobody can see Dying and Dead apart.
        if self.on_dying.is_none() && slot.word.end_plain(h.generation_bits()) {
            self.bury(session, Self::index(h), Event::Despawned);
            return Ok(Reaped::Done);
        }
        self.despawn_in_steps(session, slot, h, reason)
    }

    /// Seals the entity first, where it is held or somebody is to be told.
    #[cold]
    #[inline(never)]
    fn despawn_in_steps(
        &self,
        session: &Session,
        slot: &Slot<T>,
        h: Handle,
        reason: EndReason,
    ) -> Result<Reaped, TransitionError> {
        match slot.word.advance(h.generation_bits(), SlotWord::seal) {
            Ok(sealed) => Ok(self.settle_sealed(session, slot, h, reason, sealed)),
            Err(found) => self.despawn_slow(session, slot, h, reason, found),
        }
    }

    /// Not Active: the state that was found says which other way there is. A state that moved on
    /// meanwhile is looked at again, until it is one that ends.
    #[cold]
    fn despawn_slow(
        &self,
        session: &Session,
        slot: &Slot<T>,
        h: Handle,
        reason: EndReason,
        mut found: (SlotWord, Refusal),
    ) -> Result<Reaped, TransitionError> {
        loop {
            let outcome = match found.0.state() {
                State::Pending if found.1 != Refusal::Gone => {
                    self.cancel(session, h).map(|()| Reaped::Done)
                }
                State::Dying if found.1 != Refusal::Gone => self.reap(session, h),
                _ => return Err(Self::refused(h, found)),
            };
            match outcome {
                Err(TransitionError::Illegal { .. } | TransitionError::WrongState { .. }) => {}
                decided => return decided,
            }
            found = match slot.word.advance(h.generation_bits(), SlotWord::seal) {
                Ok(sealed) => return Ok(self.settle_sealed(session, slot, h, reason, sealed)),
                Err(found) => found,
            };
        }
    }

    /// Tells of what this call has sealed, and finishes it or leaves it to the last Hold.
    #[cold]
    fn settle_sealed(
        &self,
        session: &Session,
        slot: &Slot<T>,
        h: Handle,
        reason: EndReason,
        sealed: SlotWord,
    ) -> Reaped {
        self.count(session, Event::Killed);
        self.tell_dying(session, slot, h, reason);
        if sealed.holds() > 0 {
            return Reaped::Deferred { holds: sealed.holds() };
        }
        slot.word.finish(sealed);
        self.bury(session, Self::index(h), Event::Reaped);
        Reaped::Done
    }

    /// The word of an entity that is alive. The session keeps the slot, though no payload is read:
    /// whoever is told that it is Active receives its mark, and meets it in a scan.
    pub(super) fn alive(&self, _session: &Session, h: Handle) -> Result<SlotWord, LookupError> {
        let word = self.find(h)?.word.read();
        if word.alive_under(h.generation_bits()) { Ok(word) } else { Err(Self::missing(h, word)) }
    }

    pub(super) fn state(&self, session: &Session, h: Handle) -> Result<State, LookupError> {
        self.alive(session, h).map(SlotWord::state)
    }

    /// One more hold; the caller owns it.
    pub(super) fn hold(&self, session: &Session, h: Handle) -> Result<&Slot<T>, HoldError> {
        let slot = self.find(h)?;
        match slot.word.advance(h.generation_bits(), SlotWord::hold) {
            Ok(_) => {
                pause_point!("hold taken, not counted");
                self.count(session, Event::HoldTaken);
                Ok(slot)
            }
            Err((_, Refusal::ReapRequested)) => Err(HoldError::ReapRequested { handle: h }),
            Err((_, Refusal::TooManyHolds)) => {
                Err(HoldError::TooManyHolds { handle: h, limit: crate::word::MAX_HOLDS })
            }
            Err((word, _)) => Err(Self::missing(h, word).into()),
        }
    }

    /// Gives back a hold that the caller owns, on whatever thread.
    pub(super) fn unhold(&self, slot: &Slot<T>, h: Handle) -> Unhold {
        let outcome = slot.word.unhold();
        pause_point!("hold given back, not buried");
        self.count_here(Event::HoldGiven);
        if outcome == Unhold::Buried {
            match Session::unpinned_if_known(&self.domain) {
                Some(session) => self.bury(&session, Self::index(h), Event::Reaped),
                None => self.bury_foreign(thread_ordinal(), Self::index(h), Event::Reaped),
            }
        }
        outcome
    }

    /// Every entity alive now, told from the words: for `clear`.
    pub(super) fn alive_at(&self, index: u64) -> Option<Handle> {
        let index = Index(index as u32);
        let word = self.table.slot(index)?.word.peek();
        let alive = !matches!(word.state(), State::None | State::Dead) && !word.guarded();
        let generation = NonZeroU32::new(word.generation()).filter(|_| alive)?;
        Some(self.handle(index, generation))
    }
}

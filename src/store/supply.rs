//! Where a spawn gets its slot from.
//!
//! The magazine first, without any read-modify-write, and without a pin: whoever has claimed a
//! magazine owns its slots. When it is empty, a refill (`refill`).

use std::num::NonZeroU32;

use super::core::{Core, Vacancy};
use crate::error::SpawnFailure;
use crate::free::{Claimed, Event};
use crate::handle::Handle;
use crate::memory::OutOfMemory;
use crate::reclaim::Session;
use crate::segment::{Index, Near};
use crate::slot::{Slot, in_destructor};
use crate::state::State;
use crate::sync::planted;

impl From<OutOfMemory> for SpawnFailure {
    fn from(refused: OutOfMemory) -> SpawnFailure {
        SpawnFailure::OutOfMemory { bytes: refused.bytes }
    }
}

impl<T> Core<T> {
    /// A slot for one more entity, permit included, or the count of a refusal.
    ///
    /// The usual way and the other one come together in the parts of a vacancy, which are in
    /// registers. If both made a whole one, it would be in memory, because the call makes its own
    /// there.
    #[inline(always)]
    pub(super) fn reserve(&self, session: &Session) -> Result<Vacancy<'_, T>, SpawnFailure> {
        if let Some(vacancy) = self.reserve_at_hand(session) {
            return Ok(vacancy);
        }
        let (forced, magazine, handle, index, slot) = self.reserve_otherwise(session)?;
        Ok(Vacancy { slot, index, handle, magazine, forced })
    }

    /// The slot on top of the magazine, with a permit of the thread's own shard.
    #[inline(always)]
    pub(super) fn reserve_at_hand(&self, session: &Session) -> Option<Vacancy<'_, T>> {
        if Self::nested() || self.permits.as_ref().is_some_and(|p| !p.take_at_home(session.home()))
        {
            return None;
        }
        let vacancy = self.take_at_hand(session);
        if let (None, Some(permits)) = (&vacancy, &self.permits) {
            permits.give(session.home());
        }
        vacancy
    }

    /// A slot that does not lie ready.
    #[cold]
    #[inline(never)]
    fn reserve_otherwise(
        &self,
        session: &Session,
    ) -> Result<(bool, Claimed<'_>, Handle, Index, &Slot<T>), SpawnFailure> {
        session.ensure_pinned();
        let vacancy = self.reserve_by(session, || self.take_vacancy(session), |vacancy| vacancy)?;
        let Vacancy { slot, index, handle, magazine, forced } = vacancy;
        Ok((forced, magazine, handle, index, slot))
    }

    /// What `take` finds in the way of a slot, permit included, or the count of a refusal; `bare`
    /// makes the same of a slot for which another entity was ended.
    pub(super) fn reserve_by<'c, V>(
        &'c self,
        session: &Session,
        take: impl FnOnce() -> Result<V, SpawnFailure>,
        bare: impl FnOnce(Vacancy<'c, T>) -> V,
    ) -> Result<V, SpawnFailure> {
        let outcome = match &self.permits {
            Some(permits) if !permits.take(session.home()) => {
                self.reserve_full(session, permits).map(bare)
            }
            permits => {
                pause_point!("permit taken, no slot yet");
                let taken = take();
                if let (Err(_), Some(permits)) = (&taken, permits) {
                    permits.give(session.home());
                }
                taken
            }
        };
        if outcome.is_err() {
            self.count(session, Event::Rejected);
        }
        outcome
    }

    /// Whether the call is made inside a payload's destructor, where none may run.
    #[inline]
    pub(super) fn nested() -> bool {
        std::mem::needs_drop::<T>() && in_destructor::now()
    }

    /// A slot whose last payload is gone.
    pub(super) fn take_vacancy(&self, session: &Session) -> Result<Vacancy<'_, T>, SpawnFailure> {
        let nested = Self::nested();
        if !nested && let Some(vacancy) = self.take_at_hand(session) {
            return Ok(vacancy);
        }
        self.take_vacancy_slow(session, nested)
    }

    /// The slot on top of the magazine.
    #[inline(always)]
    pub(super) fn take_at_hand(&self, session: &Session) -> Option<Vacancy<'_, T>> {
        let magazine = session.at_hand(&self.circulation)?;
        let index = magazine.take()?;
        pause_point!("slot taken, not renewed");
        let place = Near::of(index.0.into());
        let slot = self.table.known_at(index, place);
        let count = |event| magazine.tally.of(event).add_owned(1);
        let generation = self.renew_counted(session, slot, count)?;
        let handle = self.handle_at(index, place, generation);
        Some(Vacancy { slot, index, handle, magazine, forced: false })
    }

    #[cold]
    #[inline(never)]
    fn take_vacancy_slow(
        &self,
        session: &Session,
        nested: bool,
    ) -> Result<Vacancy<'_, T>, SpawnFailure> {
        loop {
            let magazine = session.magazine(&self.circulation)?;
            if nested {
                self.prefer_clean(session, magazine)?;
            }
            if magazine.peek().is_none() {
                self.refill(session, nested)?;
            }
            if nested
                && in_destructor::has_waited()
                && magazine.peek().is_some_and(|top| self.has_payload(top))
            {
                // What one destructor leaves for its end must itself leave nothing, or payloads
                // that end one another and spawn their like would keep the call for ever.
                return Err(SpawnFailure::Reclaiming { dead: self.dead() });
            }
            // What is left without a vacancy here is a slot that was retired.
            if let Some(vacancy) = self.take_at_hand(session) {
                return Ok(vacancy);
            }
        }
    }

    /// Makes a slot ready that came out of a batch: drops the payload of its last entity. `None`
    /// retires the slot: its generations are spent.
    ///
    /// The grace period is over, so the caller owns what is in the slot; user code runs here, with
    /// the slot in no list and no borrow alive. The word goes on saying Dead where it did: None is
    /// passed through where the next entity follows at once, and set by who keeps the slot.
    pub(super) fn renew(&self, session: &Session, slot: &Slot<T>) -> Option<NonZeroU32> {
        self.renew_counted(session, slot, |event| self.count(session, event))
    }

    #[inline(always)]
    fn renew_counted(
        &self,
        session: &Session,
        slot: &Slot<T>,
        count: impl FnOnce(Event),
    ) -> Option<NonZeroU32> {
        let word = slot.word.peek();
        if word.state() == State::Dead {
            if !word.emptied() && (std::mem::needs_drop::<T>() || self.reuse.is_some()) {
                slot.word.set(word.buried_empty());
                pause_point!("payload to be dropped");
                self.drop_last_payload(session, slot);
            }
            if word.generation() >= self.last.get() {
                self.retire(session, slot);
                return None;
            }
            count(Event::Renewed);
        }
        let spent = word.generation().max(self.floor);
        if planted("generation not advanced") && spent > 0 {
            return NonZeroU32::new(spent);
        }
        NonZeroU32::new(spent + 1)
    }

    /// Takes a slot out of use whose payload is gone.
    #[cold]
    fn retire(&self, session: &Session, slot: &Slot<T>) {
        slot.word.set(slot.word.peek().vacant());
        self.retired.add_shared(1);
        self.count(session, Event::Retired);
    }

    /// Drops the payload that is left in a slot, unless it is retained: here, or, inside a
    /// destructor, when the outermost one has returned.
    fn drop_last_payload(&self, session: &Session, slot: &Slot<T>) {
        session.meanwhile(|| self.end_last_payload(session, slot));
    }

    /// [`drop_last_payload`](Core::drop_last_payload), which is user code.
    fn end_last_payload(&self, session: &Session, slot: &Slot<T>) {
        if self.reuse.is_some() || in_destructor::now() {
            // SAFETY: the slot came out of a batch that has been through limbo, so no reader is
            // left, and the word said that the payload was not dropped yet (invariant 4).
            return self.drop_taken(unsafe { slot.payload.take() });
        }
        // SAFETY: as above (invariant 4).
        if unsafe { slot.payload.drop_in_place() } {
            self.count(session, Event::DropPanicked);
        }
    }
}

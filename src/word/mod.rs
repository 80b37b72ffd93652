//! The word of a slot: generation, holds, marks and state in one atomic, and the only loop that
//! changes it.
//!
//! [`transition`] says which changes exist, as pure functions over [`SlotWord`]; [`StateWord`]
//! carries them out. Every change is one compare-and-swap from a word whose change was just
//! computed, or a plain store where one owner alone may write: a free slot, or a guarded one.

mod layout;
mod snapshot;
mod transition;

pub(crate) use layout::{GENERATION_SHIFT, MAX_HOLDS, READABLE, READABLE_MASK};
pub(crate) use snapshot::{Filter, SlotWord};
pub(crate) use transition::{Reap, Refusal, Step, Unhold};

use crate::state::State;
use crate::sync::{Atomic, Ordering, planted};

/// The atomic word of a slot.
#[derive(Debug)]
pub(crate) struct StateWord(Atomic<SlotWord>);

const _: () = assert!(align_of::<StateWord>() >= align_of::<crate::sync::AtomicU64>());

impl StateWord {
    /// The word of a slot that was never used. A zeroed segment holds the same.
    #[cfg(all(loom, test))]
    pub(crate) fn new() -> StateWord {
        StateWord(Atomic::new(SlotWord::new(0, State::None)))
    }

    /// Reads the word before its payload may be read.
    #[inline]
    pub(crate) fn read(&self) -> SlotWord {
        // Acquire P1: receives the payload of an entity seen Active or Dying; pairs with the
        // Release P1 in `publish` and in `activate`. Kills and holds in between are
        // read-modify-writes, so the release sequence of the publication goes on.
        self.0.load(ord!(Acquire: P1))
    }

    /// Reads the word to look at it, not to touch the payload.
    #[inline]
    pub(crate) fn peek(&self) -> SlotWord {
        // Relaxed: nothing behind the word is read.
        self.0.load(Ordering::Relaxed)
    }

    /// Changes the word as the owner of a free slot or of a guard, unseen: no payload behind it.
    #[inline]
    pub(crate) fn set(&self, word: SlotWord) {
        // Relaxed: who owns the slot reads its own store; who looks at it from outside reads
        // nothing behind a word that is None, Pending or Dead (invariant 2).
        self.0.store(word, Ordering::Relaxed);
    }

    /// Shows a payload that the caller has to itself: the entity becomes Active.
    #[inline]
    pub(crate) fn publish(&self, generation: u32) {
        // Release P1: publishes the payload to every `read` that sees Active. A store suffices:
        // the slot is free or guarded, so nobody else may change its word (invariant 3).
        self.0.store(SlotWord::new(generation, State::Active), ord!(Release: P1));
    }

    /// Gives up the guard and leaves the entity Pending, for whoever activates it by handle.
    #[inline]
    pub(crate) fn detach(&self, generation: u32) {
        // Release P2: publishes the payload to the cancel that drops it (`cancel`), and heads the
        // release sequence that a later activate by handle continues towards `read`.
        self.0.store(SlotWord::detached(generation), ord!(Release: P2));
    }

    /// Pending → Active by handle.
    pub(crate) fn activate(&self, generation: u32) -> Result<SlotWord, (SlotWord, Refusal)> {
        // Release P1: what this thread wrote beside the payload; the payload itself was released by
        // `detach`, whose release sequence this read-modify-write continues. Acquire P2: receives
        // what was written before `detach`, above all the slot's mark, without which a scan of this
        // thread, or of one that it tells, would pass over the entity.
        self.change(self.peek(), generation, ord!(AcqRel: P1, P2), SlotWord::activate)
    }

    /// Takes the guard of a Pending entity by handle: the caller owes it `publish`.
    pub(crate) fn claim_pending(&self, generation: u32) -> Result<SlotWord, (SlotWord, Refusal)> {
        // Acquire P2: receives the payload that another thread may have written before `detach`.
        // The store in `publish` ends the release sequence that `detach` began, and so has to hand
        // on what came with it.
        self.change(self.peek(), generation, ord!(Acquire: P2), SlotWord::claim_pending)
    }

    /// Pending → Dead by handle: the caller owns the payload.
    pub(crate) fn cancel(&self, generation: u32) -> Result<SlotWord, (SlotWord, Refusal)> {
        // Acquire P2: receives the payload that another thread may have written before `detach`.
        // Nothing to publish: the payload leaves the slot with the caller, and the slot travels on
        // with the caller's magazine.
        self.change(self.peek(), generation, ord!(Acquire: P2), SlotWord::cancel)
    }

    /// A change between Active, Dying and Dead, or of the count of holds.
    #[inline]
    pub(crate) fn advance(
        &self,
        generation: u32,
        step: impl Fn(SlotWord) -> Step,
    ) -> Result<SlotWord, (SlotWord, Refusal)> {
        self.advance_from(self.peek(), generation, step)
    }

    /// As [`advance`](Self::advance), for a word of which it is likely that it says this state and
    /// nothing else: then it is not read before it is changed. Another one costs a compare-and-swap
    /// that fails.
    #[inline]
    pub(crate) fn advance_plain(
        &self,
        generation: u32,
        likely: State,
        step: impl Fn(SlotWord) -> Step,
    ) -> Result<SlotWord, (SlotWord, Refusal)> {
        self.advance_from(SlotWord::new(generation, likely), generation, step)
    }

    /// As [`advance_plain`](Self::advance_plain), by the only thread that may change the word as
    /// long as nobody holds the entity: a load and a store, which wait for nothing.
    #[inline]
    pub(crate) fn advance_alone(
        &self,
        generation: u32,
        likely: State,
        step: impl Fn(SlotWord) -> Step,
    ) -> Result<SlotWord, (SlotWord, Refusal)> {
        let plain = SlotWord::new(generation, likely);
        // Acquire L1: receives what the last holder did with the entity, which gave its hold back
        // in `unhold`. From here on nobody else may change the word.
        if self.0.load(ord!(Acquire: L1)) != plain {
            return self.advance(generation, step);
        }
        let after = step(plain).map_err(|refusal| (plain, refusal))?;
        // Relaxed, by `set`: whoever may change the word later was let in by this thread, and has
        // seen what it did before.
        self.set(after);
        Ok(after)
    }

    #[inline]
    fn advance_from(
        &self,
        before: SlotWord,
        generation: u32,
        step: impl Fn(SlotWord) -> Step,
    ) -> Result<SlotWord, (SlotWord, Refusal)> {
        // AcqRel L1: one life's changes are a chain. Each hands on what its thread did with the
        // payload, and receives what those before it did: the one that ends the life, and the
        // destructor after the grace period, come after all of them.
        self.change(before, generation, ord!(AcqRel: L1), step)
    }

    /// Active → Dead in one step, if nobody holds the entity and nothing else is said of it;
    /// whether it did. A refusal has no reason: the word is to be looked at again.
    #[inline]
    pub(crate) fn end_plain(&self, generation: u32) -> bool {
        let active = SlotWord::new(generation, State::Active);
        // Acquire L1: receives what others did with the payload while they held it, before the
        // destructor. Nothing to publish: nobody goes on with a Dead word but the slot's next
        // owner, who gets it by the caller's magazine.
        active.end().is_ok_and(|dead| self.exchange(active, dead, ord!(Acquire: L1)).is_ok())
    }

    /// Sealed Dying → Dead, by the call that sealed it: it owes the slot its burial.
    #[inline]
    pub(crate) fn finish(&self, sealed: SlotWord) {
        pause_point!("sealed, not finished");
        debug_assert_eq!(self.peek(), sealed, "every change of others is refused");
        // A plain store: who sealed the word is its only writer. What the others did with the
        // payload was received when it was sealed.
        self.set(sealed.finish());
    }

    /// As [`finish`](Self::finish), for an entity in whose payload there is nothing left to drop.
    #[inline]
    pub(crate) fn finish_empty(&self, generation: u32) {
        pause_point!("sealed, not finished");
        debug_assert!(self.peek().sealed(), "every change of others is refused");
        // A plain store, as in `finish`.
        self.set(SlotWord::new(generation, State::Dead).buried_empty());
    }

    /// Gives back a hold: always succeeds, since the caller owns one.
    pub(crate) fn unhold(&self) -> Unhold {
        let mut found = self.peek();
        loop {
            let (next, outcome) = found.unhold();
            // AcqRel L1: see `advance`; the last hold comes after everything that the others did.
            match self.exchange(found, next, ord!(AcqRel: L1)) {
                Ok(()) => return outcome,
                Err(actual) => found = actual,
            }
        }
    }

    /// Marks a lease as in use; false if it was revoked.
    #[inline]
    pub(crate) fn mark(&self, generation: u32) -> bool {
        // Relaxed: the object was received with the lease, and this only keeps revokers out. What
        // they need is in the Release of `publish`, whose release sequence goes on, and of
        // `unmark`.
        self.change(self.peek(), generation, Ordering::Relaxed, SlotWord::mark).is_ok()
    }

    /// Takes the mark away.
    #[inline]
    pub(crate) fn unmark(&self, generation: u32) {
        // Release U1: publishes what the user wrote to whoever takes the object away (`revoke`).
        // A store suffices: nobody but its lease changes a word that is in use (invariant 3).
        self.0.store(SlotWord::leased(generation), ord!(Release: U1));
    }

    /// Ends a lease, by the lease itself: the caller owns the object; false if it was revoked.
    #[inline]
    pub(crate) fn end_lease(&self, generation: u32) -> bool {
        // Relaxed: the lease has the object, and the stack that it goes to publishes it.
        self.change(self.peek(), generation, Ordering::Relaxed, SlotWord::end_lease).is_ok()
    }

    /// Takes the object from whatever lease has it, unless that is in use: the word as it is then.
    pub(crate) fn revoke(&self) -> Option<SlotWord> {
        let mut found = self.peek();
        while let Ok(next) = found.revoke() {
            // Acquire P1, U1: receives the object, as it was given out (`publish`) and as its user
            // left it (`unmark`). Nothing to publish: the stack that it goes to does.
            match self.exchange(found, next, ord!(Acquire: P1, U1)) {
                Ok(()) => return Some(next),
                Err(actual) => found = actual,
            }
        }
        None
    }

    /// [`revoke`](Self::revoke) of one lease, which may have ended.
    pub(crate) fn revoke_lease(&self, generation: u32) -> Result<(), Refusal> {
        // Acquire U1: as in `revoke`. Not P1: the object as it was given out came with the list,
        // from the scan that saw it leased (`read`).
        let revoked = self.change(self.peek(), generation, ord!(Acquire: U1), SlotWord::revoke);
        revoked.map(drop).map_err(|(_, refusal)| refusal)
    }

    /// One compare-and-swap, for the drop of a store, which decides from each word it finds.
    #[inline]
    pub(crate) fn close(&self, found: SlotWord, next: SlotWord) -> Result<(), SlotWord> {
        // AcqRel L1: see `advance`; the closer and the last Hold meet on this word.
        self.exchange(found, next, ord!(AcqRel: L1))
    }

    /// The compare-and-swap loop, from what the word is believed to be: the word after the change,
    /// or the one that was found and why it does not change.
    #[inline]
    fn change(
        &self,
        first: SlotWord,
        generation: u32,
        order: Ordering,
        step: impl Fn(SlotWord) -> Step,
    ) -> Result<SlotWord, (SlotWord, Refusal)> {
        let mut before = first;
        loop {
            if before.generation() != generation {
                return Err((before, Refusal::Gone));
            }
            let after = step(before).map_err(|refusal| (before, refusal))?;
            match self.exchange(before, after, order) {
                Ok(()) => return Ok(after),
                Err(actual) => before = actual,
            }
        }
    }

    #[inline]
    fn exchange(&self, found: SlotWord, next: SlotWord, order: Ordering) -> Result<(), SlotWord> {
        // Relaxed on failure: the word that was found is only compared and stepped again.
        let outcome = self.0.compare_exchange_weak(found, next, order, Ordering::Relaxed);
        match outcome {
            Err(_) if planted("edge by a plain store") && next.holds() <= found.holds() => {
                self.set(next);
                Ok(())
            }
            Err(actual) if planted("hold by fetch-add") && next.holds() > found.holds() => {
                self.set(actual.plus_hold());
                Ok(())
            }
            outcome => outcome.map(drop),
        }
    }
}

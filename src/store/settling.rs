//! What a scene asks of its store, and no user may: to reach a payload without a pin, and to end an
//! entity in two steps, with work to do in between.

use super::Store;
use super::core::Core;
use crate::error::{LookupError, TransitionError};
use crate::free::Event;
use crate::handle::Handle;
use crate::reclaim::Session;
use crate::state::State;
use crate::word::{Refusal, SlotWord};

/// An entity that is Dying for good: the caller alone can end it, and owes it that.
#[must_use = "what is sealed stays Dying until it is finished"]
#[derive(Debug)]
pub(crate) struct Sealed {
    handle: Handle,
    word: SlotWord,
}

/// What an attempt to seal came to.
#[must_use]
#[derive(Debug)]
pub(crate) enum Sealing {
    /// The caller owes [`Ending::finish`].
    Sealed(Sealed),
    /// Somebody holds the entity: it stays as it was, to be tried again.
    Held,
}

impl<T: Send + Sync + 'static> Store<T> {
    /// The payload of an entity that is Active, or Dying and not sealed, and which of the two.
    ///
    /// # Safety
    /// As long as the borrow lasts,
    /// * nobody but the caller's thread reaps, seals or despawns an entity of this store,
    /// * and nobody shrinks it.
    #[inline]
    pub(crate) unsafe fn peek(&self, h: Handle) -> Result<(&T, State), LookupError> {
        let slot = self.core().find(h)?;
        let word = slot.word.read();
        if !word.readable_by(h) || word.sealed() {
            return Err(Core::<T>::missing(h, word));
        }
        // SAFETY: an Acquire load saw the entity readable, and the caller vouches that it stays so
        // (invariant 2, 4).
        Ok((unsafe { slot.payload.get() }, word.state()))
    }

    /// The state of an entity that exists: what is sealed does not any more.
    pub(crate) fn existence(&self, h: Handle) -> Result<State, LookupError> {
        let session = self.session();
        let state = self.core().state(&session, h)?;
        let word = self.core().find(h)?.word.peek();
        if word.sealed() { Err(LookupError::NotFound { handle: h }) } else { Ok(state) }
    }

    /// Dying → sealed, unless somebody holds the entity.
    pub(crate) fn seal(&self, h: Handle) -> Result<Sealing, TransitionError> {
        let slot = self.core().find(h)?;
        match slot.word.advance(h.generation_bits(), SlotWord::seal_dying) {
            Ok(word) => Ok(Sealing::Sealed(Sealed { handle: h, word })),
            Err((_, Refusal::Held)) => Ok(Sealing::Held),
            Err(found) => Err(Core::<T>::refused(h, found)),
        }
    }

    /// Pending → Active without a pin, in a store that ends nobody to make room. The caller owes
    /// [`count`](Store::count).
    ///
    /// # Safety
    /// * Nobody shrinks the store meanwhile.
    #[inline]
    pub(crate) unsafe fn activate_unpinned(&self, h: Handle) -> Result<(), TransitionError> {
        let core = self.core();
        debug_assert!(core.seniority.is_none(), "nobody is stamped here");
        // What a session would keep is the slot: the caller vouches that it stays (invariant 11).
        let slot = core.find(h)?;
        slot.word.activate(h.generation_bits()).map_err(|found| Core::<T>::refused(h, found))?;
        Ok(())
    }

    /// Active → Dying without a pin, in a store that tells nobody of it; the payload. The caller owes
    /// [`count`](Store::count).
    ///
    /// # Safety
    /// As long as the borrow lasts,
    /// * nobody but the caller's thread reaps, seals or despawns an entity of this store,
    /// * and nobody shrinks it.
    #[inline]
    pub(crate) unsafe fn kill_unpinned(&self, h: Handle) -> Result<&T, TransitionError> {
        let core = self.core();
        debug_assert!(core.on_dying.is_none(), "nobody is told here");
        // As in `activate_unpinned` (invariant 11).
        let slot = core.find(h)?;
        slot.word
            .advance(h.generation_bits(), SlotWord::kill)
            .map_err(|found| Core::<T>::refused(h, found))?;
        // SAFETY: the compare-and-swap saw the entity Active, with Acquire, and the caller vouches
        // that it stays readable (invariant 2, 4).
        Ok(unsafe { slot.payload.get() })
    }

    /// Counts what was shown and killed without a pin: many at a time, since who has no session open
    /// counts on a line that it shares.
    pub(crate) fn count(&self, activated: u64, killed: u64) {
        let (core, session) = (self.core(), self.session());
        if let Some(magazine) = core.magazine(&session) {
            magazine.tally.of(Event::Activated).add_owned(activated);
            magazine.tally.of(Event::Killed).add_owned(killed);
            return;
        }
        (0..activated).for_each(|_| core.count(&session, Event::Activated));
        (0..killed).for_each(|_| core.count(&session, Event::Killed));
    }

    /// One session to finish many with.
    pub(crate) fn ending(&self) -> Ending<'_, T> {
        Ending { core: self.core(), session: self.session() }
    }

    /// Brings every Dead slot back that no pin keeps just now, without waiting for pins to end.
    pub(crate) fn reclaim_at_once(&self) -> usize {
        self.core().reclaim_at_once(&self.session())
    }
}

/// A session of a thread that ends what it has sealed. It lends nothing out.
pub(crate) struct Ending<'s, T> {
    core: &'s Core<T>,
    session: Session,
}

impl<T> Ending<'_, T> {
    /// Sealed → Dead.
    #[inline]
    pub(crate) fn finish(&self, sealed: Sealed) {
        let Sealed { handle, word } = sealed;
        let index = Core::<T>::index(handle);
        self.core.table.known(index).word.finish(word);
        self.core.bury(&self.session, index, Event::Reaped);
    }
}

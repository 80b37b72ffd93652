//! What a scene asks of its store, and no user may: to reach a payload without a pin, and to end an
//! entity in two steps, with work to do in between.

use super::Store;
use super::core::Core;
use crate::error::{LookupError, TransitionError};
use crate::free::Event;
use crate::handle::Handle;
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
    /// The caller owes [`Store::finish`].
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
        if !word.readable_as(h.generation().get()) || word.sealed() {
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
        match slot.word.advance(h.generation().get(), SlotWord::seal_dying) {
            Ok(word) => Ok(Sealing::Sealed(Sealed { handle: h, word })),
            Err((_, Refusal::Held)) => Ok(Sealing::Held),
            Err(found) => Err(Core::<T>::refused(h, found)),
        }
    }

    /// Sealed → Dead.
    pub(crate) fn finish(&self, sealed: Sealed) {
        let Sealed { handle, word } = sealed;
        let (core, session) = (self.core(), self.session());
        core.table.known(Core::<T>::index(handle)).word.finish(word);
        core.bury(&session, Core::<T>::index(handle), Event::Reaped);
    }

    /// Brings every Dead slot back that no pin keeps just now, without waiting for pins to end.
    pub(crate) fn reclaim_at_once(&self) -> usize {
        self.core().reclaim_at_once(&self.session())
    }
}

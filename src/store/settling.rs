//! What a scene may do with its store, and users may not: reach a payload without a pin, and end an
//! entity in two steps with work in between, of which the second is in `ending`.

use std::num::NonZeroU32;

use super::Store;
use super::core::Core;
use super::place::Place;
use crate::error::{LookupError, TransitionError};
use crate::free::Event;
use crate::handle::Handle;
use crate::state::State;
use crate::sync::planted;
use crate::word::{Refusal, SlotWord};

/// What an attempt to seal came to.
#[must_use]
#[derive(Debug)]
pub(crate) enum Sealing {
    /// It is Dying for good: the caller alone can end it, and owes it
    /// [`Ending::finish_empty`](super::Ending::finish_empty).
    Sealed,
    /// Somebody holds the entity: it stays as it was, to be tried again.
    Held,
    /// It is not Dying, or was sealed before.
    Refused,
}

impl<T: Send + Sync + 'static> Store<T> {
    /// Where an entity lies that is Active, or Dying and not sealed, and which of the two.
    ///
    /// # Safety
    /// As long as the borrow lasts,
    /// * nobody but the caller's thread reaps, seals or despawns an entity of this store,
    /// * and nobody shrinks it.
    #[inline]
    pub(crate) unsafe fn peek(&self, h: Handle) -> Result<(Place<T>, State), LookupError> {
        let slot = self.core().find(h)?;
        let word = slot.word.read();
        if !word.readable_by(h) || word.sealed() {
            return Err(Core::<T>::missing(h, word));
        }
        Ok((Place::of(slot), word.state()))
    }

    /// The state of an entity that exists; a sealed one no longer does. Both are read from one load
    /// of the word: with two, an entity could be seen to exist again after it had gone.
    pub(crate) fn existence(&self, h: Handle) -> Result<State, LookupError> {
        let core = self.core();
        let word = core.alive(&self.session(), h)?;
        let seen =
            if planted("existence looked at twice") { core.find(h)?.word.peek() } else { word };
        if seen.sealed() { Err(Core::<T>::missing(h, word)) } else { Ok(word.state()) }
    }

    /// Active → Dying without a pin, in a store that tells nobody of it; where it lies. The caller
    /// owes [`count`](Store::count). Whoever is alone has no need of a compare-and-swap.
    ///
    /// # Safety
    /// * Nobody but the caller's thread reaps, seals or despawns an entity of this store, and
    ///   nobody shrinks it.
    /// * If the caller is alone, nobody else changes the word of an entity that nobody holds.
    #[inline]
    pub(crate) unsafe fn kill_unpinned(
        &self,
        h: Handle,
        is_alone: bool,
    ) -> Result<Place<T>, TransitionError> {
        let core = self.core();
        debug_assert!(core.on_dying.is_none(), "nobody is told here");
        // What a session would keep is the slot: the caller vouches that it stays (invariant 11).
        let slot = core.find(h)?;
        let (word, generation) = (&slot.word, h.generation_bits());
        let killed = if is_alone {
            word.advance_alone(generation, State::Active, SlotWord::kill)
        } else {
            word.advance_plain(generation, State::Active, SlotWord::kill)
        };
        killed.map_err(|found| Core::<T>::refused(h, found))?;
        Ok(Place::of(slot))
    }

    /// Counts what was shown and killed without a pin: many at a time, since who has no session
    /// open counts on a line that it shares.
    pub(crate) fn count(&self, activated: u64, killed: u64) {
        let (core, session) = (self.core(), self.session());
        core.count_many(&session, Event::Activated, activated);
        core.count_many(&session, Event::Killed, killed);
    }

    /// Brings every Dead slot back that no pin keeps just now, without waiting for pins to end.
    pub(crate) fn reclaim_at_once(&self) -> usize {
        self.core().reclaim_at_once(&self.session())
    }
}

impl<T> Place<T> {
    /// Shows an entity whose guard was laid aside: Pending → Active, in a store that ends nobody to
    /// make room. The caller owes [`count`](Store::count).
    ///
    /// # Safety
    /// * The guard of that entity was laid aside, and was given to the caller, with what was
    ///   written to the payload; it is not used again.
    #[inline]
    pub(crate) unsafe fn show(self, generation: NonZeroU32) {
        // SAFETY: a slot stays while it is in use, and this one has a guard (invariant 11).
        unsafe { self.slot() }.word.publish(generation.get());
    }

    /// Dying → sealed, unless somebody holds the entity. Whoever is alone has no need of a
    /// compare-and-swap.
    ///
    /// # Safety
    /// * The slot is there: its entity has not ended, and its store is open.
    /// * If the caller is alone, nobody else changes the word of an entity that nobody holds.
    #[inline]
    pub(crate) unsafe fn seal(self, generation: NonZeroU32, is_alone: bool) -> Sealing {
        // SAFETY: the caller's duty (invariant 11).
        let (word, generation) = (&unsafe { self.slot() }.word, generation.get());
        let sealed = if is_alone {
            word.advance_alone(generation, State::Dying, SlotWord::seal_dying)
        } else {
            word.advance_plain(generation, State::Dying, SlotWord::seal_dying)
        };
        match sealed {
            Ok(_) => Sealing::Sealed,
            Err((_, Refusal::Held)) => Sealing::Held,
            Err(_) => Sealing::Refused,
        }
    }
}

//! One slot without a store around it: word and payload, for models that cost milliseconds.

use std::ops::Deref;
use std::sync::Arc;

use super::grave::{Graveyard, Tomb};
use crate::slot::Slot;
use crate::state::State;
use crate::word::{SlotWord, Unhold};

/// The generation of the entity in a [`Lone`] slot.
pub(super) const GENERATION: u32 = 1;

/// A slot that the threads of a model share, with no ordering but its own.
#[derive(Clone)]
pub(super) struct Lone {
    slot: Arc<Slot<Tomb>>,
    pub(super) graveyard: Graveyard,
}

// SAFETY: what the slot's rules do not allow, loom reports.
unsafe impl Send for Lone {}
// SAFETY: as above.
unsafe impl Sync for Lone {}

impl Deref for Lone {
    type Target = Slot<Tomb>;

    fn deref(&self) -> &Slot<Tomb> {
        &self.slot
    }
}

impl Lone {
    /// Pending and guarded, with its payload written.
    pub(super) fn guarded() -> Lone {
        let lone = Lone::empty();
        lone.write();
        lone
    }

    /// Pending and guarded, without a payload.
    pub(super) fn empty() -> Lone {
        let lone = Lone { slot: Arc::new(Slot::new()), graveyard: Graveyard::default() };
        lone.word.set(SlotWord::reserved(GENERATION));
        lone
    }

    /// Writes the payload that [`empty`](Lone::empty) left out.
    pub(super) fn write(&self) {
        // SAFETY: whether the accesses are ordered is the question that loom answers.
        unsafe { self.payload.write(self.graveyard.tomb(7)) };
    }

    pub(super) fn active() -> Lone {
        let lone = Lone::guarded();
        lone.word.publish(GENERATION);
        lone
    }

    /// Dying, with `holds` holds.
    pub(super) fn dying(holds: u32) -> Lone {
        let lone = Lone::active();
        (0..holds).for_each(|_| assert!(lone.hold()));
        assert!(lone.kill());
        lone
    }

    pub(super) fn kill(&self) -> bool {
        self.word.advance(GENERATION, SlotWord::kill).is_ok()
    }

    pub(super) fn revive(&self) -> bool {
        self.word.advance(GENERATION, SlotWord::revive).is_ok()
    }

    pub(super) fn hold(&self) -> bool {
        self.word.advance(GENERATION, SlotWord::hold).is_ok()
    }

    /// Asks for the reap; `Some(true)` if that made the entity Dead, and buries it then.
    pub(super) fn reap(&self) -> Option<bool> {
        let word = self.word.advance(GENERATION, SlotWord::reap).ok()?;
        let dead = word.state() == State::Dead;
        if dead {
            self.bury();
        }
        Some(dead)
    }

    /// Ends it in two steps, as a store does; whether this call buried it.
    pub(super) fn despawn(&self) -> bool {
        match self.word.advance(GENERATION, SlotWord::seal) {
            Ok(sealed) if sealed.holds() > 0 => false,
            Ok(sealed) => {
                self.word.finish(sealed);
                self.bury();
                true
            }
            // Dying already: the despawn goes on as a reap.
            Err(_) => self.reap() == Some(true),
        }
    }

    /// Ends it as a batch does, in one step if nobody holds it; whether this call buried it.
    pub(super) fn despawn_in_a_batch(&self) -> bool {
        if !self.word.end_plain(GENERATION) {
            return self.despawn();
        }
        self.bury();
        true
    }

    /// Ends it to make room, unless somebody holds it; whether this call buried it.
    pub(super) fn evict(&self) -> bool {
        let Ok(won) = self.word.advance(GENERATION, SlotWord::evict) else { return false };
        if won.state() == State::Dying {
            self.word.finish(won);
        }
        self.bury();
        true
    }

    /// Ends it as who is alone with it but for its holders does, unless somebody holds it; whether
    /// this call buried it.
    pub(super) fn end_alone(&self) -> bool {
        let sealed = self.word.advance_alone(GENERATION, State::Dying, SlotWord::seal_dying);
        if sealed.is_err() {
            return false;
        }
        self.bury();
        self.word.finish_empty(GENERATION);
        true
    }

    /// Gives a hold back; whether it was the one that buries.
    pub(super) fn unhold(&self) -> bool {
        match self.word.unhold() {
            Unhold::Released => false,
            Unhold::Buried | Unhold::Ended => {
                self.bury();
                true
            }
        }
    }

    /// What ends a life, without the grace period that keeps pinned readers safe: so only models
    /// without such readers come here.
    pub(super) fn bury(&self) {
        // SAFETY: whether the accesses are ordered is the question that loom answers.
        drop(unsafe { self.payload.take() });
    }

    /// Reads the payload of an entity that the caller saw, or holds.
    pub(super) fn read(&self) -> u32 {
        // SAFETY: whether the accesses are ordered is the question that loom answers.
        unsafe { self.payload.get() }.read()
    }
}

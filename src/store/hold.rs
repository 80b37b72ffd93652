//! A counted reference to one entity, which may outlive pins, threads and the store: for
//! settlement.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use super::Store;
use super::core::Core;
use crate::error::{HoldError, TransitionError};
use crate::free::Event;
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::reclaim::Session;
use crate::slot::{Slot, in_destructor};
use crate::state::State;
use crate::sync::Arc;
use crate::word::{SlotWord, Unhold};

/// A counted reference to one entity: while it lives, the payload can be read.
///
/// It delays the reap of its entity and nothing else: the rest of the store is reclaimed as usual.
/// Once a reap has been requested, the last `Hold` to drop carries it out, on the thread that drops
/// it. A `Hold` may be kept across an `await`, and may outlive the store: the last one then drops
/// the payload itself. A forgotten `Hold` leaks its entity, like a forgotten `Arc`.
///
/// # Examples
///
/// ```
/// use hatchery::{Reaped, Store};
///
/// let store = Store::new();
/// let dragon = store.spawn_active(String::from("dragon"))?;
/// let loot = store.kill_and_hold(dragon)?;
/// let experience = loot.clone();
/// assert_eq!(store.despawn(dragon)?, Reaped::Deferred { holds: 2 });
///
/// let settled = std::thread::spawn(move || loot.len());
/// assert_eq!(settled.join().unwrap(), 6);
/// assert!(experience.is_reap_requested());
/// drop(experience);
/// assert!(store.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Hold<T> {
    /// Its own reference to the slots, given back as its last act (invariant 6).
    core: ManuallyDrop<Arc<Core<T>>>,
    slot: NonNull<Slot<T>>,
    handle: Handle,
}

// SAFETY: holds give `&T` on every thread, and any of them may drop the `T`, which `T: Send + Sync`
// allows (invariant 13).
unsafe impl<T: Send + Sync> Send for Hold<T> {}
// SAFETY: as above (invariant 13).
unsafe impl<T: Send + Sync> Sync for Hold<T> {}

impl<T> Hold<T> {
    /// Wraps a hold that the caller owns already.
    fn wrap(core: Arc<Core<T>>, slot: &Slot<T>, handle: Handle) -> Hold<T> {
        Hold { core: ManuallyDrop::new(core), slot: NonNull::from(slot), handle }
    }

    pub(super) fn of_alive(
        store: &Store<T>,
        session: &Session,
        handle: Handle,
    ) -> Result<Hold<T>, HoldError> {
        let slot = store.core().hold(session, handle)?;
        Ok(Hold::wrap(store.share(), slot, handle))
    }

    pub(super) fn of_killed(
        store: &Store<T>,
        session: &Session,
        handle: Handle,
    ) -> Result<Hold<T>, TransitionError> {
        let slot = store.core().kill_and_hold(session, handle)?;
        let hold = Hold::wrap(store.share(), slot, handle);
        store.core().tell_dying(session, slot, handle, EndReason::Killed);
        Ok(hold)
    }

    #[inline]
    fn slot(&self) -> &Slot<T> {
        // SAFETY: the hold owns a reference to the slots, which never move, and its own keeps the
        // segment (invariant 6, 11).
        unsafe { self.slot.as_ref() }
    }

    /// Returns the entity's handle.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Returns the entity's state, Active or Dying: nobody can end it while the hold lives.
    ///
    /// The state may have changed by the time the call returns.
    #[must_use]
    pub fn state(&self) -> State {
        self.slot().word.peek().state()
    }

    /// Returns whether a reap was requested; if so, the last hold to drop carries it out.
    #[must_use]
    pub fn is_reap_requested(&self) -> bool {
        self.slot().word.peek().reap_requested()
    }
}

impl<T> Deref for Hold<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: taking the hold saw the entity Active or Dying, with Acquire, and it is not
        // reaped while the hold lives (invariant 2, 6).
        unsafe { self.slot().payload.get() }
    }
}

impl<T> Clone for Hold<T> {
    /// Takes one more hold, which is allowed after a reap request as well.
    ///
    /// # Panics
    /// If the entity has 2^24 - 1 holds, the most that can be counted.
    fn clone(&self) -> Hold<T> {
        let generation = self.handle.generation_bits();
        if let Err((word, _)) = self.slot().word.advance(generation, SlotWord::hold_again) {
            panic!("{} has {} holds, which is the limit", self.handle, word.holds());
        }
        self.core.count_here(Event::HoldTaken);
        Hold::wrap(Arc::clone(&self.core), self.slot(), self.handle)
    }
}

impl<T> Drop for Hold<T> {
    fn drop(&mut self) {
        let outcome = self.core.unhold(self.slot(), self.handle);
        // SAFETY: dropped once, here: the hold is not used afterwards (invariant 6).
        let core = unsafe { ManuallyDrop::take(&mut self.core) };
        if outcome == Unhold::Ended {
            end(core, self.slot);
        }
    }
}

/// Drops the payload of a closed store's entity, whose last hold is gone.
#[cold]
fn end<T>(core: Arc<Core<T>>, slot: NonNull<Slot<T>>) {
    let payload = Ended { core, slot };
    if !in_destructor::now() {
        return drop(payload);
    }
    payload.drop_outermost();
}

/// A payload that nobody reaches any more, and the memory that it lies in.
struct Ended<T> {
    core: Arc<Core<T>>,
    slot: NonNull<Slot<T>>,
}

impl<T> Drop for Ended<T> {
    fn drop(&mut self) {
        // SAFETY: `core` keeps the slots (invariant 6).
        let slot = unsafe { self.slot.as_ref() };
        // SAFETY: the word went to Dead and emptied in a change that the last hold won, and the
        // store is closed, so no pin is left (invariant 4).
        if unsafe { slot.payload.drop_in_place() } {
            self.core.count_foreign(0, Event::DropPanicked);
        }
    }
}

impl<T> Ended<T> {
    /// Chains of held entities of any length end without a stack of their length.
    fn drop_outermost(self) {
        // SAFETY: the task runs on this thread, before the destructor that is running here has
        // returned. `T` may borrow nothing that ends before: a `Store<T>` asks for `T: 'static`
        // (invariant 8).
        unsafe { in_destructor::run_outermost(move || drop(self)) };
    }
}

impl<T: fmt::Debug> fmt::Debug for Hold<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("handle", &self.handle).field("payload", &**self).finish()
    }
}

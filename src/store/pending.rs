//! The guard of an entity that nobody sees yet.

use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

use super::Store;
use super::core::Core;
use super::lifecycle::Reserved;
use super::place::Place;
use crate::free::Event;
use crate::handle::Handle;
use crate::reclaim::Session;
use crate::slot::Slot;

/// An entity that is reserved and has its payload, but is not visible yet.
///
/// Before activation the guard has exclusive access to the payload: a look-up of the handle answers
/// `Pending`, and an attempt to activate, cancel or despawn the entity by handle `Guarded`.
/// Dropping the guard cancels the entity, and its handle is dead for ever.
///
/// # Examples
///
/// ```
/// use hatchery::{LookupError, Store};
///
/// let store = Store::new();
/// let mut chest = store.spawn(vec!["sword"])?;
/// let handle = chest.handle();
/// assert_eq!(store.pin().get(handle), Err(LookupError::Pending { handle }));
///
/// chest.push("shield"); // still ours alone
/// chest.activate();
/// assert_eq!(store.pin().get(handle)?.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a Pending that is dropped cancels its entity"]
pub struct Pending<'s, T> {
    store: &'s Store<T>,
    slot: &'s Slot<T>,
    handle: Handle,
}

// SAFETY: the guard has the payload to itself, so sending it sends a `T` (invariant 2); it shares
// the store, which is Sync on the same terms.
unsafe impl<T: Send + Sync> Send for Pending<'_, T> {}
// SAFETY: a shared guard gives `&T` and nothing else (invariant 2).
unsafe impl<T: Send + Sync> Sync for Pending<'_, T> {}

impl<'s, T> Pending<'s, T> {
    pub(super) fn new(store: &'s Store<T>, reserved: Reserved<'s, T>) -> Pending<'s, T> {
        Pending { store, slot: reserved.slot, handle: reserved.handle }
    }

    /// Makes the payload of a slot that is reserved and empty; a panic cancels the reservation.
    #[inline]
    pub(super) fn made(
        store: &'s Store<T>,
        reserved: Reserved<'s, T>,
        make: impl FnOnce(Handle) -> T,
    ) -> Pending<'s, T> {
        let unmade = Unmade { store, reserved };
        let value = make(unmade.reserved.handle);
        let unmade = ManuallyDrop::new(unmade);
        let Reserved { slot, handle } = unmade.reserved;
        // SAFETY: the slot is reserved by this call and its cell is still empty (invariant 5).
        unsafe { slot.payload.write(value) };
        Pending { store, slot, handle }
    }

    /// Returns the handle that the entity will be known by.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Publishes the entity, Pending → Active, and returns its handle.
    ///
    /// A thread that sees it Active sees everything that was written to the payload before.
    ///
    /// # Complexity
    /// One store with Release.
    pub fn activate(self) -> Handle {
        let this = ManuallyDrop::new(self);
        let core = this.store.core();
        core.stamp(Core::<T>::index(this.handle));
        this.slot.word.publish(this.handle.generation_bits());
        core.count_here(Event::Activated);
        this.handle
    }

    /// Cancels the entity, Pending → Dead, and returns its payload.
    #[must_use = "to drop the payload as well, drop the guard"]
    pub fn cancel(self) -> T {
        ManuallyDrop::new(self).end()
    }

    /// Lays the guard aside: the entity stays Pending and guarded, and whoever is given its place
    /// [shows](Place::show) it, or [takes the guard up](Pending::take_up) again.
    #[inline]
    pub(crate) fn lay_aside(self) -> (Handle, Place<T>) {
        let this = ManuallyDrop::new(self);
        (this.handle, Place::of(this.slot))
    }

    /// Takes a guard up that was laid aside.
    ///
    /// # Safety
    /// * The guard of that entity of this store was laid aside, and was given to the caller, with
    ///   what was written to the payload.
    pub(crate) unsafe fn take_up(
        store: &'s Store<T>,
        handle: Handle,
        place: Place<T>,
    ) -> Pending<'s, T> {
        // SAFETY: a slot stays while it is in use, and this one has a guard (invariant 11).
        Pending { store, slot: unsafe { place.slot() }, handle }
    }

    /// Leaves the entity Pending without a guard: any thread may activate or cancel it later, by
    /// handle.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{State, Store};
    ///
    /// let store = Store::new();
    /// let gate = store.spawn("gate")?.detach();
    /// assert_eq!(store.state(gate), Ok(State::Pending));
    /// store.activate(gate)?;
    /// assert_eq!(*store.pin().get(gate)?, "gate");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn detach(self) -> Handle {
        let this = ManuallyDrop::new(self);
        this.slot.word.detach(this.handle.generation_bits());
        this.handle
    }

    /// Ends the entity; only for a guard that is not used or dropped afterwards.
    fn end(&self) -> T {
        // SAFETY: the guard has the payload to itself and gives it up here (invariant 2, 4).
        let value = unsafe { self.slot.payload.take() };
        let core = self.store.core();
        let reserved = Reserved { slot: self.slot, handle: self.handle };
        core.cancel_reserved(&Session::unpinned(&core.domain), &reserved);
        value
    }
}

impl<T> Drop for Pending<'_, T> {
    fn drop(&mut self) {
        self.store.core().drop_taken(self.end());
    }
}

impl<T> Deref for Pending<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the payload is written, and the guard has it to itself (invariant 2).
        unsafe { self.slot.payload.get() }
    }
}

impl<T> DerefMut for Pending<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the payload is written, and the guard has it to itself (invariant 2).
        unsafe { self.slot.payload.get_mut() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Pending<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("handle", &self.handle).field("payload", &**self).finish()
    }
}

/// A reserved slot without a payload: dropped by a panic, it cancels the reservation.
struct Unmade<'s, T> {
    store: &'s Store<T>,
    reserved: Reserved<'s, T>,
}

impl<T> Drop for Unmade<'_, T> {
    fn drop(&mut self) {
        let core = self.store.core();
        core.cancel_reserved(&Session::unpinned(&core.domain), &self.reserved);
    }
}

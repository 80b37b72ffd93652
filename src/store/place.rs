//! A pointer to the slot of an entity, for a caller that knows that the slot stays.

use std::fmt;
use std::ptr::NonNull;

use crate::slot::Slot;

/// Where an entity is stored. It keeps nothing alive: whoever uses it guarantees that the slot
/// stays.
pub(crate) struct Place<T>(NonNull<Slot<T>>);

// SAFETY: it gives no access by itself; each use is an unsafe call with its own duties (invariant
// 11, 16).
unsafe impl<T> Send for Place<T> {}
// SAFETY: as above (invariant 11, 16).
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    #[inline]
    pub(super) fn of(slot: &Slot<T>) -> Place<T> {
        Place(NonNull::from(slot))
    }

    /// # Safety
    /// * The slot is there as long as the borrow lasts: it is in use, and its store is open.
    #[inline]
    pub(super) unsafe fn slot<'a>(self) -> &'a Slot<T> {
        // SAFETY: the caller's duty (invariant 11).
        unsafe { self.0.as_ref() }
    }

    /// The payload.
    ///
    /// # Safety
    /// * The slot is there as long as the borrow lasts: it is in use, and its store is open.
    /// * The payload was written before this call, and nobody writes or drops it meanwhile.
    #[inline]
    pub(crate) unsafe fn payload<'a>(self) -> &'a T {
        // SAFETY: the caller's duty (invariant 11).
        let slot = unsafe { self.slot() };
        // SAFETY: the caller's duty (invariant 2, 4).
        unsafe { slot.payload.get() }
    }

    /// The address, for a hint.
    #[inline]
    pub(crate) fn address(self) -> NonNull<u8> {
        self.0.cast()
    }
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Place<T> {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T> PartialEq for Place<T> {
    fn eq(&self, other: &Place<T>) -> bool {
        self.0 == other.0
    }
}

impl<T> fmt::Debug for Place<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Place").field(&self.0).finish()
    }
}

//! What a pool lends: an object that its holder has to itself, until it is given back or revoked.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use super::close;
use super::core::{Core, Grant};
use super::rest::Slot;
use crate::recycle::Recycle;
use crate::segment::Index;
use crate::sync::planted;

/// An object of a [`Pool`](super::Pool), lent to its holder alone.
///
/// Dropping it gives the object back, recycled. It may be sent to another thread, kept across an
/// `await`, and kept longer than the pool.
///
/// A lease can be *revoked*, by overwriting and by [`Pool::reset`](super::Pool::reset), even before
/// its first use: then [`get_mut`](Lease::get_mut) returns `None` for ever, and giving the lease
/// back does nothing. A lease is never revoked while it is in use, that is, while a [`LeaseMut`] of
/// it exists.
///
/// A forgotten lease (`mem::forget`) keeps its object out of the pool until it is revoked, and the
/// memory of the pool for ever.
///
/// # Examples
///
/// ```
/// use hatchery::{Limits, pool::Pool};
///
/// let pool = Pool::<Vec<u8>>::new(Limits::reject(1))?;
/// let mut lease = pool.acquire()?;
/// lease.with(|buffer| buffer.extend(b"a message"));
/// let length = std::thread::spawn(move || lease.with(|buffer| buffer.len())).join().unwrap();
/// assert_eq!(length, Some(9));
/// assert_eq!(pool.idle(), 1); // given back, by the other thread
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a lease that is dropped is given back"]
pub struct Lease<T: Recycle> {
    core: NonNull<Core<T>>,
    slot: NonNull<Slot<T>>,
    seq: u64,
    generation: u32,
    index: Index,
    /// Invariant in `T`, since an object goes in and comes out: a lease must not pass for one of a
    /// longer-lived type, nor of a shorter-lived one.
    _object: PhantomData<fn(T) -> T>,
}

// SAFETY: a lease is an object that its holder alone uses, and its pool (invariant 15).
unsafe impl<T: Recycle + Send> Send for Lease<T> {}
// SAFETY: a shared lease gives no way to its object (invariant 15).
unsafe impl<T: Recycle + Send> Sync for Lease<T> {}

impl<T: Recycle> Lease<T> {
    #[inline]
    pub(super) fn new(core: NonNull<Core<T>>, grant: Grant<T>) -> Lease<T> {
        let Grant { slot, index, generation, seq } = grant;
        Lease { core, slot, seq, generation, index, _object: PhantomData }
    }

    #[inline]
    fn slot(&self) -> &Slot<T> {
        // SAFETY: a slot stays as long as the core, which the lease's unit keeps, or, when it was
        // revoked, its own reference (invariant 11, 15).
        unsafe { self.slot.as_ref() }
    }

    /// Returns the number of this lease: unique in its pool, and at least 1. Numbers rise in the
    /// order of acquisition on each thread, and under `OverwriteOldest` across all threads; some
    /// may be skipped.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(2))?;
    /// let (first, second) = (pool.acquire()?, pool.acquire()?);
    /// assert_eq!(first.seq(), 1);
    /// assert!(first.seq() < second.seq());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Returns whether the lease was revoked. `true` is final; after `false`, the lease may have
    /// been revoked by the time the call returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(1))?;
    /// let lease = pool.acquire()?;
    /// assert!(!lease.is_revoked());
    /// pool.reset();
    /// assert!(lease.is_revoked());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn is_revoked(&self) -> bool {
        !self.slot().word.peek().leased_as(self.generation)
    }

    /// Borrows the object, or returns `None` if the lease was revoked. The lease cannot be revoked
    /// while the borrow lasts.
    ///
    /// A forgotten [`LeaseMut`] prevents the lease from being revoked until it is given back, and
    /// does no other harm.
    ///
    /// # Complexity
    /// One compare-and-swap; the end of the borrow is a store.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<String>::new(Limits::reject(1))?;
    /// let mut lease = pool.acquire()?;
    /// let mut text = lease.get_mut().expect("nobody revokes it");
    /// text.push_str("in use");
    /// assert_eq!(pool.reset(), 0); // passed over
    /// assert_eq!(*text, "in use");
    /// drop(text);
    /// assert_eq!(pool.reset(), 1);
    /// assert!(lease.get_mut().is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    #[inline]
    pub fn get_mut(&mut self) -> Option<LeaseMut<'_, T>> {
        if !self.slot().word.mark(self.generation) {
            return None;
        }
        Some(LeaseMut { lease: self, _object: PhantomData })
    }

    /// Runs `f` with the object, or returns `None` without running it if the lease was revoked.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<Vec<u8>>::new(Limits::reject(1))?;
    /// let mut lease = pool.acquire()?;
    /// lease.with(|bytes| bytes.push(7));
    /// assert_eq!(lease.with(|bytes| bytes.len()), Some(1));
    /// pool.reset();
    /// assert_eq!(lease.with(|bytes| bytes.len()), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.get_mut().map(|mut object| f(&mut object))
    }

    /// Whether the lease is one of this pool.
    #[inline]
    pub(super) fn is_of(&self, core: NonNull<Core<T>>) -> bool {
        self.core == core
    }

    /// Gives the object back; false if the lease was revoked.
    #[inline]
    pub(super) fn end(self) -> bool {
        let lease = ManuallyDrop::new(self);
        // SAFETY: the lease is not used again (invariant 4).
        unsafe { lease.end_once() }
    }

    /// # Safety
    /// * The lease is not used again.
    #[inline]
    unsafe fn end_once(&self) -> bool {
        let (core, slot, index) = (self.core, self.slot, self.index);
        if self.slot().word.end_lease(self.generation) {
            // SAFETY: the change of the word gave this call the slot, with its object, and the
            // unit keeps the core (invariant 3, 15).
            unsafe { close::send_home(core, slot, index) };
            return true;
        }
        if !planted("revoked lease keeps its reference") {
            // SAFETY: the lease was revoked, and owns a reference for that (invariant 15).
            unsafe { close::give_back(core, 1) };
        }
        false
    }
}

impl<T: Recycle> Drop for Lease<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: a lease is dropped once, and `end` forgets it (invariant 4).
        let _given_back = unsafe { self.end_once() };
    }
}

impl<T: Recycle> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let revoked = self.is_revoked();
        f.debug_struct("Lease").field("seq", &self.seq).field("revoked", &revoked).finish()
    }
}

/// A leased object in use: the lease cannot be revoked while this exists.
///
/// Returned by [`Lease::get_mut`].
///
/// # Examples
///
/// ```
/// use hatchery::{Limits, pool::Pool};
///
/// let pool = Pool::<Vec<u8>>::new(Limits::reject(1))?;
/// let mut lease = pool.acquire()?;
/// let mut bytes = lease.get_mut().expect("nobody revokes it");
/// bytes.push(7);
/// assert_eq!(bytes.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "the object is in use for as long as this lives"]
pub struct LeaseMut<'l, T: Recycle> {
    lease: &'l mut Lease<T>,
    /// It is shared where a `&mut T` would be: only for `T: Sync`.
    _object: PhantomData<&'l mut T>,
}

impl<T: Recycle> Deref for LeaseMut<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the mark keeps everybody else from the object, and the borrow of the lease its
        // holder (invariant 15).
        unsafe { self.lease.slot().payload.get() }
    }
}

impl<T: Recycle> DerefMut for LeaseMut<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above (invariant 15).
        unsafe { self.lease.slot().payload.get_mut() }
    }
}

impl<T: Recycle> Drop for LeaseMut<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lease.slot().word.unmark(self.lease.generation);
    }
}

impl<T: Recycle + fmt::Debug> fmt::Debug for LeaseMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

//! Pools: objects that are made once and used again and again, lent by exclusive leases.
//!
//! Objects lie in slots like a store's entities ([`design`](crate::design)), under the same word. A
//! slot at rest is Dead with its object in place; a leased one is Active under the next generation;
//! while the lease is in use its word carries the mark of a guard, and nobody but the lease changes
//! it. Objects are never shared, so one that is given back needs no grace period, and no pin is
//! ever involved: it goes on the stack of its thread's shard, and the next lease takes it from
//! there.
//!
//! Acquiring an object, using it and giving it back take four read-modify-writes: a pop, the mark,
//! the end of the lease and a push. Nothing is counted on the way; the words say how many leases
//! there were. Nothing is allocated but the slots, as many as were ever leased at once, and, where
//! the oldest lease is overwritten, now and then a list of the oldest.

mod close;
mod core;
mod lease;
mod overwrite;
mod rest;
mod sequence;
mod stats;
mod units;

pub use lease::{Lease, LeaseMut};

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ptr::NonNull;

use self::core::Core;
use self::units::MAX_MADE;
use crate::error::{ConfigError, SpawnFailure};
#[cfg(doc)]
use crate::limits::Exhaustion;
use crate::limits::Limits;
use crate::recycle::Recycle;
use crate::shards;
use crate::stats::Stats;

/// A pool of objects of one type, lent out by [`Lease`]s.
///
/// An object that is given back is [recycled](Recycle), so that the next user finds it like a new
/// one, and is at rest until then. A clone of a pool is one more reference to it. When the last
/// reference is dropped, the objects at rest are dropped; those on lease remain valid until their
/// leases end.
///
/// When every unit of the capacity is on lease, the [`policy`](Limits::policy) decides what an
/// acquisition does: [`Exhaustion::Reject`] refuses it, [`Exhaustion::GrowToCap`] first adds units
/// up to `max_capacity`, and [`Exhaustion::OverwriteOldest`] takes the object of the oldest lease
/// that is not in use at that moment; the holder of that lease finds out at the next use.
///
/// `recycle`, the destructor and `Default::default` are user code; they run on the thread that
/// gives back, resets or acquires, never under a lock, and may use the pool. A lease that is given
/// back while an object is recycled or dropped on the same thread takes effect when that is done. A
/// panic of `recycle` or of a destructor is contained and counted in [`Stats::drop_panics`]; the
/// object is dropped and replaced, and no unit of capacity is lost. A panic of `Default::default`
/// propagates to the caller, and does not lose a unit either.
///
/// # Examples
///
/// ```
/// use hatchery::{Limits, SpawnFailure, pool::Pool};
///
/// let pool = Pool::<Vec<u8>>::new(Limits::reject(2))?;
/// let mut first = pool.acquire()?;
/// let second = pool.acquire()?;
/// assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 2 });
///
/// first.with(|bytes| bytes.push(7));
/// drop(first);
/// let mut again = pool.acquire()?; // the same vector, empty, with what it has allocated
/// assert_eq!(again.with(|bytes| (bytes.len(), bytes.capacity() > 0)), Some((0, true)));
/// assert!(pool.release(second));
///
/// let stats = pool.stats();
/// assert_eq!((stats.created, stats.hits, stats.misses, stats.rejected), (2, 1, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pool<T: Recycle> {
    core: NonNull<Core<T>>,
    /// Objects go in and come out.
    _object: PhantomData<fn(T) -> T>,
}

// SAFETY: a pool gives an object to one holder at a time, on any thread (invariant 15).
unsafe impl<T: Recycle + Send> Send for Pool<T> {}
// SAFETY: as above; nothing gives shared access to an object (invariant 15).
unsafe impl<T: Recycle + Send> Sync for Pool<T> {}

impl<T: Recycle + Send + 'static> Pool<T> {
    /// Creates a pool; objects are constructed when they are first needed.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the field, its value and what is allowed, for a capacity of 0
    /// or beyond what can be counted, and under `GrowToCap` for a `max_capacity` below the capacity
    /// or beyond what can be counted. `usize::MAX` is no limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<String>::new(Limits::grow_to_cap(64, 96))?;
    /// assert_eq!(pool.capacity(), 64);
    /// let refused = Pool::<String>::new(Limits::grow_to_cap(4, 3)).unwrap_err();
    /// assert!(refused.to_string().starts_with("maxCapacity is 3, allowed are 4"));
    /// # Ok::<(), hatchery::ConfigError>(())
    /// ```
    pub fn new(limits: Limits) -> Result<Pool<T>, ConfigError> {
        Pool::with_last_generation(limits, shards::default_count(), NonZeroU32::MAX)
    }

    /// `shards` is a power of two.
    pub(crate) fn with_last_generation(
        limits: Limits,
        shards: usize,
        last: NonZeroU32,
    ) -> Result<Pool<T>, ConfigError> {
        let core = Box::new(Core::new(limits, checked(limits)?, shards, last));
        Ok(Pool { core: NonNull::from(Box::leak(core)), _object: PhantomData })
    }

    /// Leases an object: one at rest; else a new one, while there is room; else, if the policy says
    /// so, that of the oldest lease.
    ///
    /// Lock-free. The object is as `Default::default` makes it, whether it is new or was used
    /// before.
    ///
    /// A lease is never overwritten while an older one, whose acquisition returned before the
    /// acquisition of the first began, could have been revoked throughout the call. Nothing is
    /// overwritten inside `recycle` or a destructor.
    ///
    /// # Errors
    /// [`SpawnFailure::Exhausted`] if at some moment of the call every unit of the capacity, as
    /// grown so far, was on lease or held by another call in progress. Under `OverwriteOldest`, in
    /// addition, each lease was in use when the call examined it, though not necessarily all at the
    /// same moment, or the call was made inside `recycle` or a destructor. An object that is
    /// released inside a destructor, a store's included, is on lease until that destructor has
    /// returned. [`SpawnFailure::OutOfMemory`] if the system refused memory for a slot, or for a
    /// list of the oldest.
    ///
    /// # Panics
    /// If `Default::default` does.
    ///
    /// # Complexity
    /// One compare-and-swap while the thread's shard has objects at rest; nothing is allocated once
    /// there are as many slots as leases. A refusal looks at the stack of every shard. Under
    /// `OverwriteOldest`, one more read-modify-write for the number of the lease; a search for the
    /// oldest looks at every slot, and serves as many acquisitions as a quarter of the capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, SpawnFailure, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::grow_to_cap(1, 2))?;
    /// let (_one, _two) = (pool.acquire()?, pool.acquire()?);
    /// assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 2 });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn acquire(&self) -> Result<Lease<T>, SpawnFailure> {
        self.core().acquire().map(|grant| Lease::new(self.core, grant))
    }

    /// Gives an object back, as dropping its lease does, and returns whether that was a valid lease
    /// of this pool: false if it was revoked, and for a lease of another pool, which goes back to
    /// that pool.
    ///
    /// # Complexity
    /// Two compare-and-swaps, and `recycle`.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(1))?;
    /// let other = Pool::<u64>::new(Limits::reject(1))?;
    /// assert!(pool.release(pool.acquire()?));
    /// assert!(!pool.release(other.acquire()?));
    /// assert_eq!(other.idle(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn release(&self, lease: Lease<T>) -> bool {
        let own = lease.is_of(self.core);
        lease.end() && own
    }

    /// Revokes every lease that is not in use at the moment, brings the objects back to rest,
    /// begins a new window of statistics, and returns how many leases it revoked.
    ///
    /// The holders find out at their next use. A lease that is given out meanwhile may be missed.
    /// Units of capacity that were added stay.
    ///
    /// # Complexity
    /// One load per slot, and three read-modify-writes and `recycle` per revoked lease.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(2))?;
    /// let lease = pool.acquire()?;
    /// assert_eq!(pool.reset(), 1);
    /// assert_eq!(pool.stats().acquired, 0);
    /// assert!(!pool.release(lease));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset(&self) -> usize {
        let core = self.core();
        let mut revoked = 0;
        for (index, slot) in core.every_slot() {
            let Some(word) = slot.word.revoke() else { continue };
            core.keep_for_revoked();
            slot.word.set(word.at_rest());
            core.home().events.revoked.add_shared(1);
            pause_point!("revoked, not at rest");
            // SAFETY: the change of the word gave this call the slot, with its object, and the
            // pool that it borrows keeps the core (invariant 3, 15).
            unsafe { close::send_home(self.core, NonNull::from(slot), index) };
            revoked += 1;
        }
        core.reset_stats();
        revoked
    }

    /// Returns a snapshot of the counters; [`Stats`] says what each means for a pool.
    ///
    /// # Complexity
    /// One load per slot: acquiring and giving back count nothing, so the counting is done here.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(8))?;
    /// for _ in 0..4 {
    ///     let _lease = pool.acquire()?;
    /// }
    /// let stats = pool.stats();
    /// assert_eq!((stats.misses, stats.hits, stats.peak_live), (1, 3, 1));
    /// assert_eq!(stats.hit_rate_permille(), 750);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }

    /// Begins a new window of statistics: its counters go to zero, and the peak to what is live.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(8))?;
    /// let _lease = pool.acquire()?;
    /// pool.reset_stats();
    /// let stats = pool.stats();
    /// assert_eq!((stats.acquired, stats.created, stats.peak_live), (0, 1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reset_stats(&self) {
        self.core().reset_stats();
    }

    /// Returns how many objects are at rest; exact when no operation is in progress.
    ///
    /// # Complexity
    /// One load per slot.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::reject(8))?;
    /// drop(pool.acquire()?);
    /// assert_eq!(pool.idle(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn idle(&self) -> usize {
        self.core().idle()
    }

    /// Returns how many objects may be on lease at once, units that were added included;
    /// `usize::MAX` is no limit.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Limits, pool::Pool};
    ///
    /// let pool = Pool::<u64>::new(Limits::grow_to_cap(1, 2))?;
    /// let _leases = (pool.acquire()?, pool.acquire()?);
    /// assert_eq!(pool.capacity(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.core().capacity()
    }
}

impl<T: Recycle> Pool<T> {
    #[inline]
    fn core(&self) -> &Core<T> {
        // SAFETY: an open pool keeps the core (invariant 15).
        unsafe { self.core.as_ref() }
    }
}

impl<T: Recycle> Clone for Pool<T> {
    fn clone(&self) -> Pool<T> {
        self.core().gate.enter_again();
        Pool { core: self.core, _object: PhantomData }
    }
}

impl<T: Recycle> Drop for Pool<T> {
    fn drop(&mut self) {
        if self.core().gate.leave() {
            // SAFETY: this was the last (invariant 15).
            unsafe { close::close(self.core) };
        }
    }
}

impl<T: Recycle> fmt::Debug for Pool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.core();
        f.debug_struct("Pool").field("limits", &core.limits).finish_non_exhaustive()
    }
}

/// How many units may be open in the end.
fn checked(limits: Limits) -> Result<u64, ConfigError> {
    let max = usize::try_from(MAX_MADE).unwrap_or(usize::MAX - 1);
    Ok((limits.checked(max)? as u64).min(MAX_MADE))
}

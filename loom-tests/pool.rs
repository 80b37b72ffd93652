//! A pool: one object, one holder; a refusal that is right; use against revocation; and the end,
//! where the closer and the last leases meet on the stacks and on one count.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::cell::UnsafeCell;
use loom::thread;

use super::grave::noting;
use super::model;
use crate::Limits;
use crate::pool::{Lease, Pool};
use crate::recycle::Recycle;

/// Objects made and dropped in this execution.
static THERE: AtomicUsize = AtomicUsize::new(0);

/// An object whose accesses loom watches.
pub(super) struct Watched {
    cell: UnsafeCell<u32>,
}

// SAFETY: loom watches the cell.
unsafe impl Send for Watched {}

impl Default for Watched {
    fn default() -> Watched {
        THERE.fetch_add(1, Ordering::Relaxed);
        Watched { cell: UnsafeCell::new(0) }
    }
}

impl Recycle for Watched {
    fn recycle(&mut self) {
        // SAFETY: whether the accesses are ordered is the question that loom answers.
        noting(|| self.cell.with_mut(|value| unsafe { *value = 0 }));
    }
}

impl Watched {
    pub(super) fn add(&mut self) -> u32 {
        self.cell.with_mut(|value| {
            // SAFETY: as above.
            let value = unsafe { &mut *value };
            *value += 1;
            *value
        })
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        noting(|| self.cell.with_mut(|_| ()));
        THERE.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A pool over `shards`, of an execution in which no object is there yet.
fn pool(capacity: usize, shards: usize) -> Pool<Watched> {
    pool_of(Limits::reject(capacity), shards)
}

pub(super) fn pool_of(limits: Limits, shards: usize) -> Pool<Watched> {
    THERE.store(0, Ordering::Relaxed);
    Pool::with_last_generation(limits, shards, NonZeroU32::MAX).unwrap()
}

pub(super) fn assert_all_dropped() {
    assert_eq!(THERE.load(Ordering::Relaxed), 0, "objects are left");
}

/// Whoever gets the object has it alone, and finds it as new.
#[test]
fn two_users_of_one_object_never_have_it_at_once() {
    model("pool_two_users", 20, || {
        let pool = pool(1, 1);
        drop(pool.acquire().unwrap());
        let other = pool.clone();
        let use_it = |lease: &mut Lease<Watched>| assert_eq!(lease.with(Watched::add), Some(1));
        let there = thread::spawn(move || {
            let mut lease = other.acquire();
            lease.as_mut().map(use_it).is_ok()
        });
        let mut lease = pool.acquire();
        let here = lease.as_mut().map(use_it).is_ok();
        drop(lease);
        assert!(there.join().unwrap() || here, "one of them is first");
        drop(pool);
        assert_all_dropped();
    });
}

/// Two open a unit at once: two objects.
#[test]
fn two_acquisitions_get_two_objects() {
    model("pool_two_acquisitions", 5, || {
        let pool = pool(2, 2);
        let other = pool.clone();
        let there = thread::spawn(move || other.acquire().unwrap());
        let mut here = pool.acquire().unwrap();
        let mut there = there.join().unwrap();
        assert_eq!((here.with(Watched::add), there.with(Watched::add)), (Some(1), Some(1)));
        assert!(pool.acquire().is_err());
        drop((here, there, pool));
        assert_all_dropped();
    });
}

/// One object is at rest at every instant, but never stays on one stack: a taker gets one. Threads
/// prefer the stacks in turn, so the second and fourth share one, and the taker has the third's.
#[test]
fn taker_gets_the_object_that_moves() {
    model("pool_moving", 10, || {
        let pool = pool(2, 2);
        let [first, moving] = [(); 2].map(|()| pool.acquire().unwrap());
        thread::spawn(move || drop(first)).join().unwrap();
        let other = pool.clone();
        let taken = thread::spawn(move || {
            thread::spawn(move || drop(moving)).join().unwrap();
            other.acquire().unwrap()
        });
        let mine = pool.acquire();
        assert!(mine.is_ok(), "an object was at rest all along");
        drop((taken.join().unwrap(), mine, pool));
        assert_all_dropped();
    });
}

/// The revoker sees what the user wrote, or passes over.
#[test]
fn use_against_reset_is_seen_or_passed_over() {
    model("pool_use_against_reset", 10, || {
        let pool = pool(1, 1);
        let mut lease = pool.acquire().unwrap();
        let user = thread::spawn(move || {
            let used = lease.with(Watched::add);
            assert!(used.is_none() || used == Some(1));
            (used.is_some(), lease)
        });
        let revoked = pool.reset();
        let (used, lease) = user.join().unwrap();
        assert!(used || revoked == 1);
        assert_eq!(lease.is_revoked(), revoked == 1);
        assert_eq!(pool.release(lease), revoked == 0);
        assert_eq!(pool.acquire().unwrap().with(Watched::add), Some(1));
        drop(pool);
        assert_all_dropped();
    });
}

/// What is taken away was constructed by another thread, and never used.
#[test]
fn reset_against_an_acquisition_has_the_whole_object() {
    model("pool_reset_against_acquire", 5, || {
        let pool = pool(1, 1);
        let other = pool.clone();
        let resetter = thread::spawn(move || other.reset());
        let lease = pool.acquire().unwrap();
        let revoked = resetter.join().unwrap();
        assert_eq!(pool.release(lease), revoked == 0);
        drop(pool);
        assert_all_dropped();
    });
}

/// Both want to end the lease: one does, and the object comes to rest once.
#[test]
fn release_against_reset_brings_the_object_back_once() {
    model("pool_release_against_reset", 10, || {
        let pool = pool(1, 1);
        let lease = pool.acquire().unwrap();
        let other = pool.clone();
        let released = thread::spawn(move || other.release(lease));
        let revoked = pool.reset();
        assert_eq!(usize::from(released.join().unwrap()) + revoked, 1);
        let again = pool.acquire().unwrap();
        assert!(pool.acquire().is_err(), "it was there twice");
        drop((again, pool));
        assert_all_dropped();
    });
}

/// The end of the pool against that of its last lease: one drops the object, one frees the memory.
#[test]
fn last_pool_dropped_against_the_last_lease_drops_the_object_once() {
    model("pool_close_against_release", 10, || {
        let pool = pool(1, 1);
        let mut lease = pool.acquire().unwrap();
        let released = thread::spawn(move || {
            assert_eq!(lease.with(Watched::add), Some(1), "a lease outlives its pool");
            drop(lease);
        });
        drop(pool);
        released.join().unwrap();
        assert_all_dropped();
    });
}

/// The closer counts the lease that another thread took before it dropped its `Pool`.
#[test]
fn last_pool_dropped_after_another_thread_acquired_leaves_its_lease() {
    model("pool_close_after_acquire", 5, || {
        let pool = pool(1, 1);
        let other = pool.clone();
        let user = thread::spawn(move || {
            let mut lease = other.acquire().unwrap();
            drop(other);
            assert_eq!(lease.with(Watched::add), Some(1));
        });
        drop(pool);
        user.join().unwrap();
        assert_all_dropped();
    });
}

/// The same with two leases, of which neither knows who is last.
#[test]
fn last_pool_dropped_against_two_leases_drops_each_object_once() {
    model("pool_close_against_two", 50, || {
        let pool = pool(2, 2);
        let leases = [(); 2].map(|()| pool.acquire().unwrap());
        let released = leases.map(|lease| thread::spawn(move || drop(lease)));
        drop(pool);
        released.into_iter().for_each(|thread| thread.join().unwrap());
        assert_all_dropped();
    });
}

/// A revoked lease and its object's next one, against the end of the pool.
#[test]
fn revoked_lease_dropped_against_the_last_pool_frees_once() {
    model("pool_close_against_revoked", 10, || {
        let pool = pool(1, 1);
        let lease = pool.acquire().unwrap();
        assert_eq!(pool.reset(), 1);
        let next = pool.acquire().unwrap();
        let revoked = thread::spawn(move || drop(lease));
        let released = thread::spawn(move || drop(next));
        drop(pool);
        revoked.join().unwrap();
        released.join().unwrap();
        assert_all_dropped();
    });
}

/// A lease that is dropped while it is being revoked: its reference may be given back before it is
/// added.
#[test]
fn lease_dropped_against_reset_and_close_frees_once() {
    model("pool_reset_then_close", 10, || {
        let pool = pool(1, 1);
        let lease = pool.acquire().unwrap();
        let dropped = thread::spawn(move || drop(lease));
        pool.reset();
        drop(pool);
        dropped.join().unwrap();
        assert_all_dropped();
    });
}

//! User code that a pool calls: constructors, `recycle` and destructors that panic, or that use the
//! pool themselves.

#[path = "pool/object.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod object;
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::pool::Pool;
use hatchery::{Limits, Recycle, SpawnFailure};
use object::{Trick, rejecting, trick};

#[test]
fn panic_while_an_object_is_out_returns_it_recycled() {
    let (census, pool) = rejecting(1);
    for _ in 0..3 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut lease = pool.acquire().unwrap();
            lease.with(|object| {
                object.dirt.push(7);
                panic!("in use");
            })
        }));
        assert!(outcome.is_err());
        let mut again = pool.acquire().expect("the unit is back");
        assert_eq!(again.with(|object| object.dirt.len()), Some(0));
    }
    assert_eq!((census.made(), pool.stats().drop_panics), (1, 0));
}

#[test]
fn object_whose_recycle_panics_is_dropped_and_not_used_again() {
    let (census, pool) = rejecting(1);
    for (nth, ill) in [Trick::PanicInRecycle, Trick::PanicInBoth].into_iter().enumerate() {
        let mut lease = pool.acquire().unwrap();
        trick(&mut lease, ill);
        assert!(pool.release(lease));
        assert_eq!((census.made(), census.alive(), pool.idle()), (nth + 1, 0, 0));
        assert_eq!(pool.stats().free, 1, "the unit is not lost");
    }
    assert_eq!(pool.stats().drop_panics, 3);
    let mut fresh = pool.acquire().unwrap();
    assert_eq!(fresh.with(|object| object.dirt.len()), Some(0));
    assert_eq!((pool.stats().misses, pool.stats().hits), (3, 0));
    trick(&mut fresh, Trick::PanicInRecycle);
    assert_eq!(pool.reset(), 1, "the same by reset");
    assert_eq!((census.alive(), pool.idle()), (0, 0));
}

#[test]
fn object_whose_destructor_panics_costs_no_other() {
    let (_census, pool) = rejecting(8);
    let mut leases = Vec::from_iter((0..8).map(|_| pool.acquire().unwrap()));
    trick(&mut leases[3], Trick::PanicInDrop);
    drop(leases);
    drop(pool); // and the census asks for each
}

#[derive(Debug)]
struct Reluctant(#[expect(dead_code, reason = "it has a size")] u64);

static MAY_BE_MADE: AtomicUsize = AtomicUsize::new(0);

impl Default for Reluctant {
    fn default() -> Reluctant {
        let left = MAY_BE_MADE.load(Ordering::SeqCst);
        assert!(left > 0, "not now");
        MAY_BE_MADE.store(left - 1, Ordering::SeqCst);
        Reluctant(0)
    }
}

impl Recycle for Reluctant {
    fn recycle(&mut self) {}
}

#[test]
fn panic_of_the_constructor_reaches_the_caller_and_loses_no_unit() {
    let pool = Pool::<Reluctant>::new(Limits::reject(4)).unwrap();
    for _ in 0..9 {
        assert!(catch_unwind(AssertUnwindSafe(|| pool.acquire())).is_err());
    }
    let stats = pool.stats();
    assert_eq!((stats.live, stats.created, stats.spawned, stats.peak_live), (0, 0, 0, 0));
    assert_eq!((stats.idle, stats.rejected), (0, 0));
    MAY_BE_MADE.store(4, Ordering::SeqCst);
    let leases = Vec::from_iter((0..4).map(|_| pool.acquire().unwrap()));
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 4 });
    let stats = pool.stats();
    assert_eq!((stats.live, stats.misses, stats.hits, stats.peak_live), (4, 4, 0, 4));
    drop(leases);
}

/// What an object gives back while it is recycled itself comes home when that is done, whatever the
/// length of the chain.
#[test]
fn chain_of_leases_ends_without_recursion() {
    const LENGTH: usize = 100_000;
    let (census, pool) = rejecting(LENGTH);
    let mut chain = pool.acquire().unwrap();
    for _ in 1..LENGTH {
        let mut next = pool.acquire().unwrap();
        trick(&mut next, Trick::GiveBack(chain));
        chain = next;
    }
    assert!(pool.release(chain));
    assert_eq!((pool.idle(), census.made()), (LENGTH, LENGTH));
    assert_eq!(pool.stats().live, 0);
}

#[test]
fn chain_of_leases_in_objects_that_are_dropped_ends_as_well() {
    let (census, pool) = rejecting(1000);
    let mut chain = pool.acquire().unwrap();
    for _ in 1..1000 {
        let mut next = pool.acquire().unwrap();
        trick(&mut next, Trick::GiveBack(chain));
        chain = next;
    }
    drop(pool);
    assert_eq!(census.alive(), 1000);
    drop(chain);
    assert_eq!(census.alive(), 0);
}

/// A recycle that uses its own pool.
#[derive(Debug, Default)]
struct Caller(Option<Pool<Caller>>);

impl Recycle for Caller {
    fn recycle(&mut self) {
        let Some(pool) = self.0.take() else { return };
        let lease = pool.acquire().expect("room for one more");
        assert!(pool.release(lease));
        assert_eq!(pool.stats().live, 0);
        pool.reset();
        let _ = (pool.idle(), pool.capacity());
    }
}

#[test]
fn recycle_may_use_the_pool() {
    let pool = Pool::<Caller>::new(Limits::reject(3)).unwrap();
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    assert!(pool.release(lease));
    assert_eq!((pool.idle(), pool.stats().drop_panics), (2, 0));
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    assert_eq!(pool.reset(), 1);
    assert_eq!(pool.stats().drop_panics, 0);
}

/// The last pool dropped by the recycle of its own last object.
#[test]
fn pool_that_its_own_object_keeps_ends_with_it() {
    let pool = Pool::<Caller>::new(Limits::reject(2)).unwrap();
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    drop(pool);
    drop(lease);
}

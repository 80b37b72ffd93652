//! User code in and around an overwriting: what panics, what uses the pool itself, and a thread's
//! last moments.

#[path = "pool/object.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod object;
mod support;

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, Recycle};
use object::{MAY_BE_MADE, Trick, assert_accounts, dirty, fill, overwriting, revoked, trick};
use support::{finishes, panics};

#[test]
fn object_whose_recycle_panics_is_made_anew_for_its_overwriter() {
    for (ill, panics) in [(Trick::PanicInRecycle, 1), (Trick::PanicInBoth, 2)] {
        let (census, pool) = overwriting(2);
        let mut leases = fill(&pool);
        dirty(&mut leases[0], 7);
        trick(&mut leases[0], ill);
        let mut next = pool.acquire().expect("the lease was overwritten");
        assert_eq!(next.with(|object| object.dirt.len()), Some(0));
        assert_eq!((census.made(), census.alive(), revoked(&leases)), (3, 2, vec![0]));
        let stats = pool.stats();
        assert_eq!((stats.created, stats.overwritten, stats.drop_panics), (3, 1, panics));
        assert_eq!((stats.hits, stats.misses, stats.live), (0, 2, 2), "neither hit nor miss");
        assert_accounts(&stats, 0);
        drop(leases);
        assert!(pool.release(next));
        drop(pool.acquire().unwrap());
        assert_eq!((pool.stats().hits, pool.stats().misses), (1, 2));
        assert_accounts(&pool.stats(), 0);
    }
}

/// The lease is gone then, and its unit is at rest without an object: no acquisition was served.
#[test]
fn constructor_that_panics_while_overwriting_loses_no_unit() {
    let (census, pool) = overwriting(2);
    let mut leases = fill(&pool);
    for round in 0..5 {
        trick(&mut leases[0], Trick::PanicInRecycle);
        MAY_BE_MADE.set(0);
        assert!(panics(|| drop(pool.acquire())));
        assert_eq!(revoked(&leases), [0]);
        let stats = pool.stats();
        assert_eq!((stats.live, stats.free, stats.idle, stats.overwritten), (1, 1, 0, 0));
        assert_accounts(&stats, round + 1);
        assert!(panics(|| drop(pool.acquire())), "the unit's object is still to be made");
        MAY_BE_MADE.set(usize::MAX);
        drop(leases.remove(0));
        leases.push(pool.acquire().expect("the unit is there"));
        let stats = pool.stats();
        assert_eq!((stats.live, stats.overwritten, stats.misses), (2, 0, 3 + round));
        assert_eq!((stats.created, census.alive()), (3 + round, 2));
        assert_accounts(&stats, round + 1);
    }
    leases.push(pool.acquire().unwrap());
    assert_eq!((pool.stats().overwritten, revoked(&leases)), (1, vec![0]));
    assert_accounts(&pool.stats(), 5);
}

/// Breaks when it is recycled; the constructor makes only as many as it is told.
#[derive(Debug)]
struct Brittle;

std::thread_local! {
    static BRITTLE_MAY_BE_MADE: Cell<usize> = const { Cell::new(0) };
}

impl Default for Brittle {
    fn default() -> Brittle {
        let left = BRITTLE_MAY_BE_MADE.get();
        assert!(left > 0, "not now");
        BRITTLE_MAY_BE_MADE.set(left - 1);
        Brittle
    }
}

impl Recycle for Brittle {
    fn recycle(&mut self) {
        panic!("recycle");
    }
}

#[test]
fn overwriting_that_ends_in_a_panic_of_the_constructor_is_counted_as_taken_back() {
    let pool = Pool::<Brittle>::new(Limits::overwrite_oldest(1)).unwrap();
    BRITTLE_MAY_BE_MADE.set(1);
    let oldest = pool.acquire().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| pool.acquire())).is_err());
    assert!(oldest.is_revoked());
    BRITTLE_MAY_BE_MADE.set(2);
    let lease = pool.acquire().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.misses, stats.hits, stats.overwritten), (2, 2, 0, 0));
    assert!(pool.release(lease));
    let _lease = pool.acquire().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.misses, stats.hits, stats.overwritten), (3, 3, 0, 0));
    assert_eq!((stats.released, stats.live, stats.free), (1, 1, 0));
}

/// Nothing is overwritten inside `recycle`: what it asks the full pool for is refused.
#[test]
fn recycle_that_acquires_from_the_full_pool_is_refused() {
    let (census, pool) = overwriting(2);
    let mut leases = fill(&pool);
    trick(&mut leases[0], Trick::Acquire(pool.clone(), true));
    let next = pool.acquire().expect("the oldest");
    assert_eq!(revoked(&leases), [0]);
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.overwritten, stats.drop_panics), (1, 1, 0));
    // A destructor's is refused as well, and a release's while its own unit is on the way.
    trick(&mut leases[1], Trick::AcquireInDrop(pool.clone(), true));
    let last = pool.acquire().expect("the oldest");
    assert_eq!((pool.stats().rejected, pool.stats().drop_panics), (2, 1));
    let mut next = next;
    trick(&mut next, Trick::Acquire(pool.clone(), true));
    assert!(pool.release(next));
    // With room it is served.
    let mut last = last;
    trick(&mut last, Trick::Acquire(pool.clone(), false));
    assert!(pool.release(last));
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.drop_panics, stats.live), (3, 1, 0));
    assert_eq!((stats.idle, census.made()), (2, 3));
    assert_accounts(&stats, 0);
}

#[test]
fn recycle_that_resets_the_pool_while_overwriting_revokes_the_others() {
    let (_census, pool) = overwriting(3);
    let mut leases = fill(&pool);
    trick(&mut leases[0], Trick::Reset(pool.clone()));
    let next = pool.acquire().unwrap();
    assert_eq!(revoked(&leases), [0, 1, 2]);
    assert!(!next.is_revoked());
    assert_eq!((pool.stats().live, pool.idle(), pool.stats().drop_panics), (1, 2, 0));
}

/// Each object of the chain gives back the lease of the next while it is recycled itself.
#[test]
fn chain_of_leases_that_an_overwriting_begins_ends_without_recursion() {
    const LENGTH: usize = 100_000;
    finishes(|| {
        let (census, pool) = overwriting(LENGTH + 1);
        let mut chain = pool.acquire().unwrap();
        let first = chain.seq();
        let mut inner = pool.acquire().unwrap();
        for _ in 2..=LENGTH {
            let mut next = pool.acquire().unwrap();
            trick(&mut next, Trick::GiveBack(inner));
            inner = next;
        }
        // The oldest holds the whole chain; the pool is full.
        trick(&mut chain, Trick::GiveBack(inner));
        let next = pool.acquire().unwrap();
        assert!(chain.is_revoked() && first == 1);
        assert_eq!((pool.idle(), census.made()), (LENGTH, LENGTH + 1));
        assert_eq!(pool.stats().released as usize, LENGTH);
        assert_accounts(&pool.stats(), 0);
        drop((chain, next));
    });
}

/// Each object of the chain asks the full pool for another one while it is recycled.
#[test]
fn chain_of_overwritings_does_not_nest() {
    const LENGTH: usize = 100_000;
    finishes(|| {
        let (census, pool) = overwriting(LENGTH);
        let mut leases = fill(&pool);
        for lease in &mut leases {
            trick(lease, Trick::Acquire(pool.clone(), true));
        }
        let next = Vec::from_iter((0..10).map(|_| pool.acquire().unwrap()));
        assert_eq!(revoked(&leases), Vec::from_iter(0..10));
        assert_eq!((pool.stats().rejected, census.made()), (10, LENGTH));
        assert_accounts(&pool.stats(), 0);
        for mut lease in leases {
            lease.with(|object| object.trick = Trick::None);
        }
        drop(next);
    });
}

#[test]
fn last_pool_dropped_inside_an_overwriting_ends_with_the_lease() {
    let (census, pool) = overwriting(1);
    let clone = pool.clone();
    let mut lease = pool.acquire().unwrap();
    // The object keeps the last pool, beside the one that acquires.
    trick(&mut lease, Trick::Acquire(clone, true));
    let next = pool.acquire().unwrap();
    drop(pool);
    assert_eq!(census.alive(), 1);
    drop(next);
    assert_eq!(census.alive(), 0);
    drop(lease);
}

/// Acquires from the full pool when its thread ends.
struct Farewell(Pool<u64>, std::sync::mpsc::Sender<Lease<u64>>);

impl Drop for Farewell {
    fn drop(&mut self) {
        for _ in 0..3 {
            self.1.send(self.0.acquire().expect("somebody can be overwritten")).unwrap();
        }
    }
}

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

#[test]
fn overwriting_in_a_threads_last_moments_takes_the_oldest() {
    for used_before in [false, true] {
        let pool = Pool::<u64>::new(Limits::overwrite_oldest(4)).unwrap();
        let leases = Vec::from_iter((0..4).map(|_| pool.acquire().unwrap()));
        let (sender, receiver) = std::sync::mpsc::channel();
        let farewell = Farewell(pool.clone(), sender);
        let last_moments = move || {
            // Registered before what the thread has of the pool, so that it may go after that.
            FAREWELL.with(|slot| *slot.borrow_mut() = Some(farewell));
            if used_before {
                FAREWELL.with(|slot| drop(slot.borrow().as_ref().unwrap().0.acquire()));
            }
        };
        thread::spawn(last_moments).join().unwrap();
        let new = Vec::from_iter(receiver.iter());
        let gone = leases.iter().filter(|lease| lease.is_revoked()).count();
        assert_eq!((new.len(), gone), (3, 3), "used before: {used_before}");
        let stats = pool.stats();
        assert_eq!((stats.overwritten, stats.live), (3, 4), "used before: {used_before}");
        assert_accounts(&stats, 0);
    }
}

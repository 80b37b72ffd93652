//! Many threads with one pool: never more leases than its capacity, never two users of an object,
//! and nothing is lost.

#[path = "pool/object.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod object;
mod support;

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, SpawnFailure};
use object::{enrol, rejecting};

#[test]
fn numbers_of_leases_rise_on_a_thread_and_are_unique_among_threads() {
    let pool = Pool::<u64>::new(Limits::reject(64)).unwrap();
    let take = || {
        let numbers = Vec::from_iter((0..1000).map(|_| pool.acquire().unwrap().seq()));
        assert!(numbers.is_sorted());
        numbers
    };
    let mut all = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(take));
        Vec::from_iter(threads.into_iter().flat_map(|thread| thread.join().unwrap()))
    });
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), all[0]), (4000, 1));
}

/// Threads that acquire, use and give back: never more leases than the capacity, every attempt is
/// one or the other, and nothing is lost.
fn churn(threads: usize, capacity: usize, rounds: usize, hold: usize) {
    let pool = Pool::<u64>::new(Limits::reject(capacity)).unwrap();
    let (out, served, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for id in 0..threads {
            let (pool, out, served, refused) = (pool.clone(), &out, &served, &refused);
            let barrier = &barrier;
            scope.spawn(move || {
                let mut held: Vec<Lease<u64>> = Vec::new();
                barrier.wait();
                for round in 0..rounds {
                    match pool.acquire() {
                        Ok(mut lease) => {
                            let now = out.fetch_add(1, Ordering::SeqCst) + 1;
                            assert!(now <= capacity, "{now} leases of {capacity}");
                            served.fetch_add(1, Ordering::Relaxed);
                            let mine = (id * rounds + round) as u64 + 1;
                            assert_eq!(lease.with(|n| std::mem::replace(n, mine)), Some(0));
                            assert_eq!(lease.with(|n| *n), Some(mine));
                            held.push(lease);
                        }
                        Err(failure) => {
                            assert_eq!(failure, SpawnFailure::Exhausted { capacity });
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    if held.len() > hold {
                        out.fetch_sub(1, Ordering::SeqCst);
                        assert!(pool.release(held.swap_remove(round % held.len())));
                    }
                }
                for lease in held {
                    out.fetch_sub(1, Ordering::SeqCst);
                    assert!(pool.release(lease));
                }
            });
        }
    });
    let (served, refused) = (served.into_inner() as u64, refused.into_inner() as u64);
    assert_eq!(served + refused, (threads * rounds) as u64);
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.rejected, stats.released), (served, refused, served));
    assert_eq!((stats.live, stats.hits + stats.misses), (0, served));
    assert!(stats.peak_live <= capacity && stats.created <= capacity as u64);
    let all = Vec::from_iter((0..capacity).map(|_| pool.acquire().expect("no unit is lost")));
    assert!(pool.acquire().is_err());
    drop(all);
}

#[test]
fn threads_at_a_small_capacity_never_have_more_than_it() {
    churn(16, 8, 2_000, 1);
}

#[test]
fn threads_at_a_large_capacity_never_have_more_than_it() {
    churn(16, 100_000, 2_000, 1_000);
}

/// Users against resets: a lease answers or is revoked, and no object has two users.
#[test]
fn threads_against_resets_keep_objects_apart() {
    let (census, pool) = rejecting(4);
    thread::scope(|scope| {
        for id in 0..4u64 {
            let (pool, census) = (pool.clone(), &census);
            scope.spawn(move || {
                enrol(census);
                for round in 0..2_000 {
                    let Ok(mut lease) = pool.acquire() else { continue };
                    let mine = id << 32 | round;
                    let Some(mut object) = lease.get_mut() else { continue };
                    assert!(object.dirt.is_empty(), "as new");
                    object.dirt.push(mine);
                    thread::yield_now();
                    assert_eq!(object.dirt, [mine], "in use by somebody else");
                }
            });
        }
        for _ in 0..500 {
            pool.reset();
            thread::yield_now();
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.live, stats.idle, stats.drop_panics), (0, stats.slots, 0));
    let all = Vec::from_iter((0..4).map(|_| pool.acquire().expect("no unit is lost")));
    drop((all, pool));
    assert_eq!(census.alive(), 0);
}

/// Leases that come home while and after the last pool is dropped.
#[test]
fn threads_that_outlive_the_pool_drop_every_object_once() {
    for _ in 0..50 {
        let (census, pool) = rejecting(16);
        let leases = Vec::from_iter((0..16).map(|_| pool.acquire().unwrap()));
        let barrier = Barrier::new(5);
        thread::scope(|scope| {
            let mut leases = leases.into_iter();
            for _ in 0..4 {
                let (mine, barrier) = (Vec::from_iter(leases.by_ref().take(4)), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    drop(mine);
                });
            }
            barrier.wait();
            drop(pool);
        });
        assert_eq!(census.alive(), 0);
    }
}

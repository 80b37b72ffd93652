//! A pool whose generations run out, whose memory is refused, and whose threads stop half-way.

use std::cell::RefCell;
use std::num::NonZeroU32;

use super::stopped::stopped;
use super::{Census, Counted};
use crate::memory::refusals;
use crate::pool::{Lease, Pool};
use crate::{Limits, Recycle, SpawnFailure};

std::thread_local! {
    static CENSUS: RefCell<Census> = RefCell::default();
}

impl Default for Counted {
    fn default() -> Counted {
        CENSUS.with_borrow(Census::payload)
    }
}

impl Recycle for Counted {
    fn recycle(&mut self) {}
}

/// Makes this thread's objects count in the census.
pub(super) fn enrol(census: &Census) {
    CENSUS.set(census.clone());
}

/// A pool over two shards whose slots last so many leases.
pub(super) fn pool(limits: Limits, last: u32) -> (Census, Pool<Counted>) {
    let census = Census::default();
    enrol(&census);
    let last = NonZeroU32::new(last).expect("at least one");
    (census, Pool::with_last_generation(limits, 2, last).expect("legal"))
}

#[test]
fn slot_whose_generations_are_spent_is_replaced_and_its_object_stays() {
    for last in 1..=7 {
        let (census, pool) = pool(Limits::reject(2), last);
        let mut old: Vec<Lease<Counted>> = Vec::new();
        for round in 1..=200u64 {
            let mut lease = pool.acquire().expect("room");
            assert_eq!(lease.seq(), round);
            assert!(lease.get_mut().is_some());
            assert!(old.iter().all(Lease::is_revoked), "revoked is revoked for ever");
            if round % 3 == 0 {
                assert_eq!(pool.reset(), 1);
                old.push(lease);
            } else {
                assert!(pool.release(lease));
            }
            let stats = pool.stats();
            assert_eq!((census.there(), stats.created, stats.live), (1, 1, 0));
            let replaced = (round - 1) / u64::from(last);
            assert_eq!(stats.retired_slots, replaced, "after {round} of {last} a slot");
            assert_eq!((stats.slots as u64, stats.free, stats.idle), (replaced + 1, 1, 1));
        }
        pool.reset_stats();
        let leases = [(); 2].map(|()| pool.acquire().expect("room"));
        assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 2 });
        assert_eq!((pool.stats().hits, pool.stats().misses), (1, 1));
        drop((leases, pool, old));
        assert_eq!(census.there(), 0);
    }
}

#[test]
fn peak_is_exact_when_a_slot_is_replaced() {
    let (_census, pool) = pool(Limits::reject(5), 2);
    drop([(); 5].map(|()| pool.acquire().expect("room")));
    pool.reset_stats();
    for _ in 0..20 {
        drop(pool.acquire().expect("room"));
        assert_eq!(pool.stats().peak_live, 1);
    }
    assert!(pool.stats().retired_slots > 0);
}

/// Until there is no index left: in the end the pool refuses, and loses nothing.
#[test]
fn threads_that_spend_generations_never_have_more_than_the_capacity() {
    let (census, pool) = pool(Limits::reject(3), 2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (pool, census) = (pool.clone(), census.clone());
            scope.spawn(move || {
                CENSUS.set(census.clone());
                for _ in 0..2_000 {
                    let Ok(mut lease) = pool.acquire() else { continue };
                    assert!(census.there() <= 3);
                    assert!(lease.get_mut().is_some());
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.slots as u64 - stats.retired_slots, stats.created);
    assert_eq!((stats.live, stats.idle as u64), (0, stats.created));
    drop(pool);
    assert_eq!(census.there(), 0);
}

#[test]
fn refused_memory_is_answered_and_loses_no_unit() {
    let (census, pool) = pool(Limits::grow_to_cap(100, 200), 2);
    let mut leases = Vec::new();
    let mut refused = 0;
    while leases.len() < 200 {
        refusals::refuse_after(0);
        let outcome = pool.acquire();
        let asked = refusals::stop();
        match outcome {
            Ok(lease) => leases.push(lease),
            Err(SpawnFailure::OutOfMemory { bytes }) => {
                assert!(asked && bytes > 0);
                refused += 1;
                leases.push(pool.acquire().expect("memory is there again"));
            }
            Err(other) => panic!("refused for another reason: {other}"),
        }
    }
    assert_eq!(refused, 3, "slots come in segments of 64, 64 and 128");
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.grown, stats.slots), (3, 100, 200));
    drop(leases);
    // The second leases of each slot, and then each is to be replaced.
    drop(Vec::from_iter((0..200).map(|_| pool.acquire().expect("room"))));
    drop(Vec::from_iter((0..56).map(|_| pool.acquire().expect("room in the segment"))));
    let before = pool.stats();
    refusals::refuse_after(0);
    let _kept = Vec::from_iter((0..56).map(|_| pool.acquire().expect("those have one left")));
    assert!(matches!(pool.acquire(), Err(SpawnFailure::OutOfMemory { .. })));
    assert!(refusals::stop());
    let after = pool.stats();
    assert_eq!((after.idle, after.slots), (before.idle - 56, before.slots), "nothing is lost");
    drop(Vec::from_iter((0..144).map(|_| pool.acquire().expect("memory is there again"))));
    drop((pool, _kept));
    assert_eq!(census.there(), 0);
}

#[test]
fn giver_that_stops_half_way_keeps_its_unit_alone() {
    for point in ["recycled, not at rest", "revoked, not at rest"] {
        let (census, pool) = pool(Limits::reject(2), u32::MAX);
        let (lease, other) = (pool.acquire().unwrap(), pool.clone());
        let body = move || match point {
            "revoked, not at rest" => assert_eq!((other.reset(), drop(lease)).0, 1),
            _ => assert!(other.release(lease)),
        };
        stopped(point, body, || {
            let mut mine = pool.acquire().expect("the other unit");
            assert!(mine.get_mut().is_some());
            assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 2 });
            assert_eq!(pool.stats().live, 1);
            assert!(pool.release(mine));
        });
        let both = [(); 2].map(|()| pool.acquire().expect("nothing is lost"));
        drop((both, pool));
        assert_eq!(census.there(), 0);
    }
}

#[test]
fn giver_that_stops_half_way_does_not_hold_up_the_end_of_the_pool() {
    let (census, pool) = pool(Limits::reject(2), u32::MAX);
    let (lease, other) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    drop(other);
    let mut pool = Some(pool);
    let there = census.clone();
    stopped(
        "recycled, not at rest",
        move || drop(lease),
        || {
            drop(pool.take());
            assert_eq!(there.there(), 1, "the giver's");
        },
    );
    assert_eq!(census.there(), 0);
}

#[test]
fn taker_of_a_fresh_unit_that_stops_leaves_the_unit_to_others() {
    let (_census, pool) = pool(Limits::reject(1), u32::MAX);
    let census = CENSUS.with_borrow(Clone::clone);
    let other = pool.clone();
    let body = move || {
        CENSUS.set(census);
        other.acquire().unwrap_err()
    };
    let mut mine = None;
    let refused = stopped("segment made, unit not taken", body, || {
        mine = Some(pool.acquire().expect("nobody has taken it"));
    });
    assert_eq!(refused, SpawnFailure::Exhausted { capacity: 1 });
}

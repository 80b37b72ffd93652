//! Memory that is refused, at each allocation that there is: the answer is `OutOfMemory`, the
//! payload comes back, nothing is lost, and the next call succeeds.

use super::{Census, assert_whole};
use crate::memory::refusals;
use crate::{Handle, Limits, SpawnFailure, Store};

/// Refuses one allocation after another of what `body` does to a new store, until it needs no
/// more; how many there were.
fn refuse_each(
    make: impl Fn() -> Store<super::Counted>,
    body: impl Fn(&Store<super::Counted>, &Census) -> Result<(), SpawnFailure>,
) -> u32 {
    for granted in 0.. {
        let census = Census::default();
        let store = make();
        refusals::refuse_after(granted);
        let outcome = body(&store, &census);
        let refused = refusals::stop();
        match outcome {
            Err(SpawnFailure::OutOfMemory { bytes }) => assert!(refused && bytes > 0),
            Err(other) => panic!("refused for another reason: {other}"),
            // Who can do without does: a Dead slot has its stack, a count its shard.
            Ok(()) => {}
        }
        body(&store, &census).expect("memory is there again");
        assert_whole(&store);
        drop(store);
        assert_eq!(census.there(), 0);
        if !refused {
            return granted;
        }
    }
    unreachable!("the allocations come to an end")
}

#[test]
fn first_spawn_survives_the_refusal_of_each_allocation() {
    let one = |store: &Store<_>, census: &Census| match store.spawn_active(census.payload()) {
        Ok(_) => Ok(()),
        Err(refused) => {
            assert_eq!(census.there(), store.len() as i64 + 1, "the payload came back");
            Err(refused.failure)
        }
    };
    // A shard, a magazine, a chunk of boxes, what a box holds, a segment.
    assert_eq!(refuse_each(Store::new, one), 5);
    let bounded = || Store::builder().limits(Limits::reject(5)).build().unwrap();
    assert_eq!(refuse_each(bounded, one), 5);
}

#[test]
fn growing_into_new_segments_survives_the_refusal_of_each_allocation() {
    let many = |store: &Store<_>, census: &Census| {
        let before = store.len();
        match store.spawn_batch((0..600).map(|_| census.payload())) {
            Ok(_) => Ok(()),
            Err(refused) => {
                assert_eq!(store.len(), before + refused.spawned.len());
                assert_eq!(refused.spawned.len() + refused.rest.len(), 600);
                Err(refused.failure)
            }
        }
    };
    assert!(refuse_each(Store::new, many) >= 7, "at least four segments");
}

#[test]
fn a_full_segment_and_its_directory_may_be_refused() {
    // Two segments' worth: to the second full one, in tests, leads a directory.
    const NEAR: usize = 1 << 17;
    let store: Store<()> = Store::new();
    while store.slots() <= NEAR - 256 {
        store.spawn_active(()).unwrap();
    }
    assert!(store.slots() <= NEAR, "the next batch crosses into the second full segment");
    for granted in [0, 1] {
        refusals::refuse_after(granted);
        let refused = (0..1000).find_map(|_| store.spawn_active(()).err());
        assert!(refusals::stop());
        let failure = refused.expect("the directory, then the segment is refused").failure;
        assert!(matches!(failure, SpawnFailure::OutOfMemory { .. }), "{failure}");
    }
    while store.spawn_active(()).unwrap().seq() < NEAR as u64 {}
    assert_whole(&store);
}

#[test]
fn ends_succeed_whatever_is_refused() {
    let rounds = |store: &Store<_>, census: &Census| {
        for _ in 0..3 {
            let spawned: Vec<_> = (0..300).map(|_| store.spawn_active(census.payload())).collect();
            for handle in spawned.into_iter().flatten() {
                store.despawn(handle).expect("an end needs no memory");
            }
            store.reclaim();
        }
        Ok(())
    };
    assert!(refuse_each(Store::new, rounds) >= 5);
}

#[test]
fn a_reservation_that_is_refused_never_calls_its_constructor() {
    let store: Store<u64> = Store::new();
    refusals::refuse_after(0);
    let refused = store.spawn_with(|_| unreachable!("there is no slot")).map(drop);
    assert!(refusals::stop());
    assert!(matches!(refused, Err(SpawnFailure::OutOfMemory { .. })));
    assert_eq!(store.spawn_with(|h| h.seq()).unwrap().activate().seq(), 0);
}

/// A payload whose segments cannot exist at all.
#[test]
fn a_segment_beyond_the_address_space_is_out_of_memory() {
    let store: Store<[u8; 1 << 59]> = Store::new();
    for _ in 0..3 {
        let refused = store.spawn_with(|_| unreachable!("there is no slot")).map(drop);
        assert!(matches!(refused, Err(SpawnFailure::OutOfMemory { .. })));
    }
    assert!(store.is_empty());
}

/// A store of which everything has ended, its slots at generations that differ, and the handles.
fn spent(census: &Census) -> (Store<super::Counted>, Vec<Handle>) {
    let store = Store::builder().shards(1).build().unwrap();
    let mut old = store.spawn_batch((0..600).map(|_| census.payload())).unwrap();
    for at in [0, 70, 300] {
        store.despawn(old[at]).unwrap();
        old.push(store.spawn_active(census.payload()).unwrap());
    }
    store.despawn_batch(&old);
    (store, old)
}

/// Grows the store again; no handle is issued twice.
fn assert_regrows(store: &Store<super::Counted>, census: &Census, old: &[Handle]) {
    let new = store.spawn_batch((0..600).map(|_| census.payload())).unwrap();
    for handle in old {
        assert!(store.state(*handle).is_err() && !new.contains(handle), "{handle} came again");
    }
    assert_eq!(store.slots(), store.stats().slots);
}

#[test]
fn shrink_does_what_it_can_whichever_allocation_is_refused() {
    for granted in 0.. {
        let census = Census::default();
        let (store, old) = spent(&census);
        refusals::refuse_after(granted);
        store.shrink();
        let refused = refusals::stop();
        assert_eq!(census.there(), 0);
        assert_regrows(&store, &census, &old);
        assert_whole(&store);
        store.shrink();
        assert_eq!(store.slots(), 0, "memory is there again");
        if !refused {
            assert!(granted >= 5, "a census, an attic, generations, boxes, indices: {granted}");
            break;
        }
    }
}

#[test]
fn segment_that_cannot_be_made_again_is_not_lost_and_others_serve() {
    for granted in 0..4 {
        let census = Census::default();
        let (store, old) = spent(&census);
        store.shrink();
        assert_eq!(store.slots(), 0);
        refusals::refuse_after(granted);
        let first = store.spawn_active(census.payload());
        refusals::stop();
        match first {
            // Fresh slots where the segment was refused, the lowest otherwise.
            Ok(handle) => assert!(store.pin().contains(handle) && !old.contains(&handle)),
            Err(refused) => assert!(matches!(refused.failure, SpawnFailure::OutOfMemory { .. })),
        }
        assert_regrows(&store, &census, &old);
        let lowest = store.pin().iter().map(|(handle, _)| handle.seq()).min();
        assert_eq!(lowest, Some(0), "nothing was lost");
        assert_whole(&store);
    }
}

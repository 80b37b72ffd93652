//! Slots that come again with the generations that they had.

#[path = "shrink/steps.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod steps;
mod support;

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

use hatchery::{EntityId, Handle, SceneId, Store};
use steps::{assert_gone, fill};
use support::Census;

#[test]
fn every_generation_of_a_slot_that_was_given_back_is_an_error() {
    let census = Census::new();
    let store = Store::new();
    for _ in 0..3 {
        let all = fill(&store, &census, 1000);
        store.despawn_batch(&all);
        store.reclaim();
    }
    let guesses = || {
        let generations = (1..=5).chain([u32::MAX]).map(|n| NonZeroU32::new(n).unwrap());
        let scene = store.scene();
        generations.flat_map(move |generation| {
            (0..1100).map(move |seq| Handle::new(EntityId::new(scene, seq).unwrap(), generation))
        })
    };
    store.shrink();
    guesses().for_each(|guess| assert_gone(&store, guess));
    let alive = HashSet::<_>::from_iter(fill(&store, &census, 1000));
    for guess in guesses() {
        assert_eq!(store.state(guess).is_ok(), alive.contains(&guess), "{guess}");
        if !alive.contains(&guess) {
            assert_gone(&store, guess);
        }
    }
    drop(store);
}

#[test]
fn generations_go_on_exactly_where_they_were() {
    let census = Census::new();
    // How unlike the generations of one segment are: equal, within a byte, beyond.
    for lives in [0, 100, 3000] {
        let store = Store::builder().shards(1).build().unwrap();
        let mut at: HashMap<u64, u32> = HashMap::new();
        let note = |at: &mut HashMap<u64, u32>, handle: Handle| {
            let last = at.insert(handle.seq(), handle.generation().get());
            assert_eq!(handle.generation().get(), last.unwrap_or(0) + 1, "{handle}");
        };
        let mut all = fill(&store, &census, 600);
        all.iter().for_each(|&handle| note(&mut at, handle));
        // A few slots live much oftener than the others.
        for _ in 0..lives {
            store.despawn(all.pop().unwrap()).unwrap();
            let next = store.spawn_active(census.payload(0)).unwrap();
            note(&mut at, next);
            all.push(next);
        }
        for round in 0..3 {
            assert_eq!(store.despawn_batch(&all), 600);
            assert!(store.shrink() > 600 * 32, "round {round}");
            assert_eq!(store.slots(), 0);
            all = fill(&store, &census, 600);
            all.iter().for_each(|&handle| note(&mut at, handle));
        }
        drop(store);
    }
}

/// Nothing where they are equal, a byte a slot where they are near, four otherwise.
#[test]
fn generations_are_kept_in_little_memory() {
    const SLOTS: usize = 1 << 14;
    for (lives, most) in [(0, 0), (200, 1), (3000, 4)] {
        let store = Store::builder().shards(1).build().unwrap();
        let mut all = store.spawn_batch((0..SLOTS).map(|_| [0u64; 8])).unwrap();
        let empty = Store::<[u64; 8]>::new().stats().bytes;
        for _ in 0..lives {
            store.despawn(all.pop().unwrap()).unwrap();
            all.push(store.spawn_active([1; 8]).unwrap());
        }
        store.despawn_batch(&all);
        store.shrink();
        let kept = store.stats().bytes - empty;
        assert_eq!(store.slots(), 0);
        assert!(kept <= SLOTS * most + (16 << 10), "{kept} bytes for {lives} lives");
    }
}

#[test]
fn worn_slots_keep_their_segments_and_nothing_is_issued_twice() {
    let census = Census::new();
    let last = NonZeroU32::new(3).unwrap();
    let store = Store::builder().last_generation(last).build().unwrap();
    let mut issued = HashSet::new();
    for _ in 0..12 {
        let all = fill(&store, &census, 300);
        for &handle in &all {
            assert!(handle.generation() <= last);
            assert!(issued.insert(handle), "{handle} was issued before");
        }
        store.despawn_batch(&all);
        store.shrink();
        let stats = store.stats();
        assert_eq!(stats.slots, stats.free + stats.retired_slots as usize, "{stats:?}");
    }
    assert!(store.stats().retired_slots >= 900, "{:?}", store.stats());
    issued.iter().for_each(|&handle| assert_gone(&store, handle));
    drop(store);
}

#[test]
fn next_store_of_the_scene_starts_above_what_was_given_back() {
    let census = Census::new();
    let scene = SceneId(4711);
    let make = || Store::builder().scene(scene).build().unwrap();
    let store = make();
    for _ in 0..5 {
        let all = fill(&store, &census, 700);
        store.despawn_batch(&all);
        store.shrink();
    }
    assert_eq!(store.slots(), 0);
    drop(store);
    let next = make();
    let handle = next.spawn_active(census.payload(0)).unwrap();
    assert!(handle.generation().get() > 5, "{handle}");
    drop(next);
}

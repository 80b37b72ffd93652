//! A handle answers for one entity for ever: generations are never wrapped, a
//! spent slot is retired, and a new store under an old scene id starts above.

mod support;

use std::collections::{BTreeMap, HashSet};

use hatchery::{Handle, Limits, LookupError, Reaped, SceneId, Store};
use proptest::prelude::*;
use support::{Census, Counted, handle, nonzero};

fn life(store: &Store<Counted>, census: &Census, tag: u64) -> Handle {
    let handle = store.spawn_active(census.payload(tag)).unwrap();
    assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
    store.kill(handle).unwrap();
    assert_eq!(store.reap(handle), Ok(Reaped::Done));
    handle
}

/// C01
#[test]
fn an_old_handle_is_never_a_value_however_often_its_slot_is_used() {
    let census = Census::new();
    for last in [7, 8, 15] {
        let store = Store::builder()
            .limits(Limits::reject(2))
            .last_generation(nonzero(last))
            .build()
            .unwrap();
        let first = life(&store, &census, 0);
        let mut issued = HashSet::from([first]);
        for step in 1..4 * u64::from(last) {
            let handle = life(&store, &census, step);
            assert!(handle.generation().get() <= last, "{handle}");
            assert!(issued.insert(handle), "{handle} was issued twice");
            assert!(store.pin().get(first).unwrap_err().is_gone());
            assert!(store.hold(first).is_err());
            assert!(store.kill(first).is_err());
        }
        store.reclaim();
        assert!(store.stats().retired_slots >= 2, "{:?}", store.stats());
        assert_eq!(store.stats().drop_panics, 0);
    }
}

#[test]
fn every_life_of_a_slot_adds_one_to_its_generation_until_it_is_retired() {
    let census = Census::new();
    let store =
        Store::builder().limits(Limits::reject(1)).last_generation(nonzero(5)).build().unwrap();
    let handles: Vec<Handle> = (0..20).map(|step| life(&store, &census, step)).collect();
    for (step, pair) in handles.windows(2).enumerate() {
        if (step + 1) % 5 == 0 {
            assert_ne!(pair[1].seq(), pair[0].seq(), "a spent slot is not used again");
            assert_eq!(pair[1].generation(), nonzero(1));
        } else {
            assert_eq!(pair[1].seq(), pair[0].seq());
            assert_eq!(pair[1].generation().get(), pair[0].generation().get() + 1);
        }
    }
    store.reclaim();
    assert_eq!(store.stats().retired_slots, 4);
}

#[test]
fn with_a_last_generation_of_one_no_slot_serves_twice() {
    let census = Census::new();
    let store =
        Store::builder().limits(Limits::reject(2)).last_generation(nonzero(1)).build().unwrap();
    let mut ids = HashSet::new();
    for step in 0..200 {
        let handle = life(&store, &census, step);
        assert_eq!(handle.generation(), nonzero(1));
        assert!(ids.insert(handle.id()), "{handle}: an id issued twice");
    }
    store.reclaim();
    assert_eq!(store.stats().retired_slots, 200);
    assert_eq!(store.stats().dead, 0);
    assert_eq!(census.alive(), 0);
}

#[test]
fn retired_slots_cost_no_capacity() {
    let census = Census::new();
    let store =
        Store::builder().limits(Limits::reject(4)).last_generation(nonzero(3)).build().unwrap();
    for round in 0..20 {
        let handles: Vec<Handle> =
            (0..4).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
        assert!(store.spawn_active(census.payload(9)).is_err(), "round {round}: four is the limit");
        assert_eq!(store.despawn_batch(&handles), 4);
    }
    store.reclaim();
    let stats = store.stats();
    assert_eq!(stats.spawned, 80);
    assert!(stats.retired_slots >= 20, "{stats:?}");
}

#[test]
fn a_handle_of_a_retired_slot_is_gone_in_every_generation() {
    let census = Census::new();
    let store =
        Store::builder().limits(Limits::reject(1)).last_generation(nonzero(2)).build().unwrap();
    let one = life(&store, &census, 0);
    let two = life(&store, &census, 1);
    store.reclaim();
    for generation in [1, 2, 3, 4, u32::MAX] {
        let asked = Handle::new(one.id(), nonzero(generation));
        assert!(store.pin().get(asked).unwrap_err().is_gone());
        assert!(store.state(asked).unwrap_err().is_gone());
        assert!(store.despawn(asked).is_err());
    }
    assert_eq!(two.id(), one.id());
    assert_eq!(store.len(), 0);
}

#[test]
fn a_held_entity_of_the_last_generation_ends_with_its_hold() {
    let census = Census::new();
    let store =
        Store::builder().limits(Limits::reject(1)).last_generation(nonzero(1)).build().unwrap();
    let handle = store.spawn_active(census.payload(3)).unwrap();
    let hold = store.hold(handle).unwrap();
    assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 1 }));
    assert_eq!(hold.tag(), 3);
    drop(hold);
    let next = store.spawn_active(census.payload(4)).unwrap();
    assert_ne!(next.id(), handle.id());
    store.reclaim();
    assert_eq!(store.stats().retired_slots, 1);
}

/// C03
#[test]
fn there_is_no_none_value_among_handles() {
    assert_eq!(size_of::<Handle>(), 16);
    assert_eq!(size_of::<Option<Handle>>(), 16);
    assert_eq!(Handle::from_bytes([0; 12]), None);
    let mut bytes = [0xff; 12];
    bytes[8..].fill(0);
    assert_eq!(Handle::from_bytes(bytes), None, "generation 0 is no handle");
}

/// C03
#[test]
fn the_smallest_and_the_largest_handle_are_safe_to_ask_about() {
    let census = Census::new();
    let store = Store::builder().scene(SceneId(700)).build().unwrap();
    let ask_all = |alive: &[Handle]| {
        for scene in [SceneId(0), store.scene(), SceneId(u16::MAX)] {
            for seq in [0, 1, (1 << 48) - 1] {
                for generation in [1, 2, u32::MAX] {
                    let asked = handle(scene, seq, generation);
                    assert_eq!(store.pin().get(asked).is_ok(), alive.contains(&asked), "{asked}");
                    assert_eq!(store.state(asked).is_ok(), alive.contains(&asked), "{asked}");
                }
            }
        }
    };
    ask_all(&[]);
    let alive = store.spawn_active(census.payload(0)).unwrap();
    assert_eq!(alive.generation(), nonzero(1), "the first handle ever issued");
    ask_all(&[alive]);
    store.despawn(alive).unwrap();
    ask_all(&[]);
}

/// C03, C08
#[test]
fn every_handle_of_a_small_layout_is_issued_at_most_once() {
    let census = Census::new();
    for last in 1..=15 {
        for capacity in [1, 2, 3, 8] {
            let store = Store::builder()
                .limits(Limits::reject(capacity))
                .last_generation(nonzero(last))
                .build()
                .unwrap();
            let mut next: BTreeMap<u64, u32> = BTreeMap::new();
            for step in 0..60 {
                let handle = life(&store, &census, step);
                let generation = next.entry(handle.seq()).or_insert(0);
                *generation += 1;
                assert_eq!(handle.generation().get(), *generation, "{handle}");
                assert!(*generation <= last, "{handle}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// C08: 2000 lives of one entity, then a full house.
    #[test]
    fn churn_stays_within_the_window_that_its_generations_ask_for(
        last in 1..=15u32,
        capacity in 1..=8usize,
    ) {
        let census = Census::new();
        let store = Store::builder()
            .limits(Limits::reject(capacity))
            .shards(1)
            .last_generation(nonzero(last))
            .build()
            .unwrap();
        let highest = (0..2000).map(|step| life(&store, &census, step).seq()).max().unwrap();
        // Each slot serves `last` lives; up to `capacity` + backlog slots are in use at once,
        // and a batch of fresh ones is at most 64.
        let window = 2000u64.div_ceil(u64::from(last)) + 2 * capacity as u64 + 64;
        prop_assert!(highest < window, "seq {} is not below {}", highest, window);
        for tag in 0..capacity {
            prop_assert!(store.spawn_active(census.payload(tag as u64)).is_ok());
        }
        prop_assert!(store.spawn_active(census.payload(0)).is_err());
    }
}

#[test]
fn a_store_under_an_old_scene_id_starts_above_the_old_generations() {
    let census = Census::new();
    let scene = SceneId(710);
    let old = {
        let store = Store::builder().scene(scene).limits(Limits::reject(1)).build().unwrap();
        (0..5).map(|tag| life(&store, &census, tag)).collect::<Vec<_>>()
    };
    let store = Store::builder().scene(scene).build().unwrap();
    for handle in &old {
        assert!(store.pin().get(*handle).unwrap_err().is_gone());
    }
    let mut new: Vec<Handle> = Vec::new();
    for tag in 0..200 {
        new.push(store.spawn_active(census.payload(tag)).unwrap());
    }
    assert!(new.iter().all(|handle| handle.generation().get() > 5), "{}", new[0]);
    for handle in &old {
        let error = store.pin().get(*handle).unwrap_err();
        assert!(error.is_gone(), "{error}");
        assert_eq!(error.handle(), *handle);
        assert!(store.despawn(*handle).is_err());
    }
    assert_eq!(store.len(), 200);
}

#[test]
fn the_old_generations_of_a_scene_stay_refused_over_many_stores() {
    let census = Census::new();
    let scene = SceneId(711);
    let mut old: Vec<Handle> = Vec::new();
    for round in 0..20 {
        let store = Store::builder().scene(scene).build().unwrap();
        let handles: Vec<Handle> =
            (0..3).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
        store.despawn(handles[1]).unwrap();
        for earlier in &old {
            assert!(!handles.contains(earlier), "round {round}: {earlier} again");
            assert!(store.pin().get(*earlier).unwrap_err().is_gone(), "round {round}: {earlier}");
        }
        old.extend(handles);
    }
}

#[test]
fn a_scene_id_with_no_generation_left_is_refused_until_the_last_one_is_raised() {
    let census = Census::new();
    let scene = SceneId(712);
    let build = |last| Store::builder().scene(scene).last_generation(nonzero(last)).build();
    let store = build(1).unwrap();
    let old = life(&store, &census, 0);
    drop(store);
    let error = build(1).unwrap_err();
    assert!(!error.to_string().contains('\n'), "{error}");
    let store = build(2).unwrap();
    let new = store.spawn_active(census.payload(1)).unwrap();
    assert_eq!(new.generation(), nonzero(2));
    assert!(store.pin().get(old).unwrap_err().is_gone());
}

#[test]
fn a_scene_id_is_refused_while_a_store_has_it_and_free_afterwards() {
    let census = Census::new();
    let scene = SceneId(713);
    let build = || Store::<Counted>::builder().scene(scene).build();
    let store = build().unwrap();
    let second_owner = store.clone();
    let error = build().unwrap_err();
    assert!(error.to_string().contains("713"), "the message names the id: {error}");
    drop(store);
    assert!(build().is_err(), "a clone is the same store");
    let handle = second_owner.spawn_active(census.payload(8)).unwrap();
    let hold = second_owner.hold(handle).unwrap();
    drop(second_owner);
    let store = build().expect("the id is free although a hold remains");
    let newer = store.spawn_active(census.payload(9)).unwrap();
    assert!(newer.generation() > handle.generation());
    assert_eq!((hold.handle(), hold.tag()), (handle, 8));
    let error = store.pin().get(handle).unwrap_err();
    assert!(matches!(error, LookupError::NotFound { .. } | LookupError::Stale { .. }), "{error}");
}

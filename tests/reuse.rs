//! `spawn_recycled` and `retain`: payloads that serve again, and are never told from fresh ones.

#[path = "reuse/item.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod item;
mod support;

use std::sync::Arc;

use hatchery::{Handle, Limits, Reaped, Recycle, SpawnFailure, Store};
use item::{Balance, Item, assert_reuse, cleared, dropped, made, recycled, retaining};
use support::{assert_accounts, nonzero};

#[test]
fn spawn_after_reap_and_reclaim_is_served_by_the_retained_payload() {
    let _balance = Balance::<0>;
    let limits = Limits::reject(1);
    let store = Store::<Item<0>>::builder().retain(4).limits(limits).build().unwrap();
    let first = recycled(&store, 1);
    assert_reuse(&store, 1, 0, 0);
    store.kill(first).unwrap();
    store.reap(first).unwrap();
    assert_eq!(store.reclaim(), 1);
    assert_reuse(&store, 1, 0, 1);
    let second = recycled(&store, 2);
    assert_reuse(&store, 1, 1, 0);
    assert_eq!(second.seq(), first.seq());
    assert_eq!(second.generation().get(), first.generation().get() + 1);
    assert!(store.pin().get(first).is_err());
    assert_eq!(store.pin().get(second).unwrap().tag, 2);
}

#[test]
fn retain_with_more_dead_than_it_keeps_drops_the_rest() {
    let (_balance, store) = retaining::<1>(2);
    let five = [1, 2, 3, 4, 5].map(|tag| recycled(&store, tag));
    assert_eq!(store.despawn_batch(&five), 5);
    assert_eq!(store.reclaim(), 5);
    assert_reuse(&store, 5, 0, 2);
    assert_eq!((made::<1>(), dropped::<1>(), cleared::<1>()), (5, 3, 2));
    // What is kept already counts.
    let five = [1, 2, 3, 4, 5].map(|tag| recycled(&store, tag));
    assert_reuse(&store, 8, 2, 0);
    let one = recycled(&store, 6);
    store.despawn(one).unwrap();
    store.reclaim();
    store.despawn_batch(&five);
    store.reclaim();
    assert_eq!(store.stats().idle, 2);
}

#[test]
fn store_that_retains_nothing_constructs_each_anew() {
    for zero in [false, true] {
        let builder = Store::<Item<2>>::builder();
        let builder = if zero { builder.retain(0) } else { builder };
        let (_balance, store) = (Balance::<2>, builder.build().unwrap());
        for round in 1..=10 {
            let item = recycled(&store, round);
            assert_reuse(&store, round, 0, 0);
            store.despawn(item).unwrap();
            store.reclaim();
            assert_eq!(store.stats().misses, round);
        }
    }
    assert_eq!((made::<2>(), cleared::<2>()), (20, 0));
}

#[test]
fn retain_without_limit_keeps_all() {
    let (_balance, store) = retaining::<3>(usize::MAX);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    assert_eq!(store.clear(), 1000);
    assert_reuse(&store, 1000, 0, 1000);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    assert_reuse(&store, 1000, 1000, 0);
    assert_eq!(dropped::<3>(), 0);
}

#[test]
fn recycled_payload_has_nothing_left_but_its_memory() {
    let (_balance, store) = retaining::<4>(1);
    for reclaim in [false, true, false] {
        let mut before = store.spawn_recycled(|_| ()).unwrap();
        before.tag = 7;
        before.bytes = vec![9; 1000];
        before.names.reserve(1000);
        before.names.insert(1, String::from("orc"));
        let bytes = before.bytes.as_ptr() as usize;
        let handle = before.activate();
        store.despawn(handle).unwrap();
        if reclaim {
            store.reclaim(); // by way of the stash
        }
        let after = store.spawn_recycled(|_| ()).unwrap();
        assert_eq!((after.tag, after.bytes.len(), after.names.len()), (0, 0, 0));
        assert!(after.bytes.capacity() >= 1000 && after.names.capacity() >= 1000);
        assert_eq!(after.bytes.as_ptr() as usize, bytes);
        store.despawn(after.activate()).unwrap();
        store.reclaim();
    }
    assert_eq!(made::<4>(), 1);
}

#[test]
fn payload_without_a_destructor_is_retained_as_well() {
    let store: Store<(u64, [u8; 4])> = Store::builder().retain(2).build().unwrap();
    for reclaim in [true, false] {
        let three = [1, 2, 3].map(|n| {
            let spawned = store.spawn_recycled(|payload| {
                assert_eq!(*payload, (0, [0; 4]));
                *payload = (n, [1; 4]);
            });
            spawned.unwrap().activate()
        });
        assert_eq!(store.despawn_batch(&three), 3);
        if reclaim {
            store.reclaim();
            assert_eq!(store.stats().idle, 2);
        }
    }
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses), (4, 2, 4));
}

#[test]
fn payloads_that_other_spawns_replace_are_retained() {
    let (_balance, store) = retaining::<5>(100);
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    // A limited store would serve the same slots; this one must be brought to.
    assert_eq!(store.despawn_batch(&ten), 10);
    let mut spawned = 0;
    while store.stats().dead > 0 {
        store.spawn_active(Item::default()).unwrap();
        spawned += 1;
        assert!(spawned < 1000);
    }
    assert_reuse(&store, 10, 0, 10);
    assert_eq!((made::<5>(), cleared::<5>()), (10 + spawned, 10));
}

#[test]
fn cancelled_payloads_are_retained_and_the_one_taken_back_is_not() {
    let (_balance, store) = retaining::<6>(10);
    drop(store.spawn_recycled(|item| item.tag = 1).unwrap());
    assert_reuse(&store, 1, 0, 1);
    let detached = store.spawn_recycled(|item| assert_eq!(item.tag, 0)).unwrap().detach();
    assert_reuse(&store, 1, 1, 0);
    store.cancel(detached).unwrap();
    assert_reuse(&store, 1, 1, 1);
    let back = store.spawn_recycled(|item| item.tag = 5).unwrap().cancel();
    assert_eq!(back.tag, 5);
    assert_reuse(&store, 1, 2, 0);
    drop(back);
    assert_eq!((made::<6>(), dropped::<6>()), (1, 1));
}

#[test]
fn payload_of_a_slot_that_is_retired_is_retained() {
    let _balance = Balance::<7>;
    let builder = Store::<Item<7>>::builder().retain(10).last_generation(nonzero(1));
    let store = builder.build().unwrap();
    for round in 0..10 {
        let item = recycled(&store, round);
        assert_eq!((item.generation().get(), store.stats().retired_slots), (1, round));
        store.despawn(item).unwrap();
        store.reclaim();
    }
    assert_reuse(&store, 1, 9, 1);
}

#[test]
fn frames_without_pins_construct_only_what_is_alive_at_once() {
    for limits in [Limits::UNBOUNDED, Limits::reject(20), Limits::reject(1000)] {
        let _balance = Balance::<8>;
        let before = made::<8>();
        let builder = Store::<Item<8>>::builder().retain(20).limits(limits);
        let store = builder.build().unwrap();
        for frame in 0..30 {
            let twenty: Vec<Handle> = (0..20).map(|tag| recycled(&store, frame + tag)).collect();
            for handle in twenty {
                store.kill(handle).unwrap();
                assert_eq!(store.reap(handle).unwrap(), Reaped::Done);
            }
        }
        let stats = store.stats();
        assert_eq!((stats.created, stats.misses, stats.hits), (20, 20, 20 * 29), "{limits:?}");
        assert_eq!(stats.hit_rate_permille(), 966);
        assert_eq!(made::<8>() - before, 20);
    }
}

#[test]
fn large_frames_construct_only_what_is_alive_at_once() {
    let (_balance, store) = retaining::<9>(usize::MAX);
    for frame in 0..10 {
        let many: Vec<Handle> = (0..3000).map(|tag| recycled(&store, frame + tag)).collect();
        for handle in many {
            store.despawn(handle).unwrap();
        }
    }
    assert_reuse(&store, 3000, 27_000, 0);
}

#[test]
fn session_that_repins_is_served_by_what_died_before() {
    let (_balance, store) = retaining::<10>(10);
    let mut pinned = store.pin();
    for tag in 0..1000 {
        let pending = pinned.spawn_recycled(|item| item.tag = tag).unwrap();
        pinned.despawn(pending.activate()).unwrap();
        pinned.repin();
    }
    drop(pinned);
    let stats = store.stats();
    assert_eq!(stats.hits + stats.misses, 1000);
    assert!(stats.created < 500, "{stats:?}");
}

#[test]
fn spawn_that_is_refused_is_rejected_and_nothing_else() {
    let _balance = Balance::<11>;
    let limits = Limits::reject(1);
    let store = Store::<Item<11>>::builder().retain(1).limits(limits).backlog(0).build().unwrap();
    let item = recycled(&store, 1);
    let refused = store.spawn_recycled(|_| unreachable!()).map(drop);
    assert_eq!(refused, Err(SpawnFailure::Exhausted { capacity: 1 }));
    let pinned = store.pin();
    store.despawn(item).unwrap();
    let refused = store.spawn_recycled(|_| unreachable!()).map(drop);
    assert_eq!(refused, Err(SpawnFailure::Reclaiming { dead: 1 }));
    drop(pinned);
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.rejected), (1, 0, 1, 2));
    assert_accounts(&stats);
    recycled(&store, 2);
    assert_reuse(&store, 1, 1, 0);
}

#[test]
fn stats_of_each_outcome_are_exact_and_reset() {
    let (_balance, store) = retaining::<12>(2);
    let items = [1, 2, 3].map(|tag| recycled(&store, tag)); // three misses
    store.spawn_active(Item::default()).unwrap(); // neither
    store.despawn_batch(&items);
    store.reclaim();
    recycled(&store, 4); // a hit
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.acquired), (3, 1, 3, 5));
    assert_eq!((stats.idle, stats.hit_rate_permille()), (1, 200));

    store.reset_stats();
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.idle), (3, 0, 0, 1));
    recycled(&store, 5);
    recycled(&store, 6);
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.idle), (4, 1, 1, 0));
    assert_eq!(stats.hit_rate_permille(), 500);
}

#[test]
fn memory_of_the_stash_is_counted() {
    let (_balance, store) = retaining::<13>(1000);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    let before = store.stats().bytes;
    store.clear();
    let stats = store.stats();
    assert_eq!(stats.idle, 1000);
    assert!(stats.bytes - before >= 1000 * size_of::<Item<13>>(), "{before} {stats:?}");
}

#[test]
fn store_that_is_dropped_drops_what_it_retains() {
    let (balance, store) = retaining::<14>(5);
    let items: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&items[..8]);
    store.reclaim();
    assert_eq!((store.stats().idle, dropped::<14>()), (5, 3));
    let other = store.clone();
    drop(store);
    assert_eq!(other.stats().idle, 5);
    drop(other);
    assert_eq!(dropped::<14>(), 10);
    drop(balance);
}

#[test]
fn hold_keeps_its_payload_from_being_recycled() {
    let (_balance, store) = retaining::<15>(5);
    let item = recycled(&store, 1);
    let hold = store.hold(item).unwrap();
    store.despawn(item).unwrap();
    store.reclaim();
    let other = recycled(&store, 2);
    assert_eq!((hold.tag, store.stats().created), (1, 2));
    drop(hold);
    store.reclaim();
    assert_reuse(&store, 2, 0, 1);
    store.despawn(other).unwrap();
    // Dropped by a thread that does not use the store otherwise.
    let item = recycled(&store, 3);
    let hold = store.hold(item).unwrap();
    store.despawn(item).unwrap();
    std::thread::spawn(move || drop(hold)).join().unwrap();
    store.reclaim();
    assert_eq!((store.stats().idle, store.stats().dead), (2, 0));
}

#[test]
fn hold_that_outlives_the_store_drops_its_payload() {
    let (_balance, store) = retaining::<16>(5);
    let items = [1, 2].map(|tag| recycled(&store, tag));
    let hold = store.hold(items[0]).unwrap();
    store.despawn(items[1]).unwrap();
    store.reclaim();
    assert_eq!(store.stats().idle, 1);
    drop(store);
    assert_eq!((dropped::<16>(), hold.tag), (1, 1));
    let before = cleared::<16>();
    drop(hold);
    assert_eq!((dropped::<16>(), cleared::<16>()), (2, before));
}

#[test]
fn reclaim_with_a_budget_clears_no_more_than_that() {
    let (_balance, store) = retaining::<17>(usize::MAX);
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&ten);
    assert_eq!(store.reclaim_up_to(3), 3);
    assert_eq!((cleared::<17>(), store.stats().idle), (3, 3));
    assert_eq!(store.reclaim_up_to(0), 0);
    store.reclaim();
    assert_eq!((cleared::<17>(), store.stats().idle), (10, 10));
}

#[test]
fn guard_of_a_recycled_payload_crosses_threads_and_outlives_its_session() {
    let (_balance, store) = retaining::<18>(5);
    let pinned = store.pin();
    let mut guard = pinned.spawn_recycled(|item| item.tag = 1).unwrap();
    drop(pinned);
    let handle = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            guard.tag += 1;
            guard.activate()
        });
        other.join().unwrap()
    });
    assert_eq!(store.pin().get(handle).unwrap().tag, 2);
    let shared = Arc::new(store);
    let there = Arc::clone(&shared);
    std::thread::spawn(move || there.despawn(handle).unwrap()).join().unwrap();
    shared.reclaim();
    assert_eq!(shared.stats().idle, 1);
}

/// Payloads of batches that have come to rest after a shrink serve before any is constructed.
#[test]
fn payloads_that_rest_after_a_shrink_are_used_again() {
    #[derive(Default)]
    struct Plain(u8);
    impl Recycle for Plain {
        fn recycle(&mut self) {
            self.0 = 0;
        }
    }
    let store: Store<Plain> = Store::builder().retain(64).build().unwrap();
    let all = store.spawn_batch((0..200_000).map(|_| Plain(1))).unwrap();
    let (mut alive, gone): (Vec<_>, Vec<_>) = all.into_iter().partition(|h| h.seq() % 200 == 0);
    store.despawn_batch(&gone);
    store.shrink();
    for _ in 0..3 {
        for handle in &mut alive {
            store.despawn(*handle).unwrap();
            *handle = store.spawn_active(Plain(1)).unwrap();
        }
    }
    // So that nothing is in limbo.
    (0..2000).for_each(|_| drop(store.pin()));
    let created = store.stats().created;
    for _ in 0..1000 {
        store.spawn_recycled(|_| {}).unwrap().activate();
    }
    let after = store.stats();
    assert!(after.created == created || after.dead == 0, "{after:?}");
}

//! The policy that grows: from the capacity, one by one, up to a cap.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::{ConfigError, Exhaustion, Handle, Limits, SpawnFailure, Store};
use support::{Census, Counted, Dice, assert_accounts};

fn store(capacity: usize, max: usize) -> Store<Counted> {
    Store::builder().limits(Limits::grow_to_cap(capacity, max)).build().unwrap()
}

#[test]
fn store_starts_at_its_capacity_and_grows_one_by_one() {
    let census = Census::new();
    let store = store(3, 7);
    assert_eq!((store.stats().capacity, store.stats().grown), (3, 0));
    for alive in 1..=7_usize {
        store.spawn_active(census.payload(alive as u64)).unwrap();
        let stats = store.stats();
        assert_eq!((stats.live, stats.capacity), (alive, alive.max(3)), "{stats:?}");
        assert_eq!(stats.grown, alive.saturating_sub(3) as u64, "{stats:?}");
    }
    for _ in 0..3 {
        let error = store.spawn_active(census.payload(99)).unwrap_err();
        assert_eq!(
            (error.failure, error.value.tag()),
            (SpawnFailure::Exhausted { capacity: 7 }, 99)
        );
    }
    let stats = store.stats();
    assert_eq!((stats.live, stats.capacity, stats.grown, stats.rejected), (7, 7, 4, 3));
    assert_eq!(store.limits(), Limits::grow_to_cap(3, 7), "what was asked for");
    assert_accounts(&stats);
}

#[test]
fn each_way_to_spawn_grows_the_store() {
    let census = Census::new();
    let store = store(1, 6);
    let maker = census.maker();
    let first = store.spawn(census.payload(0)).unwrap();
    let second = store.spawn_with(|_| maker.payload(1)).unwrap();
    let session = store.pin();
    session.spawn_active(census.payload(2)).unwrap();
    let third = session.spawn(census.payload(3)).unwrap();
    let error = session.spawn_batch((4..9).map(|tag| census.payload(tag))).unwrap_err();
    assert_eq!((error.spawned.len(), error.rest.len()), (2, 3));
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 6 });
    assert_eq!((store.stats().grown, store.len()), (5, 6));
    drop((first, second, third));
    assert_eq!((store.stats().capacity, store.len()), (6, 3), "it does not shrink");
}

#[test]
fn unit_that_comes_back_is_used_before_one_is_added() {
    let census = Census::new();
    let store = store(2, 10);
    for tag in 0..100 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        let guard = store.spawn(census.payload(tag)).unwrap();
        assert_eq!((store.stats().grown, store.stats().capacity), (0, 2));
        drop(guard);
        store.despawn(handle).unwrap();
    }
    let mut alive: Vec<Handle> =
        (0..5).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    for tag in 0..100 {
        store.despawn(alive.remove(tag as usize % 5)).unwrap();
        alive.push(store.spawn_active(census.payload(tag)).unwrap());
        assert_eq!((store.stats().grown, store.stats().capacity), (3, 5));
    }
}

#[test]
fn reset_stats_zeroes_what_was_grown_and_keeps_the_capacity_in_force() {
    let census = Census::new();
    let store = store(2, 5);
    let spawn = || store.spawn_active(census.payload(0)).unwrap();
    let all = [spawn(), spawn(), spawn(), spawn()];
    assert_eq!((store.stats().grown, store.stats().peak_live), (2, 4));
    store.reset_stats();
    let stats = store.stats();
    assert_eq!((stats.grown, stats.capacity, stats.spawned, stats.peak_live), (0, 4, 0, 4));
    assert_eq!(store.despawn_batch(&all), 4);
    let again = [spawn(), spawn(), spawn(), spawn()];
    assert_eq!((store.stats().grown, store.stats().capacity), (0, 4), "nothing had to be added");
    spawn();
    assert_eq!((store.stats().grown, store.stats().capacity), (1, 5));
    assert_eq!((again.len(), store.len()), (4, 5));
}

#[test]
fn store_whose_cap_is_its_capacity_rejects() {
    let census = Census::new();
    let store = store(3, 3);
    for tag in 0..3 {
        store.spawn_active(census.payload(tag)).unwrap();
    }
    let failure = store.spawn_active(census.payload(3)).unwrap_err().failure;
    assert_eq!(failure, SpawnFailure::Exhausted { capacity: 3 });
    assert_eq!(store.stats().grown, 0);
}

#[test]
fn wrong_limits_are_refused_with_the_value_and_what_is_allowed() {
    let max = u32::MAX as usize;
    let refuse = |limits| Store::<u64>::builder().limits(limits).build().unwrap_err();
    for (capacity, value) in [(9, 8), (9, 0), (1, 0), (9, max + 1), (usize::MAX, 5)] {
        let error = refuse(Limits::grow_to_cap(capacity, value));
        assert_eq!(error, ConfigError::MaxCapacity { value, capacity, max });
        let message = error.to_string();
        assert!(message.starts_with(&format!("maxCapacity is {value}, allowed are {capacity} ")));
        assert!(message.contains(&format!("{max}")), "{message}");
    }
    for limits in [Limits::grow_to_cap(0, 5), Limits::grow_to_cap(0, usize::MAX)] {
        let error = refuse(limits);
        assert_eq!(error, ConfigError::Capacity { value: 0, max });
        assert!(error.to_string().starts_with("capacity is 0, allowed are 1 to "), "{error}");
    }
    assert_eq!(refuse(Limits::overwrite_oldest(0)), ConfigError::Capacity { value: 0, max },);
}

/// `max_capacity` matters to this policy alone.
#[test]
fn cap_of_another_policy_is_ignored() {
    for policy in [Exhaustion::Reject, Exhaustion::OverwriteOldest] {
        let mut limits = Limits::reject(4);
        (limits.policy, limits.max_capacity) = (policy, 1);
        let store = Store::<u64>::builder().limits(limits).build().unwrap();
        assert!(store.spawn_batch(0..4).is_ok());
        assert_eq!((store.stats().capacity, store.len(), store.stats().grown), (4, 4, 0));
    }
}

#[test]
fn store_without_a_cap_grows_on() {
    let census = Census::new();
    let store = store(2, usize::MAX);
    for tag in 0..3000 {
        store.spawn_active(census.payload(tag)).unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.live, stats.capacity, stats.grown), (3000, 3000, 2998), "{stats:?}");
    assert!(stats.slots <= 4500, "a batch ahead and no more: {stats:?}");
    let boundless = Store::<u64>::builder().limits(Limits::grow_to_cap(usize::MAX, usize::MAX));
    let boundless = boundless.build().unwrap();
    assert!(boundless.spawn_batch(0..1000).is_ok());
    assert_eq!((boundless.stats().capacity, boundless.stats().grown), (usize::MAX, 0));
}

/// C24: the cap and the backlog bound the slots, whoever reads for ever.
#[test]
fn slots_are_bounded_by_the_cap_and_the_backlog_under_a_pin() {
    for (capacity, max, backlog) in
        [(1, 2, Some(1)), (8, 12, None), (8, 12, Some(0)), (50, 300, Some(70))]
    {
        let census = Census::new();
        let builder = Store::builder().limits(Limits::grow_to_cap(capacity, max));
        let store = match backlog {
            Some(dead) => builder.backlog(dead),
            None => builder,
        };
        let store = store.build().unwrap();
        let bound = max + backlog.unwrap_or(max);
        let reader = store.pin();
        let mut lives = 0;
        let failure = loop {
            match store.spawn_active(census.payload(lives)) {
                Ok(handle) => store.despawn(handle).map(|_| lives += 1).unwrap(),
                Err(error) => break error.failure,
            }
            assert!(lives <= bound as u64, "the backlog has no end");
        };
        assert!(matches!(failure, SpawnFailure::Reclaiming { dead } if dead > 0), "{failure}");
        assert_eq!((lives, store.stats().grown), (bound as u64, 0));
        assert!(store.slots() <= bound, "{} slots, {bound} allowed", store.slots());
        drop(reader);
        for tag in 0..max as u64 {
            store.spawn_active(census.payload(tag)).unwrap();
        }
        assert_eq!((store.stats().grown, store.len()), ((max - capacity) as u64, max));
        assert!(store.slots() <= bound);
        assert_accounts(&store.stats());
    }
}

/// C17
#[test]
fn parallel_spawns_never_pass_the_cap_and_lose_no_unit() {
    let census = Census::new();
    let store = store(8, 12);
    // Raised after a spawn has returned and lowered before an end begins: never more than alive.
    let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let (attempts, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let (store, maker, alive, most) = (&store, census.maker(), &alive, &most);
            let (attempts, refused) = (&attempts, &refused);
            scope.spawn(move || {
                let mut dice = Dice::new(worker + 1);
                let mut mine = Vec::new();
                for _ in 0..1500 {
                    if dice.roll(2) == 0 {
                        attempts.fetch_add(1, Ordering::SeqCst);
                        match store.spawn_active(maker.payload(worker)) {
                            Ok(handle) => {
                                most.fetch_max(
                                    alive.fetch_add(1, Ordering::SeqCst) + 1,
                                    Ordering::SeqCst,
                                );
                                mine.push(handle);
                            }
                            Err(error) => {
                                let full = SpawnFailure::Exhausted { capacity: 12 };
                                assert_eq!(error.failure, full, "no pin is out");
                                refused.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                    } else if let Some(handle) = mine.pop() {
                        alive.fetch_sub(1, Ordering::SeqCst);
                        store.despawn(handle).unwrap();
                    }
                    let stats = store.stats();
                    assert!(stats.live <= stats.capacity && stats.capacity <= 12, "{stats:?}");
                    assert!(stats.grown <= 4 && store.len() <= 12);
                }
                alive.fetch_sub(mine.len(), Ordering::SeqCst);
                assert_eq!(store.despawn_batch(&mine), mine.len());
            });
        }
    });
    let most = most.load(Ordering::SeqCst);
    assert!((9..=12).contains(&most), "{most} at once");
    let stats = store.stats();
    assert_eq!(stats.acquired, attempts.load(Ordering::SeqCst) as u64);
    assert_eq!(stats.rejected, refused.load(Ordering::SeqCst) as u64);
    assert_eq!((stats.grown, stats.live, stats.capacity), (4, 0, 12));
    assert_accounts(&stats);
    for tag in 0..12 {
        store.spawn_active(census.payload(tag)).unwrap();
    }
    assert!(store.spawn_active(census.payload(12)).is_err());
}

/// Each of the units is added by one caller: threads that meet at the cap get as many as there are.
#[test]
fn units_that_many_threads_add_at_once_are_each_given_once() {
    for round in 0..200 {
        let store: Store<u64> = Store::builder()
            .limits(Limits::grow_to_cap(1 + round % 3, 4 + round % 3))
            .backlog(1 << 10)
            .build()
            .unwrap();
        let spawned = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mine = (0..2).filter(|n| store.spawn_active(*n).is_ok()).count();
                    spawned.fetch_add(mine, Ordering::SeqCst);
                });
            }
        });
        let cap = store.limits().max_capacity;
        assert_eq!((spawned.into_inner(), store.len(), store.stats().grown), (cap, cap, 3));
    }
}

//! What the numbers mean, and that they add up.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::{Exhaustion, Limits, Reaped, Stats, Store};
use support::{Census, Counted, Dice, assert_accounts, panic_quietly, panics};

#[test]
fn a_fresh_store_counts_nothing() {
    let store = Store::<Counted>::new();
    let stats = store.stats();
    assert_eq!((stats.spawned, stats.acquired, stats.peak_live), (0, 0, 0));
    assert_eq!((stats.live, stats.dead, stats.free, stats.slots), (0, 0, 0, 0));
    assert_eq!((store.len(), store.slots(), store.is_empty()), (0, 0, true));
    assert_eq!(stats.capacity, store.limits().capacity);
    assert_eq!(store.limits(), Limits::UNBOUNDED);
    let none = Stats::default();
    assert_eq!((none.acquired, none.bytes, none.hit_rate_permille()), (0, 0, 0));
}

#[test]
fn each_step_moves_its_own_counter_and_gauge() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(100)).build().unwrap();
    let handle = store.spawn(census.payload(0)).unwrap().detach();
    let look = || {
        let stats = store.stats();
        assert_accounts(&stats);
        assert_eq!(stats.slots, stats.live + stats.dead + stats.free, "{stats:?}");
        assert_eq!(stats.live, store.len());
        assert_eq!(stats.slots, store.slots());
        [stats.pending, stats.active, stats.dying]
    };
    assert_eq!(look(), [1, 0, 0]);
    store.activate(handle).unwrap();
    assert_eq!(look(), [0, 1, 0]);
    store.kill(handle).unwrap();
    assert_eq!(look(), [0, 0, 1]);
    store.revive(handle).unwrap();
    assert_eq!(look(), [0, 1, 0]);
    let hold = store.kill_and_hold(handle).unwrap();
    assert_eq!((look(), store.stats().holds), ([0, 0, 1], 1));
    assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: 1 }));
    assert_eq!((look(), store.stats().reaped), ([0, 0, 1], 0), "not yet");
    drop(hold);
    assert_eq!((look(), store.stats().reaped), ([0, 0, 0], 1));
    let pending = store.spawn(census.payload(0)).unwrap();
    assert_eq!(look(), [1, 0, 0]);
    drop(pending);
    drop(store.spawn(census.payload(0)).unwrap().cancel());
    store.cancel(store.spawn(census.payload(0)).unwrap().detach()).unwrap();
    assert_eq!(look(), [0, 0, 0]);
    let stats = store.stats();
    let counted = [
        stats.acquired,
        stats.spawned,
        stats.activated,
        stats.cancelled,
        stats.killed,
        stats.revived,
        stats.reaped,
        stats.rejected,
    ];
    assert_eq!(counted, [4, 4, 1, 3, 2, 1, 1, 0]);
    assert_eq!((stats.hits, stats.misses, stats.created, stats.idle), (0, 0, 0, 0));
    assert_eq!((stats.overwritten, stats.grown, stats.capacity), (0, 0, 100));
    store.reclaim();
    let stats = store.stats();
    assert_eq!((stats.dead, stats.free), (0, stats.slots));
}

#[test]
fn an_attempt_is_either_spawned_or_rejected() {
    let census = Census::new();
    let limits = Limits::reject(4);
    let store = Store::builder().limits(limits).backlog(0).build().unwrap();
    for tag in 0..10 {
        drop(store.spawn_active(census.payload(tag)));
    }
    assert_eq!((store.stats().spawned, store.stats().rejected), (4, 6));
    let reader = store.pin();
    store.clear();
    assert!(store.spawn_active(census.payload(0)).is_err(), "the reader is in the way");
    assert!(store.spawn_with(|_| census.payload(0)).is_err());
    assert_eq!(store.stats().rejected, 8, "Reclaiming counts too");
    drop(reader);
    assert!(panics(|| drop(store.spawn_with(|_| panic_quietly()))));
    assert_accounts(&store.stats());
    let error = store.spawn_batch((0..10).map(|tag| census.payload(tag))).unwrap_err();
    assert_eq!((error.spawned.len(), store.stats().live), (4, 4));
    assert_accounts(&store.stats());
}

#[test]
fn the_peak_is_the_most_ever_alive_at_once() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(50)).build().unwrap();
    let (mut dice, mut alive, mut peak) = (Dice::new(3), Vec::new(), 0);
    for step in 0..2000 {
        if dice.roll(2) == 0 {
            if let Ok(handle) = store.spawn_active(census.payload(step)) {
                alive.push(handle);
            }
        } else if !alive.is_empty() {
            let at = dice.roll(alive.len() as u64) as usize;
            store.despawn(alive.swap_remove(at)).unwrap();
        }
        peak = peak.max(alive.len());
        assert_eq!(store.stats().peak_live, peak);
    }
    store.clear();
    assert_eq!(store.stats().peak_live, peak);
    store.reset_stats();
    assert_eq!(store.stats().peak_live, 0);
}

#[test]
fn a_reset_zeroes_the_window_and_leaves_totals_and_gauges() {
    struct Bad(#[allow(dead_code, reason = "it counts")] Counted);
    impl Drop for Bad {
        fn drop(&mut self) {
            panic_quietly();
        }
    }
    let census = Census::new();
    let store = Store::builder()
        .limits(Limits::reject(4))
        .last_generation(support::nonzero(1))
        .build()
        .unwrap();
    let alive = [(); 3].map(|()| store.spawn_active(Bad(census.payload(0))).unwrap());
    store.spawn(Bad(census.payload(0))).unwrap().detach();
    assert!(
        store
            .spawn_active(Bad(census.payload(0)))
            .map_err(|refused| {
                let value = refused.value;
                assert!(panics(|| drop(value)));
            })
            .is_err()
    );
    store.kill(alive[0]).unwrap();
    store.revive(alive[0]).unwrap();
    let _hold = store.hold(alive[1]).unwrap();
    store.despawn(alive[2]).unwrap();
    store.reclaim();
    let before = store.stats();
    assert_eq!((before.drop_panics, before.retired_slots, before.rejected), (1, 1, 1));
    store.reset_stats();
    let after = store.stats();
    let window = [
        after.spawned,
        after.activated,
        after.cancelled,
        after.killed,
        after.revived,
        after.reaped,
        after.acquired,
        after.released,
        after.hits,
        after.misses,
        after.rejected,
        after.overwritten,
        after.grown,
    ];
    assert_eq!(window, [0; 13]);
    assert_eq!(after.peak_live, after.live, "restarted at the current live");
    assert_eq!((after.drop_panics, after.retired_slots), (1, 1));
    let gauges = |stats: &Stats| {
        [stats.live, stats.pending, stats.active, stats.dying, stats.dead, stats.free, stats.holds]
    };
    assert_eq!(gauges(&after), gauges(&before));
    assert_eq!(gauges(&after)[..4], [3, 1, 2, 0]);
    assert_eq!((after.slots, after.capacity), (before.slots, 4));
}

#[test]
fn gauges_are_read_sanely_while_others_work() {
    let census = Census::new();
    let limits = Limits::reject(64);
    let store = Store::builder().limits(limits).backlog(1 << 20).build().unwrap();
    let steps = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let (store, maker, steps) = (&store, census.maker(), &steps);
                scope.spawn(move || {
                    for _ in 0..3000 {
                        let handle = store.spawn_active(maker.payload(0)).unwrap();
                        let hold = store.hold(handle).unwrap();
                        store.kill(handle).unwrap();
                        store.reap(handle).unwrap();
                        drop(hold);
                        steps.fetch_add(5, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            let before = steps.load(Ordering::SeqCst);
            let stats = store.stats();
            let len = store.len();
            // At most three at any instant, and off by the operations that overlapped the calls:
            // those counted, and up to a life of each worker at either end.
            let most = 3 + steps.load(Ordering::SeqCst) - before + 2 * 3 * 5;
            let gauges = [stats.live, stats.pending, stats.active, stats.dying, stats.holds, len];
            for gauge in gauges {
                assert!(gauge <= most, "{gauge} is over {most}: {stats:?}");
            }
            assert!(stats.peak_live <= 64 && stats.capacity == 64, "{stats:?}");
        }
    });
    let stats = store.stats();
    assert_eq!((stats.live, stats.holds, stats.reaped), (0, 0, 9000));
    assert_accounts(&stats);
}

#[test]
fn limits_say_what_they_were_made_from() {
    assert_eq!(Limits::reject(7).capacity, 7);
    assert_eq!(Limits::reject(7).policy, Exhaustion::Reject);
    assert_eq!(Limits::overwrite_oldest(7).policy, Exhaustion::OverwriteOldest);
    let grow = Limits::grow_to_cap(7, 9);
    assert_eq!((grow.capacity, grow.max_capacity, grow.policy), (7, 9, Exhaustion::GrowToCap));
    let store = Store::<u8>::builder().limits(Limits::reject(7)).build().unwrap();
    assert_eq!(store.limits(), Limits::reject(7));
    assert_eq!(store.stats().capacity, 7);
}

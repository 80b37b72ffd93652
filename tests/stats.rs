//! What the numbers mean, and that they add up.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};

use hatchery::{Exhaustion, Handle, Limits, Pinned, Reaped, Stats, Store};
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
fn the_peak_is_exact_for_one_thread_in_a_store_that_grows() {
    let store = Store::<u64>::new();
    let (mut dice, mut alive, mut peak) = (Dice::new(4), Vec::new(), 0);
    for _ in 0..60 {
        let mut pinned = store.pin();
        for _ in 0..dice.roll(3000) {
            alive.push(pinned.spawn_active(0).unwrap());
        }
        peak = peak.max(alive.len());
        pinned.repin();
        for _ in 0..dice.roll(3500).min(alive.len() as u64) {
            pinned.despawn(alive.pop().unwrap()).unwrap();
        }
        drop(pinned);
        // After the fall: what is alive while it is asked is seen anyway.
        assert_eq!(store.stats().peak_live, peak);
    }
}

/// By how much the peak may be wrong while two threads work: 32 for each of four tallies, two
/// magazines' and two shards', and the batch in hand.
const PEAK_IS_OFF: usize = 4 * 32 + 256;

/// A store that has no limits, for two threads.
fn store_of_two() -> Store<Vec<u64>> {
    Store::builder().shards(2).retain(1000).build().unwrap()
}

/// Lets two threads, each with a session of its own, do some work in turns.
fn in_turns(
    store: &Store<Vec<u64>>,
    rounds: usize,
    work: impl Fn(usize, &mut Pinned<'_, Vec<u64>>) + Sync,
) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for who in 0..2 {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                let mut pinned = store.pin();
                for turn in 0..2 * rounds {
                    if turn % 2 == who {
                        work(who, &mut pinned);
                        pinned.repin();
                    }
                    barrier.wait();
                }
            });
        }
    });
}

/// Two threads begin `each` entities, seven in a turn, and end them again.
#[track_caller]
fn assert_peak_of_two_that_rise_in_turn(store: &Store<Vec<u64>>, each: usize) {
    let alive = [(); 2].map(|()| Mutex::new(Vec::new()));
    in_turns(store, each / 7, |who, pinned| {
        let begun = (0..7).map(|_| pinned.spawn_active(Vec::new()).unwrap());
        alive[who].lock().unwrap().extend(begun);
    });
    let most = store.len();
    in_turns(store, each / 7, |who, pinned| {
        let mut alive = alive[who].lock().unwrap();
        for _ in 0..7 {
            pinned.despawn(alive.pop().unwrap()).unwrap();
        }
    });
    let stats = store.stats();
    assert_eq!(stats.live, 0);
    let seen = most - PEAK_IS_OFF..=most;
    assert!(seen.contains(&stats.peak_live), "{} of {most}", stats.peak_live);
}

#[test]
fn the_peak_of_two_that_rise_in_turn_is_seen_but_for_a_few() {
    assert_peak_of_two_that_rise_in_turn(&store_of_two(), 3500);
}

#[test]
fn the_peak_of_a_new_window_is_seen_however_many_were_alive_before() {
    let store = store_of_two();
    assert_peak_of_two_that_rise_in_turn(&store, 35_000);
    store.reset_stats();
    assert_peak_of_two_that_rise_in_turn(&store, 700);
}

/// One thread begins what the other ends.
#[track_caller]
fn assert_peak_of_a_producer_and_a_consumer(
    spawn: impl Fn(&Store<Vec<u64>>, &Pinned<'_, Vec<u64>>) -> Handle + Sync,
) {
    let (store, alive) = (store_of_two(), Mutex::new(Vec::new()));
    in_turns(&store, 2000, |who, pinned| {
        let mut alive = alive.lock().unwrap();
        match who {
            0 => alive.extend((0..7).map(|_| spawn(&store, pinned))),
            _ => assert_eq!(pinned.despawn_batch(&std::mem::take(&mut *alive)), 7),
        }
    });
    let peak = store.stats().peak_live;
    assert!((7..=7 + PEAK_IS_OFF).contains(&peak), "{peak} of 7");
}

#[test]
fn the_peak_is_no_more_than_a_few_above_what_a_producer_and_a_consumer_had() {
    assert_peak_of_a_producer_and_a_consumer(|_, pinned| pinned.spawn_active(Vec::new()).unwrap());
}

#[test]
fn the_peak_is_no_more_than_a_few_above_where_payloads_serve_again() {
    assert_peak_of_a_producer_and_a_consumer(|store, _| {
        store.spawn_recycled(|_| ()).unwrap().activate()
    });
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

//! What a store costs, empty and full, and that long churn leaves it flat.

mod support;

use std::sync::Barrier;
use std::time::{Duration, Instant};

use hatchery::{Handle, Limits, Store};
use support::counting::{Counting, live_bytes, local_bytes, take_turn};
use support::{Dice, assert_accounts};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// C60, which allows twice as much.
#[test]
fn an_empty_store_and_the_first_use_of_it_take_less_than_eight_kibibytes_each() {
    let _turn = take_turn();
    drop(Store::<u64>::new()); // what the process pays once, such as the table of scene ids
    let before = local_bytes();
    let store = Store::<[u64; 8]>::new();
    let taken = local_bytes() - before;
    assert!(taken < 8 << 10, "{taken} bytes");
    assert!(store.stats().bytes < 8 << 10, "{:?}", store.stats());
    assert_eq!(store.slots(), 0);
    let before = local_bytes();
    drop(store.pin());
    let taken = local_bytes() - before;
    assert!(taken < 8 << 10, "{taken} bytes for the first use by a thread");
}

/// C60
#[test]
fn what_a_store_is_built_with_does_not_depend_on_its_limits() {
    let _turn = take_turn();
    drop(Store::<u64>::new());
    let cost = |capacity| {
        let before = local_bytes();
        let limits = Limits::reject(capacity);
        let store = Store::<[u64; 8]>::builder().limits(limits).build().unwrap();
        (store, local_bytes() - before)
    };
    for capacity in [1, 1000, 1 << 20, u32::MAX as usize, usize::MAX] {
        let (store, taken) = cost(capacity);
        assert!(taken < 16 << 10, "{taken} bytes for a capacity of {capacity}");
        assert_eq!(store.limits().capacity, capacity);
        store.spawn_active([0; 8]).unwrap();
    }
}

#[test]
fn a_store_with_one_entity_stays_small() {
    let _turn = take_turn();
    drop(Store::<u64>::new());
    let before = live_bytes();
    let store = Store::<[u64; 8]>::new();
    for round in 0..1000 {
        let handle = store.spawn_active([round; 8]).unwrap();
        store.despawn(handle).unwrap();
    }
    let taken = live_bytes() - before;
    assert!(taken < 256 << 10, "{taken} bytes");
}

#[test]
fn a_million_slots_take_at_most_eighty_four_bytes_each() {
    let _turn = take_turn();
    const MILLION: u64 = 1_000_000;
    let before = live_bytes();
    let store = Store::<[u64; 8]>::new();
    let mut session = store.pin();
    for number in 0..MILLION {
        session.spawn_active([number; 8]).unwrap();
        if number % 1000 == 0 {
            session.repin();
        }
    }
    drop(session);
    let (slots, taken) = (store.slots(), (live_bytes() - before) as usize);
    let bytes = store.stats().bytes;
    assert!((1_000_000..=1_300_000).contains(&slots), "{slots} slots");
    assert!(bytes <= 84 * slots, "{} bytes a slot", bytes as f64 / slots as f64);
    assert!(bytes >= 72 * slots, "a payload and its word are 72 bytes: {bytes} for {slots}");
    assert!(taken <= 84 * slots, "{} allocated bytes a slot", taken as f64 / slots as f64);
    // What it says of itself is what it took.
    assert!(taken.abs_diff(bytes) < bytes / 50, "says {bytes}, took {taken}");
    drop(store);
    let left = live_bytes() - before;
    assert!(left < 64 << 10, "{left} bytes left behind");
}

#[test]
fn a_store_that_goes_gives_everything_back() {
    let _turn = take_turn();
    drop(Store::<u64>::new());
    let before = live_bytes();
    for round in 0..20 {
        let store = Store::new();
        let handles = store.spawn_batch((0..1000).map(|n| vec![n; 10])).unwrap();
        let hold = store.hold(handles[0]).unwrap();
        store.despawn_batch(&handles[..500]);
        if round % 2 == 0 {
            store.reclaim();
        }
        drop(store.spawn(vec![1; 1000]).unwrap());
        drop(store);
        drop(hold);
    }
    // One store of this size is well over 80 KB; the collector may keep a little to the end.
    let left = live_bytes() - before;
    assert!(left < 128 << 10, "{left} bytes left by twenty stores");
}

/// C58, by one thread, where nothing depends on scheduling.
#[test]
fn churn_by_one_thread_leaves_memory_exactly_where_it_was() {
    let _turn = take_turn();
    let store = Store::<[u64; 8]>::new();
    let mut dice = Dice::new(9);
    let mut mine: Vec<Handle> = Vec::with_capacity(1100);
    let mut early = (0, 0, 0);
    for round in 0..10 {
        for life in 0..10_000 {
            mine.push(store.spawn_active([life; 8]).unwrap());
            if mine.len() > 1000 {
                let at = dice.roll(mine.len() as u64) as usize;
                store.despawn(mine.swap_remove(at)).unwrap();
            }
            if life % 500 == 0 {
                assert!(store.pin().iter().count() <= 1000);
            }
        }
        store.reclaim();
        let now = (store.slots(), store.stats().bytes, live_bytes());
        if round == 0 {
            early = now;
        }
        assert_eq!((now.0, now.1), (early.0, early.1), "round {round}");
        assert!(now.2 - early.2 < 64 << 10, "round {round}: {} bytes more", now.2 - early.2);
    }
    assert!(store.slots() <= 1000 + 1000 / 2, "{} slots for a thousand", store.slots());
}

/// C58, shortened.
#[test]
fn long_churn_with_readers_leaves_memory_flat() {
    let _turn = take_turn();
    const WORKERS: u64 = 4;
    const ROUNDS: u64 = 10;
    const LIVES: u64 = 3000;
    let limits = Limits::reject(4 * 600);
    let store = Store::<[u64; 8]>::builder().limits(limits).backlog(4000).build().unwrap();
    let round_over = Barrier::new(WORKERS as usize + 1);
    let mut bytes: Vec<usize> = Vec::new();
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (store, round_over) = (&store, &round_over);
            scope.spawn(move || {
                let mut dice = Dice::new(worker);
                let mut mine: Vec<Handle> = Vec::new();
                for _ in 0..ROUNDS {
                    for life in 0..LIVES {
                        if let Ok(handle) = store.spawn_active([life; 8]) {
                            mine.push(handle);
                        }
                        if mine.len() > 500 {
                            let at = dice.roll(mine.len() as u64) as usize;
                            store.despawn(mine.swap_remove(at)).unwrap();
                        }
                        if dice.roll(1000) == 0 {
                            let reader = store.pin();
                            let until = Instant::now() + Duration::from_micros(dice.roll(1000));
                            while Instant::now() < until {
                                assert!(reader.get(mine[0]).is_ok());
                            }
                        }
                    }
                    round_over.wait();
                    round_over.wait();
                }
            });
        }
        for _ in 0..ROUNDS {
            round_over.wait();
            store.reclaim();
            let stats = store.stats();
            assert_eq!(stats.dead, 0, "all are between operations: {stats:?}");
            assert_eq!(stats.slots, stats.live + stats.free, "{stats:?}");
            assert!(stats.slots <= 2400 + 4000, "{stats:?}");
            bytes.push(stats.bytes);
            round_over.wait();
        }
    });
    // How many are dead at once, and so how many slots are made, depends on how the threads are
    // scheduled. What all of it may come to is bounded by the limits, and does not grow from there:
    // slots, in segments that double, and boxes of a kibibyte, some of them with few slots in them.
    let most = 2 * 84 * (2400 + 4000) + (256 << 10);
    assert!(bytes.iter().all(|bytes| *bytes <= most), "over {most}: {bytes:?}");
    let stats = store.stats();
    assert_accounts(&stats);
    // Nothing is out of reach: every free slot serves one thread before a new one is made.
    let room = (2400 - stats.live).min(stats.free);
    for _ in 0..room {
        store.spawn_active([0; 8]).unwrap();
    }
    assert_eq!(store.slots(), stats.slots);
}

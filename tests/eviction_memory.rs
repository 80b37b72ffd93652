//! What evictions keep: nothing that grows with their number.

mod support;

use hatchery::{Handle, Hold, Limits, SpawnFailure, Store};
use support::assert_accounts;
use support::counting::{Counting, live_bytes, take_turn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CAPACITY: usize = 1000;

/// What one list of the oldest may take, and the limbo of a store of this size, with room to spare.
const FLAT: isize = 128 << 10;

fn full() -> Store<[u64; 4]> {
    let store = Store::builder().limits(Limits::overwrite_oldest(CAPACITY)).build().unwrap();
    for n in 0..CAPACITY as u64 {
        store.spawn_active([n; 4]).unwrap();
    }
    store
}

fn hold_all(store: &Store<[u64; 4]>, handles: &[Handle]) -> Vec<Hold<[u64; 4]>> {
    handles.iter().map(|handle| store.hold(*handle).unwrap()).collect()
}

#[test]
fn two_hundred_thousand_evictions_leave_memory_flat() {
    let _turn = take_turn();
    let store = full();
    let evict = |times| (0..times).for_each(|n| _ = store.spawn_active([n; 4]).unwrap());
    evict(10_000);
    let before = live_bytes();
    evict(190_000);
    let grown = live_bytes() - before;
    assert!(grown < FLAT, "{grown} bytes");
    let stats = store.stats();
    assert_eq!((stats.overwritten, stats.live), (200_000, CAPACITY));
    assert!(stats.slots <= 2 * CAPACITY, "{stats:?}");
    assert_accounts(&stats);
}

/// Activations, holds and ends of what is on a list leave nothing behind either.
#[test]
fn churn_beside_evictions_leaves_memory_flat() {
    let _turn = take_turn();
    let store = full();
    let churn = |times: u64| {
        for n in 0..times {
            let handle = store.spawn_active([n; 4]).unwrap();
            if n % 3 == 0 {
                drop(store.hold(handle).unwrap());
            }
            if n % 2 == 0 {
                store.despawn(handle).unwrap();
            }
        }
    };
    churn(5_000);
    let before = live_bytes();
    churn(60_000);
    let grown = live_bytes() - before;
    assert!(grown < FLAT, "{grown} bytes");
}

/// A reader that never unpins holds back every list that is replaced.
#[test]
fn refused_spawns_under_a_pin_leave_memory_flat() {
    let _turn = take_turn();
    let store = full();
    let handles: Vec<Handle> = store.pin().iter().map(|(handle, _)| handle).collect();
    let holds = hold_all(&store, &handles);
    let reader = store.pin();
    let refuse = |times: u64| {
        for n in 0..times {
            let failure = store.spawn_active([n; 4]).unwrap_err().failure;
            assert_eq!(failure, SpawnFailure::Exhausted { capacity: CAPACITY });
        }
    };
    refuse(50);
    let before = live_bytes();
    refuse(400);
    let grown = live_bytes() - before;
    assert!(grown < FLAT, "{grown} bytes");
    assert!(holds.iter().all(|hold| reader.contains(hold.handle())));
    assert!(store.slots() <= 2 * CAPACITY, "{}", store.slots());
}

/// Evictions until readers refuse them, and refusals from then on.
#[test]
fn spawns_among_the_held_under_a_pin_leave_memory_within_the_backlog() {
    let _turn = take_turn();
    let store = full();
    let handles: Vec<Handle> = store.pin().iter().map(|(handle, _)| handle).collect();
    let _holds = hold_all(&store, &handles[..CAPACITY / 2]);
    let _reader = store.pin();
    let before = live_bytes();
    let evicted = (0..).take_while(|n| store.spawn_active([*n; 4]).is_ok()).count();
    assert_eq!(evicted, CAPACITY, "as many as the backlog has room for");
    for n in 0..300 {
        let failure = store.spawn_active([n; 4]).unwrap_err().failure;
        assert!(matches!(failure, SpawnFailure::Reclaiming { .. }), "{failure}");
    }
    let grown = live_bytes() - before;
    // The backlog's slots, a few lists, and a box of 2 KiB for every batch of Dead slots.
    assert!(grown < 1 << 20, "{grown} bytes");
    assert_eq!(store.stats().overwritten, CAPACITY as u64);
}

/// The lists go with the store, whoever made them.
#[test]
fn dropped_store_gives_everything_back() {
    let _turn = take_turn();
    drop(full());
    let before = live_bytes();
    for _ in 0..20 {
        let store = full();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..300).for_each(|n| _ = store.spawn_active([n; 4]).unwrap()));
            }
        });
        drop(store);
    }
    let grown = live_bytes() - before;
    assert!(grown < FLAT, "{grown} bytes");
}

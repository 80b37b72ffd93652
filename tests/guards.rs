//! What a pin and a hold keep, and what they do not: memory stays bounded under
//! a reader that never leaves, and nobody waits for it.

mod support;

use std::mem::forget;

use hatchery::{Handle, Limits, LookupError, Reaped, SpawnFailure, State, Store};
use support::counting::{Counting, live_bytes, take_turn};
use support::{Census, Counted, finishes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// C24
#[test]
fn under_a_reader_that_never_leaves_memory_stops_growing() {
    let _turn = take_turn();
    let store = Store::builder().limits(Limits::reject(1000)).build().unwrap();
    let reader = store.pin();
    let (mut lives, mut refused, mut early) = (0u64, 0u64, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for step in 0..100_000u64 {
                match store.spawn_active([step; 8]) {
                    Ok(handle) => store.despawn(handle).map(|_| lives += 1).unwrap(),
                    Err(error) => {
                        assert_eq!(error.value, [step; 8]);
                        let reclaiming = matches!(error.failure, SpawnFailure::Reclaiming { .. });
                        assert!(reclaiming, "{}", error.failure);
                        refused += 1;
                    }
                }
                if step == 10_000 {
                    early = live_bytes();
                }
            }
        });
    });
    assert_eq!((lives, refused), (2000, 98_000), "capacity and backlog, and not one more");
    let stats = store.stats();
    assert_eq!((stats.dead, stats.live, stats.rejected), (2000, 0, refused), "{stats:?}");
    assert!(stats.slots <= 2000, "{stats:?}");
    let grown = live_bytes() - early;
    assert!(grown < 64 << 10, "{grown} bytes more, and nothing alive");
    drop(reader);
    let handle = store.spawn_active([0; 8]).unwrap();
    store.despawn(handle).unwrap();
    store.reclaim();
    assert_eq!(store.stats().dead, 0);
}

/// C24: the same reader, in front of a store of its own.
#[test]
fn a_stalled_reader_of_one_store_delays_no_other() {
    let _turn = take_turn();
    let census = Census::new();
    let (stalled, busy) = (Store::<Counted>::new(), Store::new());
    let _reader = stalled.pin();
    for tag in 0..1000 {
        let handle = busy.spawn_active(census.payload(tag)).unwrap();
        busy.despawn(handle).unwrap();
    }
    busy.reclaim();
    assert_eq!((census.made(), census.alive()), (1000, 0));
    assert_eq!(busy.stats().dead, 0);
}

/// C25
#[test]
fn a_hold_that_never_ends_keeps_one_slot_and_no_more() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(100)).build().unwrap();
    let held = store.spawn_active(census.payload(u64::MAX)).unwrap();
    let hold = store.hold(held).unwrap();
    assert_eq!(store.despawn(held), Ok(Reaped::Deferred { holds: 1 }));
    let mut early = 0;
    for round in 0..300u64 {
        let handles = store.spawn_batch((0..99).map(|tag| census.payload(tag))).unwrap();
        let full = store.spawn_active(census.payload(0)).unwrap_err();
        assert_eq!(full.failure, SpawnFailure::Exhausted { capacity: 100 });
        drop((full, store.despawn_batch(&handles)));
        if round == 30 {
            early = live_bytes();
        }
    }
    assert_eq!(store.stats().rejected, 300, "only what was one too many");
    assert!(store.slots() <= 200, "{} slots", store.slots());
    let grown = live_bytes() - early;
    assert!(grown < 64 << 10, "{grown} bytes more after ten times the lives");
    store.reclaim();
    assert_eq!((store.stats().dead, census.alive()), (0, 1));
    assert_eq!((hold.tag(), hold.state()), (u64::MAX, State::Dying));
    drop(hold);
    store.reclaim();
    assert_eq!(census.alive(), 0);
}

/// C29
#[test]
fn removing_what_this_thread_is_reading_does_not_wait_for_itself() {
    let _turn = take_turn();
    finishes(|| {
        let census = Census::new();
        let store = Store::new();
        let handle = store.spawn_active(census.payload(4)).unwrap();
        let session = store.pin();
        let payload = session.get(handle).unwrap();
        assert_eq!(store.despawn(handle), Ok(Reaped::Done));
        store.reclaim();
        store.reclaim_up_to(1000);
        assert_eq!(payload.tag(), 4, "still readable under this pin");
        assert_eq!(session.get(handle).unwrap_err(), LookupError::NotFound { handle });
        assert_eq!(census.dropped(), 0);
        drop(session);
        store.reclaim();
        assert_eq!(census.dropped(), 1);
    });
}

/// C29
#[test]
fn removing_what_this_thread_holds_is_deferred_to_its_own_hold() {
    let _turn = take_turn();
    finishes(|| {
        let census = Census::new();
        let store = Store::new();
        let handle = store.spawn_active(census.payload(4)).unwrap();
        let hold = store.hold(handle).unwrap();
        let copy = hold.clone();
        assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 2 }));
        assert_eq!(store.clear(), 0);
        store.reclaim();
        drop(hold);
        assert_eq!(copy.tag(), 4);
        assert_eq!(store.len(), 1);
        drop(copy);
        assert_eq!(store.len(), 0);
    });
}

#[test]
fn a_reference_stays_good_while_its_slot_serves_many_others() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(1)).unwrap();
    let session = store.pin();
    let payload = session.get(handle).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            store.despawn(handle).unwrap();
            let maker = census.maker();
            for tag in 0..3000 {
                let other = store.spawn_active(maker.payload(tag + 100)).unwrap();
                assert_ne!(other.id(), handle.id(), "reused under the reader's eyes");
                store.despawn(other).unwrap();
            }
            store.reclaim();
        });
    });
    assert_eq!(payload.tag(), 1);
}

/// C34, without the interleavings: the outer pin counts, in whichever order they end.
#[test]
fn the_outer_of_two_pins_keeps_what_it_has_read() {
    let _turn = take_turn();
    for repin_inner in [false, true] {
        let census = Census::new();
        let store = Store::new();
        let handle = store.spawn_active(census.payload(1)).unwrap();
        let outer = store.pin();
        let payload = outer.get(handle).unwrap();
        let mut inner = store.pin();
        store.despawn(handle).unwrap();
        if repin_inner {
            inner.repin();
        }
        drop(inner);
        for _ in 0..200 {
            let other = store.spawn_active(census.payload(9)).unwrap();
            store.despawn(other).unwrap();
        }
        store.reclaim();
        assert_eq!(payload.tag(), 1);
        drop(outer);
        store.reclaim();
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn the_first_of_two_pins_may_end_first() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(1)).unwrap();
    let first = store.pin();
    let mut second = store.pin();
    drop(first);
    let payload = second.get(handle).unwrap();
    store.despawn(handle).unwrap();
    store.reclaim();
    assert_eq!(payload.tag(), 1);
    second.repin();
    store.reclaim();
    drop(second);
    store.reclaim();
    assert_eq!(census.alive(), 0);
}

#[test]
fn pins_of_two_stores_on_one_thread_do_not_mix() {
    let _turn = take_turn();
    let census = Census::new();
    let (a, b) = (Store::new(), Store::new());
    let (in_a, in_b) =
        (a.spawn_active(census.payload(1)).unwrap(), b.spawn_active(census.payload(2)).unwrap());
    let pin_a = a.pin();
    let mut pin_b = b.pin();
    let payload = pin_a.get(in_a).unwrap();
    assert_eq!(pin_b.get(in_b).unwrap().tag(), 2);
    a.despawn(in_a).unwrap();
    b.despawn(in_b).unwrap();
    pin_b.repin();
    drop(pin_b);
    a.reclaim();
    b.reclaim();
    assert_eq!((payload.tag(), census.dropped()), (1, 1), "only what b's pin kept is gone");
}

#[test]
fn a_forgotten_pin_stops_reclamation_and_nothing_else() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let handle = store.spawn_active(census.payload(1)).unwrap();
    forget(store.pin());
    store.despawn(handle).unwrap();
    store.reclaim();
    let next = store.spawn_active(census.payload(2)).unwrap();
    assert_eq!(store.pin().get(next).unwrap().tag(), 2);
    assert!(store.state(handle).is_err());
    assert!(census.dropped() <= 1);
    finishes(move || drop(store));
    assert_eq!(census.alive(), 0, "the drop of the store waits for nobody");
}

#[test]
fn a_forgotten_hold_leaks_its_payload_and_nothing_else() {
    let _turn = take_turn();
    let store = Store::new();
    let (kept, freed) = (std::sync::Arc::new(()), std::sync::Arc::new(()));
    let handle = store.spawn_active(kept.clone()).unwrap();
    store.spawn_active(freed.clone()).unwrap();
    forget(store.hold(handle).unwrap());
    assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 1 }));
    drop(store);
    assert_eq!(std::sync::Arc::strong_count(&kept), 2, "leaked like a forgotten Arc");
    assert_eq!(std::sync::Arc::strong_count(&freed), 1);
}

#[test]
fn a_forgotten_pending_guard_keeps_its_place_until_the_store_goes() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(2)).build().unwrap();
    let pending = store.spawn(census.payload(1)).unwrap();
    let handle = pending.handle();
    forget(pending);
    assert_eq!(store.state(handle), Ok(State::Pending));
    assert_eq!(store.clear(), 0, "it is not the store's to end");
    let other = store.spawn_active(census.payload(2)).unwrap();
    assert!(store.spawn_active(census.payload(3)).is_err());
    store.despawn(other).unwrap();
    store.reclaim();
    assert_eq!((store.len(), census.alive()), (1, 1));
    drop(store);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_pending_guard_may_outlive_the_session_that_made_it() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let session = store.pin();
    let mut pending = session.spawn(census.payload(1)).unwrap();
    let later = session.spawn_with(|_| census.payload(2)).unwrap();
    drop(session);
    pending.set_tag(3);
    let handle: Handle = pending.activate();
    drop(later);
    assert_eq!(store.pin().get(handle).unwrap().tag(), 3);
    assert_eq!((store.len(), store.stats().cancelled), (1, 1));
}

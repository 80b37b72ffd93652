//! What a full store answers: `Exhausted` when that many are alive, `Reclaiming`
//! when readers hold the slots that would serve, and the payload always back.

mod support;

use std::sync::Arc;

use hatchery::{Handle, Limits, Reaped, SpawnFailure, State, Store};
use support::{Census, Counted, assert_accounts};

fn bounded(capacity: usize) -> Store<Counted> {
    Store::builder().limits(Limits::reject(capacity)).build().unwrap()
}

/// C18
#[test]
fn a_refused_payload_comes_back_to_its_owner() {
    let store = Store::builder().limits(Limits::reject(3)).build().unwrap();
    let token = Arc::new(42);
    for _ in 0..3 {
        store.spawn_active(Arc::clone(&token)).unwrap();
    }
    let unique = Arc::new(7);
    let watch = Arc::downgrade(&unique);
    let error = store.spawn(unique).err().unwrap();
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 3 });
    assert_eq!(*error.value, 7);
    assert_eq!(watch.strong_count(), 1, "the store kept none and dropped none");
    let error = store.spawn_active(error.value).unwrap_err();
    let error = store.pin().spawn(error.value).err().unwrap();
    let error = store.pin().spawn_active(error.value).unwrap_err();
    assert_eq!(*error.value, 7);
    drop(error);
    assert_eq!(watch.strong_count(), 0);
    assert_eq!(Arc::strong_count(&token), 4);
}

#[test]
fn a_refused_spawn_with_never_calls_its_constructor() {
    let census = Census::new();
    let store = bounded(1);
    let _first = store.spawn_active(census.payload(0)).unwrap();
    let refused = store.spawn_with(|_| unreachable!("no slot, no payload")).err();
    assert_eq!(refused, Some(SpawnFailure::Exhausted { capacity: 1 }));
    let refused = store.pin().spawn_with(|_| unreachable!("no slot, no payload")).err();
    assert_eq!(refused, Some(SpawnFailure::Exhausted { capacity: 1 }));
}

#[test]
fn pending_active_and_dying_all_count_towards_the_capacity() {
    let census = Census::new();
    let store = bounded(3);
    let _pending = store.spawn(census.payload(0)).unwrap().detach();
    let _active = store.spawn_active(census.payload(1)).unwrap();
    let dying = store.spawn_active(census.payload(2)).unwrap();
    store.kill(dying).unwrap();
    let error = store.spawn_active(census.payload(3)).unwrap_err();
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 3 });
    store.reap(dying).unwrap();
    store.spawn_active(error.value).unwrap();
    assert_eq!(store.len(), 3);
}

#[test]
fn every_way_to_end_gives_the_place_back_at_once() {
    let census = Census::new();
    let store = bounded(1);
    let spawn = || store.spawn_active(census.payload(0)).unwrap();
    let reserve = || store.spawn(census.payload(0)).unwrap();
    for _ in 0..20 {
        drop(reserve());
        drop(reserve().cancel());
        store.cancel(reserve().detach()).unwrap();
        store.despawn(reserve().detach()).unwrap();
        store.despawn(spawn()).unwrap();
        let dying = spawn();
        store.kill(dying).unwrap();
        store.despawn(dying).unwrap();
        let held = spawn();
        let hold = store.hold(held).unwrap();
        assert_eq!(store.despawn(held), Ok(Reaped::Deferred { holds: 1 }));
        assert!(store.spawn_active(census.payload(1)).is_err(), "it is not gone yet");
        drop(hold);
        assert_eq!(store.despawn_batch(&[spawn()]), 1);
        spawn();
        assert_eq!(store.clear(), 1);
    }
    assert_eq!(store.stats().rejected, 20);
    assert_accounts(&store.stats());
}

#[test]
fn with_one_place_and_no_pin_the_same_slot_serves_again() {
    let census = Census::new();
    let store = bounded(1);
    let mut last: Option<Handle> = None;
    for tag in 0..2000 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        if let Some(last) = last {
            assert_eq!(handle.seq(), last.seq());
            assert_eq!(handle.generation().get(), last.generation().get() + 1);
        }
        store.kill(handle).unwrap();
        store.reap(handle).unwrap();
        last = Some(handle);
    }
}

#[test]
fn with_one_place_a_session_that_repins_goes_on_for_ever() {
    let census = Census::new();
    let store = bounded(1);
    let mut session = store.pin();
    for tag in 0..2000 {
        let handle = session.spawn_active(census.payload(tag)).unwrap();
        session.despawn(handle).unwrap();
        session.repin();
    }
    drop(session);
    store.reclaim();
    assert_eq!((census.made(), census.alive()), (2000, 0));
    assert!(store.slots() <= 2, "capacity and backlog are one each: {}", store.slots());
}

/// Under a pin, what dies waits: exactly the capacity and the backlog of lives fit.
#[test]
fn a_pin_lets_the_backlog_fill_and_then_spawn_answers_reclaiming() {
    for (capacity, backlog) in [(1, 1), (4, 4), (4, 0), (4, 100), (300, 50)] {
        let census = Census::new();
        let limits = Limits::reject(capacity);
        let store = Store::builder().limits(limits).backlog(backlog).build().unwrap();
        let reader = store.pin();
        let mut lives = 0;
        let failure = loop {
            match store.spawn_active(census.payload(lives)) {
                Ok(handle) => store.despawn(handle).map(|_| lives += 1).unwrap(),
                Err(error) => break error.failure,
            }
            assert!(lives <= (capacity + backlog) as u64, "the backlog has no end");
        };
        assert_eq!(lives, (capacity + backlog) as u64, "capacity {capacity}, backlog {backlog}");
        assert!(matches!(failure, SpawnFailure::Reclaiming { dead } if dead > 0), "{failure}");
        let stats = store.stats();
        assert_eq!((stats.dead, stats.live), (capacity + backlog, 0), "{stats:?}");
        assert_eq!(census.dropped(), 1, "all but the refused one may still be read");
        assert!(stats.slots <= capacity + backlog, "{stats:?}");
        drop(reader);
        store.spawn_active(census.payload(0)).expect("no pin is out, so never Reclaiming");
        store.reclaim();
        assert_eq!((store.stats().dead, census.alive()), (0, 1));
        assert_accounts(&store.stats());
    }
}

#[test]
fn a_session_is_told_reclaiming_for_its_own_dead_until_it_repins() {
    let census = Census::new();
    let store = bounded(2);
    let mut session = store.pin();
    let error = loop {
        match session.spawn_active(census.payload(0)) {
            Ok(handle) => session.despawn(handle).map(drop).unwrap(),
            Err(error) => break error,
        }
    };
    assert!(matches!(error.failure, SpawnFailure::Reclaiming { .. }), "{}", error.failure);
    // One repin leaves what died shortly before it; a few let everything go.
    let mut value = Some(error.value);
    for _ in 0..10 {
        session.repin();
        match session.spawn_active(value.take().unwrap()) {
            Ok(_) => return,
            Err(error) => value = Some(error.value),
        }
    }
    panic!("still {}", error.failure);
}

#[test]
fn without_a_backlog_and_without_a_pin_the_churn_never_stops() {
    let census = Census::new();
    let limits = Limits::reject(3);
    let store = Store::builder().limits(limits).backlog(0).build().unwrap();
    for round in 0..300 {
        let handles: Vec<Handle> =
            (0..3).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
        let full = store.spawn_active(census.payload(9)).unwrap_err().failure;
        assert_eq!(full, SpawnFailure::Exhausted { capacity: 3 }, "round {round}");
        assert_eq!(store.despawn_batch(&handles), 3);
    }
    assert!(store.slots() <= 3, "{}", store.slots());
}

#[test]
fn a_full_store_is_exhausted_and_not_reclaiming_even_under_a_pin() {
    let census = Census::new();
    let store = bounded(2);
    let _reader = store.pin();
    let alive = [(); 2].map(|()| store.spawn_active(census.payload(0)).unwrap());
    let failure = store.spawn_active(census.payload(1)).unwrap_err().failure;
    assert_eq!(failure, SpawnFailure::Exhausted { capacity: 2 });
    assert!(alive.iter().all(|handle| store.state(*handle) == Ok(State::Active)));
}

#[test]
fn a_capacity_of_zero_holds_nobody() {
    let census = Census::new();
    if let Ok(store) = Store::builder().limits(Limits::reject(0)).build() {
        let error = store.spawn_active(census.payload(3)).unwrap_err();
        assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 0 });
        assert_eq!((error.value.tag(), store.slots()), (3, 0));
    }
}

#[test]
fn an_unbounded_store_never_refuses_even_under_a_pin() {
    let census = Census::new();
    let store = Store::new();
    let reader = store.pin();
    for tag in 0..5000 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        store.despawn(handle).unwrap();
    }
    assert_eq!(census.dropped(), 0, "all of them may still be read");
    drop(reader);
    store.reclaim();
    assert_eq!((census.alive(), store.stats().dead, store.stats().rejected), (0, 0, 0));
}

/// Four threads share eight places and never have more than two each, the one they are
/// asking for included: at every instant somebody else's place is free.
#[test]
fn spawn_is_never_exhausted_while_a_place_is_free_at_every_instant() {
    let census = Census::new();
    let limits = Limits::reject(8);
    let store = Store::builder().limits(limits).backlog(1 << 20).build().unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (store, maker) = (&store, census.maker());
            scope.spawn(move || {
                let mut kept = store.spawn_active(maker.payload(worker)).unwrap();
                for _ in 0..3000 {
                    let next = store.spawn_active(maker.payload(worker)).unwrap();
                    store.despawn(std::mem::replace(&mut kept, next)).unwrap();
                }
            });
        }
    });
    assert_eq!((store.len(), store.stats().rejected), (4, 0));
    assert_eq!(store.clear(), 4);
}

/// The places that eight threads' sessions may have set aside serve a ninth.
#[test]
fn free_places_are_not_kept_back_by_sessions_that_ended() {
    let census = Census::new();
    let store = bounded(64);
    for _ in 0..8 {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let session = store.pin();
                let maker = census.maker();
                let handles: Vec<Handle> =
                    (0..64).map(|tag| session.spawn_active(maker.payload(tag)).unwrap()).collect();
                assert_eq!(session.despawn_batch(&handles), 64);
            });
        });
    }
    let all: Vec<_> = (0..64).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    assert_eq!((all.len(), store.len()), (64, 64));
    assert!(store.slots() <= 128, "{} slots", store.slots());
}

#[test]
fn an_open_session_does_not_keep_the_last_places_from_another_thread() {
    let census = Census::new();
    let store = bounded(64);
    let session = store.pin();
    let mine = session.spawn_active(census.payload(0)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let maker = census.maker();
            for tag in 0..63 {
                store.spawn_active(maker.payload(tag)).unwrap();
            }
            assert!(store.spawn_active(maker.payload(99)).is_err());
        });
    });
    assert_eq!(session.get(mine).unwrap().tag(), 0);
    assert_eq!(store.len(), 64);
}

//! Evictions under faults: memory that is refused, and threads that are stopped in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stopped::stopped;
use super::{Census, Counted, assert_whole};
use crate::memory::refusals;
use crate::{Handle, LookupError, SpawnFailure, State, Store, StoreBuilder, TransitionError};
use crate::{Hold, Limits};

const CAPACITY: usize = 8;
/// So that what others end while the epoch is stopped has room.
const BACKLOG: usize = 1024;

fn builder() -> StoreBuilder<Counted> {
    Store::builder().limits(Limits::overwrite_oldest(CAPACITY)).backlog(BACKLOG)
}

/// A full store, and its entities from the oldest on.
fn full(census: &Census) -> (Store<Counted>, Vec<Handle>) {
    let store = builder().build().unwrap();
    let spawn = |_| store.spawn_active(census.payload()).unwrap();
    let handles = (0..CAPACITY).map(spawn).collect();
    (store, handles)
}

fn alive(store: &Store<Counted>, handles: &[Handle]) -> usize {
    handles.iter().filter(|handle| store.state(**handle).is_ok()).count()
}

/// Every allocation of the first eviction, one after the other: the slot's, the list's.
#[test]
fn eviction_that_is_refused_memory_ends_nobody_and_gives_the_payload_back() {
    for granted in 0.. {
        let census = Census::default();
        let (store, handles) = full(&census);
        let there = census.there();
        refusals::refuse_after(granted);
        let outcome = store.spawn_active(census.payload());
        let refused = refusals::stop();
        if let Err(error) = outcome {
            let SpawnFailure::OutOfMemory { bytes } = error.failure else {
                panic!("refused for another reason: {}", error.failure)
            };
            assert!(refused && bytes > 0);
            assert_eq!(census.there(), there + 1, "the payload came back");
            let stats = store.stats();
            assert_eq!((stats.overwritten, stats.live, stats.rejected), (0, CAPACITY, 1));
            assert_eq!(alive(&store, &handles), CAPACITY, "nobody was ended");
            drop(error);
            store.spawn_active(census.payload()).expect("memory is there again");
        }
        assert_eq!(store.state(handles[0]).ok(), None, "the oldest made room");
        assert_eq!((alive(&store, &handles), store.stats().overwritten), (CAPACITY - 1, 1));
        assert_whole(&store);
        drop(store);
        assert_eq!(census.there(), 0);
        if !refused {
            assert!(granted >= 1, "a list at least");
            return;
        }
    }
}

/// Lists of all lengths, up to everybody: the one that finds nobody is refused as well.
#[test]
fn search_that_is_refused_memory_loses_no_slot() {
    let census = Census::default();
    let limits = Limits::overwrite_oldest(300);
    let store = Store::builder().limits(limits).backlog(4).build().unwrap();
    let holds: Vec<Hold<Counted>> = (0..300)
        .map(|_| store.hold(store.spawn_active(census.payload()).unwrap()).unwrap())
        .collect();
    let mut granted = 0;
    loop {
        refusals::refuse_after(granted);
        let failure = store.spawn_active(census.payload()).unwrap_err().failure;
        match (refusals::stop(), failure) {
            (true, SpawnFailure::OutOfMemory { .. }) => granted += 1,
            (false, SpawnFailure::Exhausted { capacity: 300 }) => break,
            (refused, other) => panic!("refused: {refused}, {other}"),
        }
        assert_eq!((store.len(), store.stats().overwritten), (300, 0));
        assert!(store.slots() <= 304, "{}", store.slots());
    }
    assert!(granted >= 2, "a list of 75, of 150, of 300: {granted}");
    drop(holds);
    store.spawn_active(census.payload()).unwrap();
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

/// What the others do while a thread stands still: evictions, and lives beside them.
fn others_evict(store: &Store<Counted>, census: &Census) {
    let life = || {
        for round in 0..40 {
            let h = store.spawn_active(census.payload()).expect("there is somebody to end");
            let pending = store.spawn(census.payload()).expect("there is somebody to end");
            assert!(store.len() <= CAPACITY);
            let other = pending.detach();
            store.activate(other).unwrap();
            match round % 3 {
                0 => drop(store.hold(h)),
                1 => drop(store.kill_and_hold(other)),
                _ => _ = store.despawn(h),
            }
        }
    };
    std::thread::scope(|scope| [scope.spawn(life), scope.spawn(life)].map(|t| t.join().unwrap()));
    assert!(store.pin().iter().count() <= CAPACITY);
    assert!(store.stats().live <= CAPACITY);
}

#[test]
fn stopped_in_an_eviction_others_evict() {
    for point in [
        "slot taken, not renewed",
        "evicted, not buried",
        "sealed, not finished",
        "payload written, not published",
    ] {
        let census = Census::default();
        let (store, handles) = full(&census);
        let body = || store.spawn_active(census.payload()).map_err(|error| error.failure);
        let spawned = stopped(point, body, || others_evict(&store, &census));
        assert!(store.state(spawned.unwrap_or_else(|it| panic!("{point}: {it}"))).is_ok());
        assert_eq!(alive(&store, &handles), 0, "{point}: the others have ended them");
        assert_whole(&store);
        drop(store);
        assert_eq!(census.there(), 0);
    }
}

/// The thread that shows an entity by handle has its guard for a moment: what others ask for is
/// refused as with any guard, they do not wait, and nobody evicts it.
#[test]
fn stopped_in_an_activation_by_handle_others_are_refused_and_go_on() {
    let census = Census::default();
    let (store, _) = full(&census);
    let h = store.spawn(census.payload()).unwrap().detach();
    let meanwhile = || {
        let guarded = TransitionError::Guarded { handle: h };
        assert_eq!(store.activate(h), Err(guarded));
        assert_eq!(store.cancel(h), Err(guarded));
        assert_eq!(store.despawn(h), Err(guarded));
        assert_eq!(store.pin().get(h).err(), Some(LookupError::Pending { handle: h }));
        others_evict(&store, &census);
        assert_eq!(store.state(h), Ok(State::Pending));
    };
    stopped("guard taken, not stamped", || store.activate(h).unwrap(), meanwhile);
    assert_eq!(store.state(h), Ok(State::Active));
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

/// The entity is as young as the end of its activation, however long ago that began.
#[test]
fn stopped_before_its_stamp_an_entity_is_younger_than_what_came_meanwhile() {
    let census = Census::default();
    let (store, _) = full(&census);
    let h = store.spawn(census.payload()).unwrap().detach();
    let mut young = Vec::new();
    let meanwhile = || {
        young = (0..CAPACITY - 1).map(|_| store.spawn_active(census.payload()).unwrap()).collect();
    };
    stopped("guard taken, not stamped", || store.activate(h).unwrap(), meanwhile);
    for handle in &young {
        assert!(store.state(*handle).is_ok());
        store.spawn_active(census.payload()).unwrap();
        assert!(store.state(*handle).is_err() && store.state(h).is_ok());
    }
}

/// While a spawn that found the store full has its slot and no more, others make room.
#[test]
fn unit_that_comes_back_before_the_search_spares_the_oldest() {
    let census = Census::default();
    let (store, handles) = full(&census);
    let meanwhile = || _ = store.despawn(handles[CAPACITY - 1]).unwrap();
    let body = || store.spawn_active(census.payload()).unwrap();
    stopped("slot taken, not renewed", body, meanwhile);
    assert_eq!((store.stats().overwritten, alive(&store, &handles)), (0, CAPACITY - 1));
}

/// At every moment there was a free unit, or somebody to end.
#[test]
fn store_that_others_emptied_before_the_search_is_not_exhausted() {
    let census = Census::default();
    let (store, handles) = full(&census);
    let body = || store.spawn_active(census.payload()).map_err(|error| error.failure);
    let meanwhile = || assert_eq!(store.despawn_batch(&handles), CAPACITY);
    let spawned = stopped("slot taken, not renewed", body, meanwhile);
    assert_eq!(spawned.map(|handle| store.state(handle)), Ok(Ok(State::Active)));
    assert_eq!((store.stats().rejected, store.len()), (0, 1));
}

/// The callback runs in the thread that stands still, after its entity is sealed: nobody else ends
/// that one, and nobody is told of it twice.
#[test]
fn stopped_before_the_end_of_its_victim_that_is_told_once() {
    let census = Census::default();
    let told = Arc::new(AtomicUsize::new(0));
    let note = Arc::clone(&told);
    let hook = move |_, _: &Counted, _| _ = note.fetch_add(1, Ordering::SeqCst);
    let store = builder().on_dying(hook).build().unwrap();
    let spawn = || store.spawn_active(census.payload()).unwrap();
    let handles: Vec<Handle> = (0..CAPACITY).map(|_| spawn()).collect();
    let victim = handles[0];
    let meanwhile = || {
        assert_eq!(store.state(victim), Ok(State::Dying), "sealed");
        let requested = TransitionError::ReapRequested { handle: victim };
        assert_eq!(store.despawn(victim), Err(requested));
        assert_eq!(store.revive(victim), Err(requested));
        assert!(store.hold(victim).is_err());
        for _ in 0..2 * CAPACITY {
            spawn();
            assert!(store.len() <= CAPACITY);
        }
        assert_eq!(store.state(victim), Ok(State::Dying), "left to the one that sealed it");
    };
    stopped("sealed, not finished", spawn, meanwhile);
    assert_eq!((told.load(Ordering::SeqCst), store.stats().overwritten), (17, 17));
    assert_eq!(store.len(), CAPACITY);
}

//! When destructors run: only inside the calls that say so, a bounded number at a
//! time, all of them by `reclaim`, and none inside a read.

mod support;

use hatchery::{Handle, Limits, StateSet, Store};
use support::{Census, Counted, assert_accounts};

/// A store with `dead` entities that a reader, gone by now, made wait.
fn with_dead(census: &Census, dead: u64) -> Store<Counted> {
    let store = Store::new();
    let handles = store.spawn_batch((0..dead).map(|tag| census.payload(tag))).unwrap();
    let reader = store.pin();
    assert_eq!(store.despawn_batch(&handles), dead as usize);
    drop(reader);
    store
}

/// C32
#[test]
fn one_reclaim_of_an_idle_store_runs_every_destructor() {
    for lives in [1, 10, 63, 64, 65, 1000] {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..lives).map(|tag| census.payload(tag))).unwrap();
        for handle in handles {
            store.kill(handle).unwrap();
            store.reap(handle).unwrap();
        }
        let back = store.reclaim();
        assert!(back <= lives as usize, "{back} of {lives}");
        assert_eq!(census.dropped(), lives as usize);
        let stats = store.stats();
        assert_eq!((stats.dead, stats.free), (0, stats.slots), "{stats:?}");
        assert_eq!(store.reclaim(), 0);
    }
}

#[test]
fn reclaim_says_how_many_slots_came_back() {
    let census = Census::new();
    for dead in [1, 70, 500] {
        let store = with_dead(&census, dead);
        let waiting = store.stats().dead;
        assert_eq!(store.reclaim(), waiting);
        assert_eq!((store.stats().dead, census.alive()), (0, 0));
    }
}

#[test]
fn a_reclaim_under_a_pin_keeps_what_died_after_it() {
    let census = Census::new();
    let store = Store::new();
    let mut session = store.pin();
    let handle = session.spawn_active(census.payload(1)).unwrap();
    session.despawn(handle).unwrap();
    store.reclaim();
    assert_eq!((census.dropped(), store.stats().dead), (0, 1));
    session.repin();
    drop(session);
    store.reclaim();
    assert_eq!((census.dropped(), store.stats().dead), (1, 0));
}

#[test]
fn a_reclaim_beside_an_open_session_of_another_thread_loses_nothing() {
    let census = Census::new();
    let store = Store::new();
    let session = store.pin();
    let mine: Vec<Handle> =
        (0..10).map(|tag| session.spawn_active(census.payload(tag)).unwrap()).collect();
    session.despawn_batch(&mine[..5]);
    std::thread::scope(|scope| {
        scope.spawn(|| store.reclaim());
    });
    assert!(mine[5..].iter().all(|handle| session.contains(*handle)));
    drop(session);
    store.reclaim();
    assert_eq!((store.stats().dead, census.dropped(), store.len()), (0, 5, 5));
}

/// C33
#[test]
fn reclaim_up_to_never_drops_more_than_its_budget() {
    for budget in [1, 64, 1000] {
        let census = Census::new();
        let store = with_dead(&census, 2000);
        let (mut calls, mut back) = (0, 0);
        while store.stats().dead > 0 {
            let before = census.dropped();
            back += store.reclaim_up_to(budget);
            let dropped = census.dropped() - before;
            assert!(dropped <= budget, "{dropped} by one call with a budget of {budget}");
            calls += 1;
            assert!(calls <= 20_000, "it gets nowhere: {:?}", store.stats());
        }
        assert!(back <= 2000 && calls >= census.dropped() / 2 / budget);
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_budget_of_zero_drops_nothing() {
    let census = Census::new();
    let store = with_dead(&census, 100);
    let before = census.dropped();
    store.reclaim_up_to(0);
    assert_eq!(census.dropped(), before);
}

/// C33
#[test]
fn reads_run_no_destructor() {
    let census = Census::new();
    let store = with_dead(&census, 10_000);
    let alive = store.spawn_active(census.payload(1)).unwrap();
    store.kill(store.spawn_active(census.payload(2)).unwrap()).unwrap();
    let before = census.dropped();
    for _ in 0..500 {
        let mut session = store.pin();
        assert_eq!(session.get(alive).unwrap().tag(), 1);
        assert!(session.get_active(alive).is_ok() && session.contains(alive));
        assert!(session.get_with_state(alive).is_ok() && session.holds(alive) == Ok(0));
        assert!(store.state(alive).is_ok() && session.state(alive).is_ok());
        session.repin();
        drop(session);
        assert!(store.stats().live == 2 && store.len() == 2 && store.slots() > 2);
    }
    assert_eq!(store.pin().iter().count(), 1);
    assert_eq!(store.pin().iter_in(StateSet::READABLE).count(), 2);
    assert_eq!(census.dropped(), before);
}

#[cfg(feature = "rayon")]
#[test]
fn a_parallel_scan_runs_no_destructor() {
    use rayon::iter::ParallelIterator;
    let census = Census::new();
    let store = with_dead(&census, 10_000);
    store.spawn_batch((0..100).map(|tag| census.payload(tag))).unwrap();
    let before = census.dropped();
    assert_eq!(store.pin().par_iter().count(), 100);
    assert_eq!(store.pin().par_iter_in(StateSet::READABLE).count(), 100);
    assert_eq!(census.dropped(), before);
}

/// C33: one call of anything but `reclaim` and `clear` runs a few hundred destructors at most.
#[test]
fn every_other_call_runs_a_bounded_number() {
    const BOUND: usize = 1024;
    type Call = fn(&Store<Counted>, &Census);
    let calls: [(&str, Call); 9] = [
        ("spawn and drop", |store, census| drop(store.spawn(census.payload(0)).unwrap())),
        ("spawn_active", |store, census| {
            store.spawn_active(census.payload(0)).unwrap();
        }),
        ("spawn_with", |store, census| {
            store.spawn_with(|_| census.payload(0)).unwrap().activate();
        }),
        ("spawn and cancel", |store, census| {
            drop(store.spawn(census.payload(0)).unwrap().cancel())
        }),
        ("cancel", |store, census| {
            store.cancel(store.spawn(census.payload(0)).unwrap().detach()).unwrap();
        }),
        ("despawn", |store, census| {
            store.despawn(store.spawn_active(census.payload(0)).unwrap()).unwrap();
        }),
        ("reap", |store, census| {
            let handle = store.spawn_active(census.payload(0)).unwrap();
            store.kill(handle).unwrap();
            store.reap(handle).unwrap();
        }),
        ("hold", |store, census| {
            let handle = store.spawn_active(census.payload(0)).unwrap();
            let hold = store.kill_and_hold(handle).unwrap();
            store.reap(handle).unwrap();
            drop(hold);
        }),
        ("revive", |store, census| {
            let handle = store.spawn_active(census.payload(0)).unwrap();
            store.kill(handle).unwrap();
            store.revive(handle).unwrap();
        }),
    ];
    for (name, call) in calls {
        let census = Census::new();
        let store = with_dead(&census, 10_000);
        for _ in 0..5 {
            let before = census.dropped();
            call(&store, &census);
            let dropped = census.dropped() - before;
            assert!(dropped <= BOUND, "{name} ran {dropped} destructors");
        }
        store.reclaim();
        assert_eq!(store.stats().dead, 0);
        assert_accounts(&store.stats());
    }
}

/// Spawning alone keeps up with what dies: the dead do not pile up behind a busy store.
#[test]
fn churn_drives_reclamation_by_itself() {
    let census = Census::new();
    let store = Store::new();
    for tag in 0..20_000 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        store.despawn(handle).unwrap();
    }
    assert!(store.slots() <= 2048, "{} slots for one entity at a time", store.slots());
    assert!(census.alive() <= 2048, "{} payloads waiting", census.alive());
}

#[test]
fn a_payload_that_was_cancelled_is_dropped_or_returned_once() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(4)).build().unwrap();
    let returned = store.spawn(census.payload(3)).unwrap().cancel();
    store.reclaim();
    assert_eq!((returned.tag(), census.dropped()), (3, 0), "it is the caller's now");
    drop(returned);
    store.cancel(store.spawn(census.payload(4)).unwrap().detach()).unwrap();
    drop(store.spawn(census.payload(5)).unwrap());
    store.reclaim();
    assert_eq!((census.dropped(), store.stats().cancelled), (3, 3));
    assert_eq!(store.stats().dead, 0);
}

#[test]
fn reclaims_of_several_threads_share_the_work() {
    let census = Census::new();
    let store = with_dead(&census, 5000);
    let waiting = store.stats().dead;
    let back: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4).map(|_| scope.spawn(|| store.reclaim())).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    let late = store.reclaim();
    assert_eq!(back + late, waiting, "each slot came back once");
    assert_eq!((store.stats().dead, census.alive()), (0, 0));
}

/// The call that needs them hands them over, and brings them back: no other session comes between.
#[test]
fn dead_slots_in_the_own_magazine_serve_in_the_call_that_finds_no_other() {
    let census = Census::new();
    let store = Store::new();
    let spawn = || store.spawn_active(census.payload(0)).unwrap();
    let mut alive = vec![spawn()];
    while alive.len() < store.slots() {
        alive.push(spawn());
    }
    let slots = store.slots();
    // So many that the store gathers before it grows, and no box of them is full.
    let dead = slots / 3;
    alive.drain(..dead).for_each(|handle| assert!(store.despawn(handle).is_ok()));
    assert_eq!(store.stats().dead, dead);
    alive.extend((0..dead).map(|_| spawn()));
    assert_eq!((store.slots(), store.stats().dead), (slots, 0));
}

//! No thread limit, and nothing kept per thread that outlives the thread: what
//! one thread made another frees, thread-local teardown included.

mod support;

use std::cell::RefCell;
use std::sync::{Arc, Barrier, Mutex};

use hatchery::{Handle, Hold, Limits, Pinned, State, Store};
use support::counting::{Counting, live_bytes, take_turn};
use support::{Census, Counted, Maker, assert_accounts, finishes};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Every slot that is free now can be taken by one thread, without a new one being made.
#[track_caller]
fn assert_nothing_is_stranded(store: &Store<Counted>, census: &Census) {
    store.reclaim();
    let before = store.stats();
    assert_eq!(before.dead, 0, "{before:?}");
    assert_eq!(before.slots, before.free + before.live, "{before:?}");
    for tag in 0..before.free {
        store.spawn_active(census.payload(tag as u64)).unwrap();
    }
    let after = store.stats();
    assert_eq!((after.slots, after.free), (before.slots, 0), "some free slots were out of reach");
    assert_accounts(&after);
}

/// C20
#[test]
fn what_another_thread_freed_serves_the_one_that_made_it() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let make = |offset: u64| -> Vec<Handle> {
        (0..1000).map(|tag| store.spawn_active(census.payload(offset + tag)).unwrap()).collect()
    };
    let first = make(0);
    let high_water = store.slots();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for handle in &first {
                store.kill(*handle).unwrap();
                store.reap(*handle).unwrap();
            }
        });
    });
    make(1000);
    assert!(store.slots() <= high_water + 500, "{high_water} became {}", store.slots());
    assert!(high_water <= 1500, "{high_water} slots for a thousand");
    assert_nothing_is_stranded(&store, &census);
}

#[test]
fn a_producer_and_a_consumer_do_not_grow_the_store() {
    let _turn = take_turn();
    let census = Census::new();
    let limits = Limits::reject(64);
    let store = Store::builder().limits(limits).backlog(64).build().unwrap();
    let (send, receive) = std::sync::mpsc::sync_channel::<Handle>(16);
    std::thread::scope(|scope| {
        let (store, maker) = (&store, census.maker());
        scope.spawn(move || {
            for tag in 0..5000 {
                let mut payload = maker.payload(tag);
                let handle = loop {
                    match store.spawn_active(payload) {
                        Ok(handle) => break handle,
                        Err(error) => payload = error.value,
                    }
                    std::thread::yield_now();
                };
                send.send(handle).unwrap();
            }
        });
        scope.spawn(move || {
            for (tag, handle) in receive.into_iter().enumerate() {
                assert_eq!(store.pin().get(handle).unwrap().tag(), tag as u64);
                store.despawn(handle).unwrap();
            }
        });
    });
    assert!(store.is_empty());
    assert!(store.slots() <= 128, "{} slots", store.slots());
    assert_nothing_is_stranded(&store, &census);
}

fn one_short_life(store: &Store<Counted>, maker: &Maker, tag: u64) {
    let handle = store.spawn_active(maker.payload(tag)).unwrap();
    assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
    store.kill(handle).unwrap();
    store.reap(handle).unwrap();
}

/// C22
#[test]
fn five_thousand_threads_one_after_another_leave_nothing_behind() {
    let _turn = take_turn();
    let threads = if cfg!(target_pointer_width = "64") { 5000 } else { 200 };
    let census = Census::new();
    let store = Store::builder().shards(2).build().unwrap();
    let mut early = (0, 0);
    for number in 0..threads {
        let (own, maker) = (store.clone(), census.maker());
        std::thread::spawn(move || one_short_life(&own, &maker, number)).join().unwrap();
        if number == threads / 5 {
            early = (store.slots(), live_bytes());
        }
    }
    assert_eq!(store.stats().reaped, threads);
    assert!(store.slots() <= 2 * 64, "{} slots", store.slots());
    assert_eq!(store.slots(), early.0, "slots grew with the threads that came and went");
    // What crossbeam keeps for a thread is over 2 KB; 4000 of those would be 8 MB.
    let grown = live_bytes() - early.1;
    assert!(grown < 256 << 10, "{grown} bytes more after {threads} threads");
    assert_nothing_is_stranded(&store, &census);
}

/// C22
#[test]
fn five_hundred_threads_at_once_are_all_served() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let (start, end) = (Barrier::new(500), Barrier::new(500));
    std::thread::scope(|scope| {
        for number in 0..500 {
            let (store, maker, start, end) = (&store, census.maker(), &start, &end);
            scope.spawn(move || {
                let session = store.pin();
                start.wait();
                let kept = session.spawn_active(maker.payload(number)).unwrap();
                end.wait();
                assert_eq!(session.get(kept).unwrap().tag(), number);
                session.despawn(kept).unwrap();
                drop(session);
                one_short_life(store, &maker, number);
            });
        }
    });
    assert_eq!(store.stats().spawned, 1000);
    assert_nothing_is_stranded(&store, &census);
}

#[test]
fn a_store_may_be_dropped_by_a_thread_that_never_used_it() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let handles: Vec<Handle> =
        (0..100).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    store.despawn_batch(&handles[..50]);
    std::thread::spawn(move || drop(store)).join().unwrap();
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_hold_may_end_on_a_thread_that_never_used_the_store() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    for tag in 0..200 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        let hold = store.kill_and_hold(handle).unwrap();
        store.reap(handle).unwrap();
        let settle = std::thread::spawn(move || hold.tag());
        assert_eq!(settle.join().unwrap(), tag);
        assert!(store.state(handle).is_err());
    }
    assert_nothing_is_stranded(&store, &census);
}

/// What a thread-local of a user does when its thread ends.
struct AtThreadEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtThreadEnd {
    fn drop(&mut self) {
        if let Some(last_act) = self.0.take() {
            last_act();
        }
    }
}

thread_local! {
    static LAST_ACT: RefCell<AtThreadEnd> = const { RefCell::new(AtThreadEnd(None)) };
}

/// Runs `body` on a thread whose thread-local teardown runs `last_act`: once with the
/// thread-local registered before the first use of the store, once after, so that both orders
/// of destruction come up.
fn with_last_act(
    body: impl Fn() + Clone + Send + 'static,
    last_act: impl Fn() + Clone + Send + 'static,
) {
    for act_first in [true, false] {
        let (body, last_act) = (body.clone(), last_act.clone());
        finishes(move || {
            let worker = std::thread::spawn(move || {
                let register = || {
                    LAST_ACT.with_borrow_mut(|act| act.0 = Some(Box::new(last_act)));
                };
                if act_first {
                    register();
                    body();
                } else {
                    body();
                    register();
                }
            });
            worker.join().unwrap();
        });
    }
}

#[test]
fn thread_local_teardown_may_use_the_store() {
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let known = store.spawn_active(census.payload(77)).unwrap();
    let lives = Arc::new(Mutex::new(0));
    let use_it = {
        let (store, maker, lives) = (store.clone(), census.maker(), Arc::clone(&lives));
        move || {
            let session = store.pin();
            assert_eq!(session.get(known).unwrap().tag(), 77);
            assert_eq!(session.iter().count(), 1);
            let handle = session.spawn_active(maker.payload(1)).unwrap();
            let hold = session.hold(handle).unwrap();
            session.kill(handle).unwrap();
            session.reap(handle).unwrap();
            drop(hold);
            drop(session);
            let handles = store.spawn_batch((0..70).map(|tag| maker.payload(tag))).unwrap();
            assert_eq!(store.despawn_batch(&handles), 70);
            drop(store.spawn(maker.payload(2)).unwrap());
            store.reclaim();
            *lives.lock().unwrap() += 1;
        }
    };
    with_last_act(use_it.clone(), use_it);
    assert_eq!(*lives.lock().unwrap(), 4);
    assert_eq!(store.len(), 1);
    assert_nothing_is_stranded(&store, &census);
}

#[test]
fn thread_local_teardown_may_end_holds_and_drop_the_last_store() {
    let _turn = take_turn();
    let census = Census::new();
    let maker = census.maker();
    let body = || {};
    let last_act = move || {
        let store = Store::new();
        let handle = store.spawn_active(maker.payload(1)).unwrap();
        let hold = store.hold(handle).unwrap();
        store.despawn(handle).unwrap();
        drop(store);
        assert_eq!(hold.tag(), 1);
        drop(hold);
    };
    with_last_act(body, last_act);
    assert_eq!((census.made(), census.alive()), (2, 0));
}

#[test]
fn a_hold_kept_in_a_thread_local_ends_with_its_thread() {
    thread_local! {
        static KEPT: RefCell<Vec<Hold<Counted>>> = const { RefCell::new(Vec::new()) };
    }
    let _turn = take_turn();
    let census = Census::new();
    let store = Store::new();
    let handles: Vec<Handle> =
        (0..100).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for handle in &handles {
                KEPT.with_borrow_mut(|kept| kept.push(store.hold(*handle).unwrap()));
            }
            assert_eq!(store.clear(), 100);
            assert_eq!(store.len(), 100, "all are held");
        });
    });
    // A scoped thread may be seen as finished before its thread-locals are gone.
    while !store.is_empty() {
        std::thread::yield_now();
    }
    store.reclaim();
    assert_eq!((census.alive(), store.stats().holds), (0, 0));
    assert_nothing_is_stranded(&store, &census);
}

#[test]
fn a_session_kept_in_a_thread_local_ends_with_its_thread() {
    thread_local! {
        static KEPT: RefCell<Option<Pinned<'static, u64>>> = const { RefCell::new(None) };
    }
    let _turn = take_turn();
    let store: &'static Store<u64> = Box::leak(Box::new(Store::new()));
    let worker = std::thread::spawn(|| {
        let session = store.pin();
        let handle = session.spawn_active(5).unwrap();
        KEPT.with_borrow_mut(|kept| *kept = Some(session));
        store.despawn(handle).unwrap();
    });
    worker.join().unwrap();
    store.reclaim();
    assert_eq!(store.stats().dead, 0, "the pin is gone with the thread");
}

#[test]
fn one_thread_may_work_in_hundreds_of_stores() {
    let _turn = take_turn();
    let census = Census::new();
    let stores: Vec<Store<Counted>> = (0..300).map(|_| Store::new()).collect();
    for round in 0..3 {
        for store in &stores {
            one_short_life(store, &census.maker(), round);
            store.spawn_active(census.payload(round)).unwrap();
        }
    }
    for store in &stores {
        assert_eq!(store.len(), 3);
        assert!(store.pin().iter().all(|(handle, _)| store.state(handle) == Ok(State::Active)));
    }
    let mut stores = stores.into_iter();
    drop(stores.by_ref().step_by(2).collect::<Vec<_>>());
    assert!(census.alive() <= 3 * 150 + 3);
    drop(stores);
    assert_eq!(census.alive(), 0);
}

#[test]
fn stores_that_come_and_go_leave_no_memory_with_the_thread() {
    let _turn = take_turn();
    let census = Census::new();
    let mut early = 0;
    for round in 0..2000 {
        let store = Store::new();
        one_short_life(&store, &census.maker(), round);
        if round == 400 {
            early = live_bytes();
        }
    }
    let grown = live_bytes() - early;
    assert!(grown < 256 << 10, "{grown} bytes more after 1600 stores");
}

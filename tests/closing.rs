//! How a store goes: every payload that nobody holds is dropped by the time the
//! last `Store` is gone, and a `Hold` that outlives it keeps its own.

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hatchery::{EndReason, Handle, Hold, Limits, Reaped, State, Store, WeakStore};
use support::{Census, Counted, finishes, panics};

const SIZES: [u64; 6] = [1, 10, 63, 64, 65, 70];

/// C30
#[test]
fn dropping_the_store_drops_what_was_killed_and_never_reaped() {
    for size in SIZES {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..size).map(|tag| census.payload(tag))).unwrap();
        handles.iter().for_each(|handle| store.kill(*handle).unwrap());
        drop(store);
        assert_eq!(census.dropped(), size as usize);
    }
}

/// C30
#[test]
fn dropping_the_store_drops_payloads_of_every_state() {
    for size in SIZES {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..5 * size).map(|tag| census.payload(tag))).unwrap();
        for (at, handle) in handles.iter().enumerate() {
            match at % 5 {
                0 => store.kill(*handle).unwrap(),
                1 => store.despawn(*handle).map(drop).unwrap(),
                2 => drop(store.hold(*handle).unwrap()),
                3 => drop(store.spawn(census.payload(0)).unwrap().detach()),
                _ => drop(store.spawn(census.payload(0)).unwrap()),
            }
        }
        drop(store);
        assert_eq!((census.made() as u64, census.alive()), (7 * size, 0));
    }
}

/// C30: what was reaped under another thread's pin waits, and goes with the store.
#[test]
fn dropping_the_store_drops_what_waited_for_a_reader() {
    for size in SIZES {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..size).map(|tag| census.payload(tag))).unwrap();
        let reader = store.pin();
        assert_eq!(store.despawn_batch(&handles), size as usize);
        assert_eq!(census.dropped(), 0);
        drop(reader);
        drop(store);
        assert_eq!(census.dropped(), size as usize);
    }
}

#[test]
fn a_store_lives_as_long_as_its_last_clone() {
    let census = Census::new();
    let first = Store::new();
    let second = first.clone();
    assert_eq!(first.scene(), second.scene());
    let handle = first.spawn_active(census.payload(5)).unwrap();
    drop(first);
    assert_eq!(second.pin().get(handle).unwrap().tag(), 5);
    drop(second);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_hold_that_outlives_the_store_keeps_its_payload_and_no_other() {
    for size in SIZES {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..size).map(|tag| census.payload(tag))).unwrap();
        let held = handles[size as usize / 2];
        let hold = store.hold(held).unwrap();
        assert_eq!((hold.state(), hold.is_reap_requested()), (State::Active, false));
        drop(store);
        assert_eq!(census.alive(), 1, "of {size}");
        assert_eq!((hold.tag(), hold.handle()), (size / 2, held));
        assert_eq!((hold.state(), hold.is_reap_requested()), (State::Dying, true));
        let copy = hold.clone();
        drop(hold);
        assert_eq!(copy.tag(), size / 2);
        std::thread::spawn(move || drop(copy)).join().unwrap();
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn holds_of_every_kind_outlive_the_store() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..4).map(|tag| census.payload(tag))).unwrap();
    let active = store.hold(handles[0]).unwrap();
    let dying = store.kill_and_hold(handles[1]).unwrap();
    let requested = store.hold(handles[2]).unwrap();
    assert_eq!(store.despawn(handles[2]), Ok(Reaped::Deferred { holds: 1 }));
    drop(store.hold(handles[3]).unwrap());
    drop(store);
    assert_eq!(census.alive(), 3);
    for (tag, hold) in [active, dying, requested].into_iter().enumerate() {
        assert_eq!((hold.tag(), hold.state()), (tag as u64, State::Dying));
        drop(hold);
        assert_eq!(census.alive(), 2 - tag);
    }
}

#[test]
fn holds_dropped_while_the_store_closes_end_each_payload_once() {
    for round in 0..200 {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..8).map(|tag| census.payload(tag))).unwrap();
        let holds: Vec<Hold<Counted>> =
            handles.iter().map(|handle| store.hold(*handle).unwrap()).collect();
        if round % 2 == 0 {
            store.despawn_batch(&handles[..4]);
        }
        std::thread::scope(|scope| {
            scope.spawn(move || holds.into_iter().for_each(drop));
            scope.spawn(move || drop(store));
        });
        assert_eq!(census.alive(), 0, "round {round}");
    }
}

#[test]
fn of_two_threads_that_drop_the_last_clones_one_closes() {
    for _ in 0..200 {
        let census = Census::new();
        let store = Store::new();
        store.spawn_batch((0..10).map(|tag| census.payload(tag))).unwrap();
        let clones = [store.clone(), store];
        std::thread::scope(|scope| {
            for clone in clones {
                scope.spawn(move || drop(clone));
            }
        });
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn a_weak_store_answers_while_the_store_is_there() {
    let census = Census::new();
    let store = Store::new();
    let weak: WeakStore<Counted> = store.downgrade();
    let handle = weak.upgrade().unwrap().spawn_active(census.payload(6)).unwrap();
    assert_eq!(store.pin().get(handle).unwrap().tag(), 6);
    let upgraded = weak.upgrade().unwrap();
    drop(store);
    assert_eq!(upgraded.pin().get(handle).unwrap().tag(), 6, "an upgrade is a reference");
    assert!(weak.clone().upgrade().is_some());
    drop(upgraded);
    assert!(weak.upgrade().is_none());
    assert_eq!(census.alive(), 0);
}

#[test]
fn an_upgrade_beside_the_last_drop_is_a_working_store_or_none() {
    for _ in 0..300 {
        let census = Census::new();
        let store = Store::new();
        let (weak, maker) = (store.downgrade(), census.maker());
        std::thread::scope(|scope| {
            scope.spawn(move || drop(store));
            scope.spawn(move || {
                if let Some(store) = weak.upgrade() {
                    let handle = store.spawn_active(maker.payload(1)).unwrap();
                    assert_eq!(store.pin().get(handle).unwrap().tag(), 1);
                }
            });
        });
        assert_eq!(census.alive(), 0);
    }
}

/// A payload that knows its store, and what it met when it was dropped.
struct Member {
    store: WeakStore<Member>,
    met: Arc<Mutex<Vec<bool>>>,
    _counted: Counted,
}

impl Drop for Member {
    fn drop(&mut self) {
        self.met.lock().unwrap().push(self.store.upgrade().is_some());
    }
}

#[test]
fn a_payload_dropped_by_the_closing_store_finds_it_gone() {
    let census = Census::new();
    let met = Arc::new(Mutex::new(Vec::new()));
    let store = Store::new();
    let member = |tag| Member {
        store: store.downgrade(),
        met: Arc::clone(&met),
        _counted: census.payload(tag),
    };
    let handles = store.spawn_batch((0..10).map(member)).unwrap();
    store.despawn(handles[0]).unwrap();
    store.reclaim();
    assert_eq!(*met.lock().unwrap(), [true]);
    drop(store);
    assert_eq!(*met.lock().unwrap(), [[true].as_slice(), &[false; 9]].concat());
}

/// C47: a payload with a strong reference keeps its own store alive, as an `Arc` in a cycle
/// does. `clear` breaks the cycle; a `WeakStore` never makes one.
#[test]
fn a_store_kept_by_its_own_payload_lives_until_it_is_cleared() {
    struct Owner(#[allow(dead_code, reason = "held, not read")] Store<Owner>, Counted);
    let census = Census::new();
    let store = Store::new();
    let weak = store.downgrade();
    for tag in 0..70 {
        store.spawn_active(Owner(store.clone(), census.payload(tag))).unwrap();
    }
    drop(store);
    let store = weak.upgrade().expect("its payloads keep it");
    assert_eq!(store.pin().iter().map(|(_, owner)| owner.1.tag()).sum::<u64>(), 69 * 70 / 2);
    assert_eq!(store.clear(), 70);
    assert_eq!(census.alive(), 0);
    drop(store);
    assert!(weak.upgrade().is_none());
}

/// The last reference to a store may lie in a payload of another one.
#[test]
fn a_store_may_be_dropped_by_a_payload_of_another_one() {
    let census = Census::new();
    let outer = Store::new();
    for _ in 0..5 {
        let inner = Store::new();
        inner.spawn_batch((0..20).map(|tag| census.payload(tag))).unwrap();
        let dead = inner.spawn_active(census.payload(0)).unwrap();
        inner.despawn(dead).unwrap();
        outer.spawn_active(inner).unwrap();
    }
    assert_eq!(outer.clear(), 5);
    assert_eq!(census.alive(), 0);
}

/// The last reference to a store lies in one of its own payloads, which is dropped while the
/// user's call is still inside: nothing hangs, and nothing is dropped twice.
#[test]
fn a_store_whose_last_reference_dies_inside_its_own_clear_survives_the_call() {
    finishes(|| {
        struct Owner(#[allow(dead_code, reason = "held")] Mutex<Option<Store<Owner>>>, Counted);
        let census = Census::new();
        let store = Store::new();
        let handle = store.spawn_active(Owner(Mutex::new(None), census.payload(1))).unwrap();
        store.spawn_active(Owner(Mutex::new(None), census.payload(2))).unwrap();
        let hold = store.hold(handle).unwrap();
        *hold.0.lock().unwrap() = Some(store.clone());
        drop(store);
        // The store lives in its own payload alone; ending the entity through that reference
        // and letting go of the hold drops the payload, and with it the store.
        let inside = hold.0.lock().unwrap().clone().unwrap();
        inside.despawn(handle).unwrap();
        drop(inside);
        assert_eq!(hold.1.tag(), 1);
        let weak = hold.0.lock().unwrap().as_ref().unwrap().downgrade();
        drop(hold);
        if let Some(store) = weak.upgrade() {
            store.reclaim();
        }
        assert!(weak.upgrade().is_none());
        assert_eq!(census.alive(), 0);
    });
}

#[test]
fn clear_ends_what_is_alive_and_old_handles_stay_dead() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(40)).build().unwrap();
    let mut old: Vec<Handle> = Vec::new();
    for round in 0..5 {
        let handles = store.spawn_batch((0..30).map(|tag| census.payload(tag))).unwrap();
        handles[..10].iter().for_each(|handle| store.kill(*handle).unwrap());
        let reserved =
            (0..5).map(|_| store.spawn(census.payload(0)).unwrap().detach()).collect::<Vec<_>>();
        store.despawn(handles[29]).unwrap();
        assert_eq!(store.clear(), 34, "round {round}");
        assert_eq!((store.len(), census.alive()), (0, 0), "destructors as for reclaim");
        assert_eq!(store.clear(), 0);
        old.extend(handles.iter().chain(&reserved));
        assert!(old.iter().all(|handle| store.state(*handle).unwrap_err().is_gone()));
    }
}

#[test]
fn clear_counts_what_a_hold_keeps_and_leaves_what_a_guard_keeps() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..4).map(|tag| census.payload(tag))).unwrap();
    let hold = store.hold(handles[1]).unwrap();
    let guard = store.spawn(census.payload(50)).unwrap();
    assert_eq!(store.clear(), 4);
    assert_eq!((store.len(), census.alive()), (2, 2));
    assert_eq!((hold.tag(), hold.state(), hold.is_reap_requested()), (1, State::Dying, true));
    assert_eq!(store.state(guard.handle()), Ok(State::Pending));
    drop(hold);
    let kept = guard.activate();
    store.reclaim();
    assert_eq!(store.pin().get(kept).unwrap().tag(), 50);
    assert_eq!((store.len(), census.alive()), (1, 1));
}

#[test]
fn clear_beside_spawning_threads_ends_all_that_was_there_before() {
    let census = Census::new();
    let store = Store::new();
    for round in 0..50 {
        let before = store.spawn_batch((0..20).map(|tag| census.payload(tag))).unwrap();
        std::thread::scope(|scope| {
            let (store, maker) = (&store, census.maker());
            scope.spawn(move || {
                for tag in 0..20 {
                    store.spawn_active(maker.payload(tag)).unwrap();
                }
            });
            scope.spawn(move || store.clear());
        });
        let gone = before.iter().all(|handle| store.state(*handle).is_err());
        assert!(gone, "round {round}");
        store.clear();
    }
    assert_eq!((store.len(), census.alive()), (0, 0));
}

#[test]
fn no_hook_runs_when_the_store_is_dropped() {
    let census = Census::new();
    let told = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&told);
    let store = Store::builder()
        .on_dying(move |_, _: &Counted, _: EndReason| {
            count.fetch_add(1, Ordering::SeqCst);
        })
        .build()
        .unwrap();
    let handles = store.spawn_batch((0..10).map(|tag| census.payload(tag))).unwrap();
    let hold = store.hold(handles[3]).unwrap();
    store.kill(handles[0]).unwrap();
    assert_eq!(told.load(Ordering::SeqCst), 1);
    drop(store);
    drop(hold);
    assert_eq!(told.load(Ordering::SeqCst), 1);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_store_dropped_by_a_panic_drops_its_payloads() {
    let census = Census::new();
    let maker = census.maker();
    assert!(panics(move || {
        let store = Store::new();
        let _guard = store.spawn(maker.payload(1)).unwrap();
        let handle = store.spawn_active(maker.payload(2)).unwrap();
        let session = store.pin();
        assert_eq!(session.get(handle).unwrap().tag(), 2);
        support::panic_quietly();
    }));
    assert_eq!((census.made(), census.alive()), (2, 0));
}

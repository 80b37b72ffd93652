//! A panic of user code costs neither a slot nor another payload, and where it is
//! contained it is counted.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hatchery::{Handle, Limits, Reaped, State, Store};
use support::{Census, Counted, Maker, assert_accounts, panic_quietly, panics};

/// C37
#[test]
fn a_constructor_that_panics_costs_no_place() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(4)).build().unwrap();
    for _ in 0..4 {
        assert!(panics(|| drop(store.spawn_with(|_| panic_quietly()))));
        assert!(panics(|| drop(store.pin().spawn_with(|_| panic_quietly()))));
    }
    assert_eq!((store.len(), store.stats().drop_panics), (0, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for tag in 0..4 {
                store.spawn_active(census.payload(tag)).unwrap();
            }
        });
    });
    assert!(store.spawn_active(census.payload(9)).is_err());
    assert_eq!(store.len(), 4);
    let session = store.pin();
    assert_eq!(session.iter().map(|(_, payload)| payload.tag()).sum::<u64>(), 6);
    assert_accounts(&store.stats());
}

#[test]
fn the_handle_of_a_constructor_that_panicked_stays_dead() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(1)).build().unwrap();
    let mut told: Vec<Handle> = Vec::new();
    for _ in 0..20 {
        assert!(panics(|| drop(store.spawn_with(|handle| {
            told.push(handle);
            panic_quietly()
        }))));
    }
    for handle in &told {
        assert!(store.state(*handle).unwrap_err().is_gone());
        assert!(store.activate(*handle).is_err() && store.cancel(*handle).is_err());
    }
    let alive = store.spawn_active(census.payload(1)).unwrap();
    assert!(!told.contains(&alive));
    assert!(told.iter().all(|handle| store.pin().get(*handle).unwrap_err().is_gone()));
}

#[test]
fn a_constructor_may_use_the_store_and_sees_itself_pending() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(2)).build().unwrap();
    let pending = store
        .spawn_with(|handle| {
            assert_eq!(store.state(handle), Ok(State::Pending));
            assert!(store.pin().get(handle).is_err() && store.hold(handle).is_err());
            assert!(store.activate(handle).is_err() && store.despawn(handle).is_err());
            let other = store.spawn_active(census.payload(7)).unwrap();
            assert!(store.spawn_active(census.payload(8)).is_err(), "its own place is taken");
            store.despawn(other).unwrap();
            store.reclaim();
            assert_eq!(store.len(), 1);
            census.payload(handle.seq())
        })
        .unwrap();
    let handle = pending.activate();
    assert_eq!(store.pin().get(handle).unwrap().tag(), handle.seq());
}

/// A payload whose destructor panics where it is told to.
struct Brittle {
    breaks: bool,
    counted: Counted,
}

impl Drop for Brittle {
    fn drop(&mut self) {
        if self.breaks {
            panic_quietly();
        }
    }
}

fn brittle(maker: &Maker, tag: u64, breaks: bool) -> Brittle {
    Brittle { breaks, counted: maker.payload(tag) }
}

/// C38
#[test]
fn a_destructor_that_panics_costs_neither_its_slot_nor_another_payload() {
    let census = Census::new();
    let maker = census.maker();
    let limits = Limits::reject(64);
    let store = Store::builder().limits(limits).backlog(0).build().unwrap();
    let values = (0..64).map(|tag| brittle(&maker, tag, tag == 7));
    let handles = store.spawn_batch(values).unwrap();
    for handle in &handles {
        store.kill(*handle).unwrap();
        store.reap(*handle).unwrap();
    }
    store.reclaim();
    store.reclaim();
    assert_eq!((census.dropped(), store.stats().drop_panics), (64, 1));
    let again = store.spawn_batch((0..64).map(|tag| brittle(&maker, tag, false))).unwrap();
    assert_eq!(again.len(), 64, "its slot serves again");
    assert!(again.iter().any(|handle| handle.id() == handles[7].id()));
    drop(store);
    assert_eq!(census.alive(), 0);
}

#[test]
fn destructors_that_panic_are_contained_and_counted_wherever_they_run() {
    let census = Census::new();
    let maker = census.maker();
    let store = Store::new();
    let spawn = || store.spawn_active(brittle(&maker, 0, true)).unwrap();
    let reserve = || store.spawn(brittle(&maker, 0, true)).unwrap();
    let mut expected = 0;
    let mut contained = |name: &str, body: &dyn Fn()| {
        assert!(!panics(body), "{name} let it through");
        let reclaim = || {
            store.reclaim();
        };
        assert!(!panics(reclaim), "reclaim after {name} let it through");
        expected += 1;
        assert_eq!(store.stats().drop_panics, expected, "{name}");
        assert_eq!(census.alive(), 0, "{name}");
    };
    contained("drop of Pending", &|| drop(reserve()));
    contained("cancel by handle", &|| store.cancel(reserve().detach()).unwrap());
    contained("despawn of Pending", &|| {
        store.despawn(reserve().detach()).unwrap();
    });
    contained("despawn of Active", &|| {
        store.despawn(spawn()).unwrap();
    });
    contained("reap", &|| {
        let handle = spawn();
        store.kill(handle).unwrap();
        store.reap(handle).unwrap();
    });
    contained("drop of Hold", &|| {
        let handle = spawn();
        let hold = store.hold(handle).unwrap();
        assert_eq!(store.despawn(handle), Ok(Reaped::Deferred { holds: 1 }));
        drop(hold);
    });
    contained("clear", &|| {
        spawn();
        assert_eq!(store.clear(), 1);
    });
    contained("despawn_batch", &|| {
        assert_eq!(store.despawn_batch(&[spawn()]), 1);
    });
    contained("spawn", &|| {
        let handle = spawn();
        let reader = store.pin();
        store.despawn(handle).unwrap();
        drop(reader);
        drop(store.spawn(brittle(&maker, 0, false)).unwrap().cancel());
    });
}

#[test]
fn every_destructor_may_panic_when_the_store_is_dropped() {
    let census = Census::new();
    let maker = census.maker();
    let store = Store::new();
    let handles = store.spawn_batch((0..100).map(|tag| brittle(&maker, tag, true))).unwrap();
    store.despawn_batch(&handles[..30]);
    store.spawn(brittle(&maker, 0, true)).unwrap().detach();
    let hold = store.hold(handles[99]).unwrap();
    assert!(!panics(move || drop(store)), "it is contained");
    assert_eq!(census.alive(), 1);
    assert_eq!(hold.counted.tag(), 99);
    assert!(!panics(move || drop(hold)));
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_panic_whose_own_payload_panics_in_its_destructor_is_contained() {
    struct Grenade;
    impl Drop for Grenade {
        fn drop(&mut self) {
            panic_quietly();
        }
    }
    struct Thrower(#[allow(dead_code, reason = "it counts")] Counted);
    impl Drop for Thrower {
        fn drop(&mut self) {
            std::panic::resume_unwind(Box::new(Grenade));
        }
    }
    let census = Census::new();
    let store = Store::new();
    for tag in 0..10 {
        store.spawn_active(Thrower(census.payload(tag))).unwrap();
    }
    assert!(!panics(|| assert_eq!(store.clear(), 10)));
    assert_eq!((census.alive(), store.stats().drop_panics), (0, 10));
    store.spawn_active(Thrower(census.payload(0))).unwrap();
    assert!(!panics(move || drop(store)));
}

#[test]
fn a_destructor_that_panics_while_the_thread_unwinds_does_not_abort() {
    let census = Census::new();
    let maker = census.maker();
    let store = Store::new();
    let handle = store.spawn_active(brittle(&maker, 1, true)).unwrap();
    assert!(panics(|| {
        let _guard = store.spawn(brittle(&maker, 2, true)).unwrap();
        let _hold = store.hold(handle).unwrap();
        store.despawn(handle).unwrap();
        panic_quietly();
    }));
    store.reclaim();
    assert_eq!((census.alive(), store.stats().drop_panics, store.len()), (0, 2, 0));
}

#[test]
fn a_hook_that_panics_is_contained_counted_and_changes_nothing() {
    let census = Census::new();
    let told = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&told);
    let store = Store::builder()
        .on_dying(move |_, _: &Counted, _| {
            flag.store(true, Ordering::SeqCst);
            panic_quietly();
        })
        .build()
        .unwrap();
    let spawn = || store.spawn_active(census.payload(1)).unwrap();
    let killed = spawn();
    assert!(!panics(|| store.kill(killed).unwrap()));
    assert!(told.load(Ordering::SeqCst));
    assert_eq!(store.state(killed), Ok(State::Dying));
    assert_eq!(store.reap(killed), Ok(Reaped::Done));
    let despawned = spawn();
    assert_eq!(store.despawn(despawned), Ok(Reaped::Done));
    let held = spawn();
    assert_eq!(store.kill_and_hold(held).unwrap().tag(), 1);
    assert_eq!(store.reap(held), Ok(Reaped::Done));
    assert_eq!(store.despawn_batch(&[spawn(), spawn()]), 2);
    spawn();
    assert_eq!(store.clear(), 1);
    assert_eq!((store.stats().drop_panics, store.len(), census.alive()), (6, 0, 0));
    assert_accounts(&store.stats());
}

#[test]
fn a_panic_in_a_scan_leaves_the_store_in_order() {
    let census = Census::new();
    let store = Store::new();
    store.spawn_batch((0..100).map(|tag| census.payload(tag))).unwrap();
    assert!(panics(|| {
        let session = store.pin();
        for (handle, payload) in session.iter() {
            session.despawn(handle).unwrap();
            if payload.tag() == 50 {
                panic_quietly();
            }
        }
    }));
    let left = store.len();
    assert!(left < 100);
    assert_eq!(store.pin().iter().count(), left);
    store.reclaim();
    assert_eq!((census.alive(), store.stats().dead), (left, 0), "the pin went with the panic");
}

//! `on_dying`: told once by whoever wins Active -> Dying, with the payload still
//! readable, and free to call the store back.

mod support;

use std::sync::{Arc, Mutex, OnceLock};

use hatchery::{EndReason, Handle, LookupError, Reaped, State, Store, StoreBuilder, WeakStore};
use support::{Census, Counted, assert_accounts, finishes};

type Told = Arc<Mutex<Vec<(Handle, u64, EndReason)>>>;

/// A store that notes what its hook is told.
fn noting() -> (Store<Counted>, Told) {
    let told = Told::default();
    let notes = Arc::clone(&told);
    let store = Store::builder()
        .on_dying(move |handle, payload: &Counted, reason| {
            notes.lock().unwrap().push((handle, payload.tag(), reason));
        })
        .build()
        .unwrap();
    (store, told)
}

/// A store whose hook gets the store itself, as a game's would.
fn calling_back(
    hook: impl Fn(&Store<Counted>, Handle, &Counted) + Send + Sync + 'static,
) -> Store<Counted> {
    let own: Arc<OnceLock<WeakStore<Counted>>> = Arc::default();
    let weak = Arc::clone(&own);
    let builder: StoreBuilder<Counted> = Store::builder();
    let store = builder
        .on_dying(move |handle, payload: &Counted, _| {
            let store = weak.get().unwrap().upgrade().unwrap();
            hook(&store, handle, payload);
        })
        .build()
        .unwrap();
    assert!(own.set(store.downgrade()).is_ok());
    store
}

#[test]
fn each_way_to_die_tells_the_hook_once_and_why() {
    let census = Census::new();
    let (store, told) = noting();
    let mut expected = Vec::new();
    let mut spawn = |tag, reason| {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        expected.push((handle, tag, reason));
        handle
    };
    store.kill(spawn(1, EndReason::Killed)).unwrap();
    store.despawn(spawn(2, EndReason::Killed)).unwrap();
    drop(store.kill_and_hold(spawn(3, EndReason::Killed)).unwrap());
    store.despawn_batch(&[spawn(4, EndReason::Killed), spawn(5, EndReason::Killed)]);
    let session = store.pin();
    session.kill(spawn(6, EndReason::Killed)).unwrap();
    session.despawn(spawn(7, EndReason::Killed)).unwrap();
    let held = store.hold(spawn(8, EndReason::Killed)).unwrap();
    assert_eq!(session.despawn(held.handle()), Ok(Reaped::Deferred { holds: 1 }));
    drop((held, session));
    spawn(9, EndReason::Cleared);
    assert_eq!(store.clear(), 4, "the cleared one, and three that were Dying already");
    assert_eq!(*told.lock().unwrap(), expected);
}

#[test]
fn the_hook_hears_nothing_of_what_never_was_active() {
    let census = Census::new();
    let (store, told) = noting();
    drop(store.spawn(census.payload(1)).unwrap());
    drop(store.spawn(census.payload(2)).unwrap().cancel());
    store.cancel(store.spawn(census.payload(3)).unwrap().detach()).unwrap();
    store.despawn(store.spawn(census.payload(4)).unwrap().detach()).unwrap();
    store.spawn(census.payload(5)).unwrap().detach();
    assert_eq!(store.clear(), 1);
    assert_eq!(*told.lock().unwrap(), []);
}

#[test]
fn a_refused_kill_tells_the_hook_nothing() {
    let census = Census::new();
    let (store, told) = noting();
    let handle = store.spawn_active(census.payload(1)).unwrap();
    store.kill(handle).unwrap();
    assert!(store.kill(handle).is_err());
    assert!(store.kill_and_hold(handle).is_err());
    store.despawn(handle).unwrap();
    assert!(store.despawn(handle).is_err() && store.kill(handle).is_err());
    assert_eq!(told.lock().unwrap().len(), 1);
}

#[test]
fn who_is_revived_and_killed_again_is_told_again() {
    let census = Census::new();
    let (store, told) = noting();
    let handle = store.spawn_active(census.payload(1)).unwrap();
    for times in 1..=3 {
        store.kill(handle).unwrap();
        assert_eq!(told.lock().unwrap().len(), times);
        store.revive(handle).unwrap();
    }
    store.clear();
    assert_eq!(told.lock().unwrap().last(), Some(&(handle, 1, EndReason::Cleared)));
}

#[test]
fn of_many_threads_that_kill_one_entity_one_tells_the_hook() {
    let census = Census::new();
    let (store, told) = noting();
    let handles = store.spawn_batch((0..300).map(|tag| census.payload(tag))).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for handle in &handles {
                    let _ = store.despawn(*handle);
                }
            });
        }
        scope.spawn(|| store.clear());
    });
    let mut heard: Vec<(Handle, u64)> =
        told.lock().unwrap().iter().map(|(handle, tag, _)| (*handle, *tag)).collect();
    heard.sort_unstable_by_key(|(_, tag)| *tag);
    assert_eq!(heard, handles.into_iter().zip(0..).collect::<Vec<_>>());
}

/// C53, its first half.
#[test]
fn the_hook_reads_the_payload_and_finds_its_entity_dying() {
    let census = Census::new();
    let store = calling_back(|store, handle, payload| {
        assert_eq!(store.state(handle), Ok(State::Dying));
        let session = store.pin();
        let (found, state) = session.get_with_state(handle).unwrap();
        assert!(std::ptr::eq(found, payload));
        assert_eq!(state, State::Dying);
        assert_eq!(session.get_active(handle).err(), Some(LookupError::Dying { handle }));
        assert!(!session.iter().any(|(other, _)| other == handle));
    });
    for tag in 0..10 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        store.kill(handle).unwrap();
        store.reap(handle).unwrap();
    }
    assert_eq!(store.stats().drop_panics, 0, "an assertion of the hook failed");
}

/// C51
#[test]
fn a_hook_that_kills_its_own_entity_and_its_parent_is_not_entered_again() {
    let census = Census::new();
    let parent: Arc<OnceLock<Handle>> = Arc::default();
    let calls: Arc<Mutex<Vec<Handle>>> = Arc::default();
    let (whose, log) = (Arc::clone(&parent), Arc::clone(&calls));
    let store = calling_back(move |store, handle, _| {
        log.lock().unwrap().push(handle);
        let first = log.lock().unwrap().len() == 1;
        assert!(store.kill(handle).is_err(), "it is Dying already");
        assert_eq!(store.kill(*whose.get().unwrap()).is_ok(), first);
    });
    parent.set(store.spawn_active(census.payload(0)).unwrap()).unwrap();
    let children = store.spawn_batch((1..4).map(|tag| census.payload(tag))).unwrap();
    store.kill(children[0]).unwrap();
    store.kill(children[1]).unwrap();
    let parent = *parent.get().unwrap();
    assert_eq!(*calls.lock().unwrap(), [children[0], parent, children[1]]);
    assert_eq!((store.stats().killed, store.stats().drop_panics), (3, 0));
    assert_eq!(store.state(parent), Ok(State::Dying));
    assert_eq!(store.state(children[2]), Ok(State::Active));
}

/// C52
#[test]
fn a_hook_that_spawns_one_for_each_death_makes_as_many() {
    let census = Census::new();
    let maker = census.maker();
    let store = calling_back(move |store, _, payload| {
        if payload.tag() < 1000 {
            let handle = store.spawn_active(maker.payload(1000 + payload.tag())).unwrap();
            assert_eq!(store.state(handle), Ok(State::Active));
        }
    });
    let handles = store.spawn_batch((0..100).map(|tag| census.payload(tag))).unwrap();
    assert_eq!(store.despawn_batch(&handles), 100);
    let mut tags: Vec<u64> = store.pin().iter().map(|(_, payload)| payload.tag()).collect();
    tags.sort_unstable();
    assert_eq!(tags, (1000..1100).collect::<Vec<_>>());
    store.clear();
    assert_accounts(&store.stats());
    assert_eq!(store.stats().drop_panics, 0);
}

#[test]
fn a_hook_may_reap_and_despawn_its_own_entity() {
    let census = Census::new();
    let store = calling_back(|store, handle, payload| {
        let end = if payload.tag() == 0 { Store::reap } else { Store::despawn };
        assert!(end(store, handle).is_ok());
        store.reclaim();
        assert!(payload.tag() < 2, "readable as long as the hook runs");
    });
    for tag in 0..2 {
        let handle = store.spawn_active(census.payload(tag)).unwrap();
        store.kill(handle).unwrap();
        assert!(store.state(handle).unwrap_err().is_gone());
    }
    assert_eq!((store.stats().drop_panics, store.stats().reaped), (0, 2));
    store.reclaim();
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_hook_may_revive_who_is_only_killed() {
    let census = Census::new();
    let store = calling_back(|store, handle, _| store.revive(handle).unwrap());
    let handle = store.spawn_active(census.payload(1)).unwrap();
    store.kill(handle).unwrap();
    assert_eq!(store.state(handle), Ok(State::Active));
    assert_eq!((store.stats().killed, store.stats().revived), (1, 1));
}

#[test]
fn a_hook_cannot_revive_who_is_despawned() {
    let census = Census::new();
    let store = calling_back(|store, handle, _| {
        assert!(store.revive(handle).is_err());
        assert!(store.hold(handle).is_err());
    });
    let handle = store.spawn_active(census.payload(1)).unwrap();
    assert_eq!(store.despawn(handle), Ok(Reaped::Done));
    assert!(store.state(handle).is_err());
    store.spawn_active(census.payload(2)).unwrap();
    assert_eq!(store.clear(), 1);
    assert_eq!((store.len(), store.stats().drop_panics), (0, 0));
}

/// A hook that takes a hold of whom it is told of: the settlement of a kill.
#[test]
fn a_hook_may_keep_a_hold_of_who_is_killed() {
    let census = Census::new();
    let kept = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&kept);
    let store = calling_back(move |store, handle, _| {
        keep.lock().unwrap().push(store.hold(handle).unwrap());
    });
    let handle = store.spawn_active(census.payload(5)).unwrap();
    store.kill(handle).unwrap();
    assert_eq!(store.reap(handle), Ok(Reaped::Deferred { holds: 1 }));
    assert_eq!(kept.lock().unwrap()[0].tag(), 5);
    kept.lock().unwrap().clear();
    assert!(store.is_empty());
    assert_eq!(store.stats().drop_panics, 0);
}

#[test]
fn a_hook_may_clear_the_store() {
    finishes(|| {
        let census = Census::new();
        let store = calling_back(|store, _, _| {
            store.clear();
        });
        let handles = store.spawn_batch((0..50).map(|tag| census.payload(tag))).unwrap();
        store.kill(handles[0]).unwrap();
        store.clear();
        store.reclaim();
        assert_eq!((store.len(), store.stats().dead, census.alive()), (0, 0, 0));
        assert_eq!((store.stats().killed, store.stats().drop_panics), (50, 0));
    });
}

/// One death brings the next about, from hook to hook.
#[test]
fn deaths_that_follow_from_deaths_each_happen_once() {
    let census = Census::new();
    let next: Arc<Mutex<Vec<Handle>>> = Arc::default();
    let queue = Arc::clone(&next);
    let store = calling_back(move |store, _, _| {
        let victim = queue.lock().unwrap().pop();
        if let Some(victim) = victim {
            store.despawn(victim).unwrap();
        }
    });
    let mut handles = store.spawn_batch((0..200).map(|tag| census.payload(tag))).unwrap();
    let first = handles.pop().unwrap();
    *next.lock().unwrap() = handles;
    store.despawn(first).unwrap();
    assert_eq!((store.len(), store.stats().killed, store.stats().reaped), (0, 200, 200));
    assert_eq!(store.stats().drop_panics, 0);
}

/// The sum of a scan of the dying, which a hook takes part in.
#[test]
fn a_hook_may_scan() {
    let census = Census::new();
    let store = calling_back(|store, handle, _| {
        let session = store.pin();
        let dying = hatchery::StateSet::of(&[State::Dying]);
        assert!(session.iter_in(dying).any(|(other, _, _)| other == handle));
    });
    let handles = store.spawn_batch((0..20).map(|tag| census.payload(tag))).unwrap();
    for handle in handles {
        store.kill(handle).unwrap();
    }
    assert_eq!(store.stats().drop_panics, 0);
    assert_eq!(store.stats().dying, 20);
}

//! User code in and around an eviction: the callback, destructors, a thread's last moments.

mod support;

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hatchery::{
    EndReason, Handle, Hold, Limits, LookupError, SpawnFailure, State, StateSet, Store, WeakStore,
};
use support::{Census, Counted, assert_accounts, finishes, panic_quietly};

type Told = Arc<Mutex<Vec<(Handle, u64, EndReason)>>>;

/// A store whose callback gets the store itself, as a game's would, and the notes of what it heard.
fn calling_back(
    (capacity, backlog): (usize, usize),
    hook: impl Fn(&Store<Counted>, Handle, &Counted) + Send + Sync + 'static,
) -> (Store<Counted>, Told) {
    let told = Told::default();
    let own: Arc<OnceLock<WeakStore<Counted>>> = Arc::default();
    let (weak, notes) = (Arc::clone(&own), Arc::clone(&told));
    let store = Store::builder()
        .limits(Limits::overwrite_oldest(capacity))
        .backlog(backlog)
        .on_dying(move |handle, payload: &Counted, reason| {
            notes.lock().unwrap().push((handle, payload.tag(), reason));
            hook(&weak.get().unwrap().upgrade().unwrap(), handle, payload);
        })
        .build()
        .unwrap();
    assert!(own.set(store.downgrade()).is_ok());
    (store, told)
}

fn fill(store: &Store<Counted>, census: &Census) -> Vec<Handle> {
    let tags = 0..store.limits().capacity as u64;
    tags.map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect()
}

#[test]
fn callback_hears_of_each_evicted_entity_once_and_in_order() {
    let census = Census::new();
    let (store, told) = calling_back((3, 3), |store, handle, payload| {
        assert_eq!(store.state(handle), Ok(State::Dying));
        assert!(std::ptr::eq(store.pin().get(handle).unwrap(), payload));
        assert!(store.hold(handle).is_err() && store.revive(handle).is_err());
        assert!(store.kill(handle).is_err() && store.reap(handle).is_err());
        assert_eq!(store.len(), 3);
    });
    let expected: Vec<_> = (0..50)
        .map(|tag| (store.spawn_active(census.payload(tag)).unwrap(), tag, EndReason::Overwritten))
        .collect();
    assert_eq!(*told.lock().unwrap(), expected[..47]);
    assert_eq!((store.stats().drop_panics, store.stats().overwritten), (0, 47));
    assert_accounts(&store.stats());
}

#[test]
fn entity_that_was_dying_already_is_evicted_without_a_word() {
    let census = Census::new();
    let (store, told) = calling_back((3, 3), |_, _, _| {});
    let all = fill(&store, &census);
    store.kill(all[0]).unwrap();
    let hold = store.kill_and_hold(all[1]).unwrap();
    assert_eq!(told.lock().unwrap().len(), 2);
    store.spawn_active(census.payload(9)).unwrap();
    assert_eq!(store.state(all[0]), Err(LookupError::NotFound { handle: all[0] }));
    assert_eq!(told.lock().unwrap().len(), 2, "it was told of the kill");
    assert_eq!((store.state(all[1]), hold.tag()), (Ok(State::Dying), 1));
    drop(hold);
    store.spawn_active(census.payload(10)).unwrap();
    let stats = store.stats();
    assert_eq!((stats.overwritten, stats.killed, stats.reaped), (2, 2, 2), "{stats:?}");
    assert_eq!((told.lock().unwrap().len(), stats.live), (2, 3));
    assert_accounts(&stats);
}

#[test]
fn who_is_held_or_pending_is_told_of_nothing() {
    let census = Census::new();
    let (store, told) = calling_back((2, 2), |_, _, _| {});
    let hold = store.hold(store.spawn_active(census.payload(0)).unwrap()).unwrap();
    let guard = store.spawn(census.payload(1)).unwrap();
    for _ in 0..5 {
        assert!(store.spawn_active(census.payload(2)).is_err());
    }
    assert_eq!(*told.lock().unwrap(), []);
    assert_eq!((hold.tag(), guard.tag()), (0, 1));
}

/// C52. Whatever the backlog: it is no reader who keeps it from a slot.
#[test]
fn spawn_in_the_callback_that_would_need_an_eviction_is_exhausted() {
    for (capacity, backlog) in [(1, 1), (1, 2), (2, 1), (5, 2), (100, 1), (100, 100)] {
        let census = Census::new();
        let failures = Arc::new(Mutex::new(Vec::new()));
        let (maker, seen) = (census.maker(), Arc::clone(&failures));
        let (store, told) = calling_back((capacity, backlog), move |store, _, payload| {
            let error = store.spawn_active(maker.payload(payload.tag() + 1000)).unwrap_err();
            seen.lock().unwrap().push((error.failure, error.value.tag() - payload.tag()));
        });
        fill(&store, &census);
        for tag in 0..7 {
            store.spawn_active(census.payload(tag)).unwrap();
        }
        let expected = (SpawnFailure::Exhausted { capacity }, 1000);
        assert_eq!(*failures.lock().unwrap(), [expected; 7], "{capacity}, {backlog}");
        let stats = store.stats();
        assert_eq!((stats.overwritten, stats.rejected, stats.drop_panics), (7, 7, 0), "{stats:?}");
        assert_eq!((told.lock().unwrap().len(), stats.live), (7, capacity));
        assert_accounts(&stats);
    }
}

/// The spawn may evict again when the callback is over, and while the callback of a kill runs.
#[test]
fn spawn_in_the_callback_of_a_kill_may_evict() {
    let census = Census::new();
    let maker = census.maker();
    let (store, told) = calling_back((3, 3), move |store, _, payload| {
        if payload.tag() == 2 {
            store.spawn_active(maker.payload(10)).unwrap();
        } else {
            assert!(store.spawn_active(maker.payload(11)).is_err(), "inside an eviction");
        }
    });
    let all = fill(&store, &census);
    store.kill(all[2]).unwrap();
    let heard: Vec<_> = told.lock().unwrap().iter().map(|(_, tag, why)| (*tag, *why)).collect();
    assert_eq!(heard, [(2, EndReason::Killed), (0, EndReason::Overwritten)]);
    assert_eq!((store.stats().dying, store.stats().active, store.stats().drop_panics), (1, 2, 0));
}

/// C52
#[test]
fn callback_that_makes_room_may_spawn() {
    let census = Census::new();
    let maker = census.maker();
    let despawning = AtomicBool::new(false);
    let (store, told) = calling_back((4, 4), move |store, handle, _| {
        if despawning.swap(true, Ordering::SeqCst) {
            return;
        }
        let other = store.pin().iter().map(|(other, _)| other).find(|it| *it != handle);
        store.despawn(other.unwrap()).unwrap();
        store.spawn_active(maker.payload(100)).unwrap();
        despawning.store(false, Ordering::SeqCst);
    });
    fill(&store, &census);
    for tag in 0..100 {
        store.spawn_active(census.payload(tag)).unwrap();
        assert_eq!(store.len(), 4);
    }
    let stats = store.stats();
    assert_eq!((stats.drop_panics, stats.rejected), (0, 0), "{stats:?}");
    assert_eq!((stats.overwritten, told.lock().unwrap().len()), (100, 200));
    assert_accounts(&stats);
}

/// C51
#[test]
fn callback_that_kills_holds_scans_and_reclaims_is_not_entered_again_for_its_own() {
    let census = Census::new();
    let kept = Arc::new(Mutex::new(Vec::<Hold<Counted>>::new()));
    let keep = Arc::clone(&kept);
    let (store, told) = calling_back((6, 6), move |store, handle, payload| {
        if payload.tag() != 0 {
            return;
        }
        assert!(store.despawn(handle).is_err(), "its end is under way");
        let session = store.pin();
        assert!(session.iter().all(|(other, _)| other != handle));
        let dying = session.iter_in(StateSet::of(&[State::Dying])).map(|(it, _, _)| it);
        assert_eq!(dying.collect::<Vec<_>>(), [handle]);
        let youngest =
            session.iter().map(|(it, _)| it).max_by_key(|it| session.get(*it).unwrap().tag());
        keep.lock().unwrap().push(session.kill_and_hold(youngest.unwrap()).unwrap());
        drop(session);
        assert!(store.reap(youngest.unwrap()).is_ok());
        store.reclaim();
        assert_eq!(payload.tag(), 0, "readable as long as the callback runs");
    });
    let all = fill(&store, &census);
    store.spawn_active(census.payload(100)).unwrap();
    let heard: Vec<_> = told.lock().unwrap().iter().map(|(h, _, why)| (*h, *why)).collect();
    assert_eq!(heard, [(all[0], EndReason::Overwritten), (all[5], EndReason::Killed)]);
    assert_eq!(kept.lock().unwrap()[0].tag(), 5);
    assert_eq!((store.len(), store.stats().drop_panics), (6, 0));
    kept.lock().unwrap().clear();
    assert_eq!(store.len(), 5);
    assert_accounts(&store.stats());
}

#[test]
fn callback_that_clears_the_store_leaves_room_for_the_spawn() {
    let census = Census::new();
    let (store, told) = calling_back((8, 8), |store, _, payload| {
        if payload.tag() == 0 {
            assert_eq!(store.clear(), 7);
        }
    });
    fill(&store, &census);
    let last = store.spawn_active(census.payload(100)).unwrap();
    let reasons: Vec<_> = told.lock().unwrap().iter().map(|(_, _, why)| *why).collect();
    assert_eq!(reasons.iter().filter(|why| **why == EndReason::Cleared).count(), 7);
    assert_eq!((store.len(), store.state(last)), (1, Ok(State::Active)));
    assert_accounts(&store.stats());
}

#[test]
fn callback_that_panics_costs_nothing_and_is_counted() {
    let census = Census::new();
    let (store, told) = calling_back((2, 2), |_, _, _| panic_quietly());
    for tag in 0..40 {
        store.spawn_active(census.payload(tag)).unwrap();
    }
    let stats = store.stats();
    assert_eq!((stats.drop_panics, stats.overwritten, stats.live), (38, 38, 2), "{stats:?}");
    assert_eq!(told.lock().unwrap().len(), 38);
    assert_accounts(&stats);
}

/// Evictions in two stores, each of whose callbacks spawns into the other.
#[test]
fn callbacks_of_two_stores_that_spawn_into_each_other_come_to_an_end() {
    type Pair = Arc<OnceLock<[WeakStore<u64>; 2]>>;
    let (pair, evictions): (Pair, Arc<AtomicUsize>) = Default::default();
    let make = |other: usize| {
        let (pair, evictions) = (Arc::clone(&pair), Arc::clone(&evictions));
        let hook = move |_, _: &u64, _| {
            evictions.fetch_add(1, Ordering::SeqCst);
            let _ = pair.get().unwrap()[other].upgrade().unwrap().spawn_active(1);
        };
        let limits = Limits::overwrite_oldest(50);
        Store::builder().limits(limits).on_dying(hook).build().unwrap()
    };
    let (one, two) = (make(1), make(0));
    assert!(pair.set([one.downgrade(), two.downgrade()]).is_ok());
    assert!(one.spawn_batch(0..50).is_ok() && two.spawn_batch(0..50).is_ok());
    one.spawn_active(99).unwrap();
    assert_eq!(evictions.load(Ordering::SeqCst), 2, "one in each: the second may evict");
    assert_eq!((one.stats().overwritten, one.stats().rejected), (1, 1));
    assert_eq!((two.stats().overwritten, two.stats().rejected), (1, 0));
}

/// A payload that despawns another entity when it is dropped, once it is told which.
#[derive(Clone, Default)]
struct Avenger(Arc<OnceLock<(WeakStore<Avenger>, Handle)>>);

impl Drop for Avenger {
    fn drop(&mut self) {
        if let Some((store, handle)) = self.0.get() {
            let _ = store.upgrade().map(|store| store.despawn(*handle));
        }
    }
}

/// The only slot for the newcomer is that of a payload whose destructor ends another entity.
#[test]
fn unit_that_comes_back_while_a_slot_is_found_spares_the_oldest() {
    let limits = Limits::overwrite_oldest(2);
    let store = Store::builder().limits(limits).backlog(1).build().unwrap();
    let spawn = |payload| store.spawn_active(payload).map_err(|error| error.failure).unwrap();
    let avenger = Avenger::default();
    spawn(avenger.clone());
    let oldest = spawn(Avenger::default());
    let other = spawn(Avenger::default());
    assert_eq!((store.stats().overwritten, store.slots()), (1, 3));
    assert!(avenger.0.set((store.downgrade(), other)).is_ok());
    let newcomer = spawn(Avenger::default());
    assert!(store.state(other).is_err(), "avenged");
    assert_eq!([oldest, newcomer].map(|it| store.state(it)), [Ok(State::Active); 2]);
    assert_eq!((store.stats().overwritten, store.len()), (1, 2));
}

/// A payload whose destructor spawns one like itself, unless the store has refused it.
struct Phoenix {
    store: WeakStore<Phoenix>,
    deaths: Arc<AtomicUsize>,
    refused: bool,
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        if self.refused || self.deaths.fetch_add(1, Ordering::SeqCst) > 1_000_000 {
            return;
        }
        if let Some(store) = self.store.upgrade() {
            rise(&store, &self.deaths);
        }
    }
}

fn rise(store: &Store<Phoenix>, deaths: &Arc<AtomicUsize>) {
    let (weak, deaths) = (store.downgrade(), Arc::clone(deaths));
    if let Err(mut error) = store.spawn_active(Phoenix { store: weak, deaths, refused: false }) {
        error.value.refused = true;
    }
}

/// Each of them ends another when it spawns: reclaim is not to follow them for ever.
#[test]
fn reclaim_of_payloads_that_spawn_into_the_full_store_comes_to_an_end() {
    finishes(|| {
        let deaths = Arc::new(AtomicUsize::new(0));
        let limits = Limits::overwrite_oldest(8);
        let store = Store::builder().limits(limits).build().unwrap();
        for _ in 0..30 {
            rise(&store, &deaths);
            assert!(store.len() <= 8);
        }
        store.reclaim();
        store.clear();
        let deaths = deaths.load(Ordering::SeqCst);
        assert!(deaths > 8 && deaths < 500_000, "{deaths}");
        assert!(store.len() <= 8 && store.slots() <= 16);
        assert_accounts(&store.stats());
    });
}

#[test]
fn drop_of_a_store_in_the_middle_of_evictions_drops_every_payload_once() {
    let census = Census::new();
    for backlog in [1, 3, 40] {
        let (store, told) = calling_back((20, backlog), |_, _, _| {});
        fill(&store, &census);
        let hold = store.hold(store.pin().iter().next().unwrap().0).unwrap();
        let reader = store.pin();
        while store.spawn_active(census.payload(7)).is_ok() {}
        drop(reader);
        let guard = store.spawn(census.payload(8)).unwrap();
        guard.detach();
        let heard = told.lock().unwrap().len();
        drop(store);
        assert_eq!(told.lock().unwrap().len(), heard, "the drop of a store tells nobody");
        assert_eq!((census.alive(), hold.tag()), (1, hold.tag()));
        drop(hold);
        census.assert_balanced();
    }
}

/// Spawns into the full store when its thread ends.
struct Farewell(Store<Counted>, support::Maker, Arc<AtomicUsize>);

impl Drop for Farewell {
    fn drop(&mut self) {
        for tag in 0..3 {
            let spawned = self.0.spawn_active(self.1.payload(1000 + tag));
            self.2.fetch_add(usize::from(spawned.is_ok()), Ordering::SeqCst);
        }
    }
}

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

/// The callback's spawn is refused there as well: what a thread has of the store is gone by then.
#[test]
fn eviction_in_a_threads_last_moments_calls_back_once_each() {
    for used_before in [false, true] {
        let census = Census::new();
        let maker = census.maker();
        let (store, told) = calling_back((50, 50), move |store, _, payload| {
            assert!(store.spawn_active(maker.payload(payload.tag())).is_err());
        });
        fill(&store, &census);
        let spawned = Arc::new(AtomicUsize::new(0));
        let farewell = Farewell(store.clone(), census.maker(), Arc::clone(&spawned));
        let last_moments = move || {
            // Registered before what the thread has of the store, so that it may go after that.
            FAREWELL.with(|slot| *slot.borrow_mut() = Some(farewell));
            if used_before {
                FAREWELL.with(|slot| drop(slot.borrow().as_ref().unwrap().0.pin()));
            }
        };
        std::thread::spawn(last_moments).join().unwrap();
        assert_eq!(spawned.load(Ordering::SeqCst), 3);
        let stats = store.stats();
        assert_eq!((told.lock().unwrap().len(), stats.overwritten, stats.rejected), (3, 3, 3));
        assert_eq!((stats.live, stats.drop_panics), (50, 0));
        assert_accounts(&stats);
    }
}

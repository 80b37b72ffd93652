//! User code that is called when a payload serves again: what panics costs its own payload, and
//! what calls the store, or ends another, runs outside every list, one at a time.

#[path = "reuse/item.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod item;
mod support;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use hatchery::{Handle, Limits, Recycle, Store, WeakStore};
use item::{
    BOMB, Balance, DEFAULT_PANICS, Item, assert_reuse, cleared, dropped, made, recycled, retaining,
};
use support::{assert_accounts, finishes, panic_quietly, panics};

#[test]
fn recycle_that_panics_costs_its_payload_and_nothing_else() {
    let (_balance, store) = retaining::<0>(10);
    // In place.
    let bomb = recycled(&store, BOMB);
    store.despawn(bomb).unwrap();
    let next = recycled(&store, 1);
    assert_eq!(next.seq(), bomb.seq());
    assert_reuse(&store, 2, 0, 0);
    assert_eq!((store.stats().drop_panics, dropped::<0>()), (1, 1));
    // On the way to the stash.
    let bomb = recycled(&store, BOMB);
    store.despawn_batch(&[bomb, next]);
    assert_eq!(store.reclaim(), 2);
    assert_reuse(&store, 3, 0, 1);
    assert_eq!((store.stats().drop_panics, dropped::<0>()), (2, 2));
    // Its place in the stash is not lost.
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&ten);
    store.reclaim();
    assert_eq!(store.stats().idle, 10);
}

#[test]
fn default_that_panics_cancels_the_reservation() {
    let _balance = Balance::<1>;
    let limits = Limits::reject(1);
    let store = Store::<Item<1>>::builder().retain(1).limits(limits).build().unwrap();
    for round in 1..=3 {
        DEFAULT_PANICS.set(true);
        assert!(panics(|| drop(store.spawn_recycled(|_| unreachable!()))));
        DEFAULT_PANICS.set(false);
        let stats = store.stats();
        assert_eq!((stats.created, stats.hits, stats.misses, stats.live), (0, 0, 0, 0));
        assert_eq!((stats.spawned, stats.cancelled), (round, round));
    }
    let item = recycled(&store, 1);
    store.despawn(item).unwrap();
    // A retained one needs no construction.
    DEFAULT_PANICS.set(true);
    recycled(&store, 2);
    DEFAULT_PANICS.set(false);
    assert_reuse(&store, 1, 1, 0);
}

#[test]
fn init_that_panics_cancels_and_its_payload_is_retained() {
    let (_balance, store) = retaining::<2>(1);
    for round in 0..3 {
        assert!(panics(|| {
            let _ = store.spawn_recycled(|item| {
                item.tag = 5;
                item.bytes.push(1);
                panic_quietly();
            });
        }));
        assert!(store.is_empty());
        assert_reuse(&store, 1, round, 1);
    }
    recycled(&store, 1);
    assert_eq!(made::<2>(), 1);
}

type Ask = fn(&Store<Caller>, u64);

/// A payload that calls the store when it is cleared.
#[derive(Default)]
struct Caller {
    tag: u64,
    ask: Option<(WeakStore<Caller>, Ask)>,
}

impl Recycle for Caller {
    fn recycle(&mut self) {
        let tag = std::mem::take(&mut self.tag);
        if let Some((store, ask)) = self.ask.take() {
            ask(&store.upgrade().unwrap(), tag);
        }
    }
}

#[test]
fn recycle_that_calls_the_store_finds_no_lock_and_no_borrow() {
    static VICTIMS: Mutex<Vec<Handle>> = Mutex::new(Vec::new());
    static RUNS: AtomicUsize = AtomicUsize::new(0);
    finishes(|| {
        let ask: Ask = |store, tag| {
            RUNS.fetch_add(1, Ordering::SeqCst);
            let session = store.pin();
            session.iter().for_each(drop);
            let inner = session.spawn_recycled(|caller| {
                assert!(caller.tag == 0 && caller.ask.is_none());
                caller.tag = tag;
            });
            let inner = inner.unwrap().activate();
            drop(session);
            drop(store.spawn_recycled(|_| ()).unwrap());
            let victim = VICTIMS.lock().unwrap().pop();
            if let Some(victim) = victim {
                // Under `clear` it may be gone already.
                let _ = store.despawn(victim);
            }
            store.despawn(inner).unwrap();
            store.reclaim();
            let _ = (store.stats(), store.len());
        };
        let store: Store<Caller> = Store::builder().retain(50).build().unwrap();
        for round in 0..200 {
            let pending = store.spawn_recycled(|caller| {
                *caller = Caller { tag: round, ask: Some((store.downgrade(), ask)) };
            });
            let handle = pending.unwrap().activate();
            if round % 3 == 0 {
                VICTIMS.lock().unwrap().push(handle);
            } else {
                store.despawn(handle).unwrap();
            }
            if round % 7 == 0 {
                store.reclaim();
            }
            assert!(store.stats().idle <= 50);
        }
        store.clear();
        let stats = store.stats();
        assert_eq!((stats.live, stats.dead, stats.drop_panics), (0, 0, 0), "{stats:?}");
        assert!(RUNS.load(Ordering::SeqCst) >= 150, "{RUNS:?}");
        assert_accounts(&stats);
    });
}

const LONG: usize = 100_000;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

static DEEPEST: AtomicUsize = AtomicUsize::new(0);

static LINKS_ENDED: AtomicUsize = AtomicUsize::new(0);

/// Its end, cleared or dropped, is the end of the next one.
#[derive(Default)]
struct Link {
    store: Option<WeakStore<Link>>,
    next: OnceLock<Handle>,
}

impl Link {
    fn pass_on(&mut self) {
        let (store, next) = (self.store.take(), self.next.take());
        let Some(store) = store.and_then(|weak| weak.upgrade()) else { return };
        LINKS_ENDED.fetch_add(1, Ordering::SeqCst);
        DEPTH.set(DEPTH.get() + 1);
        DEEPEST.fetch_max(DEPTH.get(), Ordering::SeqCst);
        if let Some(next) = next {
            store.despawn(next).unwrap();
        }
        DEPTH.set(DEPTH.get() - 1);
    }
}

impl Recycle for Link {
    fn recycle(&mut self) {
        self.pass_on();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.pass_on();
    }
}

#[test]
fn long_chains_of_deaths_are_carried_out_one_by_one() {
    finishes(|| {
        for (retain, pending, length) in
            [(100, false, LONG), (usize::MAX, false, 5000), (100, true, LONG)]
        {
            LINKS_ENDED.store(0, Ordering::SeqCst);
            let store: Store<Link> = Store::builder().retain(retain).build().unwrap();
            let mut next: Option<Handle> = None;
            for _ in 0..length {
                let spawned = store.spawn_recycled(|link| {
                    link.store = Some(store.downgrade());
                    next.take().into_iter().for_each(|next| link.next.set(next).unwrap());
                });
                let spawned = spawned.unwrap();
                // What is Pending is cancelled, and its payload goes at once, not by way of limbo.
                next = Some(if pending { spawned.detach() } else { spawned.activate() });
            }
            store.despawn(next.unwrap()).unwrap();
            store.reclaim();
            let stats = store.stats();
            assert_eq!((stats.live, stats.dead, stats.idle), (0, 0, retain.min(length)));
            assert_eq!(LINKS_ENDED.load(Ordering::SeqCst), length);
        }
        assert_eq!(DEEPEST.load(Ordering::SeqCst), 1, "none ran inside another");
    });
}

/// A payload whose destructor cancels a detached entity of another store.
struct Canceller(Option<(Store<Item<3>>, Handle)>);

impl Drop for Canceller {
    fn drop(&mut self) {
        if let Some((store, pending)) = self.0.take() {
            let cleared_before = cleared::<3>();
            store.cancel(pending).unwrap();
            assert_eq!(cleared::<3>(), cleared_before, "nothing is cleared inside a destructor");
            // The reference to the store goes with this: the last one, the second time.
        }
    }
}

#[test]
fn payload_cancelled_inside_a_destructor_is_retained_unless_its_store_is_closed() {
    let (_balance, store) = retaining::<3>(5);
    let outer: Store<Canceller> = Store::new();
    let cancel_in_a_destructor = |store: Store<Item<3>>| {
        let pending = store.spawn_recycled(|item| item.tag = 1).unwrap().detach();
        let h = outer.spawn_active(Canceller(Some((store, pending)))).ok().unwrap();
        outer.despawn(h).unwrap();
        outer.reclaim();
    };
    cancel_in_a_destructor(store.clone());
    assert_reuse(&store, 1, 0, 1);
    let held = recycled(&store, 2);
    let hold = store.hold(held).unwrap();
    cancel_in_a_destructor(store);
    // The store closed inside that destructor; a Hold keeps its memory, and nothing else.
    assert_eq!((made::<3>(), dropped::<3>(), hold.tag), (2, 1, 2));
    assert_eq!(outer.stats().drop_panics, 0);
    drop(hold);
}

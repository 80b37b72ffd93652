//! `spawn_recycled` and `retain`: payloads that serve again, and are never told from fresh ones.

mod support;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hatchery::{Handle, Limits, Reaped, Recycle, SpawnFailure, Store, WeakStore};
use support::{Dice, assert_accounts, finishes, nonzero, panic_quietly, panics};

const TESTS: usize = 32;

/// What became of the payloads of a test, by its number.
static MADE: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];
static DROPPED: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];
static CLEARED: [AtomicUsize; TESTS] = [const { AtomicUsize::new(0) }; TESTS];

thread_local! {
    static DEFAULT_PANICS: Cell<bool> = const { Cell::new(false) };
}

/// A tag with which a payload cannot be cleared.
const BOMB: u64 = u64::MAX;

/// A payload of test `N`, which counts what becomes of it.
#[derive(Debug)]
struct Item<const N: usize> {
    tag: u64,
    bytes: Vec<u8>,
    names: HashMap<u64, String>,
}

impl<const N: usize> Default for Item<N> {
    fn default() -> Item<N> {
        if DEFAULT_PANICS.get() {
            panic_quietly();
        }
        MADE[N].fetch_add(1, Ordering::SeqCst);
        Item { tag: 0, bytes: Vec::new(), names: HashMap::new() }
    }
}

impl<const N: usize> Recycle for Item<N> {
    fn recycle(&mut self) {
        CLEARED[N].fetch_add(1, Ordering::SeqCst);
        if self.tag == BOMB {
            panic_quietly();
        }
        self.tag = 0;
        self.bytes.clear();
        self.names.clear();
    }
}

impl<const N: usize> Drop for Item<N> {
    fn drop(&mut self) {
        DROPPED[N].fetch_add(1, Ordering::SeqCst);
    }
}

fn made<const N: usize>() -> usize {
    MADE[N].load(Ordering::SeqCst)
}

fn dropped<const N: usize>() -> usize {
    DROPPED[N].load(Ordering::SeqCst)
}

fn cleared<const N: usize>() -> usize {
    CLEARED[N].load(Ordering::SeqCst)
}

/// Goes last, and checks that every payload made was dropped.
struct Balance<const N: usize>;

impl<const N: usize> Drop for Balance<N> {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(made::<N>(), dropped::<N>(), "made (left) is not dropped (right)");
        }
    }
}

fn retaining<const N: usize>(payloads: usize) -> (Balance<N>, Store<Item<N>>) {
    (Balance, Store::builder().retain(payloads).build().unwrap())
}

/// Spawns, active, with a payload that says so.
fn recycled<const N: usize>(store: &Store<Item<N>>, tag: u64) -> Handle {
    let spawned = store.spawn_recycled(|item| {
        assert_eq!((item.tag, item.bytes.len(), item.names.len()), (0, 0, 0), "a ghost's data");
        item.tag = tag;
        item.bytes.extend([1, 2, 3]);
        item.names.insert(tag, tag.to_string());
    });
    spawned.unwrap().activate()
}

#[track_caller]
fn assert_reuse<const N: usize>(store: &Store<Item<N>>, created: u64, hits: u64, idle: usize) {
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.idle), (created, hits, idle), "{stats:?}");
    assert_accounts(&stats);
}

#[test]
fn spawn_after_reap_and_reclaim_is_served_by_the_retained_payload() {
    let _balance = Balance::<0>;
    let limits = Limits::reject(1);
    let store = Store::<Item<0>>::builder().retain(4).limits(limits).build().unwrap();
    let first = recycled(&store, 1);
    assert_reuse(&store, 1, 0, 0);
    store.kill(first).unwrap();
    store.reap(first).unwrap();
    assert_eq!(store.reclaim(), 1);
    assert_reuse(&store, 1, 0, 1);
    let second = recycled(&store, 2);
    assert_reuse(&store, 1, 1, 0);
    assert_eq!(second.seq(), first.seq());
    assert_eq!(second.generation().get(), first.generation().get() + 1);
    assert!(store.pin().get(first).is_err());
    assert_eq!(store.pin().get(second).unwrap().tag, 2);
}

#[test]
fn retain_with_more_dead_than_it_keeps_drops_the_rest() {
    let (_balance, store) = retaining::<1>(2);
    let five = [1, 2, 3, 4, 5].map(|tag| recycled(&store, tag));
    assert_eq!(store.despawn_batch(&five), 5);
    assert_eq!(store.reclaim(), 5);
    assert_reuse(&store, 5, 0, 2);
    assert_eq!((made::<1>(), dropped::<1>(), cleared::<1>()), (5, 3, 2));
    // What is kept already counts.
    let five = [1, 2, 3, 4, 5].map(|tag| recycled(&store, tag));
    assert_reuse(&store, 8, 2, 0);
    let one = recycled(&store, 6);
    store.despawn(one).unwrap();
    store.reclaim();
    store.despawn_batch(&five);
    store.reclaim();
    assert_eq!(store.stats().idle, 2);
}

#[test]
fn store_that_retains_nothing_constructs_each_anew() {
    for zero in [false, true] {
        let builder = Store::<Item<2>>::builder();
        let builder = if zero { builder.retain(0) } else { builder };
        let (_balance, store) = (Balance::<2>, builder.build().unwrap());
        for round in 1..=10 {
            let item = recycled(&store, round);
            assert_reuse(&store, round, 0, 0);
            store.despawn(item).unwrap();
            store.reclaim();
            assert_eq!(store.stats().misses, round);
        }
    }
    assert_eq!((made::<2>(), cleared::<2>()), (20, 0));
}

#[test]
fn retain_without_limit_keeps_all() {
    let (_balance, store) = retaining::<3>(usize::MAX);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    assert_eq!(store.clear(), 1000);
    assert_reuse(&store, 1000, 0, 1000);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    assert_reuse(&store, 1000, 1000, 0);
    assert_eq!(dropped::<3>(), 0);
}

#[test]
fn recycled_payload_has_nothing_left_but_its_memory() {
    let (_balance, store) = retaining::<4>(1);
    for reclaim in [false, true, false] {
        let mut before = store.spawn_recycled(|_| ()).unwrap();
        before.tag = 7;
        before.bytes = vec![9; 1000];
        before.names.reserve(1000);
        before.names.insert(1, String::from("orc"));
        let bytes = before.bytes.as_ptr() as usize;
        let handle = before.activate();
        store.despawn(handle).unwrap();
        if reclaim {
            store.reclaim(); // by way of the stash
        }
        let after = store.spawn_recycled(|_| ()).unwrap();
        assert_eq!((after.tag, after.bytes.len(), after.names.len()), (0, 0, 0));
        assert!(after.bytes.capacity() >= 1000 && after.names.capacity() >= 1000);
        assert_eq!(after.bytes.as_ptr() as usize, bytes);
        store.despawn(after.activate()).unwrap();
        store.reclaim();
    }
    assert_eq!(made::<4>(), 1);
}

#[test]
fn payload_without_a_destructor_is_retained_as_well() {
    let store: Store<(u64, [u8; 4])> = Store::builder().retain(2).build().unwrap();
    for reclaim in [true, false] {
        let three = [1, 2, 3].map(|n| {
            let spawned = store.spawn_recycled(|payload| {
                assert_eq!(*payload, (0, [0; 4]));
                *payload = (n, [1; 4]);
            });
            spawned.unwrap().activate()
        });
        assert_eq!(store.despawn_batch(&three), 3);
        if reclaim {
            store.reclaim();
            assert_eq!(store.stats().idle, 2);
        }
    }
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses), (4, 2, 4));
}

#[test]
fn payloads_that_other_spawns_replace_are_retained() {
    let (_balance, store) = retaining::<5>(100);
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    // A limited store would serve the same slots; this one must be brought to.
    assert_eq!(store.despawn_batch(&ten), 10);
    let mut spawned = 0;
    while store.stats().dead > 0 {
        store.spawn_active(Item::default()).unwrap();
        spawned += 1;
        assert!(spawned < 1000);
    }
    assert_reuse(&store, 10, 0, 10);
    assert_eq!((made::<5>(), cleared::<5>()), (10 + spawned, 10));
}

#[test]
fn cancelled_payloads_are_retained_and_the_one_taken_back_is_not() {
    let (_balance, store) = retaining::<6>(10);
    drop(store.spawn_recycled(|item| item.tag = 1).unwrap());
    assert_reuse(&store, 1, 0, 1);
    let detached = store.spawn_recycled(|item| assert_eq!(item.tag, 0)).unwrap().detach();
    assert_reuse(&store, 1, 1, 0);
    store.cancel(detached).unwrap();
    assert_reuse(&store, 1, 1, 1);
    let back = store.spawn_recycled(|item| item.tag = 5).unwrap().cancel();
    assert_eq!(back.tag, 5);
    assert_reuse(&store, 1, 2, 0);
    drop(back);
    assert_eq!((made::<6>(), dropped::<6>()), (1, 1));
}

#[test]
fn payload_of_a_slot_that_is_retired_is_retained() {
    let _balance = Balance::<7>;
    let builder = Store::<Item<7>>::builder().retain(10).last_generation(nonzero(1));
    let store = builder.build().unwrap();
    for round in 0..10 {
        let item = recycled(&store, round);
        assert_eq!((item.generation().get(), store.stats().retired_slots), (1, round));
        store.despawn(item).unwrap();
        store.reclaim();
    }
    assert_reuse(&store, 1, 9, 1);
}

#[test]
fn frames_without_pins_construct_only_what_is_alive_at_once() {
    for limits in [Limits::UNBOUNDED, Limits::reject(20), Limits::reject(1000)] {
        let _balance = Balance::<8>;
        let before = made::<8>();
        let builder = Store::<Item<8>>::builder().retain(20).limits(limits);
        let store = builder.build().unwrap();
        for frame in 0..30 {
            let twenty: Vec<Handle> = (0..20).map(|tag| recycled(&store, frame + tag)).collect();
            for handle in twenty {
                store.kill(handle).unwrap();
                assert_eq!(store.reap(handle).unwrap(), Reaped::Done);
            }
        }
        let stats = store.stats();
        assert_eq!((stats.created, stats.misses, stats.hits), (20, 20, 20 * 29), "{limits:?}");
        assert_eq!(stats.hit_rate_permille(), 966);
        assert_eq!(made::<8>() - before, 20);
    }
}

#[test]
fn large_frames_construct_only_what_is_alive_at_once() {
    let (_balance, store) = retaining::<9>(usize::MAX);
    for frame in 0..10 {
        let many: Vec<Handle> = (0..3000).map(|tag| recycled(&store, frame + tag)).collect();
        for handle in many {
            store.despawn(handle).unwrap();
        }
    }
    assert_reuse(&store, 3000, 27_000, 0);
}

#[test]
fn session_that_repins_is_served_by_what_died_before() {
    let (_balance, store) = retaining::<10>(10);
    let mut pinned = store.pin();
    for tag in 0..1000 {
        let pending = pinned.spawn_recycled(|item| item.tag = tag).unwrap();
        pinned.despawn(pending.activate()).unwrap();
        pinned.repin();
    }
    drop(pinned);
    let stats = store.stats();
    assert_eq!(stats.hits + stats.misses, 1000);
    assert!(stats.created < 500, "{stats:?}");
}

#[test]
fn recycle_that_panics_costs_its_payload_and_nothing_else() {
    let (_balance, store) = retaining::<11>(10);
    // In place.
    let bomb = recycled(&store, BOMB);
    store.despawn(bomb).unwrap();
    let next = recycled(&store, 1);
    assert_eq!(next.seq(), bomb.seq());
    assert_reuse(&store, 2, 0, 0);
    assert_eq!((store.stats().drop_panics, dropped::<11>()), (1, 1));
    // On the way to the stash.
    let bomb = recycled(&store, BOMB);
    store.despawn_batch(&[bomb, next]);
    assert_eq!(store.reclaim(), 2);
    assert_reuse(&store, 3, 0, 1);
    assert_eq!((store.stats().drop_panics, dropped::<11>()), (2, 2));
    // Its place in the stash is not lost.
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&ten);
    store.reclaim();
    assert_eq!(store.stats().idle, 10);
}

#[test]
fn default_that_panics_cancels_the_reservation() {
    let _balance = Balance::<12>;
    let limits = Limits::reject(1);
    let store = Store::<Item<12>>::builder().retain(1).limits(limits).build().unwrap();
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
    let (_balance, store) = retaining::<13>(1);
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
    assert_eq!(made::<13>(), 1);
}

#[test]
fn spawn_that_is_refused_is_rejected_and_nothing_else() {
    let _balance = Balance::<14>;
    let limits = Limits::reject(1);
    let store = Store::<Item<14>>::builder().retain(1).limits(limits).backlog(0).build().unwrap();
    let item = recycled(&store, 1);
    let refused = store.spawn_recycled(|_| unreachable!()).map(drop);
    assert_eq!(refused, Err(SpawnFailure::Exhausted { capacity: 1 }));
    let pinned = store.pin();
    store.despawn(item).unwrap();
    let refused = store.spawn_recycled(|_| unreachable!()).map(drop);
    assert_eq!(refused, Err(SpawnFailure::Reclaiming { dead: 1 }));
    drop(pinned);
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.rejected), (1, 0, 1, 2));
    assert_accounts(&stats);
    recycled(&store, 2);
    assert_reuse(&store, 1, 1, 0);
}

#[test]
fn stats_of_each_outcome_are_exact_and_reset() {
    let (_balance, store) = retaining::<15>(2);
    let items = [1, 2, 3].map(|tag| recycled(&store, tag)); // three misses
    store.spawn_active(Item::default()).unwrap(); // neither
    store.despawn_batch(&items);
    store.reclaim();
    recycled(&store, 4); // a hit
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.acquired), (3, 1, 3, 5));
    assert_eq!((stats.idle, stats.hit_rate_permille()), (1, 200));

    store.reset_stats();
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.idle), (3, 0, 0, 1));
    recycled(&store, 5);
    recycled(&store, 6);
    let stats = store.stats();
    assert_eq!((stats.created, stats.hits, stats.misses, stats.idle), (4, 1, 1, 0));
    assert_eq!(stats.hit_rate_permille(), 500);
}

#[test]
fn memory_of_the_stash_is_counted() {
    let (_balance, store) = retaining::<16>(1000);
    for tag in 0..1000 {
        recycled(&store, tag);
    }
    let before = store.stats().bytes;
    store.clear();
    let stats = store.stats();
    assert_eq!(stats.idle, 1000);
    assert!(stats.bytes - before >= 1000 * size_of::<Item<16>>(), "{before} {stats:?}");
}

#[test]
fn store_that_is_dropped_drops_what_it_retains() {
    let (balance, store) = retaining::<17>(5);
    let items: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&items[..8]);
    store.reclaim();
    assert_eq!((store.stats().idle, dropped::<17>()), (5, 3));
    let other = store.clone();
    drop(store);
    assert_eq!(other.stats().idle, 5);
    drop(other);
    assert_eq!(dropped::<17>(), 10);
    drop(balance);
}

#[test]
fn hold_keeps_its_payload_from_being_recycled() {
    let (_balance, store) = retaining::<18>(5);
    let item = recycled(&store, 1);
    let hold = store.hold(item).unwrap();
    store.despawn(item).unwrap();
    store.reclaim();
    let other = recycled(&store, 2);
    assert_eq!((hold.tag, store.stats().created), (1, 2));
    drop(hold);
    store.reclaim();
    assert_reuse(&store, 2, 0, 1);
    store.despawn(other).unwrap();
    // Dropped by a thread that does not use the store otherwise.
    let item = recycled(&store, 3);
    let hold = store.hold(item).unwrap();
    store.despawn(item).unwrap();
    std::thread::spawn(move || drop(hold)).join().unwrap();
    store.reclaim();
    assert_eq!((store.stats().idle, store.stats().dead), (2, 0));
}

#[test]
fn hold_that_outlives_the_store_drops_its_payload() {
    let (_balance, store) = retaining::<19>(5);
    let items = [1, 2].map(|tag| recycled(&store, tag));
    let hold = store.hold(items[0]).unwrap();
    store.despawn(items[1]).unwrap();
    store.reclaim();
    assert_eq!(store.stats().idle, 1);
    drop(store);
    assert_eq!((dropped::<19>(), hold.tag), (1, 1));
    let before = cleared::<19>();
    drop(hold);
    assert_eq!((dropped::<19>(), cleared::<19>()), (2, before));
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
struct Canceller(Option<(Store<Item<20>>, Handle)>);

impl Drop for Canceller {
    fn drop(&mut self) {
        if let Some((store, pending)) = self.0.take() {
            let cleared_before = cleared::<20>();
            store.cancel(pending).unwrap();
            assert_eq!(cleared::<20>(), cleared_before, "nothing is cleared inside a destructor");
            // The reference to the store goes with this: the last one, the second time.
        }
    }
}

#[test]
fn payload_cancelled_inside_a_destructor_is_retained_unless_its_store_is_closed() {
    let (_balance, store) = retaining::<20>(5);
    let outer: Store<Canceller> = Store::new();
    let cancel_in_a_destructor = |store: Store<Item<20>>| {
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
    assert_eq!((made::<20>(), dropped::<20>(), hold.tag), (2, 1, 2));
    assert_eq!(outer.stats().drop_panics, 0);
    drop(hold);
}

#[test]
fn threads_that_spawn_and_end_never_retain_too_many() {
    const RETAIN: usize = 8;
    let (_balance, store) = retaining::<21>(RETAIN);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|seed| {
                let store = &store;
                scope.spawn(move || work(store, seed))
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let stats = store.stats();
                assert!(stats.idle <= RETAIN, "{stats:?}");
                std::thread::yield_now();
            }
        });
        let finished: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        done.store(true, Ordering::SeqCst);
        assert!(finished.iter().all(Result::is_ok));
    });
    store.clear();
    let stats = store.stats();
    assert_eq!((stats.live, stats.dead, stats.idle), (0, 0, RETAIN), "{stats:?}");
    assert_eq!(stats.created, stats.misses);
    assert!(stats.hits > 0);
    assert_accounts(&stats);
}

fn work(store: &Store<Item<21>>, seed: u64) {
    let mut dice = Dice::new(seed + 1);
    let mut mine = Vec::new();
    for round in 0..4000 {
        match dice.roll(8) {
            0..4 => mine.push((recycled(store, seed * 10_000 + round), seed * 10_000 + round)),
            4 => {
                store.spawn_active(Item::default()).unwrap();
            }
            5 => drop(store.spawn_recycled(|item| item.tag = 1).unwrap()),
            _ => {}
        }
        while mine.len() > dice.roll(40) as usize {
            let (handle, tag) = mine.swap_remove(dice.roll(mine.len() as u64) as usize);
            assert_eq!(store.pin().get(handle).unwrap().tag, tag);
            store.despawn(handle).unwrap();
        }
        if dice.roll(100) == 0 {
            store.reclaim_up_to(dice.roll(20) as usize);
        }
    }
}

#[test]
fn reclaim_with_a_budget_clears_no_more_than_that() {
    let (_balance, store) = retaining::<22>(usize::MAX);
    let ten: Vec<Handle> = (0..10).map(|tag| recycled(&store, tag)).collect();
    store.despawn_batch(&ten);
    assert_eq!(store.reclaim_up_to(3), 3);
    assert_eq!((cleared::<22>(), store.stats().idle), (3, 3));
    assert_eq!(store.reclaim_up_to(0), 0);
    store.reclaim();
    assert_eq!((cleared::<22>(), store.stats().idle), (10, 10));
}

#[test]
fn guard_of_a_recycled_payload_crosses_threads_and_outlives_its_session() {
    let (_balance, store) = retaining::<23>(5);
    let pinned = store.pin();
    let mut guard = pinned.spawn_recycled(|item| item.tag = 1).unwrap();
    drop(pinned);
    let handle = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            guard.tag += 1;
            guard.activate()
        });
        other.join().unwrap()
    });
    assert_eq!(store.pin().get(handle).unwrap().tag, 2);
    let shared = Arc::new(store);
    let there = Arc::clone(&shared);
    std::thread::spawn(move || there.despawn(handle).unwrap()).join().unwrap();
    shared.reclaim();
    assert_eq!(shared.stats().idle, 1);
}

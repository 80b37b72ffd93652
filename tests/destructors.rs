//! Destructors that call the store back. They run one at a time, never inside
//! each other, so that a long chain of deaths needs no stack.

mod support;

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hatchery::{Handle, Hold, Limits, LookupError, Store, WeakStore};
use support::{Census, Counted, Maker, assert_accounts, finishes};

const LONG: usize = 100_000;

thread_local! {
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Notes how deep destructors are nested on this thread while it is dropped.
struct Nesting(Arc<AtomicUsize>);

impl Nesting {
    fn during(deepest: &AtomicUsize, body: impl FnOnce()) {
        let depth = DEPTH.get() + 1;
        DEPTH.set(depth);
        deepest.fetch_max(depth, Ordering::SeqCst);
        body();
        DEPTH.set(depth - 1);
    }
}

/// Its destructor ends the next one in the chain.
struct Link {
    store: WeakStore<Link>,
    next: OnceLock<Handle>,
    nesting: Nesting,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Link {
    fn drop(&mut self) {
        Nesting::during(&self.nesting.0, || {
            self.dropped.fetch_add(1, Ordering::SeqCst);
            if let (Some(store), Some(next)) = (self.store.upgrade(), self.next.get()) {
                // Under `clear` the next one may be gone already.
                let _ = store.despawn(*next);
            }
        });
    }
}

fn chain(length: usize) -> (Store<Link>, Handle, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (deepest, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let store = Store::new();
    let weak = store.downgrade();
    let link = |_| Link {
        store: weak.clone(),
        next: OnceLock::new(),
        nesting: Nesting(Arc::clone(&deepest)),
        dropped: Arc::clone(&dropped),
    };
    let links = store.spawn_batch((0..length).map(link)).unwrap();
    let session = store.pin();
    for pair in links.windows(2) {
        session.get(pair[0]).unwrap().next.set(pair[1]).unwrap();
    }
    drop(session);
    (store, links[0], deepest, dropped)
}

#[test]
fn a_chain_of_a_hundred_thousand_deaths_is_carried_out_by_one_reclaim() {
    let (store, first, deepest, dropped) = chain(LONG);
    store.despawn(first).unwrap();
    store.reclaim();
    assert_eq!(dropped.load(Ordering::SeqCst), LONG);
    assert_eq!((store.len(), store.stats().dead), (0, 0));
    assert_eq!(deepest.load(Ordering::SeqCst), 1, "no destructor ran inside another");
}

#[test]
fn a_chain_of_deaths_is_carried_out_by_clear_and_by_the_drop_of_the_store() {
    let (store, first, deepest, dropped) = chain(2000);
    store.despawn(first).unwrap();
    store.clear();
    assert_eq!((dropped.load(Ordering::SeqCst), store.len()), (2000, 0));
    let (store, first, _, dropped) = chain(2000);
    store.despawn(first).unwrap();
    drop(store);
    assert_eq!(dropped.load(Ordering::SeqCst), 2000);
    assert_eq!(deepest.load(Ordering::SeqCst), 1);
}

/// A payload that holds the next one: the end of one is the end of the next one's hold.
struct Keeper {
    next: Mutex<Option<Hold<Keeper>>>,
    deepest: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Drop for Keeper {
    fn drop(&mut self) {
        Nesting::during(&self.deepest, || {
            self.dropped.fetch_add(1, Ordering::SeqCst);
            drop(self.next.get_mut().unwrap().take());
        });
    }
}

fn keepers(length: usize) -> (Store<Keeper>, Hold<Keeper>, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let (deepest, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let store = Store::new();
    let keeper = |_| Keeper {
        next: Mutex::new(None),
        deepest: Arc::clone(&deepest),
        dropped: Arc::clone(&dropped),
    };
    let handles = store.spawn_batch((0..length).map(keeper)).unwrap();
    let session = store.pin();
    for pair in handles.windows(2) {
        let next = store.hold(pair[1]).unwrap();
        *session.get(pair[0]).unwrap().next.lock().unwrap() = Some(next);
    }
    drop(session);
    let first = store.hold(handles[0]).unwrap();
    (store, first, deepest, dropped)
}

#[test]
fn a_chain_of_holds_unwinds_without_a_deep_stack() {
    let (store, first, deepest, dropped) = keepers(LONG);
    assert_eq!(store.clear(), LONG);
    assert_eq!(store.len(), LONG, "each is held, by the one before it or by the test");
    drop(first);
    store.reclaim();
    assert_eq!((dropped.load(Ordering::SeqCst), store.len()), (LONG, 0));
    assert_eq!(deepest.load(Ordering::SeqCst), 1);
}

#[test]
fn a_chain_of_holds_unwinds_when_the_store_goes() {
    let (store, first, deepest, dropped) = keepers(LONG);
    drop(first);
    drop(store);
    assert_eq!(dropped.load(Ordering::SeqCst), LONG);
    assert_eq!(deepest.load(Ordering::SeqCst), 1);
}

#[test]
fn a_chain_of_holds_unwinds_after_the_store_is_gone() {
    let (store, first, deepest, dropped) = keepers(LONG);
    drop(store);
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(first);
    assert_eq!(dropped.load(Ordering::SeqCst), LONG);
    assert_eq!(deepest.load(Ordering::SeqCst), 1);
}

/// What a payload does when it is dropped, with its store at hand.
type LastWill = Box<dyn Fn(&Store<Heir>) + Send + Sync>;

struct Heir {
    store: WeakStore<Heir>,
    will: Option<LastWill>,
    _counted: Counted,
}

impl Drop for Heir {
    fn drop(&mut self) {
        if let (Some(will), Some(store)) = (self.will.take(), self.store.upgrade()) {
            will(&store);
        }
    }
}

fn heir(store: &Store<Heir>, maker: &Maker, will: Option<LastWill>) -> Heir {
    Heir { store: store.downgrade(), will, _counted: maker.payload(0) }
}

fn spawn_in_will(census: &Census, births: Arc<AtomicUsize>) -> LastWill {
    let maker = census.maker();
    Box::new(move |store| {
        if store.spawn_active(heir(store, &maker, None)).is_ok() {
            births.fetch_add(1, Ordering::SeqCst);
        }
    })
}

#[test]
fn a_destructor_may_spawn_into_its_own_store() {
    for limits in [Limits::UNBOUNDED, Limits::reject(100)] {
        let census = Census::new();
        let store = Store::builder().limits(limits).build().unwrap();
        let births = Arc::new(AtomicUsize::new(0));
        for _ in 0..100 {
            let will = spawn_in_will(&census, Arc::clone(&births));
            store.spawn_active(heir(&store, &census.maker(), Some(will))).unwrap();
        }
        assert_eq!(store.clear(), 100);
        let born = births.load(Ordering::SeqCst);
        assert!(born > 0 && born <= 100);
        assert!(limits != Limits::UNBOUNDED || born == 100);
        assert_eq!(store.len(), born, "what is spawned meanwhile may survive");
        store.reclaim();
        assert_eq!((census.alive(), store.stats().dead), (born, 0));
        assert_accounts(&store.stats());
    }
}

#[test]
fn a_destructor_may_spawn_where_every_slot_has_a_payload_left() {
    let census = Census::new();
    let limits = Limits::reject(2);
    let store = Store::builder().limits(limits).backlog(0).shards(1).build().unwrap();
    let births = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        // Two Dead slots, and no other may be made: the destructor that the next spawn runs in one
        // of them needs the other, whose payload has to wait.
        let pair = [0, 1].map(|_| {
            let will = spawn_in_will(&census, Arc::clone(&births));
            store.spawn_active(heir(&store, &census.maker(), Some(will))).unwrap()
        });
        assert_eq!(store.despawn_batch(&pair), 2);
        let next = store.spawn_active(heir(&store, &census.maker(), None)).unwrap();
        store.despawn(next).unwrap();
        store.clear();
        store.clear();
        assert_eq!((store.len(), store.slots()), (0, 2));
    }
    // Not in every round: the pin of the call that runs the destructor may hold the other back.
    let born = births.load(Ordering::SeqCst);
    assert!(born >= 100, "{born} of the births in two hundred wills");
    drop(store);
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_destructor_that_always_spawns_does_not_keep_reclaim_busy_for_ever() {
    finishes(|| {
        let census = Census::new();
        let store = Store::new();
        fn reborn(store: &Store<Heir>, maker: &Maker, again: usize) {
            let next = maker.clone();
            let will: LastWill = Box::new(move |store| {
                if again > 0 {
                    reborn(store, &next, again - 1);
                }
            });
            store.despawn(store.spawn_active(heir(store, maker, Some(will))).unwrap()).unwrap();
        }
        reborn(&store, &census.maker(), 5000);
        store.reclaim();
        assert_eq!((census.made(), census.alive(), store.stats().dead), (5001, 0, 0));
    });
}

#[test]
fn a_destructor_may_call_everything() {
    finishes(|| {
        let census = Census::new();
        let store = Store::new();
        let other = store.spawn_active(heir(&store, &census.maker(), None)).unwrap();
        let victims: Arc<Mutex<Vec<Handle>>> = Arc::default();
        let runs = Arc::new(AtomicUsize::new(0));
        for _ in 0..50 {
            let (maker, victims, runs) = (census.maker(), Arc::clone(&victims), Arc::clone(&runs));
            let will: LastWill = Box::new(move |store| {
                let mut session = store.pin();
                assert!(session.get(other).is_ok());
                session.iter().for_each(drop);
                drop(store.hold(other).unwrap());
                if let Some(victim) = victims.lock().unwrap().pop() {
                    session.kill(victim).unwrap();
                    session.revive(victim).unwrap();
                    drop(session.kill_and_hold(victim).unwrap());
                    session.reap(victim).unwrap();
                }
                session.repin();
                drop(session);
                drop(store.spawn(heir(store, &maker, None)).unwrap());
                drop(store.spawn(heir(store, &maker, None)).unwrap().cancel());
                store.reclaim();
                store.reclaim_up_to(5);
                let _ = (store.stats(), store.len());
                runs.fetch_add(1, Ordering::SeqCst);
            });
            store.spawn_active(heir(&store, &census.maker(), Some(will))).unwrap();
        }
        for _ in 0..50 {
            let victim = store.spawn_active(heir(&store, &census.maker(), None)).unwrap();
            victims.lock().unwrap().push(victim);
        }
        let doomed: Vec<Handle> =
            store.pin().iter().filter(|(_, heir)| heir.will.is_some()).map(|(h, _)| h).collect();
        assert_eq!(store.despawn_batch(&doomed), 50);
        store.reclaim();
        assert_eq!((runs.load(Ordering::SeqCst), store.len()), (50, 1));
        assert_eq!((census.alive(), store.stats().dead), (1, 0));
        assert_accounts(&store.stats());
    });
}

#[test]
fn a_destructor_may_clear_its_store() {
    finishes(|| {
        let census = Census::new();
        let store = Store::new();
        let will: LastWill = Box::new(|store| {
            store.clear();
        });
        let first = store.spawn_active(heir(&store, &census.maker(), Some(will))).unwrap();
        for _ in 0..100 {
            store.spawn_active(heir(&store, &census.maker(), None)).unwrap();
        }
        store.despawn(first).unwrap();
        store.reclaim();
        assert_eq!((store.len(), census.alive(), store.stats().dead), (0, 0, 0));
    });
}

/// C53, its second half: nobody finds an entity by handle once its destructor runs.
#[test]
fn a_destructor_does_not_find_its_own_entity() {
    let census = Census::new();
    let store = Store::new();
    let answers: Arc<Mutex<Vec<(Handle, LookupError)>>> = Arc::default();
    for _ in 0..10 {
        let own = Arc::new(OnceLock::new());
        let (me, heard) = (Arc::clone(&own), Arc::clone(&answers));
        let will: LastWill = Box::new(move |store| {
            let me = *me.get().unwrap();
            let error = store.pin().get(me).err().unwrap();
            assert!(store.hold(me).is_err() && store.state(me).is_err());
            heard.lock().unwrap().push((me, error));
        });
        let handle = store.spawn_active(heir(&store, &census.maker(), Some(will))).unwrap();
        own.set(handle).unwrap();
        store.despawn(handle).unwrap();
    }
    store.reclaim();
    let answers = answers.lock().unwrap();
    assert_eq!(answers.len(), 10);
    assert!(answers.iter().all(|(me, error)| error.is_gone() && error.handle() == *me));
}

/// Its destructor ends another one, and spawns one like itself.
struct Phoenix {
    store: WeakStore<Phoenix>,
    victims: Arc<Mutex<Vec<Handle>>>,
    deaths: Arc<AtomicUsize>,
    refused: bool,
}

impl Phoenix {
    fn rise(&self, store: &Store<Phoenix>) {
        if let Some(victim) = self.victims.lock().unwrap().pop() {
            let _ = store.despawn(victim);
        }
        let (store_of_next, victims) = (self.store.clone(), Arc::clone(&self.victims));
        let deaths = Arc::clone(&self.deaths);
        let next = Phoenix { store: store_of_next, victims, deaths, refused: false };
        match store.spawn_active(next) {
            Ok(handle) => self.victims.lock().unwrap().insert(0, handle),
            Err(mut error) => error.value.refused = true,
        }
    }
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        if self.refused || self.deaths.fetch_add(1, Ordering::SeqCst) > 1_000_000 {
            return;
        }
        if let Some(store) = self.store.upgrade() {
            self.rise(&store);
        }
    }
}

/// What the spawns of a destructor leave for its end is dropped there, and leaves nothing in turn.
#[test]
fn payloads_that_spawn_their_like_do_not_keep_a_call_for_ever() {
    for limits in [Limits::reject(4), Limits::overwrite_oldest(4)] {
        finishes(move || {
            let store = Store::builder().limits(limits).build().unwrap();
            let deaths = Arc::new(AtomicUsize::new(0));
            let first = Phoenix {
                store: store.downgrade(),
                victims: Arc::default(),
                deaths: Arc::clone(&deaths),
                refused: true,
            };
            for _ in 0..64 {
                first.rise(&store);
            }
            // A destructor that this store has no session around.
            let igniter = Store::new();
            let before = deaths.load(Ordering::SeqCst);
            drop(igniter.spawn(Igniter(store.clone(), first)).ok().unwrap());
            let more = deaths.load(Ordering::SeqCst) - before;
            assert!(more <= 16, "{more} under {limits:?}");
            assert!(store.len() <= 4);
        });
    }
}

struct Igniter(Store<Phoenix>, Phoenix);

impl Drop for Igniter {
    fn drop(&mut self) {
        self.1.rise(&self.0);
    }
}

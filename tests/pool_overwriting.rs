//! A pool that overwrites the oldest lease: whose object is taken, what its holder finds out, and
//! what is counted, when users forget, panic, reenter, or outlive the pool.

mod support;

use std::cell::{Cell, RefCell};
use std::mem::{forget, take};
use std::thread;

use hatchery::pool::{Lease, LeaseMut, Pool};
use hatchery::{Limits, Recycle, SpawnFailure, Stats};
use support::{Census, Counted, Dice, Maker, finishes, panic_quietly, panics};

std::thread_local! {
    static MAKER: RefCell<Option<Maker>> = const { RefCell::new(None) };
    /// How many constructions of this thread succeed before one panics.
    static MAY_BE_MADE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// An object that its census counts, and that remembers what its user did.
#[derive(Debug)]
struct Object {
    dirt: Vec<u64>,
    _counted: Counted,
    trick: Trick,
}

/// What recycling does besides, or the destructor.
#[derive(Debug, Default)]
enum Trick {
    #[default]
    None,
    PanicInRecycle,
    PanicInBoth,
    /// Acquires from the pool, keeps nothing, and is refused if it says so.
    Acquire(Pool<Object>, bool),
    AcquireInDrop(Pool<Object>, bool),
    GiveBack(Lease<Object>),
    Reset(Pool<Object>),
}

fn acquire_from(pool: &Pool<Object>, refused: bool) {
    let outcome = pool.acquire();
    assert_eq!(outcome.is_err(), refused, "{outcome:?}");
}

impl Default for Object {
    fn default() -> Object {
        let left = MAY_BE_MADE.get();
        if left == 0 {
            panic_quietly();
        }
        MAY_BE_MADE.set(left - 1);
        let counted = MAKER.with_borrow(|maker| maker.as_ref().expect("a census").payload(0));
        Object { dirt: Vec::new(), _counted: counted, trick: Trick::None }
    }
}

impl Recycle for Object {
    fn recycle(&mut self) {
        self.dirt.clear();
        match take(&mut self.trick) {
            Trick::None => {}
            Trick::PanicInRecycle => panic_quietly(),
            Trick::PanicInBoth => {
                self.trick = Trick::PanicInBoth;
                panic_quietly();
            }
            Trick::Acquire(pool, refused) => acquire_from(&pool, refused),
            Trick::AcquireInDrop(pool, refused) => {
                self.trick = Trick::AcquireInDrop(pool, refused);
                panic_quietly();
            }
            Trick::GiveBack(lease) => drop(lease),
            Trick::Reset(pool) => _ = pool.reset(),
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        match take(&mut self.trick) {
            Trick::PanicInBoth => panic_quietly(),
            Trick::AcquireInDrop(pool, refused) => acquire_from(&pool, refused),
            _ => {}
        }
    }
}

/// Makes this thread's objects count in the census.
fn enrol(census: &Census) {
    MAKER.set(Some(census.maker()));
    MAY_BE_MADE.set(usize::MAX);
}

fn pool(capacity: usize) -> (Census, Pool<Object>) {
    let census = Census::new();
    enrol(&census);
    (census, Pool::new(Limits::overwrite_oldest(capacity)).expect("legal"))
}

fn fill(pool: &Pool<Object>) -> Vec<Lease<Object>> {
    Vec::from_iter((0..pool.capacity()).map(|_| pool.acquire().expect("room")))
}

#[track_caller]
fn mark(lease: &mut Lease<Object>, dirt: u64) {
    assert_eq!(lease.with(|object| object.dirt.push(dirt)), Some(()), "not revoked");
}

#[track_caller]
fn trick(lease: &mut Lease<Object>, trick: Trick) {
    assert_eq!(lease.with(|object| object.trick = trick), Some(()), "not revoked");
}

/// Which of the leases are revoked.
fn revoked(leases: &[Lease<Object>]) -> Vec<usize> {
    (0..leases.len()).filter(|&at| leases[at].is_revoked()).collect()
}

/// What must hold between the numbers of a quiet pool, since its window began with nothing leased.
/// `revoked` are the leases that ended by a reset, or by an acquisition that failed afterwards.
#[track_caller]
fn assert_accounts(stats: &Stats, revoked: u64) {
    assert_eq!(stats.acquired, stats.spawned + stats.rejected, "{stats:?}");
    assert_eq!(stats.spawned, stats.hits + stats.misses + stats.overwritten, "{stats:?}");
    let ended = stats.released + stats.overwritten + revoked;
    assert_eq!(stats.spawned, ended + stats.live as u64, "{stats:?}");
}

/// As the seed asserts it.
#[test]
fn acquisition_from_a_full_pool_reuses_the_oldest_object_in_place() {
    let (census, pool) = pool(3);
    let mut leases = fill(&pool);
    assert!(leases.is_sorted_by_key(Lease::seq) && leases[0].seq() == 1);
    let place = |lease: &mut Lease<Object>| lease.with(|object| &raw const *object as usize);
    let oldest = place(&mut leases[0]).expect("not revoked");
    let mut fourth = pool.acquire().unwrap();
    assert_eq!((place(&mut fourth), fourth.seq()), (Some(oldest), 4));
    assert!(leases[0].is_revoked() && leases[0].get_mut().is_none());
    let stats = pool.stats();
    assert_eq!((stats.live, stats.overwritten, stats.created), (3, 1, 3));
    assert_eq!((stats.capacity, stats.slots, stats.grown, stats.rejected), (3, 3, 0, 0));
    assert_accounts(&stats, 0);
    drop((leases, fourth));
    assert_eq!((census.made(), pool.idle(), pool.stats().released), (3, 3, 3));
}

#[test]
fn leases_are_overwritten_in_the_order_of_acquisition() {
    for capacity in [1, 2, 3, 64, 65, 300] {
        let (_census, pool) = pool(capacity);
        let mut leases = fill(&pool);
        for round in 0..3 * capacity {
            leases.push(pool.acquire().unwrap());
            assert!(leases[round].is_revoked() && !leases[round + 1].is_revoked(), "{capacity}");
        }
        assert_eq!(revoked(&leases), Vec::from_iter(0..3 * capacity));
        assert_accounts(&pool.stats(), 0);
    }
}

/// What is given back and taken again is as young as its new lease.
#[test]
fn lease_of_an_old_object_is_as_young_as_its_acquisition() {
    let (_census, pool) = pool(3);
    let mut leases = fill(&pool);
    assert!(pool.release(leases.remove(0)));
    leases.push(pool.acquire().unwrap());
    assert_eq!(pool.stats().overwritten, 0, "one was at rest");
    for victim in 0..3 {
        leases.push(pool.acquire().unwrap());
        assert_eq!(revoked(&leases), Vec::from_iter(0..=victim));
    }
}

#[test]
fn lease_in_use_is_passed_over_and_come_back_to() {
    for capacity in [2, 5, 100] {
        let (_census, pool) = pool(capacity);
        let mut leases = fill(&pool);
        let mut oldest = leases.remove(0);
        let mut held = oldest.get_mut().unwrap();
        held.dirt.push(7);
        for victim in 0..3 * capacity {
            leases.push(pool.acquire().unwrap());
            assert_eq!(revoked(&leases).last(), Some(&victim), "{capacity}");
        }
        assert_eq!(held.dirt, [7]);
        drop(held);
        assert_eq!(oldest.with(|object| object.dirt.len()), Some(1), "nobody has come by yet");
        leases.push(pool.acquire().unwrap());
        assert!(oldest.get_mut().is_none(), "it was let go, and is the oldest still");
        assert_eq!(revoked(&leases).len(), 3 * capacity);
        assert_accounts(&pool.stats(), 0);
    }
}

#[test]
fn acquisition_is_refused_while_all_are_in_use_and_nobody_is_revoked() {
    let (_census, pool) = pool(70);
    let mut leases = fill(&pool);
    let mut used: Vec<LeaseMut<'_, Object>> =
        leases.iter_mut().map(|lease| lease.get_mut().unwrap()).collect();
    for _ in 0..3 {
        assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 70 });
    }
    drop(used.remove(69));
    let new = pool.acquire().expect("the youngest was let go");
    assert_eq!(pool.acquire().map(drop), Ok(()), "and is followed by its successor");
    assert!(new.is_revoked());
    drop(used);
    assert_eq!(revoked(&leases), [69]);
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.overwritten, stats.live), (3, 2, 69));
    assert_accounts(&stats, 0);
}

#[test]
fn forgotten_use_keeps_the_lease_until_it_is_dropped() {
    let (census, pool) = pool(1);
    let mut lease = pool.acquire().unwrap();
    mark(&mut lease, 7);
    forget(lease.get_mut().unwrap());
    for _ in 0..3 {
        assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 1 });
    }
    assert_eq!(lease.with(|object| object.dirt.len()), Some(1), "its own use goes on");
    forget(lease.get_mut().unwrap());
    assert!(!lease.is_revoked());
    drop(lease);
    assert_eq!(pool.idle(), 1);
    let mut next = pool.acquire().expect("the object came back");
    assert_eq!(next.with(|object| object.dirt.len()), Some(0));
    let last = pool.acquire().expect("the mark is gone");
    assert!(next.is_revoked() && !last.is_revoked());
    assert_eq!((census.made(), pool.stats().released), (1, 1));
    assert_accounts(&pool.stats(), 0);
}

/// A use that ends takes a forgotten mark with it.
#[test]
fn use_after_a_forgotten_one_lets_the_lease_go() {
    let (_census, pool) = pool(1);
    let mut lease = pool.acquire().unwrap();
    forget(lease.get_mut().unwrap());
    mark(&mut lease, 7);
    let _next = pool.acquire().expect("not in use any more");
    assert!(lease.is_revoked());
}

#[test]
fn forgotten_lease_is_overwritten() {
    let (census, pool) = pool(2);
    for _ in 0..100 {
        forget(pool.acquire().unwrap());
    }
    assert_eq!((census.made(), pool.stats().overwritten, pool.stats().live), (2, 98, 2));
    assert_accounts(&pool.stats(), 0);
    assert_eq!(pool.reset(), 2);
    drop(pool);
    assert_eq!(census.alive(), 0, "the objects are gone; what the leases keep is memory");
}

/// Nothing in an acquisition keeps its lease from being the next victim.
#[test]
fn lease_may_be_revoked_before_its_first_use() {
    let (_census, pool) = pool(1);
    let mut unused = Vec::from_iter((0..50).map(|_| pool.acquire().unwrap()));
    let mut last = unused.pop().unwrap();
    assert_eq!(revoked(&unused).len(), 49);
    mark(&mut last, 7);
    assert!(unused.iter_mut().all(|lease| lease.with(|_| ()).is_none()));
}

#[test]
fn end_of_an_overwritten_lease_answers_false_and_disturbs_nobody() {
    let (census, pool) = pool(2);
    let mut leases = fill(&pool);
    let mut young = [(); 2].map(|()| pool.acquire().unwrap());
    young.iter_mut().for_each(|lease| mark(lease, 8));
    assert!(!pool.release(leases.remove(0)));
    drop(leases);
    for lease in &mut young {
        assert_eq!(lease.with(|object| take(&mut object.dirt)), Some(vec![8]));
    }
    let stats = pool.stats();
    assert_eq!((stats.released, stats.live, stats.idle, stats.overwritten), (0, 2, 0, 2));
    for lease in young {
        assert!(pool.release(lease));
    }
    assert_eq!((pool.idle(), census.made()), (2, 2));
    assert_accounts(&pool.stats(), 0);
}

#[test]
fn numbers_rise_across_threads_and_go_on_after_a_reset() {
    let (census, pool) = pool(4);
    let mut last = 0;
    for round in 0..40 {
        let lease = thread::scope(|scope| {
            let acquire = || {
                enrol(&census);
                pool.acquire().unwrap()
            };
            scope.spawn(acquire).join().unwrap()
        });
        assert_eq!(lease.seq(), last + 1, "without a gap");
        last = lease.seq();
        match round % 10 {
            3 => _ = pool.reset(),
            7 => drop(lease),
            _ => forget(lease),
        }
    }
    pool.reset();
}

#[test]
fn overwritten_object_is_as_new_and_keeps_its_memory() {
    let (census, pool) = pool(1);
    let mut lease = pool.acquire().unwrap();
    lease.with(|object| object.dirt.extend(0..1000));
    let mut next = pool.acquire().unwrap();
    let seen = next.with(|object| (object.dirt.len(), object.dirt.capacity() >= 1000));
    assert_eq!((seen, census.made()), (Some((0, true)), 1));
    assert!(lease.get_mut().is_none());
}

#[test]
fn object_whose_recycle_panics_is_made_anew_for_its_overwriter() {
    for (ill, panics) in [(Trick::PanicInRecycle, 1), (Trick::PanicInBoth, 2)] {
        let (census, pool) = pool(2);
        let mut leases = fill(&pool);
        mark(&mut leases[0], 7);
        trick(&mut leases[0], ill);
        let mut next = pool.acquire().expect("the lease was overwritten");
        assert_eq!(next.with(|object| object.dirt.len()), Some(0));
        assert_eq!((census.made(), census.alive(), revoked(&leases)), (3, 2, vec![0]));
        let stats = pool.stats();
        assert_eq!((stats.created, stats.overwritten, stats.drop_panics), (3, 1, panics));
        assert_eq!((stats.hits, stats.misses, stats.live), (0, 2, 2), "neither hit nor miss");
        assert_accounts(&stats, 0);
        drop(leases);
        assert!(pool.release(next));
        drop(pool.acquire().unwrap());
        assert_eq!((pool.stats().hits, pool.stats().misses), (1, 2));
        assert_accounts(&pool.stats(), 0);
    }
}

/// The lease is gone then, and its unit is at rest without an object: no acquisition was served.
#[test]
fn constructor_that_panics_while_overwriting_loses_no_unit() {
    let (census, pool) = pool(2);
    let mut leases = fill(&pool);
    for round in 0..5 {
        trick(&mut leases[0], Trick::PanicInRecycle);
        MAY_BE_MADE.set(0);
        assert!(panics(|| drop(pool.acquire())));
        assert_eq!(revoked(&leases), [0]);
        let stats = pool.stats();
        assert_eq!((stats.live, stats.free, stats.idle, stats.overwritten), (1, 1, 0, 0));
        assert_accounts(&stats, round + 1);
        assert!(panics(|| drop(pool.acquire())), "the unit's object is still to be made");
        MAY_BE_MADE.set(usize::MAX);
        drop(leases.remove(0));
        leases.push(pool.acquire().expect("the unit is there"));
        let stats = pool.stats();
        assert_eq!((stats.live, stats.overwritten, stats.misses), (2, 0, 3 + round));
        assert_eq!((stats.created, census.alive()), (3 + round, 2));
        assert_accounts(&stats, round + 1);
    }
    leases.push(pool.acquire().unwrap());
    assert_eq!((pool.stats().overwritten, revoked(&leases)), (1, vec![0]));
    assert_accounts(&pool.stats(), 5);
}

/// Nothing is overwritten inside `recycle`: what it asks the full pool for is refused.
#[test]
fn recycle_that_acquires_from_the_full_pool_is_refused() {
    let (census, pool) = pool(2);
    let mut leases = fill(&pool);
    trick(&mut leases[0], Trick::Acquire(pool.clone(), true));
    let next = pool.acquire().expect("the oldest");
    assert_eq!(revoked(&leases), [0]);
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.overwritten, stats.drop_panics), (1, 1, 0));
    // A destructor's is refused as well, and a release's while its own unit is on the way.
    trick(&mut leases[1], Trick::AcquireInDrop(pool.clone(), true));
    let last = pool.acquire().expect("the oldest");
    assert_eq!((pool.stats().rejected, pool.stats().drop_panics), (2, 1));
    let mut next = next;
    trick(&mut next, Trick::Acquire(pool.clone(), true));
    assert!(pool.release(next));
    // With room it is served.
    let mut last = last;
    trick(&mut last, Trick::Acquire(pool.clone(), false));
    assert!(pool.release(last));
    let stats = pool.stats();
    assert_eq!((stats.rejected, stats.drop_panics, stats.live), (3, 1, 0));
    assert_eq!((stats.idle, census.made()), (2, 3));
    assert_accounts(&stats, 0);
}

#[test]
fn recycle_that_resets_the_pool_while_overwriting_revokes_the_others() {
    let (_census, pool) = pool(3);
    let mut leases = fill(&pool);
    trick(&mut leases[0], Trick::Reset(pool.clone()));
    let next = pool.acquire().unwrap();
    assert_eq!(revoked(&leases), [0, 1, 2]);
    assert!(!next.is_revoked());
    assert_eq!((pool.stats().live, pool.idle(), pool.stats().drop_panics), (1, 2, 0));
}

/// Each object of the chain gives back the lease of the next while it is recycled itself.
#[test]
fn chain_of_leases_that_an_overwriting_begins_ends_without_recursion() {
    const LENGTH: usize = 100_000;
    finishes(|| {
        let (census, pool) = pool(LENGTH + 1);
        let mut chain = pool.acquire().unwrap();
        let first = chain.seq();
        let mut inner = pool.acquire().unwrap();
        for _ in 2..=LENGTH {
            let mut next = pool.acquire().unwrap();
            trick(&mut next, Trick::GiveBack(inner));
            inner = next;
        }
        // The oldest holds the whole chain; the pool is full.
        trick(&mut chain, Trick::GiveBack(inner));
        let next = pool.acquire().unwrap();
        assert!(chain.is_revoked() && first == 1);
        assert_eq!((pool.idle(), census.made()), (LENGTH, LENGTH + 1));
        assert_eq!(pool.stats().released as usize, LENGTH);
        assert_accounts(&pool.stats(), 0);
        drop((chain, next));
    });
}

/// Each object of the chain asks the full pool for another one while it is recycled.
#[test]
fn chain_of_overwritings_does_not_nest() {
    const LENGTH: usize = 100_000;
    finishes(|| {
        let (census, pool) = pool(LENGTH);
        let mut leases = fill(&pool);
        for lease in &mut leases {
            trick(lease, Trick::Acquire(pool.clone(), true));
        }
        let next = Vec::from_iter((0..10).map(|_| pool.acquire().unwrap()));
        assert_eq!(revoked(&leases), Vec::from_iter(0..10));
        assert_eq!((pool.stats().rejected, census.made()), (10, LENGTH));
        assert_accounts(&pool.stats(), 0);
        for mut lease in leases {
            lease.with(|object| object.trick = Trick::None);
        }
        drop(next);
    });
}

#[test]
fn reset_beside_overwritings_leaves_the_accounts_whole() {
    let (_census, pool) = pool(4);
    let mut leases = fill(&pool);
    leases.extend((0..2).map(|_| pool.acquire().unwrap()));
    assert_eq!(pool.reset(), 4);
    assert_eq!(revoked(&leases).len(), 6);
    assert_accounts(&pool.stats(), 0);
    let again = fill(&pool);
    assert_eq!((pool.stats().hits, pool.stats().overwritten), (4, 0), "all were at rest");
    let _more = [(); 3].map(|()| pool.acquire().unwrap());
    assert_eq!(revoked(&again), [0, 1, 2]);
    let stats = pool.stats();
    assert_eq!((stats.overwritten, stats.spawned, stats.live), (3, 7, 4));
    assert_accounts(&stats, 0);
}

/// Leases that are good, overwritten, reset and in between, dropped in any order after the pool.
#[test]
fn pool_dropped_before_its_leases_leaves_them_as_they_are() {
    for seed in 0..20 {
        let (census, pool) = pool(5);
        let mut dice = Dice::new(seed);
        let mut leases = fill(&pool);
        leases.extend((0..3).map(|_| pool.acquire().unwrap()));
        pool.reset();
        leases.extend((0..9).map(|_| pool.acquire().unwrap()));
        leases.iter_mut().rev().take(5).for_each(|lease| mark(lease, lease.seq()));
        let rest = leases.len() - 5;
        let mut pool = Some(pool);
        let gone = dice.roll(leases.len() as u64) as usize;
        let mut good = 5;
        for ended in 0.. {
            if ended == gone {
                drop(pool.take());
                assert_eq!(census.alive(), good, "what no lease keeps is gone");
            }
            if leases.is_empty() {
                break;
            }
            let mut lease = leases.swap_remove(dice.roll(leases.len() as u64) as usize);
            let number = lease.seq();
            let dirt = lease.with(|object| object.dirt.first().copied());
            assert_eq!(dirt.is_some(), number > rest as u64);
            good -= usize::from(dirt.is_some());
            assert!(dirt.is_none_or(|dirt| dirt == Some(number)));
            match dice.roll(2) {
                0 => drop(lease),
                _ => thread::spawn(move || drop(lease)).join().unwrap(),
            }
        }
        assert_eq!(census.alive(), 0);
    }
}

#[test]
fn last_pool_dropped_inside_an_overwriting_ends_with_the_lease() {
    let (census, pool) = pool(1);
    let clone = pool.clone();
    let mut lease = pool.acquire().unwrap();
    // The object keeps the last pool, beside the one that acquires.
    trick(&mut lease, Trick::Acquire(clone, true));
    let next = pool.acquire().unwrap();
    drop(pool);
    assert_eq!(census.alive(), 1);
    drop(next);
    assert_eq!(census.alive(), 0);
    drop(lease);
}

/// What a thread has leased stays leased when it ends, and is as old as before.
#[test]
fn leases_of_a_thread_that_ended_are_overwritten_in_turn() {
    let (census, pool) = pool(3);
    let mut leases = thread::scope(|scope| {
        let fill = || {
            enrol(&census);
            fill(&pool)
        };
        scope.spawn(fill).join().unwrap()
    });
    for victim in 0..3 {
        leases.push(pool.acquire().unwrap());
        assert_eq!(revoked(&leases), Vec::from_iter(0..=victim));
    }
    assert_accounts(&pool.stats(), 0);
}

/// Acquires from the full pool when its thread ends.
struct Farewell(Pool<u64>, std::sync::mpsc::Sender<Lease<u64>>);

impl Drop for Farewell {
    fn drop(&mut self) {
        for _ in 0..3 {
            self.1.send(self.0.acquire().expect("somebody can be overwritten")).unwrap();
        }
    }
}

thread_local! {
    static FAREWELL: RefCell<Option<Farewell>> = const { RefCell::new(None) };
}

#[test]
fn overwriting_in_a_threads_last_moments_takes_the_oldest() {
    for used_before in [false, true] {
        let pool = Pool::<u64>::new(Limits::overwrite_oldest(4)).unwrap();
        let leases = Vec::from_iter((0..4).map(|_| pool.acquire().unwrap()));
        let (sender, receiver) = std::sync::mpsc::channel();
        let farewell = Farewell(pool.clone(), sender);
        let last_moments = move || {
            // Registered before what the thread has of the pool, so that it may go after that.
            FAREWELL.with(|slot| *slot.borrow_mut() = Some(farewell));
            if used_before {
                FAREWELL.with(|slot| drop(slot.borrow().as_ref().unwrap().0.acquire()));
            }
        };
        thread::spawn(last_moments).join().unwrap();
        let new = Vec::from_iter(receiver.iter());
        let gone = leases.iter().filter(|lease| lease.is_revoked()).count();
        assert_eq!((new.len(), gone), (3, 3), "used before: {used_before}");
        let stats = pool.stats();
        assert_eq!((stats.overwritten, stats.live), (3, 4), "used before: {used_before}");
        assert_accounts(&stats, 0);
    }
}

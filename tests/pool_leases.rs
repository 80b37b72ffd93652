//! Leases of a pool: who has the object, when it is taken away, and what becomes of it when users
//! forget, panic, or outlive the pool.

mod support;

use std::cell::{Cell, RefCell};
use std::mem::{forget, take};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use hatchery::pool::{Lease, Pool};
use hatchery::{ConfigError, Exhaustion, Limits, Recycle, SpawnFailure};
use support::{Census, Counted, Maker};

std::thread_local! {
    static MAKER: RefCell<Option<Maker>> = const { RefCell::new(None) };
}

/// An object that its census counts, and that remembers what its user did.
#[derive(Debug)]
struct Object {
    dirt: u64,
    _counted: Counted,
    /// What recycling does besides.
    trick: Trick,
}

#[derive(Debug, Default)]
enum Trick {
    #[default]
    None,
    PanicInRecycle,
    PanicInDrop,
    PanicInBoth,
    /// Gives these back while it is itself recycled.
    GiveBack(Vec<Lease<Object>>),
}

impl Default for Object {
    fn default() -> Object {
        let counted = MAKER.with_borrow(|maker| maker.as_ref().expect("a census").payload(0));
        Object { dirt: 0, _counted: counted, trick: Trick::None }
    }
}

impl Recycle for Object {
    fn recycle(&mut self) {
        self.dirt = 0;
        match take(&mut self.trick) {
            Trick::PanicInRecycle => panic!("recycle"),
            Trick::PanicInBoth => {
                self.trick = Trick::PanicInDrop;
                panic!("recycle");
            }
            Trick::PanicInDrop => self.trick = Trick::PanicInDrop,
            Trick::GiveBack(leases) => drop(leases),
            Trick::None => {}
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if let Trick::PanicInDrop = self.trick {
            panic!("drop");
        }
    }
}

/// Makes this thread's objects count in the census.
fn enrol(census: &Census) {
    MAKER.set(Some(census.maker()));
}

fn pool(capacity: usize) -> (Census, Pool<Object>) {
    let census = Census::new();
    enrol(&census);
    (census, Pool::new(Limits::reject(capacity)).expect("legal"))
}

fn dirty(lease: &mut Lease<Object>, dirt: u64) {
    assert_eq!(lease.with(|object| object.dirt = dirt), Some(()), "not revoked");
}

fn trick(lease: &mut Lease<Object>, trick: Trick) {
    assert_eq!(lease.with(|object| object.trick = trick), Some(()), "not revoked");
}

#[test]
fn limits_that_make_no_pool_are_refused_with_value_and_range() {
    let refused = |limits| Pool::<u64>::new(limits).unwrap_err();
    let error = refused(Limits::reject(0));
    assert!(matches!(error, ConfigError::Capacity { value: 0, .. }), "{error:?}");
    assert!(error.to_string().starts_with("capacity is 0, allowed are 1 to "), "{error}");
    let error = refused(Limits::grow_to_cap(4, 3));
    assert!(matches!(error, ConfigError::MaxCapacity { value: 3, capacity: 4, .. }), "{error:?}");
    assert!(error.to_string().starts_with("maxCapacity is 3, allowed are 4"), "{error}");
    let error = refused(Limits::grow_to_cap(0, 3));
    assert!(matches!(error, ConfigError::Capacity { value: 0, .. }), "{error:?}");
    let error = refused(Limits::overwrite_oldest(0));
    assert!(matches!(error, ConfigError::Capacity { value: 0, .. }), "{error:?}");
    let error = refused(Limits::reject(usize::MAX - 1));
    assert!(matches!(error, ConfigError::Capacity { .. }), "{error:?}");
    for limits in [Limits::UNBOUNDED, Limits::grow_to_cap(4, 4), Limits::grow_to_cap(1, usize::MAX)]
    {
        assert_eq!(Pool::<u64>::new(limits).expect("legal").capacity(), limits.capacity);
    }
    // Other policies do not look at the maximum.
    let limits = {
        let mut limits = Limits::reject(4);
        limits.max_capacity = 3;
        limits
    };
    assert_eq!(limits.policy, Exhaustion::Reject);
    assert!(Pool::<u64>::new(limits).is_ok());
}

#[test]
fn revoked_lease_gives_nothing_and_takes_nothing() {
    let (_census, pool) = pool(2);
    let mut lease = pool.acquire().unwrap();
    dirty(&mut lease, 7);
    assert_eq!(pool.reset(), 1);
    assert!(lease.is_revoked() && lease.get_mut().is_none());
    assert_eq!(lease.with(|_| ()), None);
    let mut next = pool.acquire().unwrap();
    assert_eq!(next.with(|object| object.dirt), Some(0), "recycled by the reset");
    assert!(lease.is_revoked(), "the same slot under a later lease");
    assert!(!pool.release(lease));
    dirty(&mut next, 8);
    let stats = pool.stats();
    assert_eq!((stats.live, stats.created, stats.hits, stats.released), (1, 1, 1, 0));
    assert!(pool.release(next));
}

#[test]
fn lease_in_use_is_passed_over_by_reset() {
    let (_census, pool) = pool(2);
    let (mut used, unused) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    let mut object = used.get_mut().unwrap();
    object.dirt = 7;
    assert_eq!(pool.reset(), 1, "the one that is not in use");
    assert_eq!(object.dirt, 7);
    drop(object);
    assert_eq!(used.with(|object| object.dirt), Some(7));
    assert!(unused.is_revoked() && !used.is_revoked());
    assert_eq!(pool.stats().live, 1);
    assert!(pool.release(used));
    let stats = pool.stats();
    assert_eq!((stats.released, stats.acquired, stats.live, stats.idle), (1, 0, 0, 2));
}

#[test]
fn mark_of_a_forgotten_use_ends_with_the_lease() {
    let (_census, pool) = pool(1);
    let mut lease = pool.acquire().unwrap();
    forget(lease.get_mut().unwrap());
    assert_eq!(pool.reset(), 0, "it counts as in use");
    dirty(&mut lease, 7);
    forget(lease.get_mut().unwrap());
    assert!(!lease.is_revoked());
    assert!(pool.release(lease));
    let mut next = pool.acquire().unwrap();
    assert_eq!(next.with(|object| object.dirt), Some(0));
    assert_eq!(pool.reset(), 1, "the mark is gone");
}

#[test]
fn forgotten_lease_keeps_its_unit_until_a_reset() {
    let pool = Pool::<u64>::new(Limits::reject(1)).unwrap();
    forget(pool.acquire().unwrap());
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 1 });
    assert_eq!(pool.reset(), 1);
    assert!(pool.acquire().is_ok());
}

#[test]
fn lease_of_another_pool_goes_home() {
    let (_census, pool) = pool(1);
    let other = Pool::<Object>::new(Limits::reject(1)).unwrap();
    assert!(!pool.release(other.acquire().unwrap()));
    assert_eq!((pool.stats().released, other.stats().released), (0, 1));
    assert!(other.acquire().is_ok() && pool.acquire().is_ok());
}

#[test]
fn panic_while_an_object_is_out_returns_it_recycled() {
    let (census, pool) = pool(1);
    for _ in 0..3 {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut lease = pool.acquire().unwrap();
            lease.with(|object| {
                object.dirt = 7;
                panic!("in use");
            })
        }));
        assert!(outcome.is_err());
        let mut again = pool.acquire().expect("the unit is back");
        assert_eq!(again.with(|object| object.dirt), Some(0));
    }
    assert_eq!((census.made(), pool.stats().drop_panics), (1, 0));
}

#[test]
fn object_whose_recycle_panics_is_dropped_and_not_used_again() {
    let (census, pool) = pool(1);
    for (nth, ill) in [Trick::PanicInRecycle, Trick::PanicInBoth].into_iter().enumerate() {
        let mut lease = pool.acquire().unwrap();
        trick(&mut lease, ill);
        assert!(pool.release(lease));
        assert_eq!((census.made(), census.alive(), pool.idle()), (nth + 1, 0, 0));
        assert_eq!(pool.stats().free, 1, "the unit is not lost");
    }
    assert_eq!(pool.stats().drop_panics, 3);
    let mut fresh = pool.acquire().unwrap();
    assert_eq!(fresh.with(|object| object.dirt), Some(0));
    assert_eq!((pool.stats().misses, pool.stats().hits), (3, 0));
    trick(&mut fresh, Trick::PanicInRecycle);
    assert_eq!(pool.reset(), 1, "the same by reset");
    assert_eq!((census.alive(), pool.idle()), (0, 0));
}

#[test]
fn object_whose_destructor_panics_costs_no_other() {
    let (_census, pool) = pool(8);
    let mut leases = Vec::from_iter((0..8).map(|_| pool.acquire().unwrap()));
    trick(&mut leases[3], Trick::PanicInDrop);
    drop(leases);
    drop(pool); // and the census asks for each
}

#[derive(Debug)]
struct Reluctant(#[expect(dead_code, reason = "it has a size")] u64);

static MAY_BE_MADE: AtomicUsize = AtomicUsize::new(0);

impl Default for Reluctant {
    fn default() -> Reluctant {
        let left = MAY_BE_MADE.load(Ordering::SeqCst);
        assert!(left > 0, "not now");
        MAY_BE_MADE.store(left - 1, Ordering::SeqCst);
        Reluctant(0)
    }
}

impl Recycle for Reluctant {
    fn recycle(&mut self) {}
}

#[test]
fn panic_of_the_constructor_reaches_the_caller_and_loses_no_unit() {
    let pool = Pool::<Reluctant>::new(Limits::reject(4)).unwrap();
    for _ in 0..9 {
        assert!(catch_unwind(AssertUnwindSafe(|| pool.acquire())).is_err());
    }
    let stats = pool.stats();
    assert_eq!((stats.live, stats.created, stats.spawned, stats.peak_live), (0, 0, 0, 0));
    assert_eq!((stats.idle, stats.rejected), (0, 0));
    MAY_BE_MADE.store(4, Ordering::SeqCst);
    let leases = Vec::from_iter((0..4).map(|_| pool.acquire().unwrap()));
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 4 });
    let stats = pool.stats();
    assert_eq!((stats.live, stats.misses, stats.hits, stats.peak_live), (4, 4, 0, 4));
    drop(leases);
}

/// Breaks when it is recycled; the constructor makes only as many as it is told.
#[derive(Debug)]
struct Brittle;

std::thread_local! {
    static BRITTLE_MAY_BE_MADE: Cell<usize> = const { Cell::new(0) };
}

impl Default for Brittle {
    fn default() -> Brittle {
        let left = BRITTLE_MAY_BE_MADE.get();
        assert!(left > 0, "not now");
        BRITTLE_MAY_BE_MADE.set(left - 1);
        Brittle
    }
}

impl Recycle for Brittle {
    fn recycle(&mut self) {
        panic!("recycle");
    }
}

#[test]
fn overwriting_that_ends_in_a_panic_of_the_constructor_is_counted_as_taken_back() {
    let pool = Pool::<Brittle>::new(Limits::overwrite_oldest(1)).unwrap();
    BRITTLE_MAY_BE_MADE.set(1);
    let oldest = pool.acquire().unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| pool.acquire())).is_err());
    assert!(oldest.is_revoked());
    BRITTLE_MAY_BE_MADE.set(2);
    let lease = pool.acquire().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.misses, stats.hits, stats.overwritten), (2, 2, 0, 0));
    assert!(pool.release(lease));
    let _lease = pool.acquire().unwrap();
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.misses, stats.hits, stats.overwritten), (3, 3, 0, 0));
    assert_eq!((stats.released, stats.live, stats.free), (1, 1, 0));
}

#[test]
fn lease_outlives_its_pool() {
    let (census, pool) = pool(3);
    let mut kept = pool.acquire().unwrap();
    let revoked = pool.acquire().unwrap();
    let mut used = kept.get_mut().unwrap();
    used.dirt = 7;
    assert_eq!(pool.reset(), 1);
    drop(used);
    drop(pool.acquire().unwrap());
    drop(pool);
    assert_eq!(census.alive(), 1, "what no lease keeps is gone when the drop returns");
    assert_eq!(kept.with(|object| object.dirt), Some(7));
    assert!(revoked.is_revoked());
    thread::spawn(move || drop(kept)).join().unwrap();
    assert_eq!(census.alive(), 0);
    drop(revoked);
}

#[test]
fn clone_of_a_pool_keeps_it_open() {
    let (census, pool) = pool(1);
    let clone = pool.clone();
    drop(pool.acquire().unwrap());
    drop(pool);
    assert_eq!((census.alive(), clone.idle()), (1, 1));
    assert_eq!(clone.stats().hits, 0);
    drop(clone.acquire().unwrap());
    drop(clone);
    assert_eq!(census.alive(), 0);
}

#[test]
fn forgotten_lease_keeps_what_it_has_beyond_the_pool() {
    let census = Census::new();
    enrol(&census);
    let pool = Pool::<Object>::new(Limits::reject(2)).unwrap();
    let (kept, other) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    forget(kept);
    drop(other);
    drop(pool);
    assert_eq!(census.alive(), 1, "a forgotten lease leaks, like a forgotten Arc");
    forget(census);
}

#[test]
fn object_travels_between_threads() {
    let (_census, pool) = pool(1);
    let mut lease = pool.acquire().unwrap();
    dirty(&mut lease, 7);
    let mut lease = thread::spawn(move || {
        assert_eq!(lease.with(|object| take(&mut object.dirt)), Some(7));
        dirty(&mut lease, 8);
        lease
    })
    .join()
    .unwrap();
    assert_eq!(lease.with(|object| object.dirt), Some(8));
    thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(pool.idle(), 1);
    let mut again = pool.acquire().expect("what another thread gave back");
    assert_eq!(again.with(|object| object.dirt), Some(0));
    assert_eq!(pool.stats().hits, 1);
}

/// What an object gives back while it is recycled itself comes home when that is done, whatever the
/// length of the chain.
#[test]
fn chain_of_leases_ends_without_recursion() {
    const LENGTH: usize = 100_000;
    let (census, pool) = pool(LENGTH);
    let mut chain = pool.acquire().unwrap();
    for _ in 1..LENGTH {
        let mut next = pool.acquire().unwrap();
        trick(&mut next, Trick::GiveBack(vec![chain]));
        chain = next;
    }
    assert!(pool.release(chain));
    assert_eq!((pool.idle(), census.made()), (LENGTH, LENGTH));
    assert_eq!(pool.stats().live, 0);
}

#[test]
fn chain_of_leases_in_objects_that_are_dropped_ends_as_well() {
    let (census, pool) = pool(1000);
    let mut chain = pool.acquire().unwrap();
    for _ in 1..1000 {
        let mut next = pool.acquire().unwrap();
        trick(&mut next, Trick::GiveBack(vec![chain]));
        chain = next;
    }
    drop(pool);
    assert_eq!(census.alive(), 1000);
    drop(chain);
    assert_eq!(census.alive(), 0);
}

/// A recycle that uses its own pool.
#[derive(Debug, Default)]
struct Caller(Option<Pool<Caller>>);

impl Recycle for Caller {
    fn recycle(&mut self) {
        let Some(pool) = self.0.take() else { return };
        let lease = pool.acquire().expect("room for one more");
        assert!(pool.release(lease));
        assert_eq!(pool.stats().live, 0);
        pool.reset();
        let _ = (pool.idle(), pool.capacity());
    }
}

#[test]
fn recycle_may_use_the_pool() {
    let pool = Pool::<Caller>::new(Limits::reject(3)).unwrap();
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    assert!(pool.release(lease));
    assert_eq!((pool.idle(), pool.stats().drop_panics), (2, 0));
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    assert_eq!(pool.reset(), 1);
    assert_eq!(pool.stats().drop_panics, 0);
}

/// The last pool dropped by the recycle of its own last object.
#[test]
fn pool_that_its_own_object_keeps_ends_with_it() {
    let pool = Pool::<Caller>::new(Limits::reject(2)).unwrap();
    let mut lease = pool.acquire().unwrap();
    lease.with(|caller| caller.0 = Some(pool.clone()));
    drop(pool);
    drop(lease);
}

#[test]
fn numbers_of_leases_rise_on_a_thread_and_are_unique_among_threads() {
    let pool = Pool::<u64>::new(Limits::reject(64)).unwrap();
    let take = || {
        let numbers = Vec::from_iter((0..1000).map(|_| pool.acquire().unwrap().seq()));
        assert!(numbers.is_sorted());
        numbers
    };
    let mut all = thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(take));
        Vec::from_iter(threads.into_iter().flat_map(|thread| thread.join().unwrap()))
    });
    all.sort_unstable();
    all.dedup();
    assert_eq!((all.len(), all[0]), (4000, 1));
}

#[test]
fn peak_is_exact_while_one_thread_works() {
    let pool = Pool::<u64>::new(Limits::reject(100)).unwrap();
    let mut leases = Vec::new();
    let mut peak = 0;
    let mut random = 1u32;
    for step in 0..20_000 {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        if random >> 31 == 0 && leases.len() < 50 + step / 400 {
            leases.push(pool.acquire().unwrap());
            peak = peak.max(leases.len());
        } else if !leases.is_empty() {
            drop(leases.swap_remove(random as usize % leases.len()));
        }
        if step % 997 == 0 {
            assert_eq!(pool.stats().peak_live, peak, "step {step}");
        }
        if step % 3989 == 0 {
            pool.reset_stats();
            peak = leases.len();
        }
    }
}

/// Threads that acquire, use and give back: never more leases than the capacity, every attempt is
/// one or the other, and nothing is lost.
fn churn(threads: usize, capacity: usize, rounds: usize, hold: usize) {
    let pool = Pool::<u64>::new(Limits::reject(capacity)).unwrap();
    let (out, served, refused) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let barrier = Barrier::new(threads);
    thread::scope(|scope| {
        for id in 0..threads {
            let (pool, out, served, refused) = (pool.clone(), &out, &served, &refused);
            let barrier = &barrier;
            scope.spawn(move || {
                let mut held: Vec<Lease<u64>> = Vec::new();
                barrier.wait();
                for round in 0..rounds {
                    match pool.acquire() {
                        Ok(mut lease) => {
                            let now = out.fetch_add(1, Ordering::SeqCst) + 1;
                            assert!(now <= capacity, "{now} leases of {capacity}");
                            served.fetch_add(1, Ordering::Relaxed);
                            let mine = (id * rounds + round) as u64 + 1;
                            assert_eq!(lease.with(|n| std::mem::replace(n, mine)), Some(0));
                            assert_eq!(lease.with(|n| *n), Some(mine));
                            held.push(lease);
                        }
                        Err(failure) => {
                            assert_eq!(failure, SpawnFailure::Exhausted { capacity });
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    if held.len() > hold {
                        out.fetch_sub(1, Ordering::SeqCst);
                        assert!(pool.release(held.swap_remove(round % held.len())));
                    }
                }
                for lease in held {
                    out.fetch_sub(1, Ordering::SeqCst);
                    assert!(pool.release(lease));
                }
            });
        }
    });
    let (served, refused) = (served.into_inner() as u64, refused.into_inner() as u64);
    assert_eq!(served + refused, (threads * rounds) as u64);
    let stats = pool.stats();
    assert_eq!((stats.spawned, stats.rejected, stats.released), (served, refused, served));
    assert_eq!((stats.live, stats.hits + stats.misses), (0, served));
    assert!(stats.peak_live <= capacity && stats.created <= capacity as u64);
    let all = Vec::from_iter((0..capacity).map(|_| pool.acquire().expect("no unit is lost")));
    assert!(pool.acquire().is_err());
    drop(all);
}

#[test]
fn threads_at_a_small_capacity_never_have_more_than_it() {
    churn(16, 8, 2_000, 1);
}

#[test]
fn threads_at_a_large_capacity_never_have_more_than_it() {
    churn(16, 100_000, 2_000, 1_000);
}

/// Users against resets: a lease answers or is revoked, and no object has two users.
#[test]
fn threads_against_resets_keep_objects_apart() {
    let (census, pool) = pool(4);
    thread::scope(|scope| {
        for id in 0..4u64 {
            let (pool, census) = (pool.clone(), &census);
            scope.spawn(move || {
                enrol(census);
                for round in 0..2_000 {
                    let Ok(mut lease) = pool.acquire() else { continue };
                    let mine = id << 32 | round;
                    let Some(mut object) = lease.get_mut() else { continue };
                    assert_eq!(object.dirt, 0, "as new");
                    object.dirt = mine;
                    thread::yield_now();
                    assert_eq!(object.dirt, mine, "in use by somebody else");
                }
            });
        }
        for _ in 0..500 {
            pool.reset();
            thread::yield_now();
        }
    });
    let stats = pool.stats();
    assert_eq!((stats.live, stats.idle, stats.drop_panics), (0, stats.slots, 0));
    let all = Vec::from_iter((0..4).map(|_| pool.acquire().expect("no unit is lost")));
    drop((all, pool));
    assert_eq!(census.alive(), 0);
}

/// Leases that come home while and after the last pool is dropped.
#[test]
fn threads_that_outlive_the_pool_drop_every_object_once() {
    for _ in 0..50 {
        let (census, pool) = pool(16);
        let leases = Vec::from_iter((0..16).map(|_| pool.acquire().unwrap()));
        let barrier = Barrier::new(5);
        thread::scope(|scope| {
            let mut leases = leases.into_iter();
            for _ in 0..4 {
                let (mine, barrier) = (Vec::from_iter(leases.by_ref().take(4)), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    drop(mine);
                });
            }
            barrier.wait();
            drop(pool);
        });
        assert_eq!(census.alive(), 0);
    }
}

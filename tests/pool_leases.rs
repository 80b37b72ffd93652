//! Leases of a pool: who has the object, when it is taken away, and what becomes of it when users
//! forget it, or outlive the pool.

#[path = "pool/object.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod object;
mod support;

use std::mem::{forget, take};
use std::thread;

use hatchery::pool::Pool;
use hatchery::{ConfigError, Exhaustion, Limits, SpawnFailure};
use object::{Object, dirty, enrol, rejecting};
use support::Census;

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
    let (_census, pool) = rejecting(2);
    let mut lease = pool.acquire().unwrap();
    dirty(&mut lease, 7);
    assert_eq!(pool.reset(), 1);
    assert!(lease.is_revoked() && lease.get_mut().is_none());
    assert_eq!(lease.with(|_| ()), None);
    let mut next = pool.acquire().unwrap();
    assert_eq!(next.with(|object| object.dirt.len()), Some(0), "recycled by the reset");
    assert!(lease.is_revoked(), "the same slot under a later lease");
    assert!(!pool.release(lease));
    dirty(&mut next, 8);
    let stats = pool.stats();
    assert_eq!((stats.live, stats.created, stats.hits, stats.released), (1, 1, 1, 0));
    assert!(pool.release(next));
}

#[test]
fn lease_in_use_is_passed_over_by_reset() {
    let (_census, pool) = rejecting(2);
    let (mut used, unused) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    let mut object = used.get_mut().unwrap();
    object.dirt.push(7);
    assert_eq!(pool.reset(), 1, "the one that is not in use");
    assert_eq!(object.dirt, [7]);
    drop(object);
    assert_eq!(used.with(|object| object.dirt.clone()), Some(vec![7]));
    assert!(unused.is_revoked() && !used.is_revoked());
    assert_eq!(pool.stats().live, 1);
    assert!(pool.release(used));
    let stats = pool.stats();
    assert_eq!((stats.released, stats.acquired, stats.live, stats.idle), (1, 0, 0, 2));
}

#[test]
fn mark_of_a_forgotten_use_ends_with_the_lease() {
    let (_census, pool) = rejecting(1);
    let mut lease = pool.acquire().unwrap();
    forget(lease.get_mut().unwrap());
    assert_eq!(pool.reset(), 0, "it counts as in use");
    dirty(&mut lease, 7);
    forget(lease.get_mut().unwrap());
    assert!(!lease.is_revoked());
    assert!(pool.release(lease));
    let mut next = pool.acquire().unwrap();
    assert_eq!(next.with(|object| object.dirt.len()), Some(0));
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
    let (_census, pool) = rejecting(1);
    let other = Pool::<Object>::new(Limits::reject(1)).unwrap();
    assert!(!pool.release(other.acquire().unwrap()));
    assert_eq!((pool.stats().released, other.stats().released), (0, 1));
    assert!(other.acquire().is_ok() && pool.acquire().is_ok());
}

#[test]
fn lease_outlives_its_pool() {
    let (census, pool) = rejecting(3);
    let mut kept = pool.acquire().unwrap();
    let revoked = pool.acquire().unwrap();
    let mut used = kept.get_mut().unwrap();
    used.dirt.push(7);
    assert_eq!(pool.reset(), 1);
    drop(used);
    drop(pool.acquire().unwrap());
    drop(pool);
    assert_eq!(census.alive(), 1, "what no lease keeps is gone when the drop returns");
    assert_eq!(kept.with(|object| object.dirt.clone()), Some(vec![7]));
    assert!(revoked.is_revoked());
    thread::spawn(move || drop(kept)).join().unwrap();
    assert_eq!(census.alive(), 0);
    drop(revoked);
}

#[test]
fn clone_of_a_pool_keeps_it_open() {
    let (census, pool) = rejecting(1);
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
    let (_census, pool) = rejecting(1);
    let mut lease = pool.acquire().unwrap();
    dirty(&mut lease, 7);
    let mut lease = thread::spawn(move || {
        assert_eq!(lease.with(|object| take(&mut object.dirt)), Some(vec![7]));
        dirty(&mut lease, 8);
        lease
    })
    .join()
    .unwrap();
    assert_eq!(lease.with(|object| object.dirt.clone()), Some(vec![8]));
    thread::spawn(move || drop(lease)).join().unwrap();
    assert_eq!(pool.idle(), 1);
    let mut again = pool.acquire().expect("what another thread gave back");
    assert_eq!(again.with(|object| object.dirt.len()), Some(0));
    assert_eq!(pool.stats().hits, 1);
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

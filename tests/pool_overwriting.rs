//! A pool that overwrites the oldest lease.

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, SpawnFailure};

#[test]
fn acquisition_from_a_full_pool_takes_the_oldest_lease_s_object() {
    let pool = Pool::<Vec<u8>>::new(Limits::overwrite_oldest(3)).unwrap();
    let mut leases: Vec<Lease<_>> = (0..3).map(|_| pool.acquire().unwrap()).collect();
    for (at, lease) in leases.iter_mut().enumerate() {
        lease.with(|object| object.extend(vec![7; 1000 + at])).unwrap();
    }
    let mut fourth = pool.acquire().unwrap();
    assert_eq!(fourth.seq(), 4);
    assert_eq!(fourth.with(|object| (object.len(), object.capacity() >= 1000)), Some((0, true)));
    assert!(leases[0].is_revoked() && leases[0].get_mut().is_none());
    assert_eq!(leases[1].with(|object| object.len()), Some(1001));
    let stats = pool.stats();
    assert_eq!((stats.overwritten, stats.live, stats.created, stats.hits), (1, 3, 3, 0));
    assert!(!pool.release(leases.remove(0)));
    assert!(pool.release(leases.remove(0)));
    assert_eq!(pool.stats().released, 1);
}

#[test]
fn lease_in_use_is_passed_over_and_come_back_to() {
    let pool = Pool::<u64>::new(Limits::overwrite_oldest(2)).unwrap();
    let (mut oldest, mut second) = (pool.acquire().unwrap(), pool.acquire().unwrap());
    let held = oldest.get_mut().unwrap();
    let mut third = pool.acquire().unwrap();
    assert!(second.is_revoked());
    let used = third.get_mut().unwrap();
    assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 2 });
    drop(held);
    let fourth = pool.acquire().unwrap();
    assert!(oldest.get_mut().is_none(), "it was let go, and is the oldest still");
    drop(used);
    assert_eq!((third.is_revoked(), fourth.is_revoked()), (false, false));
    assert!(second.get_mut().is_none());
}

//! What a pool costs: nothing in a steady state, and little when it is empty.

mod support;

use hatchery::Limits;
use hatchery::pool::Pool;
use support::counting::{Counting, local_bytes, take_local_blocks, take_turn};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn warm_pool_allocates_nothing() {
    let _turn = take_turn();
    let pool = Pool::<Vec<u8>>::new(Limits::grow_to_cap(8, 16)).unwrap();
    let mut leases = Vec::with_capacity(16);
    let mut round = || {
        leases.extend((0..16).map(|_| pool.acquire().unwrap()));
        assert!(pool.acquire().is_err());
        for lease in &mut leases {
            assert_eq!(lease.with(|bytes| bytes.extend([7; 100])), Some(()));
        }
        leases.clear();
        assert_eq!((pool.reset(), pool.idle()), (0, 16));
    };
    round();
    take_local_blocks();
    (0..100).for_each(|_| round());
    assert_eq!(take_local_blocks(), (0, 0), "blocks, and the size of the largest");
}

#[test]
fn pool_without_objects_is_small_whatever_its_limits() {
    let _turn = take_turn();
    for limits in [Limits::reject(1), Limits::reject(1 << 20), Limits::UNBOUNDED] {
        let before = local_bytes();
        let pool = Pool::<[u64; 8]>::new(limits).unwrap();
        let taken = local_bytes() - before;
        assert_eq!(taken, pool.stats().bytes as isize);
        assert!(taken < 16 << 10, "{taken} bytes");
        drop(pool);
        assert_eq!(local_bytes(), before);
    }
}

/// A word of 8 bytes and a place of 8 beside each object; no links behind the slots.
#[test]
fn slot_costs_sixteen_bytes_beside_its_object() {
    let _turn = take_turn();
    let pool = Pool::<[u64; 8]>::new(Limits::reject(64)).unwrap();
    let before = pool.stats().bytes;
    let leases = Vec::from_iter((0..64).map(|_| pool.acquire().unwrap()));
    assert_eq!(pool.stats().bytes - before, 64 * (64 + 16));
    drop(leases);
}

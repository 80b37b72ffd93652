//! What a pool costs: nothing in a steady state, and little when it is empty.

mod support;

use hatchery::pool::Pool;
use hatchery::{Limits, Recycle};
use support::counting::{Counting, live_bytes, local_bytes, take_local_blocks, take_turn};

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

/// A word of 8 bytes and a place of 8 beside each object, in whole lines: two threads that use two
/// objects write no line in common. No links behind the slots.
#[test]
fn slot_takes_whole_lines_for_its_object_and_sixteen_bytes() {
    fn slot<T: Recycle + Send + 'static>() -> usize {
        let pool = Pool::<T>::new(Limits::reject(64)).unwrap();
        let before = pool.stats().bytes;
        let leases = Vec::from_iter((0..64).map(|_| pool.acquire().unwrap()));
        let after = pool.stats().bytes;
        drop(leases);
        (after - before) / 64
    }

    let _turn = take_turn();
    assert_eq!((slot::<u8>(), slot::<[u64; 6]>(), slot::<[u64; 8]>()), (64, 64, 128));
}

/// What a few lists of the oldest may take, of 16 bytes an entry at twice their length and 8
/// beside.
fn lists(capacity: usize) -> isize {
    (6 * (capacity / 4).max(64) * 40) as isize
}

#[test]
fn two_hundred_thousand_overwritings_leave_memory_flat() {
    let _turn = take_turn();
    for (capacity, in_use) in [(1000, false), (1000, true), (8, false)] {
        let pool = Pool::<Vec<u8>>::new(Limits::overwrite_oldest(capacity)).unwrap();
        let mut oldest = pool.acquire().unwrap();
        let mut held = in_use.then(|| oldest.get_mut().unwrap());
        let acquire = |times| {
            for _ in 0..times {
                let mut lease = pool.acquire().unwrap();
                lease.with(|bytes| bytes.extend([7; 100])).unwrap();
                // What is revoked and forgotten keeps the pool, and nothing for itself.
                std::mem::forget(lease);
            }
        };
        acquire(10_000);
        let before = live_bytes();
        acquire(190_000);
        let grown = live_bytes() - before;
        assert!(grown < lists(capacity), "{grown} bytes, in use: {in_use}");
        if let Some(held) = &mut held {
            assert!(held.is_empty(), "nobody else has it");
        }
        drop(held);
        let stats = pool.stats();
        assert_eq!((stats.live, stats.created, stats.slots), (capacity, capacity as u64, capacity));
        assert_eq!(stats.overwritten, 200_001 - capacity as u64);
        assert_eq!(oldest.is_revoked(), !in_use);
    }
}

#[test]
fn overwritings_under_threads_leave_memory_flat() {
    let _turn = take_turn();
    let pool = Pool::<u64>::new(Limits::overwrite_oldest(1000)).unwrap();
    let mut oldest = pool.acquire().unwrap();
    let _held = oldest.get_mut().unwrap();
    let forget_one = |_| std::mem::forget(pool.acquire().unwrap());
    let acquire = |times: usize| {
        std::thread::scope(|scope| {
            (0..4).for_each(|_| drop(scope.spawn(move || (0..times).for_each(forget_one))));
        });
    };
    acquire(5_000);
    let before = live_bytes();
    acquire(45_000);
    // The lists that are held back for a moment, and what a thread that is not quite gone has.
    let grown = live_bytes() - before;
    assert!(grown < 1 << 20, "{grown} bytes");
}

/// A refusal looks at everybody, with a list of everybody that nobody keeps twice.
#[test]
fn refusals_among_uses_leave_memory_flat() {
    let _turn = take_turn();
    let pool = Pool::<u64>::new(Limits::overwrite_oldest(1000)).unwrap();
    let mut leases = Vec::from_iter((0..1000).map(|_| pool.acquire().unwrap()));
    let _uses = Vec::from_iter(leases.iter_mut().map(|lease| lease.get_mut().unwrap()));
    let refuse = |times| (0..times).for_each(|_| assert!(pool.acquire().is_err()));
    refuse(50);
    let before = live_bytes();
    refuse(400);
    let grown = live_bytes() - before;
    assert!(grown < lists(4000), "{grown} bytes");
}

/// A pool that is gone leaves a participant with each thread, until that next registers somewhere.
#[test]
fn threads_that_used_pools_that_are_gone_keep_nothing_of_them() {
    let _turn = take_turn();
    let round = || {
        let pool = Pool::<u64>::new(Limits::overwrite_oldest(200)).unwrap();
        let leases = Vec::from_iter((0..600).map(|_| pool.acquire().unwrap()));
        drop(pool);
        assert_eq!(leases.iter().filter(|lease| !lease.is_revoked()).count(), 200);
    };
    round();
    let before = local_bytes();
    for number in 0..200 {
        round();
        let kept = local_bytes() - before;
        assert!(kept <= 0, "{kept} bytes after {number}");
    }
    // Elsewhere: on a thread that waits, and then registers with another pool.
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    let (told, tell) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        round();
        let mut kept = Vec::with_capacity(8);
        while asked.recv().is_ok() {
            round();
            kept.push(local_bytes());
        }
        told.send(kept).unwrap();
    });
    (0..5).for_each(|_| ask.send(()).unwrap());
    drop(ask);
    let kept = tell.recv().unwrap();
    worker.join().unwrap();
    assert!(kept.iter().all(|bytes| *bytes == kept[0]), "{kept:?}");
}

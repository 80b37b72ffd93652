//! A pool that overwrites the oldest lease: memory that is refused, generations that run out, and
//! threads that stop half-way while others acquire.

use std::time::{Duration, Instant};

use super::pool::{enrol, pool};
use super::stopped::stopped;
use super::{Census, Counted};
use crate::memory::refusals;
use crate::pool::{Lease, LeaseMut, Pool};
use crate::{Limits, SpawnFailure};

const CAPACITY: usize = 8;

fn fill(pool: &Pool<Counted>) -> Vec<Lease<Counted>> {
    (0..pool.capacity()).map(|_| pool.acquire().expect("room")).collect()
}

fn good(leases: &[Lease<Counted>]) -> usize {
    leases.iter().filter(|lease| !lease.is_revoked()).count()
}

/// A quiet pool has lost nothing: every unit can be had, and the accounts agree.
#[track_caller]
fn assert_whole(pool: &Pool<Counted>, census: &Census) {
    pool.reset();
    let leases = fill(pool);
    assert_eq!(good(&leases), pool.capacity(), "no unit is lost");
    let next = pool.acquire().expect("the oldest");
    assert!(leases[0].is_revoked() && census.there() <= pool.capacity() as i64);
    let stats = pool.stats();
    assert_eq!(stats.spawned, stats.hits + stats.misses + stats.overwritten, "{stats:?}");
    assert_eq!((stats.overwritten, stats.rejected, stats.drop_panics), (1, 0, 0), "{stats:?}");
    drop((next, leases));
    assert_eq!((pool.stats().live, pool.idle()), (0, pool.capacity()));
}

/// Every allocation of the first overwriting, one after the other.
#[test]
fn overwriting_that_is_refused_memory_revokes_nobody() {
    for granted in 0.. {
        let (census, pool) = pool(Limits::overwrite_oldest(CAPACITY), u32::MAX);
        let leases = fill(&pool);
        refusals::refuse_after(granted);
        let outcome = pool.acquire();
        let refused = refusals::stop();
        if let Err(failure) = &outcome {
            assert!(matches!(failure, SpawnFailure::OutOfMemory { bytes } if *bytes > 0));
            assert!(refused && good(&leases) == CAPACITY, "nobody was revoked");
            let stats = pool.stats();
            assert_eq!((stats.overwritten, stats.live, stats.rejected), (0, CAPACITY, 1));
        }
        let next = outcome.or_else(|_| pool.acquire()).expect("memory is there again");
        assert!(leases[0].is_revoked() && good(&leases) == CAPACITY - 1);
        assert_eq!(pool.stats().overwritten, 1);
        drop((next, leases));
        assert_whole(&pool, &census);
        drop(pool);
        assert_eq!(census.there(), 0);
        if !refused {
            assert!(granted >= 1, "a list at least");
            return;
        }
    }
}

/// Lists of all lengths, up to everybody: the one that finds nobody is refused as well.
#[test]
fn search_among_uses_that_is_refused_memory_changes_nothing() {
    let (census, pool) = pool(Limits::overwrite_oldest(300), u32::MAX);
    let mut leases = fill(&pool);
    let uses: Vec<LeaseMut<'_, Counted>> =
        leases.iter_mut().map(|lease| lease.get_mut().unwrap()).collect();
    let mut granted = 0;
    loop {
        refusals::refuse_after(granted);
        let failure = pool.acquire().unwrap_err();
        match (refusals::stop(), failure) {
            (true, SpawnFailure::OutOfMemory { .. }) => granted += 1,
            (false, SpawnFailure::Exhausted { capacity: 300 }) => break,
            (refused, other) => panic!("refused: {refused}, {other}"),
        }
        let stats = pool.stats();
        assert_eq!((stats.live, stats.overwritten, stats.idle), (300, 0, 0));
    }
    assert!(granted >= 3, "a list of 75, of 150, of 300: {granted}");
    drop(uses);
    assert_eq!(good(&leases), 300);
    drop(pool.acquire().expect("the oldest"));
    drop(leases);
    assert_whole(&pool, &census);
    drop(pool);
    assert_eq!(census.there(), 0);
}

#[test]
fn lease_of_a_spent_slot_is_overwritten_and_its_object_moves_on() {
    for last in 1..=7 {
        let (census, pool) = pool(Limits::overwrite_oldest(3), last);
        let mut leases: Vec<Lease<Counted>> = Vec::new();
        for round in 1..=100u64 {
            leases.push(pool.acquire().expect("the oldest at least"));
            let live = round.min(3) as usize;
            let (old, young) = leases.split_at(leases.len() - live);
            assert_eq!((good(old), good(young)), (0, live), "round {round} of {last} a slot");
            let stats = pool.stats();
            assert_eq!(
                (stats.live, census.there(), stats.created),
                (live, live as i64, live as u64)
            );
            assert_eq!(stats.slots as u64 - stats.retired_slots, live as u64);
            assert_eq!(stats.overwritten, round.saturating_sub(3));
            assert_eq!(leases.last().map(Lease::seq), Some(round));
        }
        assert!(pool.stats().retired_slots >= 99 / u64::from(last) - 3);
        let (used, unused) = leases.split_at_mut(99);
        assert!(used[98].get_mut().is_some() && used[96].get_mut().is_none());
        assert!(unused[0].get_mut().is_some());
        drop(pool);
        drop(leases);
        assert_eq!(census.there(), 0);
    }
}

/// The slot that a lease had was its last, and the next one is refused memory: the lease is gone,
/// but no unit and no object is.
#[test]
fn overwriting_of_a_spent_slot_that_is_refused_memory_loses_no_unit() {
    for granted in 0.. {
        let (census, pool) = pool(Limits::overwrite_oldest(64), 1);
        let leases = fill(&pool);
        refusals::refuse_after(granted);
        let outcome = pool.acquire();
        let refused = refusals::stop();
        let revoked = 64 - good(&leases);
        assert!(revoked <= 1 && (refused || revoked == 1));
        if let Err(failure) = &outcome {
            assert!(refused && matches!(failure, SpawnFailure::OutOfMemory { .. }));
            let stats = pool.stats();
            assert_eq!((stats.live, stats.idle, stats.overwritten), (64 - revoked, revoked, 0));
            assert_eq!((stats.spawned, stats.misses, stats.hits), (64, 64, 0));
            assert_eq!((stats.released, census.there()), (0, 64));
        }
        let next = outcome.or_else(|_| pool.acquire()).expect("memory is there again");
        assert_eq!((good(&leases), pool.stats().live, census.there()), (63, 64, 64));
        drop((next, leases, pool));
        assert_eq!(census.there(), 0);
        if !refused {
            assert!(granted >= 2, "a list, and a segment");
            return;
        }
    }
}

/// Until there is no index left or all have done: never more objects than units.
#[test]
fn threads_that_overwrite_spent_slots_never_have_more_than_the_capacity() {
    let (census, pool) = pool(Limits::overwrite_oldest(3), 2);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (pool, census) = (pool.clone(), census.clone());
            scope.spawn(move || {
                enrol(&census);
                for round in 0..1_000 {
                    let Ok(mut lease) = pool.acquire() else { continue };
                    assert!(census.there() <= 3);
                    let _ = lease.get_mut();
                    if round % 4 > 0 {
                        std::mem::forget(lease);
                    }
                }
            });
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.slots as u64 - stats.retired_slots, stats.created);
    assert_eq!(stats.spawned, stats.hits + stats.misses + stats.overwritten, "{stats:?}");
    assert_eq!(stats.spawned, stats.released + stats.overwritten + stats.live as u64, "{stats:?}");
    pool.reset();
    drop(pool);
    assert_eq!(census.there(), 0);
}

/// What the others do while a thread stands still: they find somebody to overwrite, always.
fn others_acquire(pool: &Pool<Counted>, census: &Census) {
    let began = Instant::now();
    let life = || {
        enrol(census);
        let mut kept = Vec::new();
        for round in 0..60 {
            let mut lease = pool.acquire().expect("somebody can be overwritten");
            if let Some(object) = lease.get_mut() {
                assert!(pool.acquire().is_ok() && census.there() <= CAPACITY as i64);
                drop(object);
            }
            match round % 3 {
                0 => drop(lease),
                _ => kept.push(lease),
            }
        }
        assert!(pool.stats().live <= CAPACITY && good(&kept) < CAPACITY);
    };
    std::thread::scope(|scope| [scope.spawn(life), scope.spawn(life)].map(|t| t.join().unwrap()));
    assert!(began.elapsed() < Duration::from_secs(20), "they waited for the stopped thread");
}

#[test]
fn stopped_in_an_overwriting_others_overwrite() {
    for (point, last) in [
        ("revoked, not kept for", u32::MAX),
        ("overwritten, not recycled", u32::MAX),
        ("numbered, not shown", u32::MAX),
        ("segment made, unit not taken", 1),
    ] {
        let (census, pool) = pool(Limits::overwrite_oldest(CAPACITY), last);
        let leases = fill(&pool);
        let body = || {
            enrol(&census);
            pool.acquire()
        };
        let mut lease = stopped(point, body, || others_acquire(&pool, &census)).expect(point);
        assert_eq!(good(&leases), 0, "{point}: the others have overwritten them");
        assert!(lease.get_mut().is_some(), "{point}");
        drop((lease, leases));
        assert_whole(&pool, &census);
        drop(pool);
        assert_eq!(census.there(), 0, "{point}");
    }
}

/// With one unit, which is in the hands of the thread that is stopped.
#[test]
fn stopped_with_the_only_unit_others_are_refused_and_its_victim_ends() {
    for point in ["revoked, not kept for", "overwritten, not recycled", "numbered, not shown"] {
        let (census, pool) = pool(Limits::overwrite_oldest(1), u32::MAX);
        let mut old = pool.acquire().unwrap();
        let other = pool.clone();
        let meanwhile = || {
            assert!(old.get_mut().is_none() && old.is_revoked());
            assert_eq!(pool.acquire().unwrap_err(), SpawnFailure::Exhausted { capacity: 1 });
            assert_eq!((pool.reset(), pool.stats().live), (0, 0));
            assert!(!pool.release(old));
            drop(pool);
        };
        let new = stopped(point, move || other.acquire(), meanwhile).expect("its own");
        assert!(!new.is_revoked());
        assert_eq!(census.there(), 1, "{point}: kept by the lease, after the pool");
        drop(new);
        assert_eq!(census.there(), 0, "{point}");
    }
}

/// The lease that was numbered first is the oldest when it is shown, and the next to go.
#[test]
fn stopped_before_it_is_shown_a_lease_is_as_old_as_its_number() {
    let (census, pool) = pool(Limits::overwrite_oldest(3), u32::MAX);
    let leases = fill(&pool);
    let mut young = Vec::new();
    let body = || {
        enrol(&census);
        pool.acquire().unwrap()
    };
    let lease = stopped("numbered, not shown", body, || {
        young.extend((0..2).map(|_| pool.acquire().expect("the next oldest")));
    });
    assert_eq!((good(&leases), good(&young)), (0, 2));
    assert!(lease.seq() < young[0].seq());
    let _next = pool.acquire().unwrap();
    assert!(lease.is_revoked() && good(&young) == 2);
}

//! A pool that overwrites the oldest lease: whose object is taken, what its holder finds out, and
//! what is counted, when users forget, or outlive the pool.

#[path = "pool/object.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod object;
mod support;

use std::mem::{forget, take};
use std::thread;

use hatchery::SpawnFailure;
use hatchery::pool::{Lease, LeaseMut};
use object::{Object, assert_accounts, dirty, enrol, fill, overwriting, revoked};
use support::Dice;

/// As the seed asserts it.
#[test]
fn acquisition_from_a_full_pool_reuses_the_oldest_object_in_place() {
    let (census, pool) = overwriting(3);
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
        let (_census, pool) = overwriting(capacity);
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
    let (_census, pool) = overwriting(3);
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
        let (_census, pool) = overwriting(capacity);
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
    let (_census, pool) = overwriting(70);
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
    let (census, pool) = overwriting(1);
    let mut lease = pool.acquire().unwrap();
    dirty(&mut lease, 7);
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
    let (_census, pool) = overwriting(1);
    let mut lease = pool.acquire().unwrap();
    forget(lease.get_mut().unwrap());
    dirty(&mut lease, 7);
    let _next = pool.acquire().expect("not in use any more");
    assert!(lease.is_revoked());
}

#[test]
fn forgotten_lease_is_overwritten() {
    let (census, pool) = overwriting(2);
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
    let (_census, pool) = overwriting(1);
    let mut unused = Vec::from_iter((0..50).map(|_| pool.acquire().unwrap()));
    let mut last = unused.pop().unwrap();
    assert_eq!(revoked(&unused).len(), 49);
    dirty(&mut last, 7);
    assert!(unused.iter_mut().all(|lease| lease.with(|_| ()).is_none()));
}

#[test]
fn end_of_an_overwritten_lease_answers_false_and_disturbs_nobody() {
    let (census, pool) = overwriting(2);
    let mut leases = fill(&pool);
    let mut young = [(); 2].map(|()| pool.acquire().unwrap());
    young.iter_mut().for_each(|lease| dirty(lease, 8));
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
    let (census, pool) = overwriting(4);
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
    let (census, pool) = overwriting(1);
    let mut lease = pool.acquire().unwrap();
    lease.with(|object| object.dirt.extend(0..1000));
    let mut next = pool.acquire().unwrap();
    let seen = next.with(|object| (object.dirt.len(), object.dirt.capacity() >= 1000));
    assert_eq!((seen, census.made()), (Some((0, true)), 1));
    assert!(lease.get_mut().is_none());
}

#[test]
fn reset_beside_overwritings_leaves_the_accounts_whole() {
    let (_census, pool) = overwriting(4);
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
        let (census, pool) = overwriting(5);
        let mut dice = Dice::new(seed);
        let mut leases = fill(&pool);
        leases.extend((0..3).map(|_| pool.acquire().unwrap()));
        pool.reset();
        leases.extend((0..9).map(|_| pool.acquire().unwrap()));
        leases.iter_mut().rev().take(5).for_each(|lease| dirty(lease, lease.seq()));
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

/// What a thread has leased stays leased when it ends, and is as old as before.
#[test]
fn leases_of_a_thread_that_ended_are_overwritten_in_turn() {
    let (census, pool) = overwriting(3);
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

//! A pool that overwrites the oldest lease, against every other way to end one. Whoever uses or
//! ends a lease here pins nothing: a model build's pins order more than C11's.

use loom::thread;

use super::pool::{Watched, assert_all_dropped, pool_of};
use super::{model, model_bounded};
use crate::pool::{Lease, Pool};
use crate::{Limits, SpawnFailure};

fn pool(capacity: usize) -> Pool<Watched> {
    pool_of(Limits::overwrite_oldest(capacity), 1)
}

/// Uses a lease, which finds its object as new.
fn use_it(lease: &mut Lease<Watched>) -> bool {
    let used = lease.with(Watched::add);
    assert!(used.is_none() || used == Some(1), "not as new");
    used.is_some()
}

/// Acquires where the unit may be in another call's hands.
fn acquire(pool: &Pool<Watched>) -> Option<Lease<Watched>> {
    match pool.acquire() {
        Ok(lease) => Some(lease),
        Err(SpawnFailure::Exhausted { .. }) => None,
        Err(other) => panic!("refused for another reason: {other}"),
    }
}

/// The overwriter sees what the user wrote, or passes over.
#[test]
fn use_against_overwriting_is_seen_or_passed_over() {
    model("pool_use_against_overwriting", 10, || {
        let pool = pool(1);
        let mut old = pool.acquire().unwrap();
        let user = thread::spawn(move || (use_it(&mut old), old));
        let mut new = acquire(&pool);
        let (used, old) = user.join().unwrap();
        assert!(used || new.is_some());
        assert_eq!(old.is_revoked(), new.is_some());
        assert_eq!(pool.release(old), new.is_none());
        if let Some(new) = &mut new {
            assert!(use_it(new));
        }
        drop((new, pool));
        assert_all_dropped();
    });
}

/// What is taken was constructed by another thread, and never used.
#[test]
fn overwriting_against_an_acquisition_has_the_whole_object() {
    model("pool_overwriting_against_acquire", 10, || {
        let pool = pool(1);
        let other = pool.clone();
        let there = thread::spawn(move || acquire(&other));
        let mut here = acquire(&pool);
        let mut there = there.join().unwrap();
        assert!(here.is_some() || there.is_some(), "one of them is first");
        let good = [&mut here, &mut there].map(|it| it.as_mut().is_some_and(use_it));
        assert!(good[0] ^ good[1], "one unit: {good:?}");
        drop((here, there, pool));
        assert_all_dropped();
    });
}

/// One of them has the object: it is never at rest and leased at once.
#[test]
fn release_against_overwriting_has_one_winner() {
    model("pool_release_against_overwriting", 10, || {
        let pool = pool(1);
        let old = pool.acquire().unwrap();
        let other = pool.clone();
        let released = thread::spawn(move || other.release(old));
        let mut new = acquire(&pool);
        let released = released.join().unwrap();
        assert!(released || new.is_some());
        if let Some(new) = &mut new {
            let mut used = new.get_mut().unwrap();
            assert!(pool.acquire().is_err(), "it was there twice");
            assert_eq!(used.add(), 1);
        }
        let stats = pool.stats();
        assert_eq!(stats.released, u64::from(released));
        assert_eq!(stats.overwritten, u64::from(!released));
        drop(new);
        assert_eq!(pool.idle(), 1);
        drop(pool);
        assert_all_dropped();
    });
}

/// Two take the oldest: two leases, the two oldest. With one preemption: two take 15 s.
#[test]
fn two_overwritings_take_two() {
    model_bounded("pool_two_overwritings", 1, 100, || {
        let pool = pool(2);
        let old = [(); 2].map(|()| pool.acquire().unwrap());
        let other = pool.clone();
        let there = thread::spawn(move || other.acquire().expect("one for each"));
        let here = pool.acquire().expect("one for each");
        let new = [here, there.join().unwrap()];
        assert!(old.iter().all(Lease::is_revoked), "one victim, two overwritings");
        assert!(!new.iter().any(Lease::is_revoked), "the young before the old");
        drop((old, pool));
        new.into_iter().for_each(|mut lease| assert!(use_it(&mut lease)));
        assert_all_dropped();
    });
}

/// A slot is given to another lease while a search looks at it: the lease is as young as that.
#[test]
fn lease_given_out_during_a_search_is_younger_than_the_others() {
    model("pool_acquire_against_search", 100, || {
        let pool = pool(2);
        let first = pool.acquire().unwrap();
        let elder = pool.acquire().unwrap();
        drop(first);
        let other = pool.clone();
        let there = thread::spawn(move || other.acquire().expect("one at rest, or the elder"));
        let here = pool.acquire().expect("one at rest, or the elder");
        let there = there.join().unwrap();
        assert!(elder.is_revoked(), "there throughout");
        assert!(!here.is_revoked() && !there.is_revoked(), "younger than the elder");
        drop((here, there, pool, elder));
        assert_all_dropped();
    });
}

/// Both want the same lease, or the reset takes its successor.
#[test]
fn reset_against_overwriting_ends_each_lease_once() {
    model("pool_reset_against_overwriting", 10, || {
        let pool = pool(1);
        let old = pool.acquire().unwrap();
        let other = pool.clone();
        let resetter = thread::spawn(move || other.reset());
        let mut new = acquire(&pool);
        let revoked = resetter.join().unwrap();
        assert!(old.is_revoked() && !pool.release(old));
        assert!(revoked == 1 || new.is_some());
        let good = new.as_mut().is_some_and(use_it);
        assert!(good || revoked == 1);
        assert_eq!(pool.idle(), usize::from(!good));
        assert_eq!(new.is_some_and(|new| pool.release(new)), good);
        let again = pool.acquire().unwrap();
        assert!(!again.is_revoked());
        drop((again, pool));
        assert_all_dropped();
    });
}

/// An overwritten lease, its successor and the pool end at once: one frees.
#[test]
fn overwritten_lease_dropped_against_the_last_pool_frees_once() {
    model("pool_close_against_overwritten", 10, || {
        let pool = pool(1);
        let old = pool.acquire().unwrap();
        let new = pool.acquire().unwrap();
        let ended = thread::spawn(move || drop(old));
        let released = thread::spawn(move || drop(new));
        drop(pool);
        ended.join().unwrap();
        released.join().unwrap();
        assert_all_dropped();
    });
}

/// A lease that is dropped while it is overwritten: its reference may be given back before it is
/// added.
#[test]
fn lease_dropped_against_overwriting_and_close_frees_once() {
    model("pool_overwriting_then_close", 10, || {
        let pool = pool(1);
        let old = pool.acquire().unwrap();
        let dropped = thread::spawn(move || drop(old));
        let new = acquire(&pool);
        drop(pool);
        drop(new);
        dropped.join().unwrap();
        assert_all_dropped();
    });
}

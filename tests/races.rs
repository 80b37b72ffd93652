//! Creation and destruction from several threads at once: each edge has one
//! winner, and what is visible is complete.

mod support;

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hatchery::{Handle, Limits, LookupError, Reaped, State, Store, TransitionError};
use support::{Census, Counted, Dice, Entity, Kind, assert_accounts};

/// C11
#[test]
fn a_second_kill_is_refused_and_frees_nothing_twice() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(2)).build().unwrap();
    let dead = store.spawn_active(census.payload(1)).unwrap();
    store.kill(dead).unwrap();
    let transition = State::Dying.advance(State::Dying).unwrap_err();
    assert_eq!(store.kill(dead), Err(TransitionError::Illegal { handle: dead, transition }));
    assert_eq!(store.reap(dead), Ok(Reaped::Done));
    let gone = TransitionError::Lookup(LookupError::NotFound { handle: dead });
    assert_eq!(store.kill(dead), Err(gone));
    assert_eq!(store.reap(dead), Err(gone));
    let a = store.spawn_active(census.payload(2)).unwrap();
    let b = store.spawn_active(census.payload(3)).unwrap();
    assert_ne!(a.id(), b.id());
    assert_eq!(store.pin().get(a).unwrap().tag(), 2);
    assert_eq!(store.pin().get(b).unwrap().tag(), 3);
    store.reclaim();
    assert_eq!(census.dropped(), 1);
    assert_eq!((store.stats().killed, store.stats().reaped), (1, 1));
}

/// Runs `body` on each of `threads` threads, which start together; what each answered.
fn together<R: Send>(threads: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|worker| {
                let (start, body) = (&start, &body);
                scope.spawn(move || {
                    start.wait();
                    body(worker)
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    })
}

/// C12, for every edge that several may go for.
#[test]
fn of_many_threads_exactly_one_wins_each_edge() {
    const ENTITIES: usize = 400;
    let census = Census::new();
    let store = Store::new();
    let handles: Vec<Handle> = (0..ENTITIES)
        .map(|tag| store.spawn(census.payload(tag as u64)).unwrap().detach())
        .collect();
    let winners = |step: &(dyn Fn(Handle) -> bool + Sync)| {
        let won = together(4, |_| handles.iter().filter(|handle| step(**handle)).count());
        won.into_iter().sum::<usize>()
    };
    assert_eq!(winners(&|handle| store.activate(handle).is_ok()), ENTITIES);
    assert_eq!(winners(&|handle| store.kill(handle).is_ok()), ENTITIES);
    assert_eq!(winners(&|handle| store.revive(handle).is_ok()), ENTITIES);
    assert_eq!(winners(&|handle| store.kill_and_hold(handle).is_ok()), ENTITIES);
    assert_eq!(winners(&|handle| store.reap(handle).is_ok()), ENTITIES);
    let reserved: Vec<Handle> =
        (0..ENTITIES).map(|_| store.spawn(census.payload(0)).unwrap().detach()).collect();
    let cancelled =
        together(4, |_| reserved.iter().filter(|handle| store.cancel(**handle).is_ok()).count());
    assert_eq!(cancelled.into_iter().sum::<usize>(), ENTITIES);
    store.reclaim();
    assert_eq!(census.alive(), 0);
    assert_accounts(&store.stats());
}

#[test]
fn of_activate_and_cancel_one_wins_and_the_other_is_told_why() {
    let census = Census::new();
    let store = Store::new();
    let handles: Vec<Handle> =
        (0..600).map(|tag| store.spawn(census.payload(tag)).unwrap().detach()).collect();
    let won = together(2, |worker| {
        handles
            .iter()
            .map(|handle| if worker == 0 { store.activate(*handle) } else { store.cancel(*handle) })
            .collect::<Vec<_>>()
    });
    for (at, handle) in handles.iter().enumerate() {
        match (&won[0][at], &won[1][at]) {
            (Ok(()), Err(TransitionError::Illegal { transition, .. })) => {
                assert_eq!((transition.from, transition.to), (State::Active, State::Dead));
                assert_eq!(store.state(*handle), Ok(State::Active));
            }
            (Err(TransitionError::Lookup(error)), Ok(())) => {
                assert!(error.is_gone());
                assert!(store.state(*handle).is_err());
            }
            other => panic!("{handle}: {other:?}"),
        }
    }
}

#[test]
fn of_revive_and_reap_one_wins() {
    let census = Census::new();
    let store = Store::new();
    let handles: Vec<Handle> =
        (0..600).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    handles.iter().for_each(|handle| store.kill(*handle).unwrap());
    let won = together(2, |worker| {
        handles
            .iter()
            .map(|h| if worker == 0 { store.revive(*h).is_ok() } else { store.reap(*h).is_ok() })
            .collect::<Vec<_>>()
    });
    for (at, handle) in handles.iter().enumerate() {
        assert!(won[0][at] ^ won[1][at], "{handle}");
        assert_eq!(store.state(*handle).is_ok(), won[0][at]);
    }
    assert_eq!(store.len(), won[0].iter().filter(|won| **won).count());
    assert_accounts(&store.stats());
}

/// Who gets a hold while others reap keeps a readable payload, and the reap is carried out once.
#[test]
fn a_hold_taken_beside_a_reap_is_refused_or_keeps_the_payload() {
    let census = Census::new();
    let store = Store::new();
    for round in 0..300 {
        let handle = store.spawn_active(census.payload(round)).unwrap();
        let answers = together(3, |worker| {
            if worker == 0 {
                let deferred = store.despawn(handle).unwrap();
                return deferred != Reaped::Done;
            }
            store.hold(handle).is_ok_and(|hold| {
                let copy = hold.clone();
                drop(hold);
                assert_eq!(copy.tag(), round);
                true
            })
        });
        assert!(!answers[0] || answers[1] || answers[2], "deferred, and nobody held it");
        assert!(store.state(handle).is_err(), "the last hold is gone");
    }
    store.reclaim();
    assert_eq!((census.alive(), store.stats().holds), (0, 0));
    assert_accounts(&store.stats());
}

#[test]
fn who_wins_kill_and_hold_can_settle_whatever_others_despawn() {
    let census = Census::new();
    let store = Store::new();
    let mut settled = 0;
    for round in 0..400 {
        let handle = store.spawn_active(census.payload(round)).unwrap();
        let answers = together(2, |worker| {
            if worker == 1 {
                return store.despawn(handle).is_ok();
            }
            store.kill_and_hold(handle).is_ok_and(|hold| {
                assert_eq!(hold.tag(), round);
                assert_eq!(hold.state(), State::Dying);
                true
            })
        });
        settled += usize::from(answers[0]);
        if store.state(handle).is_ok() {
            store.reap(handle).unwrap();
        }
    }
    assert!(settled <= 400 && store.is_empty());
    assert_eq!(store.stats().killed, 400);
    store.reclaim();
    assert_eq!(census.alive(), 0);
}

/// C15
#[test]
fn a_reservation_that_is_dropped_leaves_no_trace() {
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(4)).build().unwrap();
    let mut reserved = Vec::new();
    for tag in 0..1000 {
        reserved.push(store.spawn(census.payload(tag)).unwrap().handle());
    }
    assert_eq!(store.len(), 0);
    let alive: Vec<Handle> =
        (0..4).map(|tag| store.spawn_active(census.payload(tag)).unwrap()).collect();
    for old in &reserved {
        assert!(store.pin().get(*old).unwrap_err().is_gone());
    }
    assert_eq!(alive.iter().collect::<HashSet<_>>().len(), 4);
    assert_eq!(store.stats().cancelled, 1000);
    assert!(store.slots() <= 8, "{} slots", store.slots());
}

/// C16
#[test]
fn a_reservation_is_invisible_to_another_thread_until_it_is_activated() {
    let census = Census::new();
    let store = Store::new();
    let ask = |handle: Handle| {
        std::thread::scope(|scope| {
            let store = &store;
            let reader = scope.spawn(move || {
                let session = store.pin();
                let seen = session.iter().filter(|(other, _)| *other == handle).count();
                (session.get(handle).map(Counted::tag), seen)
            });
            reader.join().unwrap()
        })
    };
    let pending = store.spawn(census.payload(9)).unwrap();
    let handle = pending.handle();
    assert_eq!(ask(handle), (Err(LookupError::Pending { handle }), 0));
    pending.detach();
    assert_eq!(ask(handle), (Err(LookupError::Pending { handle }), 0));
    store.activate(handle).unwrap();
    assert_eq!(ask(handle), (Ok(9), 1));
}

#[test]
fn a_pending_guard_may_be_finished_by_another_thread() {
    let census = Census::new();
    let store = Store::new();
    let mut guards: Vec<_> = (0..4).map(|tag| store.spawn(census.payload(tag)).unwrap()).collect();
    let handles: Vec<Handle> = guards.iter().map(hatchery::Pending::handle).collect();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for guard in &mut guards {
                let tag = guard.tag();
                guard.set_tag(tag + 10);
            }
            let mut guards = guards.into_iter();
            guards.next().unwrap().activate();
            assert_eq!(guards.next().unwrap().cancel().tag(), 11);
            guards.next().unwrap().detach();
            drop(guards.next());
        });
    });
    assert_eq!(store.pin().get(handles[0]).unwrap().tag(), 10);
    assert!(store.state(handles[1]).unwrap_err().is_gone());
    assert_eq!(store.state(handles[2]), Ok(State::Pending));
    assert!(store.state(handles[3]).unwrap_err().is_gone());
    store.activate(handles[2]).unwrap();
    assert_eq!(store.pin().get(handles[2]).unwrap().tag(), 12);
}

/// C17
#[test]
fn no_more_than_the_capacity_are_alive_at_any_instant() {
    const CAPACITY: usize = 8;
    let census = Census::new();
    let store = Store::builder().limits(Limits::reject(CAPACITY)).build().unwrap();
    let alive = AtomicUsize::new(0);
    let (won, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    together(17, |worker| {
        if worker == 16 {
            // Somebody who watches: what it is told is never over the capacity either.
            for _ in 0..500 {
                assert!(store.len() <= CAPACITY);
                let stats = store.stats();
                assert!(stats.live <= CAPACITY && stats.peak_live <= CAPACITY, "{stats:?}");
            }
            return;
        }
        let maker = census.maker();
        let mut dice = Dice::new(worker as u64 + 1);
        let mut mine: Vec<Handle> = Vec::new();
        for _ in 0..400 {
            if mine.len() < 4 && dice.roll(2) == 0 {
                match store.spawn_active(maker.payload(worker as u64)) {
                    Ok(handle) => {
                        // Counted after it came alive, and no longer before it ends.
                        assert!(alive.fetch_add(1, Ordering::SeqCst) < CAPACITY);
                        won.fetch_add(1, Ordering::SeqCst);
                        mine.push(handle);
                    }
                    Err(error) => {
                        assert_eq!(error.value.tag(), worker as u64);
                        refused.fetch_add(1, Ordering::SeqCst);
                    }
                }
            } else if !mine.is_empty() {
                let handle = mine.swap_remove(dice.roll(mine.len() as u64) as usize);
                alive.fetch_sub(1, Ordering::SeqCst);
                store.despawn(handle).unwrap();
            }
        }
        for handle in mine {
            alive.fetch_sub(1, Ordering::SeqCst);
            store.despawn(handle).unwrap();
        }
    });
    let stats = store.stats();
    assert_eq!((stats.spawned, stats.rejected), (won.into_inner(), refused.into_inner()));
    assert_accounts(&stats);
    let full: Vec<_> = (0..CAPACITY).map(|_| store.spawn_active(census.payload(0))).collect();
    assert!(full.iter().all(Result::is_ok));
    assert!(store.spawn_active(census.payload(0)).is_err());
}

/// Readers of living and long-dead handles under churn: each answer is the payload that was
/// spawned under the handle asked for.
#[test]
fn a_reader_never_gets_a_payload_of_another_handle() {
    const TRAIL: usize = 64;
    let census = Census::new();
    let limits = Limits::reject(64);
    let store = Store::builder().limits(limits).backlog(100_000).build().unwrap();
    let trail: Vec<AtomicU64> = (0..TRAIL).map(|_| AtomicU64::new(0)).collect();
    let generations: Vec<AtomicU64> = (0..TRAIL).map(|_| AtomicU64::new(0)).collect();
    let writers_left = AtomicUsize::new(2);
    let (hits, misses) = (AtomicUsize::new(0), AtomicUsize::new(0));
    together(4, |worker| {
        let mut dice = Dice::new(worker as u64 + 77);
        if worker < 2 {
            let maker = census.maker();
            for _ in 0..4000 {
                let make = |handle| Entity::new(&maker, handle, Kind::Monster, None);
                let handle = store.spawn_with(make).unwrap().activate();
                // The two halves may be read apart: then the handle is a forged one.
                let at = dice.roll(TRAIL as u64) as usize;
                trail[at].store(handle.seq(), Ordering::Relaxed);
                generations[at].store(handle.generation().get().into(), Ordering::Relaxed);
                if dice.roll(4) != 0 {
                    std::thread::yield_now();
                }
                store.despawn(handle).unwrap();
            }
            writers_left.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        let mut session = store.pin();
        while writers_left.load(Ordering::SeqCst) > 0 {
            for _ in 0..100 {
                let at = dice.roll(TRAIL as u64) as usize;
                let generation = generations[at].load(Ordering::Relaxed) as u32;
                if generation == 0 {
                    continue;
                }
                let seq = trail[at].load(Ordering::Relaxed);
                let asked = support::handle(store.scene(), seq, generation);
                match session.get(asked) {
                    Ok(entity) => {
                        assert_eq!(entity.handle, asked);
                        assert_eq!((entity.kind, entity.hp), (Kind::Monster, 100));
                        hits.fetch_add(1, Ordering::Relaxed);
                    }
                    Err(LookupError::Pending { .. }) => {}
                    Err(error) => {
                        assert!(error.is_gone(), "{error}");
                        misses.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            session.repin();
        }
    });
    assert!(hits.into_inner() + misses.into_inner() > 0);
    store.reclaim();
    assert_eq!(census.alive(), 0);
}

#[test]
fn a_storm_of_random_steps_on_the_same_entities_keeps_the_accounts() {
    let census = Census::new();
    let limits = Limits::reject(32);
    let store = Store::builder().limits(limits).backlog(100_000).build().unwrap();
    let shared: Vec<AtomicU64> = (0..16).map(|_| AtomicU64::new(0)).collect();
    let wins: Vec<[u64; 6]> = together(4, |worker| {
        let maker = census.maker();
        let mut dice = Dice::new(worker as u64 + 5);
        let mut won = [0; 6];
        for _ in 0..4000 {
            let cell = &shared[dice.roll(16) as usize];
            let bits = cell.load(Ordering::SeqCst);
            let Some(generation) = std::num::NonZeroU32::new((bits >> 32) as u32) else {
                if let Ok(pending) = store.spawn(maker.payload(1)) {
                    won[0] += 1;
                    let new = pending.detach();
                    let bits = u64::from(new.generation().get()) << 32 | new.seq();
                    cell.store(bits, Ordering::SeqCst);
                }
                continue;
            };
            let id = hatchery::EntityId::new(store.scene(), bits & u64::from(u32::MAX)).unwrap();
            let handle = Handle::new(id, generation);
            match dice.roll(7) {
                0 => won[1] += u64::from(store.activate(handle).is_ok()),
                1 => won[2] += u64::from(store.cancel(handle).is_ok()),
                2 => won[3] += u64::from(store.kill(handle).is_ok()),
                3 => won[4] += u64::from(store.revive(handle).is_ok()),
                4 => won[5] += u64::from(store.reap(handle) == Ok(Reaped::Done)),
                5 => assert!(store.pin().get(handle).map_or(1, Counted::tag) == 1),
                _ => cell.store(0, Ordering::SeqCst),
            }
        }
        won
    });
    let total = |at: usize| wins.iter().map(|won| won[at]).sum::<u64>();
    let stats = store.stats();
    let counted = [
        stats.spawned,
        stats.activated,
        stats.cancelled,
        stats.killed,
        stats.revived,
        stats.reaped,
    ];
    assert_eq!(counted, [total(0), total(1), total(2), total(3), total(4), total(5)]);
    assert_accounts(&stats);
    assert_eq!(store.clear(), stats.live);
    assert_eq!(census.alive(), 0);
}

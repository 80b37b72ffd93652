//! Under threads: no handle is issued twice, and no two living entities share a
//! slot, with few slots and few generations so that reuse is constant.

mod support;

use std::collections::HashSet;
use std::sync::Mutex;

use hatchery::{EntityId, Handle, Limits, Store};
use support::{Census, Counted, Dice, assert_accounts, nonzero};

/// Four threads spawn, cancel, hold, kill and reap; every handle is noted.
fn churn(store: &Store<Counted>, census: &Census, lives: usize) -> Vec<Handle> {
    let alive: Mutex<HashSet<EntityId>> = Mutex::default();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (alive, maker) = (&alive, census.maker());
                scope.spawn(move || {
                    let mut dice = Dice::new(worker + 11);
                    let mut issued = Vec::new();
                    let mut session = store.pin();
                    let mut step = 0u64;
                    while issued.len() < lives {
                        step += 1;
                        assert!(step < 1_000_000, "it gets nowhere: {:?}", store.stats());
                        if step.is_multiple_of(16) {
                            session.repin();
                        }
                        if dice.roll(50) == 0 {
                            drop(session);
                            session = store.pin();
                        }
                        let Ok(mut pending) = session.spawn(maker.payload(step)) else {
                            session.repin();
                            std::thread::yield_now();
                            continue;
                        };
                        let handle = pending.handle();
                        pending.set_tag(step + 1);
                        assert!(alive.lock().unwrap().insert(handle.id()), "{handle}: taken");
                        issued.push(handle);
                        let end = || assert!(alive.lock().unwrap().remove(&handle.id()));
                        match dice.roll(5) {
                            0 => {
                                end();
                                drop(pending);
                            }
                            1 => {
                                end();
                                assert_eq!(pending.cancel().tag(), step + 1);
                            }
                            2 => {
                                pending.activate();
                                let hold = session.kill_and_hold(handle).unwrap();
                                session.reap(handle).unwrap();
                                assert_eq!(hold.tag(), step + 1);
                                end();
                                drop(hold);
                            }
                            _ => {
                                pending.activate();
                                assert_eq!(session.get(handle).unwrap().tag(), step + 1);
                                end();
                                session.despawn(handle).unwrap();
                            }
                        }
                    }
                    issued
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
}

#[test]
fn no_handle_is_issued_twice_and_no_slot_serves_two() {
    for (capacity, backlog, last) in [(4, 64, 3), (4, 4, u32::MAX), (8, 0, 15), (64, 64, 1)] {
        let census = Census::new();
        let store = Store::builder()
            .limits(Limits::reject(capacity))
            .backlog(backlog)
            .last_generation(nonzero(last))
            .build()
            .unwrap();
        let issued = churn(&store, &census, 1500);
        let distinct: HashSet<Handle> = issued.iter().copied().collect();
        assert_eq!(distinct.len(), issued.len(), "a handle was issued twice");
        assert!(issued.iter().all(|handle| handle.generation().get() <= last));
        assert!(issued.iter().all(|handle| store.state(*handle).unwrap_err().is_gone()));
        store.reclaim();
        let stats = store.stats();
        assert_eq!((stats.dead, stats.live, census.alive()), (0, 0, 0), "{stats:?}");
        assert_accounts(&stats);
        // A retired slot has come to its last generation, and every such slot is retired.
        let spent = issued.iter().filter(|handle| handle.generation().get() == last).count();
        assert_eq!(stats.retired_slots, spent as u64);
    }
}

#[test]
fn an_unbounded_store_keeps_handles_apart_too() {
    let census = Census::new();
    let store = Store::builder().last_generation(nonzero(7)).build().unwrap();
    let issued = churn(&store, &census, 3000);
    assert_eq!(issued.iter().collect::<HashSet<_>>().len(), issued.len());
    store.reclaim();
    assert_eq!((store.stats().dead, census.alive()), (0, 0));
}

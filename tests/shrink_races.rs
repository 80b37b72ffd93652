//! Memory that is given back beside readers, spawns, scans, and others that give back.

#[path = "shrink/steps.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod steps;
mod support;

use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, LazyLock};

use hatchery::{Handle, Limits, LookupError, Pinned, Store, TransitionError};
use steps::fill;
use support::{Census, Counted, Dice, assert_accounts};

#[test]
fn reader_keeps_what_it_may_be_looking_at_until_it_goes() {
    let census = Census::new();
    let store = Store::new();
    let all = fill(&store, &census, 5000);
    store.despawn_batch(&all);
    store.reclaim();
    let (top, slots) = (store.stats().bytes, store.slots());
    let shrunk = Barrier::new(2);
    std::thread::scope(|scope| {
        let reader = store.pin();
        let mut walk = reader.iter_in(hatchery::StateSet::READABLE);
        assert!(walk.next().is_none());
        scope.spawn(|| {
            assert!(store.shrink() > 0);
            shrunk.wait();
        });
        shrunk.wait();
        assert_eq!(store.slots(), 0);
        assert!(store.stats().bytes > top / 2, "still there: {:?}", store.stats());
        all.iter().for_each(|&handle| assert!(reader.get(handle).is_err()));
        // It serves anew all the same, elsewhere.
        let new = reader.spawn_active(census.payload(1)).unwrap();
        assert_eq!(reader.get(new).unwrap().tag(), 1);
        reader.despawn(new).unwrap();
    });
    store.shrink();
    assert!(store.stats().bytes < top / 10, "{top}, {:?}", store.stats());
    assert!(slots > 0 && store.slots() == 0);
    drop(store);
}

#[test]
fn shrinks_at_the_same_time_give_each_segment_back_once() {
    let census = Census::new();
    let store = Store::new();
    for _ in 0..20 {
        let all = fill(&store, &census, 3000);
        store.despawn_batch(&all);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| store.shrink());
            }
        });
        store.shrink();
        assert_eq!(store.slots(), 0);
        assert_accounts(&store.stats());
    }
    drop(store);
}

/// Everything at once: what is alive reads as itself, whatever is given back meanwhile.
#[test]
fn shrink_beside_spawns_kills_reads_and_scans_loses_and_doubles_nothing() {
    let census = Census::new();
    let rounds = if cfg!(miri) { 2 } else { 60 };
    for limits in [Limits::UNBOUNDED, Limits::reject(6000)] {
        let store = Store::builder().limits(limits).shards(2).build().unwrap();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (store, census, done) = (&store, &census, &done);
            let workers: Vec<_> = (0..2)
                .map(|worker| {
                    scope.spawn(move || {
                        let mut dice = Dice::new(worker);
                        let (mut mine, mut dead) = (Vec::new(), Vec::new());
                        for round in 0..rounds {
                            let most = dice.roll(3000);
                            for _ in 0..most {
                                let tag = dice.roll(u64::MAX);
                                if let Ok(handle) = store.spawn_active(census.payload(tag)) {
                                    mine.push((handle, tag));
                                }
                            }
                            for &(handle, tag) in &mine {
                                assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
                            }
                            let least = dice.roll(50) as usize;
                            while mine.len() > least {
                                let at = dice.roll(mine.len() as u64) as usize;
                                let (handle, _) = mine.swap_remove(at);
                                store.despawn(handle).unwrap();
                                dead.push(handle);
                            }
                            if round % 8 == worker {
                                store.shrink();
                            }
                        }
                        (mine, dead)
                    })
                })
                .collect();
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    store.shrink();
                    std::thread::yield_now();
                }
            });
            scope.spawn(move || {
                let mut seen = 0;
                while !done.load(Ordering::Relaxed) {
                    let pinned = store.pin();
                    let handles =
                        HashSet::<_>::from_iter(pinned.iter().map(|(handle, payload)| {
                            seen += u64::from(payload.tag() > 0);
                            handle
                        }));
                    for handle in handles {
                        if let Ok(payload) = pinned.get(handle) {
                            payload.tag();
                        }
                    }
                }
                seen
            });
            let mut ever = HashSet::new();
            let mut live = 0;
            for worker in workers {
                let (mine, dead) = worker.join().unwrap();
                live += mine.len();
                for &(handle, tag) in &mine {
                    assert!(ever.insert(handle), "{handle} was issued twice");
                    assert_eq!(store.pin().get(handle).unwrap().tag(), tag);
                }
                for handle in dead {
                    assert!(ever.insert(handle), "{handle} was issued twice");
                    let answer = store.state(handle).unwrap_err();
                    assert!(matches!(
                        answer,
                        LookupError::NotFound { .. } | LookupError::Stale { .. }
                    ));
                }
            }
            done.store(true, Ordering::Relaxed);
            assert_eq!(store.len(), live);
        });
        store.shrink();
        let stats = store.stats();
        assert_accounts(&stats);
        assert_eq!(stats.slots, stats.live + stats.free, "{stats:?}");
        assert_eq!(census.alive(), stats.live);
        store.clear();
        store.shrink();
        assert_eq!(store.slots(), 0, "{:?}", store.stats());
        drop(store);
    }
}

/// Who ends or holds an entity without a pin looks it up in a segment that may be given back.
#[test]
fn shrink_beside_changes_without_a_pin_ends_each_entity_once() {
    let census = Census::new();
    let rounds = if cfg!(miri) { 2 } else { 100 };
    let store = Store::builder().shards(2).build().unwrap();
    let done = AtomicBool::new(false);
    let gone = |answer| {
        matches!(
            answer,
            TransitionError::Lookup(LookupError::NotFound { .. } | LookupError::Stale { .. })
        )
    };
    std::thread::scope(|scope| {
        let (store, census, done) = (&store, &census, &done);
        let workers = [1, 2].map(|seed| {
            scope.spawn(move || {
                let mut dice = Dice::new(seed);
                for _ in 0..rounds {
                    let all = fill(store, census, dice.roll(3000));
                    for &handle in &all {
                        let hold = store.hold(handle).unwrap();
                        store.kill(handle).unwrap();
                        drop(hold);
                        store.reap(handle).unwrap();
                    }
                    for &handle in &all {
                        let answer = match dice.roll(5) {
                            0 => store.kill(handle).unwrap_err(),
                            1 => store.reap(handle).unwrap_err(),
                            2 => store.revive(handle).unwrap_err(),
                            3 => store.despawn(handle).map(drop).unwrap_err(),
                            _ => store.activate(handle).unwrap_err(),
                        };
                        assert!(gone(answer), "{answer:?}");
                    }
                }
            })
        });
        let shrinker = scope.spawn(move || {
            let mut given_back = 0;
            while !done.load(Ordering::Relaxed) {
                given_back += usize::from(store.shrink() > 0);
                std::thread::yield_now();
            }
            given_back
        });
        for worker in workers {
            worker.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        assert!(shrinker.join().unwrap() > 0, "nothing was ever given back");
    });
    store.shrink();
    assert_eq!(store.slots(), 0, "{:?}", store.stats());
    assert_accounts(&store.stats());
}

/// What a pin has kept goes when calls come and go after it, of whatever kind.
#[test]
fn memory_that_a_pin_has_kept_goes_by_the_calls_after_it() {
    type Call = fn(&Store<Counted>, Handle, &Census);
    let calls: [(&str, Call); 5] = [
        ("spawn", |store, _, census| _ = store.spawn_active(census.payload(0)).unwrap()),
        ("hold", |store, alive, _| drop(store.hold(alive).unwrap())),
        ("kill and revive", |store, alive, _| {
            store.kill(alive).unwrap();
            store.revive(alive).unwrap();
        }),
        ("refused", |store, alive, _| assert!(store.activate(alive).is_err())),
        ("state", |store, alive, _| assert!(store.state(alive).is_ok())),
    ];
    for (name, call) in calls {
        let census = Census::new();
        let store = Store::new();
        let alive = store.spawn_active(census.payload(0)).unwrap();
        let all = fill(&store, &census, 5000);
        store.despawn_batch(&all);
        store.reclaim();
        let top = store.stats().bytes;
        let (pinned, shrunk) = (Barrier::new(2), Barrier::new(2));
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let reader = store.pin();
                pinned.wait();
                shrunk.wait();
                drop(reader);
            });
            pinned.wait();
            assert!(store.shrink() > 0);
            assert!(store.stats().bytes > top / 2, "{name}: still there: {:?}", store.stats());
            shrunk.wait();
            // Its last moments too: a thread pins once more as it goes.
            reader.join().unwrap();
        });
        for _ in 0..600 {
            call(&store, alive, &census);
        }
        assert!(store.stats().bytes < top / 3, "{name}: of {top}: {:?}", store.stats());
    }
}

/// Takes a pin as it is dropped, if it has a store, and keeps it.
struct Keeper(Option<&'static Store<Keeper>>);

thread_local! {
    static KEPT: RefCell<Option<Pinned<'static, Keeper>>> = const { RefCell::new(None) };
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(store) = self.0 {
            KEPT.with(|kept| *kept.borrow_mut() = Some(store.pin()));
        }
    }
}

/// A call without a pin leaves its claim to a session that began inside it, which looks nothing up
/// by it.
#[test]
fn pin_that_a_cancelled_payload_keeps_leaves_other_segments_to_shrink() {
    static STORE: LazyLock<Store<Keeper>> = LazyLock::new(Store::new);
    let store: &'static Store<Keeper> = &STORE;
    let all = store.spawn_batch((0..2000).map(|_| Keeper(None))).unwrap();
    store.despawn_batch(&all);
    store.reclaim();
    let slots = store.slots();
    // The thread has looked around since it made garbage, and has had a magazine: so the cancel
    // needs no pin of its own.
    assert!(store.state(all[0]).is_err());
    let pending = store.spawn(Keeper(Some(store))).unwrap().detach();
    store.cancel(pending).unwrap();
    assert!(KEPT.with(|kept| kept.borrow().is_some()));
    let given_back = std::thread::scope(|scope| scope.spawn(|| store.shrink()).join().unwrap());
    let left = store.slots();
    assert!(given_back > 0 && 0 < left && left < slots, "{given_back} bytes, {left} of {slots}");
    KEPT.with(|kept| drop(kept.borrow_mut().take()));
    store.shrink();
    assert_eq!(store.slots(), 0);
}

//! A thread that is stopped for a long time, at each point of each protocol: the others go on, and
//! nobody is told of readers that do not exist. When it goes on, nothing is lost.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use super::{Census, Counted, assert_whole};
use crate::sync::pause;
use crate::{Handle, Hold, Limits, SpawnFailure, State, Store};

const CAPACITY: usize = 8;
/// So that what others end while the epoch is stopped has room.
const BACKLOG: usize = 256;

fn bounded() -> Store<Counted> {
    Store::builder().limits(Limits::reject(CAPACITY)).backlog(BACKLOG).build().unwrap()
}

/// Runs `body` on a thread that stops at `point` until `meanwhile` has returned.
#[track_caller]
pub(super) fn stopped<R: Send>(
    point: &'static str,
    body: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce(),
) -> R {
    let (arrived, arrival) = mpsc::channel();
    let (release, released) = mpsc::channel();
    std::thread::scope(|scope| {
        let victim = scope.spawn(move || {
            pause::at(point, move || {
                arrived.send(()).unwrap();
                released.recv().unwrap();
            });
            body()
        });
        assert!(arrival.recv_timeout(Duration::from_secs(60)).is_ok(), "it never came to: {point}");
        // Released by a panic of `meanwhile` as well, or the scope would wait for ever.
        let meanwhile = std::panic::catch_unwind(std::panic::AssertUnwindSafe(meanwhile));
        release.send(()).unwrap();
        if let Err(panic) = meanwhile {
            std::panic::resume_unwind(panic);
        }
        victim.join().unwrap()
    })
}

/// What the others do, on two threads: lives from beginning to end, holds, scans.
fn others_go_on(store: &Store<Counted>, census: &Census, rounds: usize) {
    let began = Instant::now();
    let life = || {
        for round in 0..rounds {
            let pending = store.spawn(census.payload()).expect("there is room");
            let h = pending.activate();
            assert!(store.pin().contains(h));
            if round % 2 == 0 {
                let hold = store.kill_and_hold(h).unwrap();
                store.reap(h).unwrap();
                drop(hold);
            } else {
                store.despawn(h).unwrap();
            }
            assert!(!store.pin().contains(h));
        }
        assert!(store.pin().iter().count() <= CAPACITY);
        assert!(store.len() <= CAPACITY);
        let _ = store.stats();
    };
    std::thread::scope(|scope| [scope.spawn(life), scope.spawn(life)].map(|t| t.join().unwrap()));
    assert!(began.elapsed() < Duration::from_secs(20), "they waited for the stopped thread");
}

/// A store that has seen some life: ripe batches, Dead slots, an entity to work on.
fn lived_in(census: &Census) -> (Store<Counted>, Handle) {
    let store = bounded();
    let handles: Vec<_> = (0..4).map(|_| store.spawn_active(census.payload()).unwrap()).collect();
    assert_eq!(store.despawn_batch(&handles), 4);
    let h = store.spawn_active(census.payload()).unwrap();
    (store, h)
}

/// A store without limits in which many have ended, and their handles.
fn after_a_wave(census: &Census) -> (Store<Counted>, Vec<Handle>) {
    let store = Store::new();
    let old = store.spawn_batch((0..2000).map(|_| census.payload())).unwrap();
    store.despawn_batch(&old);
    (store, old)
}

/// Stops the thread of `body` at a point of a store that has seen some life.
#[track_caller]
fn stop_at(point: &'static str, body: impl FnOnce(&Store<Counted>, Handle, &Census) + Send) {
    let census = Census::default();
    let (store, h) = lived_in(&census);
    stopped(point, || body(&store, h, &census), || others_go_on(&store, &census, 50));
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

fn spawn_some(store: &Store<Counted>, census: &Census) {
    for _ in 0..6 {
        let _ = store.spawn_active(census.payload());
    }
}

#[test]
fn stopped_in_a_spawn_others_go_on() {
    for point in [
        "permit taken, no slot yet",
        "magazine claimed",
        "slot taken, not renewed",
        "payload to be dropped",
        "segment made, slots not taken",
        "payload written, not published",
    ] {
        stop_at(point, |store, _, census| spawn_some(store, census));
    }
}

#[test]
fn stopped_at_an_end_others_go_on() {
    for point in ["dead, not buried", "hand-over counted, not deferred"] {
        stop_at(point, |store, h, census| {
            store.despawn(h).unwrap();
            for _ in 0..100 {
                let h = store.spawn_active(census.payload()).unwrap();
                store.despawn(h).unwrap();
            }
        });
    }
}

/// Ends in two steps, where somebody is to be told: Dying is seen before Dead.
#[test]
fn stopped_in_the_middle_of_an_end_others_go_on() {
    let census = Census::default();
    let limits = Limits::reject(CAPACITY);
    let told = Store::builder().limits(limits).backlog(BACKLOG).on_dying(|_, _, _| {});
    let store = told.build().unwrap();
    let h = store.spawn_active(census.payload()).unwrap();
    stopped(
        "sealed, not finished",
        || store.despawn(h).unwrap(),
        || {
            assert_eq!(store.state(h), Ok(State::Dying));
            others_go_on(&store, &census, 50);
        },
    );
    assert!(store.state(h).is_err());
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

#[test]
fn stopped_in_a_reclaim_others_go_on() {
    stop_at("ripe, not counted", |store, h, _| {
        store.despawn(h).unwrap();
        store.reclaim();
    });
    stop_at("dead stack taken, not walked", |store, h, _| {
        let hold = store.hold(h).unwrap();
        store.despawn(h).unwrap();
        std::thread::scope(|scope| scope.spawn(move || drop(hold)).join().unwrap());
        store.reclaim();
    });
}

#[test]
fn stopped_with_a_hold_others_go_on() {
    stop_at("hold taken, not counted", |store, h, _| drop(store.hold(h).unwrap()));
    stop_at("hold given back, not buried", |store, h, _| {
        let hold = store.hold(h).unwrap();
        store.despawn(h).unwrap();
        drop(hold);
    });
}

/// A Hold on a thread without a session keeps no epoch: however long it is stopped, the store
/// serves everybody, out of a backlog of nothing.
#[test]
fn stopped_while_it_buries_from_outside_nobody_is_told_of_readers() {
    for point in ["hold given back, not buried", "buried from outside, permit not given back"] {
        let census = Census::default();
        let store: Store<Counted> =
            Store::builder().limits(Limits::reject(3)).backlog(0).build().unwrap();
        let h = store.spawn_active(census.payload()).unwrap();
        let hold: Hold<Counted> = store.hold(h).unwrap();
        store.despawn(h).unwrap();
        let meanwhile = || {
            for _ in 0..500 {
                let h = store.spawn_active(census.payload()).expect("two units are free");
                store.despawn(h).unwrap();
            }
            let full: Vec<_> = std::iter::repeat_with(|| store.spawn_active(census.payload()))
                .map_while(Result::ok)
                .collect();
            assert_eq!(full.len(), 2);
            let refused = store.spawn_active(census.payload()).unwrap_err();
            assert_eq!(refused.failure, SpawnFailure::Exhausted { capacity: 3 }, "{point}");
            assert_eq!(store.despawn_batch(&full), 2);
        };
        stopped(point, move || drop(hold), meanwhile);
        assert_whole(&store);
        drop(store);
        assert_eq!(census.there(), 0);
    }
}

/// Holds are given back, and stores under other ids are made, while a closing store stands still.
#[test]
fn stopped_while_it_closes_holds_end_what_they_kept() {
    for point in ["closed, payloads still there", "closing a slot"] {
        let census = Census::default();
        let (store, h) = lived_in(&census);
        let (hold, weak) = (store.hold(h).unwrap(), store.downgrade());
        let meanwhile = || {
            assert!(weak.upgrade().is_none());
            drop(hold);
            let other = bounded();
            others_go_on(&other, &census, 20);
        };
        stopped(point, move || drop(store), meanwhile);
        assert_eq!(census.there(), 0, "{point}");
    }
}

/// The thread that is stopped in a destructor holds a slot and no more.
#[test]
fn stopped_in_a_destructor_others_go_on() {
    let census = Census::default();
    let (store, h) = lived_in(&census);
    let body = || {
        store.despawn(h).unwrap();
        store.reclaim();
    };
    stopped("payload to be dropped", body, || others_go_on(&store, &census, 50));
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

#[test]
fn stopped_while_it_gives_memory_back_it_keeps_nobody_else_from_growing() {
    for point in [
        "shrinking",
        "slots gathered, segments not given back",
        "segment owned, still in the table",
    ] {
        let census = Census::default();
        let (store, old) = after_a_wave(&census);
        let mut new = Vec::new();
        let given_back = stopped(
            point,
            || store.shrink(),
            || {
                assert_eq!(store.shrink(), 0, "{point}: one at a time");
                new = store.spawn_batch((0..3000).map(|_| census.payload())).unwrap();
                assert!(old.iter().all(|&old| store.state(old).is_err() && !new.contains(&old)));
            },
        );
        assert!(given_back > 0 || point == "shrinking", "{point}");
        assert!(new.iter().all(|&new| store.pin().contains(new)));
        assert!(old.iter().all(|&old| store.state(old).is_err()));
        assert_whole(&store);
        store.shrink();
        assert_eq!(store.slots(), 0, "{point}");
    }
}

/// A call that has found an entity without a pin keeps the segments, and a `shrink` does without.
#[test]
fn stopped_while_it_looks_without_a_pin_it_keeps_segments_and_nobody() {
    for point in ["claimed to look, attic not seen", "looks without a pin"] {
        let census = Census::default();
        let (store, old) = after_a_wave(&census);
        let slots = store.slots();
        stopped(
            point,
            || {
                // The first gives the thread the magazine that it claims to look.
                let h = store.spawn_active(census.payload()).unwrap();
                store.despawn(h).unwrap();
            },
            || {
                store.shrink();
                assert_eq!(store.slots(), slots, "{point}");
                let new = store.spawn_batch((0..500).map(|_| census.payload())).unwrap();
                new.iter().for_each(|&new| store.kill(new).unwrap());
                old.iter().for_each(|&old| assert!(store.kill(old).is_err()));
                assert_eq!(store.despawn_batch(&new), 500);
            },
        );
        assert_whole(&store);
        store.shrink();
        assert_eq!(store.slots(), 0, "{point}");
    }
}

/// A call that is going to be refused keeps no free slot from others, where they could be refused.
#[test]
fn stopped_in_a_kill_that_is_refused_others_get_every_free_slot() {
    let census = Census::default();
    let limits = Limits::reject(128);
    let store: Store<Counted> =
        Store::builder().limits(limits).backlog(0).shards(1).build().unwrap();
    stopped(
        "found, not killed",
        || {
            // The magazine that this thread has had is left with free slots.
            let dead = store.spawn_active(census.payload()).unwrap();
            store.despawn_batch(&[dead]);
            store.spawn_active(census.payload()).unwrap();
            assert!(store.kill(dead).is_err());
        },
        || {
            let pinned = store.pin();
            for _ in 0..120 {
                pinned.spawn_active(census.payload()).expect("there is room, and nobody reads");
            }
        },
    );
    assert_whole(&store);
}

#[test]
fn only_a_store_that_refuses_nobody_looks_without_a_pin() {
    let census = Census::default();
    let looks = |store: Store<Counted>| {
        let h = store.spawn_active(census.payload()).unwrap();
        let (arrived, arrival) = mpsc::channel();
        pause::at("looks without a pin", move || arrived.send(()).unwrap());
        store.kill(h).unwrap();
        arrival.try_recv().is_ok()
    };
    assert!(looks(Store::new()));
    assert!(!looks(Store::builder().backlog(0).build().unwrap()));
    assert!(!looks(Store::builder().limits(Limits::reject(100)).build().unwrap()));
    assert!(!looks(Store::builder().on_dying(|_, _, _| {}).build().unwrap()));
}

/// Who comes while memory is given back pins, and neither waits nor keeps anything.
#[test]
fn stopped_while_it_gives_memory_back_others_change_entities() {
    let census = Census::default();
    let (store, old) = after_a_wave(&census);
    let given_back = stopped(
        "segment owned, still in the table",
        || store.shrink(),
        || {
            let h = store.spawn_active(census.payload()).unwrap();
            store.kill(h).unwrap();
            drop(store.hold(h).unwrap());
            store.reap(h).unwrap();
            old.iter().for_each(|&old| assert!(store.kill(old).is_err()));
        },
    );
    assert!(given_back > 0);
    assert_whole(&store);
}

#[test]
fn stopped_while_it_makes_a_segment_again_it_keeps_nobody_else_from_growing() {
    for point in ["segment to be made again", "segment made again, not in the table"] {
        let census = Census::default();
        let (store, old) = after_a_wave(&census);
        store.shrink();
        let mut new = Vec::new();
        let late = stopped(
            point,
            || store.spawn_active(census.payload()).unwrap(),
            || {
                new = store.spawn_batch((0..500).map(|_| census.payload())).unwrap();
                assert_eq!(store.shrink(), 0, "{point}");
            },
        );
        assert!(store.pin().contains(late) && !new.contains(&late) && !old.contains(&late));
        assert!(late.seq() < 64, "the lowest segment: {late}");
        assert!(old.iter().all(|&old| store.state(old).is_err()));
        assert_whole(&store);
    }
}

//! Scans over stores that are full, empty, and everything between: whoever is Active is met once,
//! however the slots came to be used and to be free.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use hatchery::{Handle, Limits, Store};
use support::{Census, Counted, Dice};

/// What a scan meets, by a loop and by a fold, which walk in ways of their own.
fn met(store: &Store<u64>) -> Vec<(Handle, u64)> {
    let session = store.pin();
    let mut by_loop = Vec::new();
    for (handle, &payload) in session.iter() {
        by_loop.push((handle, payload));
    }
    let mut by_fold = Vec::new();
    session.iter().for_each(|(handle, &payload)| by_fold.push((handle, payload)));
    assert_eq!(by_loop, by_fold);
    #[cfg(feature = "rayon")]
    {
        use rayon::iter::ParallelIterator;

        let mut parallel: Vec<_> =
            session.par_iter().map(|(handle, &payload)| (handle, payload)).collect();
        parallel.sort();
        assert_eq!(by_loop, parallel);
    }
    by_loop
}

/// A store with so many slots, of which those stay in use that `stays` says.
fn store_of(slots: u64, stays: impl Fn(u64) -> bool) -> (Store<u64>, Vec<(Handle, u64)>) {
    let store = Store::new();
    let handles = store.spawn_batch(0..slots).unwrap();
    let (stay, go): (Vec<_>, Vec<_>) =
        handles.into_iter().zip(0..).partition(|(handle, _)| stays(handle.seq()));
    let go: Vec<Handle> = go.into_iter().map(|(handle, _)| handle).collect();
    assert_eq!(store.despawn_batch(&go), go.len());
    (store, stay)
}

fn assert_met(store: &Store<u64>, mut expected: Vec<(Handle, u64)>) {
    expected.sort();
    assert!(met(store) == expected, "{} entities", expected.len());
}

#[test]
fn who_is_alive_is_met_at_every_density() {
    for parts in [0, 1, 20, 100, 300, 375, 400, 500, 900, 990, 1000] {
        let mut dice = Dice::new(parts);
        let lots: Vec<bool> = (0..150_000).map(|_| dice.roll(1000) < parts).collect();
        let (store, stay) = store_of(150_000, |slot| lots[slot as usize]);
        assert_met(&store, stay);
    }
}

/// Whether the slot of an index is in use.
type Pattern = fn(u64) -> bool;

/// Slots in use that end, begin, fill and leave out the parts that a scan takes at a time.
#[test]
fn who_is_alive_is_met_in_every_pattern() {
    let patterns: [(&str, Pattern); 10] = [
        ("every other", |slot| slot % 2 == 0),
        ("one in 64, the first", |slot| slot % 64 == 0),
        ("one in 64, the last", |slot| slot % 64 == 63),
        ("64 in a row, 64 free", |slot| slot / 64 % 2 == 0),
        ("64 in a row but one", |slot| slot % 64 != 17),
        ("23 of 64", |slot| slot % 64 < 23),
        ("24 of 64", |slot| slot % 64 < 24),
        ("1024 in a row, then a few", |slot| slot / 1024 % 2 == 0 || slot % 100 == 3),
        ("one in 8, the last", |slot| slot % 8 == 7),
        ("one in 8, the first", |slot| slot % 8 == 0),
    ];
    for (name, pattern) in patterns {
        for slots in [1, 63, 64, 65, 1087, 70_000] {
            let (store, mut stay) = store_of(slots, pattern);
            stay.sort();
            assert_eq!(met(&store), stay, "{name}, {slots} slots");
        }
    }
}

/// The very last slots, and those on both sides of where segments meet.
#[test]
fn who_lives_at_the_edge_of_a_segment_is_met() {
    let edges: BTreeSet<u64> = (6..=17)
        .map(|bits| 1 << bits)
        .flat_map(|edge| [edge - 1, edge, edge + 63, edge + 64])
        .collect();
    let (store, stay) = store_of(200_000, |slot| edges.contains(&slot) || slot == 199_999);
    assert_eq!(stay.len(), edges.len() + 1);
    assert_met(&store, stay);
}

/// Every way to begin and every way to end, in slots that serve again and again.
#[test]
fn who_is_alive_is_met_whatever_way_it_came_and_others_went() {
    let census = Census::new();
    for limits in [None, Some(Limits::overwrite_oldest(700))] {
        let builder = Store::builder();
        let store: Store<Counted> = match limits {
            Some(limits) => builder.limits(limits).build().unwrap(),
            None => builder.build().unwrap(),
        };
        let mut dice = Dice::new(7);
        let mut alive: BTreeMap<u64, Handle> = BTreeMap::new();
        let mut tag = 0;
        for round in 0..20_000 {
            tag += 1;
            if alive.len() < 600 && dice.roll(2) == 0 {
                let handle = begin(&store, &census, &mut dice, tag);
                alive.insert(tag, handle);
            } else if let Some((&tag, &handle)) =
                alive.iter().nth(dice.roll(alive.len().max(1) as u64) as usize)
            {
                end(&store, &mut dice, handle);
                alive.remove(&tag);
            }
            if round % 500 == 0 {
                let session = store.pin();
                let met: BTreeMap<u64, Handle> =
                    session.iter().map(|(handle, payload)| (payload.tag(), handle)).collect();
                assert!(met == alive, "after {round} rounds");
            }
        }
    }
}

fn begin(store: &Store<Counted>, census: &Census, dice: &mut Dice, tag: u64) -> Handle {
    let payload = census.payload(tag);
    match dice.roll(7) {
        0 => store.spawn(payload).unwrap().activate(),
        1 => {
            let handle = store.spawn(payload).unwrap().detach();
            std::thread::scope(|scope| {
                scope.spawn(|| store.activate(handle).unwrap()).join().unwrap()
            });
            handle
        }
        2 => store.spawn_batch([payload]).unwrap()[0],
        3 => store.spawn_with(|_| payload).unwrap().activate(),
        4 => {
            let handle = store.spawn_active(payload).unwrap();
            store.kill(handle).unwrap();
            store.revive(handle).unwrap();
            handle
        }
        5 => store.pin().spawn_active(payload).unwrap(),
        _ => store.spawn_active(payload).unwrap(),
    }
}

fn end(store: &Store<Counted>, dice: &mut Dice, handle: Handle) {
    match dice.roll(6) {
        0 => {
            store.kill(handle).unwrap();
            store.reap(handle).unwrap();
        }
        1 => assert_eq!(store.despawn_batch(&[handle]), 1),
        2 => {
            // Buried by a thread that knows nothing of the store.
            let hold = store.hold(handle).unwrap();
            store.despawn(handle).unwrap();
            std::thread::scope(|scope| scope.spawn(|| drop(hold)).join().unwrap());
        }
        3 => {
            let hold = store.kill_and_hold(handle).unwrap();
            drop(hold);
            store.reap(handle).unwrap();
        }
        4 => {
            store.pin().despawn(handle).unwrap();
        }
        _ => {
            store.despawn(handle).unwrap();
        }
    }
}

/// Payloads that stay in their slots serve by a way of their own.
#[test]
fn who_is_alive_is_met_in_a_store_that_retains_payloads() {
    let store: Store<Vec<u64>> = Store::builder().retain(100).build().unwrap();
    let mut dice = Dice::new(11);
    let mut alive: BTreeMap<Handle, u64> = BTreeMap::new();
    for tag in 0..5000 {
        if alive.len() < 300 && dice.roll(2) == 0 {
            let handle = store.spawn_recycled(|payload| payload.push(tag)).unwrap().activate();
            alive.insert(handle, tag);
        } else if let Some(handle) =
            alive.keys().nth(dice.roll(alive.len().max(1) as u64) as usize).copied()
        {
            store.despawn(handle).unwrap();
            alive.remove(&handle);
        }
        if tag % 100 == 0 {
            let met: BTreeMap<Handle, u64> =
                store.pin().iter().map(|(handle, payload)| (handle, payload[0])).collect();
            assert_eq!(met, alive);
        }
    }
}

/// Overwritten ones are not met, and those for whom they made room are.
#[test]
fn who_made_room_is_not_met_and_who_came_instead_is() {
    let store = Store::builder().limits(Limits::overwrite_oldest(100)).build().unwrap();
    let handles: Vec<Handle> =
        (0..1000).map(|payload| store.spawn_active(payload).unwrap()).collect();
    let last = handles.into_iter().zip(0..).skip(900).collect();
    assert_met(&store, last);
}

/// After segments were given back and made again.
#[test]
fn who_is_alive_is_met_after_a_shrink_and_a_regrow() {
    let (store, stay) = store_of(300_000, |slot| slot < 5000 && slot % 3 == 0);
    store.shrink();
    assert!(store.slots() < 300_000);
    assert_met(&store, stay.clone());
    let more = store.spawn_batch(1_000_000..1_200_000).unwrap().into_iter().zip(1_000_000..);
    assert_met(&store, stay.into_iter().chain(more).collect());
}

/// A scan that was begun looks into segments that are given back meanwhile.
#[test]
fn a_scan_that_was_begun_goes_on_through_a_shrink() {
    let (store, stay) = store_of(300_000, |slot| slot % 1000 == 0 && slot < 100_000);
    let (session, other) = (store.pin(), store.pin());
    for steps in [0, 1, 50] {
        let mut scan = session.iter();
        let mut met: Vec<Handle> = scan.by_ref().take(steps).map(|(handle, _)| handle).collect();
        std::thread::scope(|scope| scope.spawn(|| store.shrink()).join().unwrap());
        met.extend(scan.map(|(handle, _)| handle));
        assert_eq!(met, stay.iter().map(|(handle, _)| *handle).collect::<Vec<_>>());
    }
    drop(other);
}

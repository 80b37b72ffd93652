//! A scan: who is Active all through is met exactly once, nobody twice, and the
//! body may do what it likes to the same store.

mod support;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use hatchery::{Handle, Limits, State, StateSet, Store};
use support::{Census, Counted, Dice};

/// One entity of each kind of state, by its state at the end.
fn mixed(census: &Census, store: &Store<Counted>) -> BTreeMap<&'static str, Handle> {
    let pending = store.spawn(census.payload(1)).unwrap().detach();
    let active = store.spawn_active(census.payload(2)).unwrap();
    let dying = store.spawn_active(census.payload(3)).unwrap();
    store.kill(dying).unwrap();
    let dead = store.spawn_active(census.payload(4)).unwrap();
    store.despawn(dead).unwrap();
    BTreeMap::from([("pending", pending), ("active", active), ("dying", dying), ("dead", dead)])
}

#[test]
fn a_scan_meets_the_active_and_a_wider_one_the_dying_too() {
    let census = Census::new();
    let store = Store::new();
    let all = mixed(&census, &store);
    let session = store.pin();
    let plain: Vec<(Handle, u64)> = session.iter().map(|(h, payload)| (h, payload.tag())).collect();
    assert_eq!(plain, [(all["active"], 2)]);
    let wide = |set: StateSet| -> BTreeSet<(Handle, State, u64)> {
        session.iter_in(set).map(|(h, state, payload)| (h, state, payload.tag())).collect()
    };
    let active = (all["active"], State::Active, 2);
    let dying = (all["dying"], State::Dying, 3);
    assert_eq!(wide(StateSet::READABLE), [active, dying].into());
    assert_eq!(wide(StateSet::of(&[State::Active])), [active].into());
    assert_eq!(wide(StateSet::of(&[State::Dying])), [dying].into());
    assert_eq!(wide(StateSet::of(&State::ALL)), [active, dying].into(), "only what is readable");
    assert_eq!(wide(StateSet::ALIVE), [active, dying].into());
    assert_eq!(wide(StateSet::of(&[State::None, State::Pending, State::Dead])), [].into());
}

#[test]
fn a_scan_of_an_empty_store_meets_nobody() {
    let census = Census::new();
    let store = Store::<Counted>::new();
    assert_eq!(store.pin().iter().count(), 0);
    store.despawn(store.spawn_active(census.payload(0)).unwrap()).unwrap();
    assert_eq!(store.pin().iter().next().map(|(handle, _)| handle), None);
    assert_eq!(store.pin().iter_in(StateSet::READABLE).count(), 0);
}

#[test]
fn a_scan_of_many_segments_meets_everybody_once() {
    for size in [1, 63, 64, 65, 1000, 20_000] {
        let store = Store::new();
        let handles = store.spawn_batch(0..size).unwrap();
        let seen: HashSet<Handle> = store.pin().iter().map(|(handle, _)| handle).collect();
        assert_eq!(seen, handles.into_iter().collect());
        assert_eq!(store.pin().iter().map(|(_, value)| value).sum::<i64>(), size * (size - 1) / 2);
    }
}

/// C48
#[test]
fn the_body_may_end_this_one_and_the_next_and_spawn() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..200).map(|tag| census.payload(tag))).unwrap();
    let session = store.pin();
    let mut seen: HashSet<Handle> = HashSet::new();
    let mut ended: HashSet<Handle> = HashSet::new();
    for (handle, payload) in session.iter() {
        assert!(seen.insert(handle), "{handle} met twice");
        assert!(!ended.contains(&handle), "{handle} was Dying already");
        if seen.len() > 1000 {
            break;
        }
        session.kill(handle).unwrap();
        session.reap(handle).unwrap();
        ended.insert(handle);
        let next = session.iter().map(|(next, _)| next).find(|next| !seen.contains(next));
        if let Some(next) = next {
            session.kill(next).unwrap();
            ended.insert(next);
        }
        if payload.tag() < 200 {
            session.spawn_active(census.payload(1000)).unwrap();
        }
        store.reclaim();
    }
    drop(session);
    assert!(handles.iter().all(|handle| ended.contains(handle)), "each was met or ended before");
    store.reclaim();
}

#[test]
fn who_was_killed_before_its_turn_is_not_met_and_who_was_revived_is() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..100).map(|tag| census.payload(tag))).unwrap();
    let session = store.pin();
    let mut scan = session.iter();
    let (first, _) = scan.next().unwrap();
    for handle in handles.iter().filter(|handle| **handle != first) {
        session.kill(*handle).unwrap();
    }
    let revived = *handles.iter().rfind(|handle| **handle != first).unwrap();
    session.revive(revived).unwrap();
    let rest: Vec<Handle> = scan.map(|(handle, _)| handle).collect();
    assert!(rest == [revived] || rest.is_empty(), "it was not Active for the whole scan");
    assert_eq!(session.iter().count(), 2);
}

#[test]
fn scans_may_be_nested() {
    let store = Store::new();
    store.spawn_batch(0..50u64).unwrap();
    let session = store.pin();
    let mut pairs = 0;
    for (outer, _) in session.iter() {
        for (inner, _) in store.pin().iter() {
            pairs += usize::from(outer != inner);
        }
    }
    assert_eq!(pairs, 50 * 49);
}

/// C48 under threads: a thousand stay Active while two threads churn all around them.
#[test]
fn under_churn_who_stays_is_met_exactly_once_and_nobody_twice() {
    let census = Census::new();
    let limits = Limits::reject(3000);
    let store = Store::builder().limits(limits).backlog(1 << 20).build().unwrap();
    // Mixed with others that go, so that free slots lie between them.
    let all = store.spawn_batch((0..2000).map(|tag| census.payload(tag))).unwrap();
    let (stay, go): (Vec<Handle>, Vec<Handle>) = all.iter().partition(|h| h.seq() % 2 == 0);
    store.despawn_batch(&go);
    let stay: HashSet<Handle> = stay.into_iter().collect();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (store, maker, over) = (&store, census.maker(), &over);
            scope.spawn(move || {
                let mut dice = Dice::new(worker);
                let mut mine: Vec<Handle> = Vec::new();
                while !over.load(Ordering::SeqCst) {
                    if mine.len() < 500 && dice.roll(2) == 0 {
                        mine.push(store.spawn_active(maker.payload(5000)).unwrap());
                    } else if !mine.is_empty() {
                        let at = dice.roll(mine.len() as u64) as usize;
                        store.despawn(mine.swap_remove(at)).unwrap();
                    }
                }
            });
        }
        let finish = || over.store(true, Ordering::SeqCst);
        let scans = support::panics(|| {
            for _ in 0..30 {
                let mut met: HashSet<Handle> = HashSet::new();
                let session = store.pin();
                for (handle, payload) in session.iter() {
                    assert!(met.insert(handle), "{handle} met twice");
                    assert_eq!(payload.tag() < 2000, stay.contains(&handle));
                }
                assert!(stay.is_subset(&met), "{} missed", stay.difference(&met).count());
            }
        });
        finish();
        assert!(!scans);
    });
    store.clear();
    assert_eq!(census.alive(), 0);
}

#[cfg(feature = "rayon")]
mod parallel {
    use std::sync::Mutex;
    use std::sync::atomic::AtomicUsize;

    use rayon::iter::ParallelIterator;

    use super::*;

    #[test]
    fn a_parallel_scan_meets_whom_a_plain_one_meets() {
        for size in [0, 1, 63, 64, 65, 1000, 20_000] {
            let store = Store::new();
            let handles = store.spawn_batch(0..size).unwrap();
            for handle in handles.iter().step_by(3) {
                store.kill(*handle).unwrap();
            }
            let session = store.pin();
            let plain: BTreeMap<Handle, i64> = session.iter().map(|(h, v)| (h, *v)).collect();
            let met: Vec<(Handle, i64)> = session.par_iter().map(|(h, v)| (h, *v)).collect();
            assert_eq!(met.len(), plain.len());
            assert_eq!(met.into_iter().collect::<BTreeMap<_, _>>(), plain);
            let wide: Vec<(Handle, State)> =
                session.par_iter_in(StateSet::READABLE).map(|(h, state, _)| (h, state)).collect();
            assert_eq!(wide.len(), size as usize);
            for (handle, state) in wide {
                assert_eq!(store.state(handle), Ok(state));
            }
            assert_eq!(
                session.par_iter_in(StateSet::of(&[State::Dying])).count(),
                (size as usize).div_ceil(3)
            );
        }
    }

    #[test]
    fn the_body_of_a_parallel_scan_may_use_sessions_of_its_own() {
        scan_with_sessions_inside();
    }

    /// Here the thread with the outer pin runs parts of the scan itself.
    #[test]
    fn the_body_may_run_on_the_thread_that_has_the_outer_pin() {
        for threads in [1, 2, 4] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(scan_with_sessions_inside);
        }
    }

    fn scan_with_sessions_inside() {
        let census = Census::new();
        let store = Store::new();
        let handles = store.spawn_batch((0..2000).map(|tag| census.payload(tag))).unwrap();
        let session = store.pin();
        let born = AtomicUsize::new(0);
        session.par_iter().for_each_init(
            || (store.pin(), census.maker()),
            |(own, maker), (handle, payload)| {
                let tag = payload.tag();
                if tag >= 2000 {
                    return;
                }
                assert_eq!(own.get(handle).unwrap().tag(), tag);
                if tag % 2 == 0 {
                    own.despawn(handle).unwrap();
                    own.spawn_active(maker.payload(9000)).unwrap();
                    born.fetch_add(1, Ordering::SeqCst);
                }
                assert_eq!(payload.tag(), tag, "readable to the end of the scan");
                own.repin();
                assert_eq!(payload.tag(), tag, "a repin of an inner session lets nothing go");
            },
        );
        assert_eq!(born.into_inner(), 1000);
        assert_eq!(census.dropped(), 0, "the outer pin keeps what died");
        drop(session);
        store.reclaim();
        assert_eq!((store.len(), census.alive()), (2000, 2000));
        assert!(handles.iter().step_by(2).all(|handle| store.state(*handle).is_err()));
    }

    #[test]
    fn under_churn_a_parallel_scan_meets_nobody_twice_and_misses_none_who_stays() {
        let census = Census::new();
        let store = Store::new();
        let stay: HashSet<Handle> = store
            .spawn_batch((0..1000).map(|tag| census.payload(tag)))
            .unwrap()
            .into_iter()
            .collect();
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let maker = census.maker();
                while !over.load(Ordering::SeqCst) {
                    let handle = store.spawn_active(maker.payload(5000)).unwrap();
                    store.despawn(handle).unwrap();
                }
            });
            let scans = support::panics(|| {
                for _ in 0..20 {
                    let met: Mutex<HashSet<Handle>> = Mutex::default();
                    store.pin().par_iter().for_each(|(handle, payload)| {
                        assert!(met.lock().unwrap().insert(handle), "{handle} met twice");
                        assert_eq!(payload.tag() < 1000, stay.contains(&handle));
                    });
                    assert!(stay.is_subset(&met.into_inner().unwrap()));
                }
            });
            over.store(true, Ordering::SeqCst);
            assert!(!scans);
        });
    }

    #[test]
    fn a_panic_in_a_parallel_scan_reaches_the_caller_and_nothing_is_lost() {
        let census = Census::new();
        let store = Store::new();
        store.spawn_batch((0..500).map(|tag| census.payload(tag))).unwrap();
        assert!(support::panics(|| {
            store.pin().par_iter().for_each(|(_, payload)| {
                if payload.tag() == 250 {
                    support::panic_quietly();
                }
            });
        }));
        assert_eq!(store.pin().par_iter().count(), 500);
        assert_eq!(store.clear(), 500);
        assert_eq!((census.alive(), store.stats().dead), (0, 0));
    }
}

//! Many at once: all Active and in order, and where a batch stops half-way, what
//! was spawned and what was not are both known.

mod support;

use hatchery::{Handle, Limits, LookupError, SpawnFailure, State, Store};
use support::{Census, Counted, assert_accounts, panic_quietly, panics};

fn bounded(capacity: usize) -> Store<Counted> {
    Store::builder().limits(Limits::reject(capacity)).build().unwrap()
}

#[test]
fn a_batch_is_active_and_in_order() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..1000).map(|tag| census.payload(tag))).unwrap();
    assert_eq!(handles.len(), 1000);
    let session = store.pin();
    for (tag, handle) in handles.iter().enumerate() {
        let (payload, state) = session.get_with_state(*handle).unwrap();
        assert_eq!((payload.tag(), state), (tag as u64, State::Active));
    }
    let more = session.spawn_batch([census.payload(7), census.payload(8)]).unwrap();
    assert_eq!(session.get(more[1]).unwrap().tag(), 8);
    assert_eq!((store.len(), store.stats().spawned, store.stats().activated), (1002, 1002, 1002));
}

#[test]
fn an_empty_batch_is_no_failure_even_in_a_full_store() {
    let census = Census::new();
    let store = bounded(1);
    assert_eq!(store.spawn_batch([]).unwrap(), []);
    store.spawn_active(census.payload(0)).unwrap();
    assert_eq!(store.spawn_batch([]).unwrap(), []);
    assert_eq!(store.despawn_batch(&[]), 0);
    assert_eq!((store.stats().rejected, store.len()), (0, 1));
}

#[test]
fn a_batch_that_does_not_fit_gives_the_rest_back_in_order() {
    let census = Census::new();
    let store = bounded(100);
    let error = store.spawn_batch((0..250).map(|tag| census.payload(tag))).unwrap_err();
    assert_eq!(error.failure, SpawnFailure::Exhausted { capacity: 100 });
    assert_eq!((error.spawned.len(), error.rest.len()), (100, 150));
    let session = store.pin();
    for (tag, handle) in error.spawned.iter().enumerate() {
        assert_eq!(session.get_active(*handle).unwrap().tag(), tag as u64);
    }
    let rest: Vec<u64> = error.rest.iter().map(Counted::tag).collect();
    assert_eq!(rest, (100..250).collect::<Vec<_>>());
    assert_eq!((census.made(), census.dropped()), (250, 0));
    assert_accounts(&store.stats());
}

#[test]
fn a_batch_stopped_by_readers_gives_the_rest_back_as_well() {
    let census = Census::new();
    let limits = Limits::reject(8);
    let store = Store::builder().limits(limits).backlog(0).build().unwrap();
    let handles = store.spawn_batch((0..8).map(|tag| census.payload(tag))).unwrap();
    let reader = store.pin();
    assert_eq!(store.despawn_batch(&handles[..5]), 5);
    let error = store.spawn_batch((10..13).map(|tag| census.payload(tag))).unwrap_err();
    assert!(matches!(error.failure, SpawnFailure::Reclaiming { dead: 5 }), "{}", error.failure);
    assert_eq!((error.spawned.len(), error.rest.len()), (0, 3));
    drop(reader);
    assert_eq!(store.spawn_batch(error.rest).unwrap().len(), 3);
}

/// C23
#[test]
fn a_panic_of_the_iterator_leaves_those_before_it_alive_and_loses_no_slot() {
    let census = Census::new();
    let store = bounded(1000);
    let values = (0..1000).map(|tag| match tag {
        600 => panic_quietly(),
        _ => census.payload(tag),
    });
    assert!(panics(|| drop(store.spawn_batch(values))));
    assert_eq!((store.len(), census.alive()), (600, 600));
    let session = store.pin();
    let mut tags: Vec<u64> = session.iter().map(|(_, payload)| payload.tag()).collect();
    tags.sort_unstable();
    assert_eq!(tags, (0..600).collect::<Vec<_>>());
    drop(session);
    let rest = store.spawn_batch((0..400).map(|tag| census.payload(tag))).unwrap();
    assert_eq!(rest.len(), 400);
    assert!(store.spawn_active(census.payload(0)).is_err());
    assert_eq!(store.clear(), 1000);
    assert_accounts(&store.stats());
}

#[test]
fn an_iterator_may_use_the_store_it_feeds() {
    let census = Census::new();
    let store = Store::new();
    let mut others: Vec<Handle> = Vec::new();
    let values = (0..200).map(|tag| {
        let other = store.spawn_active(census.payload(1000 + tag)).unwrap();
        if let Some(last) = others.last() {
            store.despawn(*last).unwrap();
        }
        store.reclaim();
        others.push(other);
        census.payload(tag)
    });
    let handles = store.spawn_batch(values).unwrap();
    assert_eq!(store.len(), 201);
    let session = store.pin();
    for (tag, handle) in handles.iter().enumerate() {
        assert_eq!(session.get(*handle).unwrap().tag(), tag as u64);
    }
}

#[test]
fn an_iterator_may_be_wrong_about_its_length() {
    struct Boast<I>(I, (usize, Option<usize>));
    impl<I: Iterator> Iterator for Boast<I> {
        type Item = I::Item;
        fn next(&mut self) -> Option<I::Item> {
            self.0.next()
        }
        fn size_hint(&self) -> (usize, Option<usize>) {
            self.1
        }
    }
    let census = Census::new();
    for hint in [(0, Some(0)), (0, None), (1, Some(1)), (5000, Some(5000))] {
        let store = bounded(6000);
        let values = Boast((0..300).map(|tag| census.payload(tag)), hint);
        let handles = store.spawn_batch(values).unwrap();
        assert_eq!((handles.len(), store.len()), (300, 300), "{hint:?}");
        let full = store.spawn_batch((0..5700).map(|tag| census.payload(tag))).unwrap();
        assert_eq!(full.len(), 5700, "no place was lost");
    }
}

/// C23
#[test]
fn a_despawn_batch_counts_each_living_one_once_and_skips_the_rest() {
    let census = Census::new();
    let (store, other) = (Store::new(), Store::new());
    let handles = store.spawn_batch((0..20).map(|tag| census.payload(tag))).unwrap();
    let foreign = other.spawn_active(census.payload(99)).unwrap();
    let guard = store.spawn(census.payload(50)).unwrap();
    let reserved = store.spawn(census.payload(51)).unwrap().detach();
    store.despawn(handles[0]).unwrap();
    store.kill(handles[1]).unwrap();
    let mut batch = handles.clone();
    batch.extend(&handles);
    batch.extend([foreign, guard.handle(), reserved, reserved]);
    batch.push(support::handle(store.scene(), 1 << 40, 1));
    assert_eq!(store.despawn_batch(&batch), 20, "19 of the handles and the detached one");
    assert_eq!(store.despawn_batch(&batch), 0);
    assert_eq!(store.len(), 1, "the guarded one");
    assert_eq!(other.state(foreign), Ok(State::Active));
    let kept = guard.activate();
    store.reclaim();
    assert_eq!(store.pin().get(kept).unwrap().tag(), 50);
    assert_eq!(census.alive(), 2);
    assert_accounts(&store.stats());
}

#[test]
fn a_held_one_in_a_despawn_batch_ends_with_its_hold() {
    let census = Census::new();
    let store = Store::new();
    let handles = store.spawn_batch((0..5).map(|tag| census.payload(tag))).unwrap();
    let hold = store.hold(handles[2]).unwrap();
    store.despawn_batch(&handles);
    assert_eq!(store.len(), 1);
    assert!(hold.is_reap_requested());
    assert_eq!(hold.tag(), 2);
    drop(hold);
    assert!(store.is_empty());
    assert_eq!(
        store.state(handles[2]),
        Err(LookupError::NotFound { handle: handles[2] }),
        "the last hold carried the reap out"
    );
}

#[test]
fn batches_of_several_threads_share_out_the_places_exactly() {
    let census = Census::new();
    let store = bounded(1000);
    let spawned: Vec<Vec<Handle>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|worker| {
                let (store, maker) = (&store, census.maker());
                scope.spawn(move || {
                    let values = (0..400).map(|tag| maker.payload(worker * 1000 + tag));
                    match store.spawn_batch(values) {
                        Ok(handles) => handles,
                        Err(error) => {
                            assert_eq!(error.spawned.len() + error.rest.len(), 400);
                            error.spawned
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    assert_eq!(spawned.iter().map(Vec::len).sum::<usize>(), 1000);
    let session = store.pin();
    for (worker, handles) in spawned.iter().enumerate() {
        for (tag, handle) in handles.iter().enumerate() {
            assert_eq!(session.get(*handle).unwrap().tag(), (worker * 1000 + tag) as u64);
        }
    }
    drop(session);
    let all = spawned.concat();
    let removed: usize = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3).map(|_| scope.spawn(|| store.despawn_batch(&all))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!((removed, store.len()), (1000, 0), "each was removed by one of the three");
    assert_accounts(&store.stats());
}

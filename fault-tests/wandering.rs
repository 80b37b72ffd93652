//! Threads that are found on another core whenever they look, so that their traffic changes shards
//! in the middle of every protocol. Nothing may be out of reach afterwards.

use std::sync::mpsc;

use super::{Census, Counted, assert_whole};
use crate::sync::cores::tests::wander;
use crate::{Limits, Store, StoreBuilder, WeakStore};

/// Runs `test` on a wanderer while another thread uses the store: who is alone stays with the shard
/// that it has.
fn in_company<T: Send + Sync + 'static>(store: &Store<T>, test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let ((settled, both), (leave, left)) = (mpsc::channel(), mpsc::channel::<()>());
        scope.spawn(move || {
            drop(store.pin());
            settled.send(()).unwrap();
            left.recv().ok();
        });
        both.recv().unwrap();
        scope.spawn(move || {
            wander();
            test();
            drop(leave);
        });
    });
}

fn builders() -> [StoreBuilder<Counted>; 3] {
    let builder = || Store::builder().shards(4);
    let limited = builder().limits(Limits::reject(3000)).backlog(1000);
    [builder(), limited, builder().limits(Limits::overwrite_oldest(3000))]
}

#[test]
fn what_a_wanderer_leaves_in_any_shard_is_found_again() {
    for builder in builders() {
        let census = Census::default();
        let store = builder.build().unwrap();
        in_company(&store, || {
            let mut living = std::collections::VecDeque::new();
            for round in 0..200 {
                let session = (round % 3 == 0).then(|| store.pin());
                for n in 0..50 {
                    living.push_back(store.spawn_active(census.payload()).unwrap());
                    if living.len() > 700
                        && let Some(oldest) = living.pop_front()
                    {
                        match n % 2 {
                            0 => assert_eq!(store.despawn_batch(&[oldest]), 1),
                            _ => drop(store.despawn(oldest).unwrap()),
                        }
                    }
                }
                drop(session);
            }
        });
        assert!(store.slots() < 4000, "{} slots for 700 that live", store.slots());
        assert_whole(&store);
        assert_eq!(census.there(), 0);
    }
}

/// Its destructor spawns, and so looks for a slot in the middle of the call that brings slots back.
struct Phoenix(Option<WeakStore<Phoenix>>);

impl Drop for Phoenix {
    fn drop(&mut self) {
        if let Some(store) = self.0.take().and_then(|store| store.upgrade()) {
            store.spawn_active(Phoenix(None)).ok().unwrap();
        }
    }
}

#[test]
fn reclaim_by_a_wanderer_brings_everything_back() {
    let store = Store::builder().shards(2).build().unwrap();
    in_company(&store, || {
        let handles = Vec::from_iter((0..100_000).map(|_| {
            let phoenix = Phoenix(Some(store.downgrade()));
            store.spawn_active(phoenix).ok().unwrap()
        }));
        assert_eq!(store.despawn_batch(&handles), handles.len());
        store.reclaim();
        let stats = store.stats();
        assert_eq!((stats.live, stats.dead), (handles.len(), 0));
    });
    assert_whole(&store);
}

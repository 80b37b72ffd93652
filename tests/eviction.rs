//! The policy that ends the oldest.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use hatchery::{Handle, Limits, Store, WeakStore};

fn store(capacity: usize) -> Store<u64> {
    Store::builder().limits(Limits::overwrite_oldest(capacity)).build().unwrap()
}

#[test]
fn spawn_into_a_full_store_ends_the_oldest() {
    let store = store(3);
    let handles: Vec<Handle> = (0..3).map(|n| store.spawn_active(n).unwrap()).collect();
    let mut all = handles.clone();
    for n in 3..100 {
        all.push(store.spawn_active(n).unwrap());
        let pinned = store.pin();
        for (at, handle) in all.iter().enumerate() {
            assert_eq!(pinned.contains(*handle), at + 3 >= all.len(), "{at} of {}", all.len());
        }
    }
    let stats = store.stats();
    assert_eq!((stats.live, stats.overwritten, stats.released, stats.rejected), (3, 97, 0, 0));
    assert_eq!((stats.spawned, stats.acquired, stats.capacity, stats.grown), (100, 100, 3, 0));
    store.reclaim();
}

/// Spawns when its thread ends.
struct LastSpawn(Store<u64>);

impl Drop for LastSpawn {
    fn drop(&mut self) {
        assert!(self.0.spawn_active(1).is_ok(), "there is somebody to end");
    }
}

thread_local! {
    static LAST_SPAWN: RefCell<Option<LastSpawn>> = const { RefCell::new(None) };
}

/// In a thread's last moments sessions know nothing of each other; the callback of an eviction must
/// not evict there either, or it would go on until readers stop it.
#[test]
fn callback_that_spawns_does_not_evict_in_a_threads_last_moments() {
    for spawn_last in [true, false] {
        let calls = Arc::new(AtomicUsize::new(0));
        let (counted, weak) = (Arc::clone(&calls), Arc::new(OnceLock::new()));
        let back = Arc::clone(&weak);
        let store = Store::builder()
            .limits(Limits::overwrite_oldest(8))
            .on_dying(move |_, _, _| {
                counted.fetch_add(1, Ordering::Relaxed);
                let store = back.get().and_then(WeakStore::upgrade).unwrap();
                assert!(store.spawn_active(2).is_err(), "an eviction is under way");
            })
            .build()
            .unwrap();
        assert!(weak.set(store.downgrade()).is_ok());
        store.spawn_batch(0..8).unwrap();
        let other = store.clone();
        std::thread::spawn(move || {
            let keep = || LAST_SPAWN.set(Some(LastSpawn(other.clone())));
            if spawn_last {
                keep();
            }
            assert_eq!(other.pin().iter().count(), 8);
            if !spawn_last {
                keep();
            }
        })
        .join()
        .unwrap();
        let stats = store.stats();
        assert_eq!(
            (calls.load(Ordering::Relaxed), stats.overwritten, stats.drop_panics),
            (1, 1, 0)
        );
    }
}

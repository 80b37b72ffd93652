//! The policy that ends the oldest.

use hatchery::{Handle, Limits, Store};

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

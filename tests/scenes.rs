//! Scene ids of the whole process. A file of its own: it uses all of them up.

mod support;

use std::collections::HashSet;

use hatchery::{SceneId, Store};
use support::panics;

#[test]
fn every_id_is_handed_out_once_and_the_longest_unused_comes_back_first() {
    let named = Store::<u8>::builder().scene(SceneId(1234)).build().unwrap();
    let mut stores: Vec<Store<u8>> = (0..(1 << 16) - 1).map(|_| Store::new()).collect();
    let ids: HashSet<SceneId> = stores.iter().map(Store::scene).collect();
    assert_eq!(ids.len(), (1 << 16) - 1, "no two live stores have the same id");
    assert!(!ids.contains(&named.scene()));

    // All 65 536 are live: `new` panics, `build` refuses.
    assert!(panics(|| drop(Store::<u8>::new())));
    assert!(Store::<u8>::builder().build().is_err());
    assert!(Store::<u8>::builder().scene(SceneId(1234)).build().is_err());
    let handle = stores[7].spawn_active(9).unwrap();
    assert_eq!(*stores[7].pin().get(handle).unwrap(), 9);

    // Three go; they come back in that order, whatever was asked in between.
    let mut given_back = Vec::new();
    for at in [500, 3, 40_000] {
        let store = stores.swap_remove(at);
        given_back.push(store.scene());
        drop(store);
    }
    for expected in &given_back {
        assert_eq!(Store::<u8>::new().scene(), *expected);
    }
    // Each of those was dropped again at once, so the same order holds once more.
    let again: Vec<Store<u8>> = (0..3).map(|_| Store::new()).collect();
    assert_eq!(again.iter().map(Store::scene).collect::<Vec<_>>(), given_back);
    assert!(Store::<u8>::builder().build().is_err());

    // An id whose generations are spent is passed over.
    let last = support::nonzero(1);
    drop(stores.drain(..2).collect::<Vec<_>>());
    let spent = Store::builder().last_generation(last).build().unwrap();
    let spent_id = spent.scene();
    let handle = spent.spawn_active(1u8).unwrap();
    drop(spent);
    let other = Store::<u8>::builder().last_generation(last).build().unwrap();
    assert_ne!(other.scene(), spent_id);
    assert!(Store::<u8>::builder().last_generation(last).build().is_err(), "none is left");
    let fresh = Store::<u8>::new();
    assert_eq!(fresh.scene(), spent_id, "with more generations it serves");
    assert!(fresh.pin().get(handle).unwrap_err().is_gone());
}

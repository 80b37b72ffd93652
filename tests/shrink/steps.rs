//! What the tests of memory that is given back do again and again.

use hatchery::{Handle, Store};

use crate::support::{Census, Counted};

/// Spawns so many entities, repinning as a loop should.
pub fn fill(store: &Store<Counted>, census: &Census, count: u64) -> Vec<Handle> {
    let mut session = store.pin();
    let spawn = |number| {
        if number % 256 == 0 {
            session.repin();
        }
        session.spawn_active(census.payload(number)).unwrap()
    };
    (0..count).map(spawn).collect()
}

#[track_caller]
pub fn assert_gone(store: &Store<Counted>, handle: Handle) {
    let answer = store.state(handle).expect_err("it has ended");
    assert!(answer.is_gone(), "{answer:?}");
    assert_eq!(store.pin().get(handle).map(Counted::tag).unwrap_err(), answer);
    assert!(store.kill(handle).is_err() && store.hold(handle).is_err());
    assert!(store.despawn(handle).is_err() && store.activate(handle).is_err());
}

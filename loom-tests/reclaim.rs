//! Reclamation, with the real epochs: no payload is dropped before its last reader has gone.

use loom::thread;

use super::grave::Graveyard;
use super::model;
use super::store::{tiny, try_spawn, unlimited};
use crate::Reaped;

/// A reader borrows an entity while it dies and its slot is given to the next one.
#[test]
fn reader_against_kill_reap_and_respawn_reads_its_own() {
    model("reader_against_reuse", 1000, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let reader = thread::spawn(move || {
            let pinned = other.pin();
            if let Ok(tomb) = pinned.get(old) {
                assert_eq!(tomb.read(), 1);
                let _ = pinned.state(old);
                assert_eq!(tomb.read(), 1);
            }
        });
        store.kill(old).unwrap();
        store.reap(old).unwrap();
        let new = try_spawn(&store, &graveyard, 2);
        assert_ne!(new, Some(old));
        reader.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// The last Hold is dropped on a thread that knows nothing of the store; its slot comes back by
/// the dead stack, through a grace period like every other.
#[test]
fn hold_dropped_on_a_foreign_thread_against_a_refill() {
    model("dead_stack_route", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        store.spawn_active(graveyard.tomb(2)).unwrap();
        let hold = store.hold(old).unwrap();
        assert_eq!(store.despawn(old).unwrap(), Reaped::Deferred { holds: 1 });
        let foreign = thread::spawn(move || {
            assert_eq!(hold.read(), 1);
            drop(hold);
        });
        let (other, stones) = (store.clone(), graveyard.clone());
        let spawner = thread::spawn(move || other.spawn_active(stones.tomb(3)).unwrap());
        foreign.join().unwrap();
        assert_ne!(spawner.join().unwrap(), old);
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// A scan goes over a slot while its entity is replaced.
#[test]
fn iteration_against_churn_reads_whole_entities() {
    model("iteration_against_churn", 1000, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let reader = thread::spawn(move || {
            for (handle, tomb) in other.pin().iter() {
                assert_eq!(tomb.read(), if handle == old { 1 } else { 2 });
            }
        });
        store.despawn(old).unwrap();
        try_spawn(&store, &graveyard, 2);
        reader.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// What the outer pin borrowed stays, whatever the inner one does.
#[test]
fn nested_repin_keeps_what_the_outer_pin_borrowed() {
    model("nested_repin", 1000, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let reader = thread::spawn(move || {
            let outer = other.pin();
            if let Ok(tomb) = outer.get(old) {
                let mut inner = other.pin();
                inner.repin();
                drop(inner);
                assert_eq!(tomb.read(), 1);
            }
        });
        store.despawn(old).unwrap();
        let _ = store.spawn_active(graveyard.tomb(2));
        reader.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// A deferred call outlives the store, and runs on whatever thread; nothing of it is left.
#[test]
fn deferred_call_after_the_store_is_gone_reaches_nothing() {
    model("deferred_after_the_store", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let reader = thread::spawn(move || {
            let pinned = other.pin();
            if let Ok(tomb) = pinned.get(h) {
                assert_eq!(tomb.read(), 1);
            }
        });
        store.despawn(h).unwrap();
        drop(store);
        reader.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

//! The end of a store, against Holds, weak references and what is still deferred.

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::thread;

use super::grave::Graveyard;
use super::model;
use super::store::tiny;
use crate::reclaim::{Domain, Gate};

/// The closer and the last Hold meet on one word: one of them drops the payload.
#[test]
fn last_store_dropped_against_the_last_hold_drops_the_payload_once() {
    model("close_against_hold", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let hold = store.kill_and_hold(h).unwrap();
        let foreign = thread::spawn(move || {
            assert_eq!(hold.read(), 1);
            drop(hold);
        });
        // A reader of the store, whose read must come before the destructor wherever that runs.
        assert_eq!(store.pin().get(h).unwrap().read(), 1);
        drop(store);
        foreign.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

/// The same after a reap request: the Hold buries while the store closes.
#[test]
fn last_store_dropped_against_a_hold_that_buries_drops_the_payload_once() {
    model("close_against_burial", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let hold = store.kill_and_hold(h).unwrap();
        store.reap(h).unwrap();
        let foreign = thread::spawn(move || drop(hold));
        drop(store);
        foreign.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

/// The same, on a thread that knows the store: the Hold opens a session on what is closed already.
#[test]
fn last_store_dropped_against_a_burial_on_a_known_thread_drops_the_payload_once() {
    model("close_against_known_burial", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let hold = store.kill_and_hold(h).unwrap();
        store.reap(h).unwrap();
        let closer = thread::spawn(move || drop(store));
        drop(hold);
        closer.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

/// Two Holds and the store go at the same time.
#[test]
fn two_holds_against_the_last_store_drop_the_payload_once() {
    model("close_against_two_holds", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let first = store.hold(h).unwrap();
        let second = first.clone();
        let first = thread::spawn(move || drop(first));
        let second = thread::spawn(move || drop(second));
        drop(store);
        first.join().unwrap();
        second.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

/// A gate, and a room behind it that whoever is in reads and the one who closes writes.
struct Door {
    gate: crate::sync::Arc<Gate>,
    room: UnsafeCell<()>,
}

// SAFETY: loom watches the room.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

impl Door {
    fn leave(&self) -> bool {
        self.room.with(|_| ());
        let last = self.gate.leave();
        if last {
            self.room.with_mut(|_| ());
        }
        last
    }
}

/// Exactly one is the last to leave, after everybody else, and nobody enters afterwards.
#[test]
fn gate_is_closed_once_after_everybody_has_left() {
    model("gate", 4, || {
        let door = Arc::new(Door { gate: Domain::new().gate, room: UnsafeCell::new(()) });
        let other = Arc::clone(&door);
        let there = thread::spawn(move || other.gate.try_enter() && other.leave());
        let here = door.leave();
        assert!(here ^ there.join().unwrap());
        assert!(!door.gate.try_enter(), "closed for ever");
    });
}

/// Whoever gets the store by a weak reference keeps it open; who comes too late gets nothing.
#[test]
fn upgrade_against_the_last_drop_is_open_or_nothing() {
    model("upgrade_against_close", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let weak = store.downgrade();
        let there = thread::spawn(move || {
            if let Some(store) = weak.upgrade() {
                assert_eq!(store.pin().get(h).unwrap().read(), 1);
            }
            weak
        });
        drop(store);
        assert!(there.join().unwrap().upgrade().is_none());
        graveyard.assert_all_dropped();
    });
}

/// What another thread did to an entity comes before the destructor that the closer runs.
#[test]
fn last_store_dropped_after_another_thread_has_written_sees_all_of_it() {
    model("close_after_another", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(2, 0));
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        let (other, stones) = (store.clone(), graveyard.clone());
        let there = thread::spawn(move || {
            assert_eq!(other.pin().get(h).unwrap().read(), 1);
            other.spawn_active(stones.tomb(2)).unwrap();
        });
        drop(store);
        there.join().unwrap();
        graveyard.assert_all_dropped();
    });
}

//! The word's edges: exactly one caller wins each, and what the payload needs comes with it.

use loom::cell::UnsafeCell;
use loom::thread;

use super::model;
use super::slot::{GENERATION, Lone};
use crate::state::State;
use crate::word::SlotWord;

#[test]
fn kill_against_kill_has_one_winner() {
    model("kill_against_kill", 4, || {
        let slot = Lone::active();
        let other = slot.clone();
        let there = thread::spawn(move || other.kill());
        let here = slot.kill();
        assert!(here ^ there.join().unwrap());
    });
}

#[test]
fn revive_against_reap_has_one_winner() {
    model("revive_against_reap", 4, || {
        let slot = Lone::dying(0);
        let other = slot.clone();
        let reaped = thread::spawn(move || other.reap() == Some(true));
        let revived = slot.revive();
        assert!(revived ^ reaped.join().unwrap());
        assert_eq!(slot.graveyard.dropped(), usize::from(!revived));
    });
}

/// Both act on an entity whose guard is given up meanwhile; the winner of the cancel drops what
/// another thread has written.
#[test]
fn cancel_against_activate_of_a_detached_entity_has_one_winner() {
    model("cancel_against_activate", 20, || {
        let slot = Lone::empty();
        let (first, second) = (slot.clone(), slot.clone());
        let cancelled = thread::spawn(move || {
            let won = first.word.cancel(GENERATION).is_ok();
            if won {
                first.bury();
            }
            won
        });
        let activated = thread::spawn(move || {
            let won = second.word.activate(GENERATION).is_ok();
            if second.word.read().readable_as(GENERATION) {
                assert_eq!(second.read(), 7);
            }
            won
        });
        slot.write();
        slot.word.detach(GENERATION);
        let (cancelled, activated) = (cancelled.join().unwrap(), activated.join().unwrap());
        assert!(!(cancelled && activated), "one edge, two winners");
        let state = slot.word.peek().state();
        let expected = match (cancelled, activated) {
            (true, _) => State::Dead,
            (_, true) => State::Active,
            _ => State::Pending,
        };
        assert_eq!(state, expected);
    });
}

#[test]
fn hold_against_reap_keeps_the_entity_or_is_refused() {
    model("hold_against_reap", 4, || {
        let slot = Lone::dying(0);
        let other = slot.clone();
        let reaped = thread::spawn(move || other.reap());
        let buried_here = slot.hold().then(|| {
            assert_eq!(slot.read(), 7);
            slot.unhold()
        });
        let reaped = reaped.join().unwrap();
        let burials = usize::from(buried_here == Some(true)) + usize::from(reaped == Some(true));
        assert_eq!(burials, 1, "held {buried_here:?}, reaped {reaped:?}");
        assert_eq!(slot.word.peek().state(), State::Dead);
        slot.graveyard.assert_all_dropped();
    });
}

#[test]
fn last_hold_dropped_against_reap_buries_once() {
    model("last_hold_against_reap", 4, || {
        let slot = Lone::dying(1);
        let other = slot.clone();
        let reaped = thread::spawn(move || other.reap() == Some(true));
        assert_eq!(slot.read(), 7);
        let buried = slot.unhold();
        assert!(buried ^ reaped.join().unwrap());
        slot.graveyard.assert_all_dropped();
    });
}

/// The last one drops what the other has read.
#[test]
fn two_holds_dropped_after_a_reap_request_bury_once() {
    model("two_holds_dropped", 4, || {
        let slot = Lone::dying(2);
        assert_eq!(slot.reap(), Some(false));
        let other = slot.clone();
        let there = thread::spawn(move || {
            assert_eq!(other.read(), 7);
            other.unhold()
        });
        assert_eq!(slot.read(), 7);
        let here = slot.unhold();
        assert!(here ^ there.join().unwrap());
        slot.graveyard.assert_all_dropped();
    });
}

/// Whoever is alone, once nobody holds the entity, comes after its last holder.
#[test]
fn hold_dropped_against_an_end_by_stores_is_over_before_it() {
    model("hold_dropped_against_an_end_by_stores", 2, || {
        let slot = Lone::dying(1);
        let other = slot.clone();
        let holder = thread::spawn(move || {
            assert_eq!(other.read(), 7);
            assert!(!other.unhold());
        });
        while !slot.end_alone() {
            // As in `scene::request_taken_while_its_sender_goes_on_is_complete`.
            thread::yield_now();
        }
        holder.join().unwrap();
        assert_eq!(slot.word.peek().state(), State::Dead);
        slot.graveyard.assert_all_dropped();
    });
}

/// An entity that is sealed is its despawn's alone: no hold comes between.
#[test]
fn hold_against_despawn_keeps_the_entity_or_is_refused() {
    model("hold_against_despawn", 4, || {
        let slot = Lone::active();
        let other = slot.clone();
        let despawned = thread::spawn(move || other.despawn());
        let buried = slot.hold() && {
            assert_eq!(slot.read(), 7);
            slot.unhold()
        };
        assert!(buried ^ despawned.join().unwrap());
        slot.graveyard.assert_all_dropped();
    });
}

/// A batch ends in one step what nobody holds, after everything that a hold was for.
#[test]
fn hold_against_a_batch_keeps_the_entity_or_is_refused() {
    model("hold_against_a_batch", 4, || {
        let slot = Lone::active();
        let other = slot.clone();
        let despawned = thread::spawn(move || other.despawn_in_a_batch());
        let buried = slot.hold() && {
            assert_eq!(slot.read(), 7);
            slot.unhold()
        };
        assert!(buried ^ despawned.join().unwrap());
        slot.graveyard.assert_all_dropped();
    });
}

#[test]
fn kill_and_hold_against_despawn_buries_once() {
    model("kill_and_hold_against_despawn", 4, || {
        let slot = Lone::active();
        let other = slot.clone();
        let despawned = thread::spawn(move || other.despawn());
        let held = slot.word.advance(GENERATION, SlotWord::kill_and_hold).is_ok();
        let buried = held && {
            assert_eq!(slot.read(), 7);
            slot.unhold()
        };
        assert!(buried ^ despawned.join().unwrap());
        slot.graveyard.assert_all_dropped();
    });
}

/// Holds are counted while others kill: no count and no edge is lost.
#[test]
fn hold_against_kill_loses_neither() {
    model("hold_against_kill", 4, || {
        let slot = Lone::active();
        let other = slot.clone();
        let killed = thread::spawn(move || other.kill());
        assert!(slot.hold());
        assert!(killed.join().unwrap());
        let word = slot.word.peek();
        assert_eq!((word.state(), word.holds()), (State::Dying, 1));
    });
}

/// The owner publishes; whoever sees Active reads what was written before.
#[test]
fn publication_carries_the_payload() {
    model("publication", 2, || {
        let slot = Lone::empty();
        let reader = slot.clone();
        let reader = thread::spawn(move || {
            let word = reader.word.read();
            word.readable_as(GENERATION).then(|| reader.read())
        });
        slot.write();
        slot.word.publish(GENERATION);
        assert!(matches!(reader.join().unwrap(), None | Some(7)));
    });
}

/// One thread makes the entity, a second shows it, a third reads it: the third sees what either
/// wrote.
#[test]
fn entity_activated_by_another_thread_is_complete_for_a_third() {
    model("detach_activate_read", 20, || {
        let slot = Lone::empty();
        let beside = std::sync::Arc::new(Beside(UnsafeCell::new(0)));
        let (activator, reader) = (slot.clone(), slot.clone());
        let (written, seen) = (std::sync::Arc::clone(&beside), beside);
        let activator = thread::spawn(move || {
            // SAFETY: whether the accesses are ordered is the question that loom answers.
            written.0.with_mut(|cell| unsafe { *cell = 3 });
            activator.word.activate(GENERATION).is_ok()
        });
        let reader = thread::spawn(move || {
            if reader.word.read().readable_as(GENERATION) {
                assert_eq!(reader.read(), 7);
                // SAFETY: whether the accesses are ordered is the question that loom answers.
                assert_eq!(seen.0.with(|cell| unsafe { *cell }), 3);
            }
        });
        slot.write();
        slot.word.detach(GENERATION);
        activator.join().unwrap();
        reader.join().unwrap();
    });
}

/// Who shows what another thread has made sees what came with it, whether or not it looks at the
/// word again.
#[test]
fn activator_of_an_entity_sees_what_another_thread_has_written() {
    model("detach_activate", 6, || {
        let slot = Lone::empty();
        let activator = slot.clone();
        let activator = thread::spawn(move || {
            if activator.word.activate(GENERATION).is_ok() {
                assert_eq!(activator.read(), 7);
            }
        });
        slot.write();
        slot.word.detach(GENERATION);
        activator.join().unwrap();
    });
}

/// A third sees what the first has written where the oldest is ended as well: the second takes the
/// guard, stamps and shows the entity by a store, which ends the release sequence of the first.
#[test]
fn entity_claimed_and_shown_by_another_thread_is_complete_for_a_third() {
    model("detach_claim_read", 20, || {
        let slot = Lone::empty();
        let (activator, reader) = (slot.clone(), slot.clone());
        let activator = thread::spawn(move || {
            if activator.word.claim_pending(GENERATION).is_ok() {
                activator.word.publish(GENERATION);
            }
        });
        let reader = thread::spawn(move || {
            if reader.word.read().readable_as(GENERATION) {
                assert_eq!(reader.read(), 7);
            }
        });
        slot.write();
        slot.word.detach(GENERATION);
        activator.join().unwrap();
        reader.join().unwrap();
    });
}

/// Whoever sees an entity Dying sees what its killer wrote before.
#[test]
fn killed_entity_shows_what_its_killer_wrote() {
    model("kill_shows_what_was_written", 4, || {
        let slot = Lone::active();
        let beside = std::sync::Arc::new(Beside(UnsafeCell::new(0)));
        let (reader, seen) = (slot.clone(), std::sync::Arc::clone(&beside));
        let reader = thread::spawn(move || {
            if reader.word.read().state() == State::Dying {
                // SAFETY: whether the accesses are ordered is the question that loom answers.
                assert_eq!(seen.0.with(|cell| unsafe { *cell }), 3);
            }
        });
        // SAFETY: whether the accesses are ordered is the question that loom answers.
        beside.0.with_mut(|cell| unsafe { *cell = 3 });
        assert!(slot.kill());
        reader.join().unwrap();
    });
}

/// What a thread writes beside the payload.
struct Beside(UnsafeCell<u32>);

// SAFETY: loom watches the cell.
unsafe impl Send for Beside {}
// SAFETY: as above.
unsafe impl Sync for Beside {}

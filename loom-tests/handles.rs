//! Handles that nobody gave out, or that outlived their entity, against allocation.

use std::num::NonZeroU32;

use loom::thread;

use super::grave::Graveyard;
use super::model;
use super::store::{tiny, try_spawn};
use crate::{EntityId, Handle, SceneId, State};

/// A handle of a slot that may not exist yet: nothing, or the entity that really has it.
#[test]
fn forged_handle_against_the_first_spawn_is_none_or_complete() {
    model("forged_against_spawn", 10, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let other = store.clone();
        let generation = NonZeroU32::MIN;
        let forged = Handle::new(EntityId::new(SceneId(1), 0).unwrap(), generation);
        let foreign = Handle::new(EntityId::new(SceneId(2), 0).unwrap(), generation);
        let guesser = thread::spawn(move || {
            assert!(other.pin().get(foreign).is_err());
            if let Ok(tomb) = other.pin().get(forged) {
                assert_eq!(tomb.read(), 1);
            }
            let _ = other.kill(forged);
        });
        let h = store.spawn_active(graveyard.tomb(1)).unwrap();
        assert_eq!(h, forged);
        guesser.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// A handle from before, while its slot goes to the next entity: it acts on its own or on none.
#[test]
fn stale_handle_against_respawn_touches_no_stranger() {
    model("stale_against_respawn", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let late = thread::spawn(move || {
            let _ = other.kill(old);
        });
        store.despawn(old).unwrap();
        if let Some(new) = try_spawn(&store, &graveyard, 2) {
            assert_ne!(new, old);
            late.join().unwrap();
            assert_eq!(store.state(new), Ok(State::Active), "killed by the handle of another");
        } else {
            late.join().unwrap();
        }
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// A Hold is taken of the entity that the handle names, or of none.
#[test]
fn hold_by_a_stale_handle_against_respawn_holds_its_own() {
    model("stale_hold_against_respawn", 100, || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        let other = store.clone();
        let late = thread::spawn(move || {
            if let Ok(hold) = other.hold(old) {
                assert_eq!(hold.read(), 1);
            }
        });
        store.despawn(old).unwrap();
        if let Ok(new) = store.spawn_active(graveyard.tomb(2)) {
            assert_ne!(new, old);
        }
        late.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

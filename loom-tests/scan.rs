//! Scans go by the marks of the slots: none passes over an entity that its caller may know of.

use std::num::NonZeroU32;

use loom::thread;

use super::grave::{Graveyard, Tomb};
use super::model;
use super::store::{tiny, unlimited};
use crate::store::{Pinned, Store};
use crate::{EntityId, Handle, SceneId, State};

fn is_in_a_scan(store: &Store<Tomb>, handle: Handle) -> bool {
    is_met(&store.pin(), handle)
}

fn is_met(pinned: &Pinned<'_, Tomb>, handle: Handle) -> bool {
    pinned.iter().any(|(other, _)| other == handle)
}

/// One thread `begin`s an entity whose handle another has guessed; what that one `checks` is that
/// it meets the entity in a scan if it knows of it.
fn known_against_scan(
    name: &str,
    begin: impl Fn(&Store<Tomb>, Tomb) -> Handle + Copy + Send + Sync + 'static,
    checks: impl Fn(&Store<Tomb>, Handle) -> bool + Copy + Send + Sync + 'static,
) {
    model(name, 10, move || {
        let (graveyard, store) = (Graveyard::default(), tiny(1, 0));
        let other = store.clone();
        let guessed = Handle::new(EntityId::new(SceneId(1), 0).unwrap(), NonZeroU32::MIN);
        let reader = thread::spawn(move || assert!(checks(&other, guessed)));
        assert_eq!(begin(&store, graveyard.tomb(1)), guessed);
        reader.join().unwrap();
        drop(store);
        graveyard.assert_all_dropped();
    });
}

/// Who has seen an entity has received its mark: here by a handle that it has guessed.
#[test]
fn entity_that_somebody_has_seen_is_in_a_scan() {
    let shown = |store: &Store<Tomb>, tomb| store.spawn_active(tomb).unwrap();
    known_against_scan("seen_against_scan", shown, |store, guessed| {
        store.pin().get(guessed).is_err() || is_in_a_scan(store, guessed)
    });
}

/// A look at its state tells of an entity as well. Under one pin, as below: the fence of another
/// would receive the mark.
#[test]
fn entity_whose_state_somebody_has_seen_is_in_a_scan() {
    let shown = |store: &Store<Tomb>, tomb| store.spawn_active(tomb).unwrap();
    known_against_scan("state_against_scan", shown, |store, guessed| {
        let pinned = store.pin();
        pinned.state(guessed) != Ok(State::Active) || is_met(&pinned, guessed)
    });
}

/// Who activates an entity by its handle need not have heard of it from whoever spawned it.
#[test]
fn entity_that_somebody_else_has_activated_is_in_a_scan() {
    let pending = |store: &Store<Tomb>, tomb| store.spawn(tomb).unwrap().detach();
    known_against_scan("activated_against_scan", pending, |store, guessed| {
        let pinned = store.pin();
        pinned.activate(guessed).is_err() || is_met(&pinned, guessed)
    });
}

/// A slot that comes out of limbo without a mark has one again before it is used.
#[test]
fn entity_in_a_slot_that_was_used_before_is_in_a_scan() {
    model("used_again_against_scan", 100, || {
        let (graveyard, store) = (Graveyard::default(), unlimited());
        let old = store.spawn_active(graveyard.tomb(1)).unwrap();
        store.spawn_active(graveyard.tomb(2)).unwrap();
        let hold = store.hold(old).unwrap();
        assert!(store.despawn(old).is_ok());
        let foreign = thread::spawn(move || drop(hold));
        let (other, stones) = (store.clone(), graveyard.clone());
        let spawner = thread::spawn(move || other.spawn_active(stones.tomb(3)).unwrap());
        foreign.join().unwrap();
        let new = spawner.join().unwrap();
        assert!(is_in_a_scan(&store, new));
        drop(store);
        graveyard.assert_all_dropped();
    });
}

//! What comes from outside as bytes or text: handles, entity ids, limits. Whatever it is, it is
//! decoded or refused, never a panic, and each value has one spelling.
//!
//! Inputs are made up from a seed (`PROPTEST_RNG_SEED` gives another, `PROPTEST_CASES` more), and
//! read from `tests/corpus/`, where inputs that once went wrong are kept.

#[path = "decoding/corpus.rs"]
mod corpus;
#[path = "decoding/inputs.rs"]
mod inputs;
#[cfg(feature = "serde")]
#[path = "decoding/wire.rs"]
mod wire;

use std::num::NonZeroU32;

use hatchery::{EntityId, Handle, ParseHandleError, SceneId, Store};
use inputs::{config, handle_text, id_text, near_handle};
use proptest::prelude::*;

/// The number that a text spells, as `Display` writes it: by writing it again.
fn number(text: &str, most: u64) -> Option<u64> {
    let value = text.chars().try_fold(0u128, |value, digit| {
        let digit = u128::from(u32::from(digit).checked_sub(48).filter(|digit| *digit < 10)?);
        (value < 1 << 64).then_some(value * 10 + digit)
    })?;
    (value.to_string() == text && value <= u128::from(most)).then_some(value as u64)
}

/// What a text ought to be as an id.
fn expected_id(text: &str) -> Option<EntityId> {
    let (scene, seq) = text.split_once(':')?;
    let scene = SceneId(number(scene, u16::MAX.into())? as u16);
    EntityId::new(scene, number(seq, (1 << 48) - 1)?)
}

/// What a text ought to be as a handle.
fn expected_handle(text: &str) -> Option<Handle> {
    let (id, generation) = text.split_once("/gen")?;
    let generation = NonZeroU32::new(number(generation, u32::MAX.into())? as u32)?;
    Some(Handle::new(expected_id(id)?, generation))
}

/// The refusal is one short line, which quotes a piece of the text.
#[track_caller]
fn assert_plain(error: &ParseHandleError, text: &str) {
    let line = error.to_string();
    assert!(!line.is_empty() && line.chars().all(|c| !c.is_control()), "{line:?}");
    assert!(line.chars().count() < 700, "{line}");
    let piece = error.piece();
    assert!(text.contains(piece.strip_suffix('…').unwrap_or(piece)), "{piece:?} of {text:?}");
}

#[track_caller]
fn check_handle_text(text: &str) {
    let handle = text.parse::<Handle>();
    assert_eq!(handle.clone().ok(), expected_handle(text), "{text:?}");
    match handle {
        Ok(handle) => assert_eq!(handle.to_string(), text),
        Err(error) => assert_plain(&error, text),
    }
}

#[track_caller]
fn check_id_text(text: &str) {
    let id = text.parse::<EntityId>();
    assert_eq!(id.clone().ok(), expected_id(text), "{text:?}");
    match id {
        Ok(id) => assert_eq!(id.to_string(), text),
        Err(error) => assert_plain(&error, text),
    }
}

#[track_caller]
fn check_handle_bytes(bytes: [u8; 12]) {
    let handle = Handle::from_bytes(bytes);
    assert_eq!(handle.is_none(), bytes[8..] == [0; 4], "{bytes:?}");
    let Some(handle) = handle else { return };
    assert_eq!(handle.to_bytes(), bytes);
    assert_eq!(handle.id().to_bits().to_be_bytes(), bytes[..8]);
    assert_eq!(handle.generation().get().to_be_bytes(), bytes[8..]);
    assert_eq!(EntityId::new(handle.scene(), handle.seq()), Some(handle.id()));
    check_handle_text(&handle.to_string());
}

#[test]
fn corpus_of_handle_texts_is_decoded_as_it_says() {
    for (text, right) in corpus::verdicts(corpus::HANDLE_TEXT) {
        assert_eq!(text.parse::<Handle>().is_ok(), right, "{text:?}");
        check_handle_text(&text);
    }
}

#[test]
fn corpus_of_entity_id_texts_is_decoded_as_it_says() {
    for (text, right) in corpus::verdicts(corpus::ENTITY_ID_TEXT) {
        assert_eq!(text.parse::<EntityId>().is_ok(), right, "{text:?}");
        check_id_text(&text);
    }
}

#[test]
fn corpus_of_handle_bytes_is_decoded_as_it_says() {
    for (hex, text) in corpus::pairs::<Option<String>>(corpus::HANDLE_BYTES) {
        let bytes = <[u8; 12]>::try_from(corpus::bytes(&hex)).ok();
        let handle = bytes.and_then(Handle::from_bytes);
        assert_eq!(handle.map(|handle| handle.to_string()), text, "{hex}");
        bytes.into_iter().for_each(check_handle_bytes);
    }
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn handle_text_of_any_kind_is_decoded_exactly_when_it_is_one(text in handle_text()) {
        check_handle_text(&text);
    }

    #[test]
    fn entity_id_text_of_any_kind_is_decoded_exactly_when_it_is_one(text in id_text()) {
        check_id_text(&text);
    }

    #[test]
    fn handle_bytes_of_any_kind_are_decoded_unless_the_generation_is_zero(
        bytes in any::<[u8; 12]>(),
        sparse in prop::array::uniform12(prop_oneof![3 => Just(0u8), 1 => any::<u8>()]),
    ) {
        check_handle_bytes(bytes);
        check_handle_bytes(sparse);
    }
}

proptest! {
    #![proptest_config(config(300))]

    /// A store answers for its own entity, and for nothing else that the bytes may say.
    #[test]
    fn decoded_handle_is_safe_to_ask_a_store_about(
        guesses in prop::collection::vec(near_handle(), 1..20),
        lives in 0..4u32,
    ) {
        let store = Store::new();
        let mut entity = store.spawn_active(0)?;
        for life in 1..=lives {
            store.despawn(entity)?;
            store.reclaim();
            entity = store.spawn_active(life)?;
        }
        for guess in guesses {
            let Some(handle) = Handle::from_bytes(guess.around(entity)) else { continue };
            prop_assert_eq!(store.pin().get(handle).is_ok(), handle == entity);
            prop_assert_eq!(store.state(handle).is_ok(), handle == entity);
            prop_assert_eq!(store.hold(handle).is_ok(), handle == entity);
            if handle != entity {
                prop_assert!(store.activate(handle).is_err() && store.cancel(handle).is_err());
                prop_assert!(store.kill(handle).is_err() && store.kill_and_hold(handle).is_err());
                prop_assert!(store.revive(handle).is_err() && store.reap(handle).is_err());
                prop_assert!(store.despawn(handle).is_err());
                prop_assert_eq!(store.despawn_batch(&[handle, handle]), 0);
            }
        }
        prop_assert_eq!((store.len(), store.pin().get(entity).copied()), (1, Ok(lives)));
    }
}

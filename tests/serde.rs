//! The feature `serde`: handles as text or as twelve bytes, limits and statistics
//! in camel case.
#![cfg(feature = "serde")]

mod support;

use hatchery::{Exhaustion, Handle, Limits, SceneId, Stats, Store};
use serde_json::{Value, json};

fn sample() -> Handle {
    support::handle(SceneId(1), 42, 3)
}

#[test]
fn a_handle_is_its_text_in_a_readable_format() {
    assert_eq!(serde_json::to_value(sample()).unwrap(), json!("1:42/gen3"));
    assert_eq!(serde_json::from_value::<Handle>(json!("1:42/gen3")).unwrap(), sample());
    for bad in [json!("1:42/gen0"), json!("1:42"), json!(""), json!(7), json!(null), json!([1, 2])]
    {
        assert!(serde_json::from_value::<Handle>(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn a_handle_is_twelve_bytes_in_a_binary_format() {
    let bytes = postcard::to_allocvec(&sample()).unwrap();
    assert!(bytes.ends_with(&sample().to_bytes()), "{bytes:?}");
    assert!(bytes.len() <= 13, "the twelve and at most a length: {bytes:?}");
    assert_eq!(postcard::from_bytes::<Handle>(&bytes).unwrap(), sample());
    let mut zero = bytes.clone();
    let last = zero.len() - 4;
    zero[last..].fill(0);
    assert!(postcard::from_bytes::<Handle>(&zero).is_err(), "generation 0 is no handle");
    for length in 0..bytes.len() {
        assert!(postcard::from_bytes::<Handle>(&bytes[..length]).is_err());
    }
}

#[test]
fn handles_within_others_survive_both_formats() {
    let all = vec![
        Some(sample()),
        None,
        Some(support::handle(SceneId(u16::MAX), (1 << 48) - 1, u32::MAX)),
    ];
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Option<Handle>>>(&text).unwrap(), all);
    let bytes = postcard::to_allocvec(&all).unwrap();
    assert_eq!(postcard::from_bytes::<Vec<Option<Handle>>>(&bytes).unwrap(), all);
}

#[test]
fn limits_are_written_in_camel_case() {
    let value = serde_json::to_value(Limits::grow_to_cap(64, 96)).unwrap();
    assert_eq!(value, json!({"capacity": 64, "maxCapacity": 96, "policy": "growToCap"}));
    for (policy, word) in [
        (Exhaustion::Reject, "reject"),
        (Exhaustion::OverwriteOldest, "overwriteOldest"),
        (Exhaustion::GrowToCap, "growToCap"),
    ] {
        assert_eq!(serde_json::to_value(policy).unwrap(), json!(word));
        assert_eq!(serde_json::from_value::<Exhaustion>(json!(word)).unwrap(), policy);
    }
    assert!(serde_json::from_value::<Exhaustion>(json!("overwrite_oldest")).is_err());
}

/// The seed's own table: fields that belong to its game are passed over.
#[test]
fn limits_are_read_from_a_game_s_own_table() {
    let table = json!({
        "version": 1, "game": "merge-island", "seed": 20261012, "note": "any",
        "capacity": 64, "maxCapacity": 96, "policy": "growToCap",
        "burstPerFrame": 20, "activeFrames": 30, "warmupAcquires": 64
    });
    assert_eq!(serde_json::from_value::<Limits>(table).unwrap(), Limits::grow_to_cap(64, 96));
    let short: Limits = serde_json::from_value(json!({"capacity": 5, "policy": "reject"})).unwrap();
    assert_eq!((short.capacity, short.policy), (5, Exhaustion::Reject));
    for bad in [
        json!({"policy": "reject"}),
        json!({"capacity": 5}),
        json!({"capacity": -5, "policy": "reject"}),
        json!({"capacity": "5", "policy": "reject"}),
    ] {
        assert!(serde_json::from_value::<Limits>(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn statistics_are_written_in_camel_case() {
    let store = Store::new();
    store.spawn_active(1).unwrap();
    let value = serde_json::to_value(store.stats()).unwrap();
    let Value::Object(fields) = &value else { panic!("{value}") };
    assert_eq!((&fields["spawned"], &fields["peakLive"]), (&json!(1), &json!(1)));
    assert!(fields.contains_key("retiredSlots") && fields.contains_key("dropPanics"));
    assert!(fields.keys().all(|name| !name.contains('_')), "{fields:?}");
    assert_eq!(fields.len(), 28, "every number of `Stats`: {fields:?}");
    assert_eq!(Stats::default().hit_rate_permille(), 0);
}

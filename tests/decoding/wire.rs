//! The same through serde: JSON and postcard.

use hatchery::{Exhaustion, Handle, Limits, Store};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::ser::Serialize;
use serde_json::{Map, Value, json};

use crate::corpus;
use crate::expected_handle;
use crate::inputs::{config, handle, handle_text};

const POLICIES: [Exhaustion; 3] =
    [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap];

/// What a JSON document ought to be as limits; the document has no field twice.
fn expected_limits(document: &Value) -> Option<Limits> {
    let count = |value: &Value| value.as_u64().and_then(|count| usize::try_from(count).ok());
    let policy = |value: &Value| POLICIES.into_iter().find(|it| *value == it.to_string());
    let (capacity, max_capacity, policy) = match document {
        Value::Object(fields) => {
            let capacity = count(fields.get("capacity")?)?;
            let max_capacity = fields.get("maxCapacity").map_or(Some(capacity), count)?;
            (capacity, max_capacity, policy(fields.get("policy")?)?)
        }
        Value::Array(values) => match &values[..] {
            [capacity, max_capacity, name] => {
                (count(capacity)?, count(max_capacity)?, policy(name)?)
            }
            _ => return None,
        },
        _ => return None,
    };
    let mut limits = Limits::grow_to_cap(capacity, max_capacity);
    limits.policy = policy;
    Some(limits)
}

/// Limits that can be read are built with or refused, and written as they were.
fn check_limits(limits: Limits) {
    let json = serde_json::to_string(&limits).expect("plain data");
    assert_eq!(serde_json::from_str::<Limits>(&json).expect("its own text"), limits);
    let bytes = postcard::to_allocvec(&limits).expect("plain data");
    assert_eq!(postcard::from_bytes::<Limits>(&bytes).expect("its own bytes"), limits);
    if let Err(error) = Store::<u8>::builder().limits(limits).build() {
        let line = error.to_string();
        assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
    }
}

/// What postcard reads of these bytes is written as the bytes that it was read from.
fn check_postcard<T: DeserializeOwned + Serialize + PartialEq + std::fmt::Debug>(bytes: &[u8]) {
    let Ok((value, rest)) = postcard::take_from_bytes::<T>(bytes) else { return };
    let written = postcard::to_allocvec(&value).expect("plain data");
    // A number may have been spelt in more bytes than it needs.
    assert!(written.len() <= bytes.len() - rest.len(), "{value:?} of {bytes:?}");
    assert_eq!(postcard::from_bytes::<T>(&written).expect("its own bytes"), value);
}

fn check_all_postcard(bytes: &[u8]) {
    check_postcard::<Handle>(bytes);
    check_postcard::<Option<Handle>>(bytes);
    check_postcard::<Vec<Handle>>(bytes);
    check_postcard::<Limits>(bytes);
    let expected = bytes.first_chunk::<12>().copied().and_then(Handle::from_bytes);
    assert_eq!(postcard::from_bytes::<Handle>(bytes).ok(), expected, "{bytes:?}");
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        handle_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn limits_document() -> impl Strategy<Value = Value> {
    let count = || {
        prop_oneof![
            4 => (0..200u64).prop_map(Value::from),
            2 => any::<u64>().prop_map(Value::from),
            1 => Just(json!(-1)),
            1 => Just(json!(1.0)),
            1 => json_value(),
        ]
    };
    let names = vec!["reject", "overwriteOldest", "growToCap", "Reject", "grow_to_cap", ""];
    let policy =
        prop_oneof![6 => prop::sample::select(names).prop_map(Value::from), 1 => json_value()];
    let field = |name: &'static str, value: BoxedStrategy<Value>| {
        prop::option::weighted(0.9, value).prop_map(move |value| value.map(|it| (name.into(), it)))
    };
    let other = prop::option::of((any::<String>(), json_value()));
    (
        field("capacity", count().boxed()),
        field("maxCapacity", count().boxed()),
        field("policy", policy.boxed()),
        other,
        prop::bool::weighted(0.1),
    )
        .prop_map(|(capacity, max_capacity, policy, other, as_list)| {
            let fields = [other, capacity, max_capacity, policy].into_iter().flatten();
            if as_list {
                Value::Array(fields.map(|(_, value)| value).collect())
            } else {
                Value::Object(fields.collect::<Map<String, Value>>())
            }
        })
}

#[test]
fn corpus_of_json_handles_is_decoded_as_it_says() {
    for (document, right) in corpus::verdicts(corpus::HANDLE_JSON) {
        assert_eq!(serde_json::from_str::<Handle>(&document).is_ok(), right, "{document}");
    }
}

#[test]
fn corpus_of_json_limits_is_decoded_as_it_says() {
    type Values = Option<(u64, u64, String)>;
    // What a `usize` of 32 bits cannot say is refused there.
    let fits =
        |(a, b, _): &(u64, u64, String)| [*a, *b].map(usize::try_from).iter().all(Result::is_ok);
    for (document, expected) in corpus::pairs::<Values>(corpus::LIMITS_JSON) {
        let limits = serde_json::from_str::<Limits>(&document).ok();
        let values = limits.map(|limits| {
            let Limits { capacity, max_capacity, policy, .. } = limits;
            (capacity as u64, max_capacity as u64, policy.to_string())
        });
        assert_eq!(values, expected.filter(fits), "{document}");
        limits.into_iter().for_each(check_limits);
    }
}

#[test]
fn corpus_of_postcard_bytes_is_decoded_or_refused() {
    for hex in corpus::list(corpus::POSTCARD) {
        check_all_postcard(&corpus::bytes(&hex));
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn json_text_is_a_handle_exactly_when_the_text_is_one(text in handle_text()) {
        let document = serde_json::to_string(&text).expect("plain data");
        prop_assert_eq!(serde_json::from_str::<Handle>(&document).ok(), expected_handle(&text));
    }

    #[test]
    fn json_of_any_kind_is_a_handle_exactly_when_it_is_its_text(document in json_value()) {
        let expected = document.as_str().and_then(expected_handle);
        prop_assert_eq!(serde_json::from_value::<Handle>(document.clone()).ok(), expected);
        let text = document.to_string();
        prop_assert_eq!(serde_json::from_str::<Handle>(&text).ok(), expected);
    }

    #[test]
    fn bytes_that_may_be_no_json_are_refused_without_a_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        right in handle(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let _ = serde_json::from_slice::<Limits>(&bytes);
        prop_assert!(serde_json::from_slice::<Handle>(&bytes).is_err());
        let mut damaged = serde_json::to_vec(&right).expect("plain data");
        let at = at.index(damaged.len());
        damaged[at] = byte;
        if let Ok(handle) = serde_json::from_slice::<Handle>(&damaged) {
            let text: String = serde_json::from_slice(&damaged).expect("a handle is a text");
            prop_assert_eq!(Some(handle), expected_handle(&text));
        }
    }

    #[test]
    fn limits_of_any_kind_are_decoded_exactly_when_they_are_right(document in limits_document()) {
        let limits = serde_json::from_str::<Limits>(&document.to_string()).ok();
        prop_assert_eq!(limits, expected_limits(&document), "{}", document);
        limits.into_iter().for_each(check_limits);
    }

    #[test]
    fn postcard_bytes_of_any_kind_are_decoded_or_refused(
        bytes in prop::collection::vec(prop_oneof![Just(0u8), 0..4u8, any::<u8>()], 0..60),
    ) {
        check_all_postcard(&bytes);
    }

    #[test]
    fn handles_survive_both_formats(handles in prop::collection::vec(prop::option::of(handle()), 0..8)) {
        let json = serde_json::to_string(&handles).expect("plain data");
        let read: Vec<Option<Handle>> = serde_json::from_str(&json).expect("its own text");
        prop_assert_eq!(&read, &handles);
        let bytes = postcard::to_allocvec(&handles).expect("plain data");
        let read: Vec<Option<Handle>> = postcard::from_bytes(&bytes).expect("its own bytes");
        prop_assert_eq!(&read, &handles);
    }
}

//! How many entities may be alive, and what a spawn does when there is no room.

use std::fmt;

use crate::error::ConfigError;

/// Says what a spawn does when `capacity` entities are alive.
///
/// With the feature `serde` a policy is the text that [`Display`](fmt::Display) prints, and a
/// variant in binary formats.
///
/// # Examples
///
/// ```
/// use hatchery::Exhaustion;
///
/// assert_eq!(Exhaustion::default(), Exhaustion::Reject);
/// assert_eq!(Exhaustion::OverwriteOldest.to_string(), "overwriteOldest");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Exhaustion {
    /// Refuse the spawn.
    #[default]
    Reject,
    /// End the entity that was activated first and that nobody holds, and give its place to the new
    /// one.
    OverwriteOldest,
    /// Raise the capacity one by one up to `max_capacity`, then refuse.
    GrowToCap,
}

impl Exhaustion {
    const fn name(self) -> &'static str {
        match self {
            Exhaustion::Reject => "reject",
            Exhaustion::OverwriteOldest => "overwriteOldest",
            Exhaustion::GrowToCap => "growToCap",
        }
    }
}

impl fmt::Display for Exhaustion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Says how many entities may be alive at once, and what happens to the next one.
///
/// Limits are plain data and not checked by themselves: what is built with them checks them once,
/// and returns a [`ConfigError`] that names the field.
///
/// With the feature `serde` the fields are `capacity`, `maxCapacity` and `policy`. Unknown fields
/// are ignored, so that limits can share a file with other settings, and an absent `maxCapacity`
/// equals `capacity`. A number that is negative, has a fraction or does not fit a `usize`, and a
/// policy that does not exist, are refused while reading.
///
/// # Examples
///
/// ```
/// use hatchery::{Exhaustion, Limits};
///
/// let limits = Limits::grow_to_cap(64, 96);
/// assert_eq!((limits.capacity, limits.max_capacity), (64, 96));
/// assert_eq!(limits.policy, Exhaustion::GrowToCap);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase", from = "wire::Raw"))]
#[non_exhaustive]
pub struct Limits {
    /// How many entities may be alive at once, initially; `usize::MAX` is no limit.
    pub capacity: usize,
    /// How far the capacity may grow under [`Exhaustion::GrowToCap`]; other policies ignore it.
    pub max_capacity: usize,
    /// What a spawn beyond the capacity does.
    pub policy: Exhaustion,
}

impl Limits {
    /// No limit but memory.
    pub const UNBOUNDED: Limits = Limits::reject(usize::MAX);

    /// Makes limits under which a spawn into a full store is refused.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Exhaustion, Limits};
    ///
    /// assert_eq!(Limits::reject(64).policy, Exhaustion::Reject);
    /// ```
    #[must_use]
    pub const fn reject(capacity: usize) -> Limits {
        Limits { capacity, max_capacity: capacity, policy: Exhaustion::Reject }
    }

    /// Makes limits under which a spawn into a full store ends the oldest entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Exhaustion, Limits};
    ///
    /// assert_eq!(Limits::overwrite_oldest(64).policy, Exhaustion::OverwriteOldest);
    /// ```
    #[must_use]
    pub const fn overwrite_oldest(capacity: usize) -> Limits {
        Limits { capacity, max_capacity: capacity, policy: Exhaustion::OverwriteOldest }
    }

    /// Makes limits under which the capacity of a full store grows, one by one, up to
    /// `max_capacity`.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Limits;
    ///
    /// assert_eq!(Limits::grow_to_cap(64, 96).max_capacity, 96);
    /// ```
    #[must_use]
    pub const fn grow_to_cap(capacity: usize, max_capacity: usize) -> Limits {
        Limits { capacity, max_capacity, policy: Exhaustion::GrowToCap }
    }

    /// How many may be alive in the end, where `max` can be counted; `usize::MAX` is no limit.
    pub(crate) fn checked(self, max: usize) -> Result<usize, ConfigError> {
        let Limits { capacity, max_capacity, policy } = self;
        let counts = |value: usize| value == usize::MAX || value <= max;
        if capacity == 0 || !counts(capacity) {
            return Err(ConfigError::Capacity { value: capacity, max });
        }
        match policy {
            Exhaustion::Reject | Exhaustion::OverwriteOldest => Ok(capacity),
            Exhaustion::GrowToCap if max_capacity < capacity || !counts(max_capacity) => {
                Err(ConfigError::MaxCapacity { value: max_capacity, capacity, max })
            }
            Exhaustion::GrowToCap => Ok(max_capacity),
        }
    }
}

impl Default for Limits {
    /// Returns [`Limits::UNBOUNDED`].
    fn default() -> Limits {
        Limits::UNBOUNDED
    }
}

#[cfg(feature = "serde")]
mod wire {
    //! Reading settings that a person wrote: an error names the field, its value and what is
    //! allowed.
    //!
    //! What serde derives says "expected usize" without the field, so the fields are read by
    //! visitors whose `expecting` names it.

    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::{Exhaustion, Limits};

    /// `Limits` as they are read.
    #[derive(serde::Deserialize)]
    #[serde(rename = "Limits", rename_all = "camelCase")]
    pub(super) struct Raw {
        #[serde(deserialize_with = "capacity")]
        capacity: usize,
        /// Not an `Option` on the wire, or a binary format would look for its mark.
        #[serde(default, deserialize_with = "max_capacity")]
        max_capacity: Option<usize>,
        policy: Exhaustion,
    }

    impl From<Raw> for Limits {
        fn from(raw: Raw) -> Limits {
            let Raw { capacity, max_capacity, policy } = raw;
            Limits { capacity, max_capacity: max_capacity.unwrap_or(capacity), policy }
        }
    }

    fn capacity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_u64(Count { field: "capacity" })
    }

    fn max_capacity<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_u64(Count { field: "maxCapacity" }).map(Some)
    }

    struct Count {
        field: &'static str,
    }

    impl Visitor<'_> for Count {
        type Value = usize;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{} to be a whole number from 0 to {}", self.field, usize::MAX)
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<usize, E> {
            usize::try_from(value).map_err(|_| E::invalid_value(Unexpected::Unsigned(value), &self))
        }

        /// Some formats have signed numbers alone.
        fn visit_i64<E: Error>(self, value: i64) -> Result<usize, E> {
            usize::try_from(value).map_err(|_| E::invalid_value(Unexpected::Signed(value), &self))
        }
    }

    /// The policies as variants, for binary formats.
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(remote = "Exhaustion", rename = "Exhaustion", rename_all = "camelCase")]
    enum Variant {
        Reject,
        OverwriteOldest,
        GrowToCap,
    }

    impl Serialize for Exhaustion {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                serializer.serialize_str(self.name())
            } else {
                Variant::serialize(self, serializer)
            }
        }
    }

    impl<'de> Deserialize<'de> for Exhaustion {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Exhaustion, D::Error> {
            if deserializer.is_human_readable() {
                deserializer.deserialize_str(Name)
            } else {
                Variant::deserialize(deserializer)
            }
        }
    }

    struct Name;

    impl Visitor<'_> for Name {
        type Value = Exhaustion;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("policy to be \"reject\", \"overwriteOldest\" or \"growToCap\"")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Exhaustion, E> {
            [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap]
                .into_iter()
                .find(|policy| policy.name() == name)
                .ok_or_else(|| E::invalid_value(Unexpected::Str(name), &self))
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn limits_constructors_fill_every_field() {
        let limits = |capacity, max_capacity, policy| Limits { capacity, max_capacity, policy };
        assert_eq!(Limits::reject(3), limits(3, 3, Exhaustion::Reject));
        assert_eq!(Limits::overwrite_oldest(3), limits(3, 3, Exhaustion::OverwriteOldest));
        assert_eq!(Limits::grow_to_cap(4, 6), limits(4, 6, Exhaustion::GrowToCap));
        assert_eq!(Limits::UNBOUNDED, limits(usize::MAX, usize::MAX, Exhaustion::Reject));
        assert_eq!(Limits::default(), Limits::UNBOUNDED);
    }

    #[cfg(feature = "serde")]
    mod serde {
        use super::*;

        const POLICIES: [Exhaustion; 3] =
            [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap];

        fn read(json: &str) -> Limits {
            serde_json::from_str(json).expect("the limits are right")
        }

        fn refusal(json: &str) -> String {
            serde_json::from_str::<Limits>(json).expect_err("the limits are wrong").to_string()
        }

        #[test]
        fn limits_in_json_of_the_seed_parse() {
            let json = r#"{
                "version": 1,
                "game": "merge-island",
                "seed": 20261012,
                "note": "unknown fields are ignored",
                "capacity": 64,
                "maxCapacity": 96,
                "policy": "growToCap",
                "burstPerFrame": 20,
                "activeFrames": 30,
                "warmupAcquires": 64
            }"#;
            assert_eq!(read(json), Limits::grow_to_cap(64, 96));
        }

        #[test]
        fn limits_in_json_without_max_capacity_take_the_capacity() {
            assert_eq!(read(r#"{"capacity":64,"policy":"reject"}"#), Limits::reject(64));
            assert_eq!(
                read(r#"{"policy":"overwriteOldest","capacity":3}"#),
                Limits::overwrite_oldest(3),
            );
        }

        #[test]
        fn limits_in_json_round_trip_in_camel_case() {
            let json = serde_json::to_string(&Limits::grow_to_cap(64, 96)).expect("plain data");
            assert_eq!(json, r#"{"capacity":64,"maxCapacity":96,"policy":"growToCap"}"#);
            for policy in POLICIES {
                for limits in
                    [Limits { policy, ..Limits::UNBOUNDED }, Limits { policy, ..Limits::reject(0) }]
                {
                    let json = serde_json::to_string(&limits).expect("plain data");
                    assert_eq!(read(&json), limits);
                }
            }
        }

        #[test]
        fn limits_in_postcard_round_trip() {
            for policy in POLICIES {
                let limits = Limits { policy, ..Limits::grow_to_cap(64, 96) };
                let bytes = postcard::to_allocvec(&limits).expect("plain data");
                assert_eq!(bytes.len(), 3);
                assert_eq!(postcard::from_bytes::<Limits>(&bytes).expect("its own bytes"), limits);
            }
            assert!(postcard::from_bytes::<Limits>(&[64, 96, 3]).is_err());
        }

        #[test]
        fn negative_count_is_refused_with_field_value_and_range() {
            assert!(refusal(r#"{"capacity":-1,"policy":"reject"}"#).starts_with(&format!(
                "invalid value: integer `-1`, expected capacity to be a whole number from 0 to {}",
                usize::MAX,
            )));
            assert!(refusal(r#"{"capacity":1,"maxCapacity":-2,"policy":"reject"}"#).starts_with(
                "invalid value: integer `-2`, expected maxCapacity to be a whole number from 0 to ",
            ));
        }

        #[test]
        fn fraction_is_refused_with_field_value_and_range() {
            assert!(refusal(r#"{"capacity":1.5,"policy":"reject"}"#).starts_with(
                "invalid type: floating point `1.5`, expected capacity to be a whole number from 0",
            ));
            assert!(refusal(r#"{"capacity":1,"maxCapacity":2.0,"policy":"reject"}"#).starts_with(
                "invalid type: floating point `2.0`, expected maxCapacity to be a whole number",
            ));
        }

        #[test]
        fn count_too_large_for_usize_is_refused_with_field_value_and_range() {
            let message = refusal(r#"{"capacity":18446744073709551616,"policy":"reject"}"#);
            assert!(message.starts_with("invalid type: floating point `1.844"), "{message}");
            assert!(message.contains("expected capacity to be a whole number"), "{message}");
        }

        #[test]
        fn count_of_another_kind_is_refused_with_field_and_value() {
            let message = refusal(r#"{"capacity":"64","policy":"reject"}"#);
            assert!(message.starts_with("invalid type: string \"64\", expected capacity to be"));
            let message = refusal(r#"{"capacity":64,"maxCapacity":null,"policy":"reject"}"#);
            assert!(message.starts_with("invalid type: null, expected maxCapacity to be"));
        }

        #[test]
        fn unknown_policy_is_refused_with_field_value_and_names() {
            let allowed = r#"expected policy to be "reject", "overwriteOldest" or "growToCap""#;
            for (value, seen) in [
                (r#""drop""#, r#"invalid value: string "drop""#),
                (r#""Reject""#, r#"invalid value: string "Reject""#),
                ("3", "invalid type: integer `3`"),
                ("null", "invalid type: null"),
            ] {
                let message = refusal(&format!(r#"{{"capacity":1,"policy":{value}}}"#));
                assert!(message.starts_with(&format!("{seen}, {allowed}")), "{message}");
            }
        }

        #[test]
        fn absent_capacity_or_policy_is_refused_by_name() {
            assert!(refusal(r#"{"policy":"reject"}"#).starts_with("missing field `capacity`"));
            assert!(refusal(r#"{"capacity":1}"#).starts_with("missing field `policy`"));
        }
    }
}

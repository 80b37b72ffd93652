//! Settings that were refused.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::id::SceneId;
use crate::limits::Exhaustion;

/// Says which setting was refused, its value, and what is allowed.
///
/// # Examples
///
/// ```
/// use hatchery::ConfigError;
///
/// let error = ConfigError::Shards { value: 0, max: 256 };
/// assert_eq!(error.to_string(), "shards is 0, allowed are 1 to 256");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConfigError {
    /// A live store of this process has the scene id.
    SceneInUse {
        /// The id that was asked for.
        scene: SceneId,
    },
    /// Stores under this scene id have used up the generations that the new one may use.
    GenerationsSpent {
        /// The id that was asked for.
        scene: SceneId,
        /// The highest generation that a store under this id has given out.
        highest: u32,
        /// The last generation that the new store may give out.
        last: NonZeroU32,
    },
    /// The capacity is 0, or more than can be counted and not `usize::MAX`, which is no limit.
    Capacity {
        /// The capacity that was asked for.
        value: usize,
        /// The largest capacity that can be counted.
        max: usize,
    },
    /// `max_capacity` is below the capacity, or more than can be counted and not `usize::MAX`; only
    /// under [`Exhaustion::GrowToCap`].
    MaxCapacity {
        /// The `max_capacity` that was asked for.
        value: usize,
        /// The initial capacity, which is the smallest that is allowed.
        capacity: usize,
        /// The largest that can be counted.
        max: usize,
    },
    /// The backlog is too small for the policy.
    Backlog {
        /// The backlog that was asked for.
        value: usize,
        /// The smallest backlog.
        min: usize,
        /// The policy that needs it.
        policy: Exhaustion,
    },
    /// The number of shards is 0 or too large.
    Shards {
        /// The number that was asked for.
        value: usize,
        /// The largest number.
        max: usize,
    },
    /// A scene does not support the policy: its actors are destroyed by sweeps only.
    ScenePolicy {
        /// The policy that was asked for.
        value: Exhaustion,
    },
    /// The number of threads of a scene is 0 or too large.
    Threads {
        /// The number that was asked for.
        value: usize,
        /// The largest number.
        max: usize,
    },
    /// The system refused the threads of a scene.
    NoThreads {
        /// The number that was asked for.
        value: usize,
    },
    /// A scene was given two services of the same type.
    ServiceTwice {
        /// The name of the type.
        service: &'static str,
    },
    /// No scene id was asked for, and every one of the 65 536 is live or spent.
    NoScene,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::SceneInUse { scene } => {
                write!(
                    f,
                    "scene is {scene}, which a live store has: allowed is an id that none has"
                )
            }
            ConfigError::GenerationsSpent { scene, highest, last } => {
                write!(
                    f,
                    "scene is {scene}, whose generations are spent up to {highest} with \
                     last_generation {last}: allowed is another scene",
                )?;
                if *highest < u32::MAX {
                    write!(f, " or a last_generation above {highest}")?;
                }
                Ok(())
            }
            ConfigError::Capacity { value, max } => {
                write!(f, "capacity is {value}, allowed are 1 to {max}, or usize::MAX for no limit")
            }
            ConfigError::MaxCapacity { value, capacity, max } => {
                write!(
                    f,
                    "maxCapacity is {value}, allowed are {capacity} (the capacity) to {max}, or \
                     usize::MAX for no limit",
                )
            }
            ConfigError::Backlog { value, min, policy } => {
                write!(f, "backlog is {value}, allowed are {min} or more under {policy}")
            }
            ConfigError::Shards { value, max } => {
                write!(f, "shards is {value}, allowed are 1 to {max}")
            }
            ConfigError::ScenePolicy { value } => {
                write!(f, "policy is {value}, allowed in a scene are reject and growToCap")
            }
            ConfigError::Threads { value, max } => {
                write!(f, "threads is {value}, allowed are 1 to {max}")
            }
            ConfigError::NoThreads { value } => {
                write!(f, "threads is {value}, which the system refused: allowed are fewer")
            }
            ConfigError::ServiceTwice { service } => {
                write!(f, "service is a second {service}, allowed is one of a type")
            }
            ConfigError::NoScene => f.write_str(
                "scene is not given and all 65536 ids are live or spent: allowed is one that is \
                 neither, drop a store first",
            ),
        }
    }
}

impl Error for ConfigError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::sample::assert_message;

    #[test]
    fn config_scene_in_use_message_names_the_scene() {
        assert_message(
            &ConfigError::SceneInUse { scene: SceneId(7) },
            "scene is 7, which a live store has: allowed is an id that none has",
        );
    }

    #[test]
    fn config_generations_spent_message_names_both_generations() {
        let last = NonZeroU32::MIN.saturating_add(6);
        assert_message(
            &ConfigError::GenerationsSpent { scene: SceneId(7), highest: 9, last },
            "scene is 7, whose generations are spent up to 9 with last_generation 7: allowed is \
             another scene or a last_generation above 9",
        );
    }

    #[test]
    fn config_generations_spent_to_the_end_message_offers_no_higher_one() {
        let (highest, last) = (u32::MAX, NonZeroU32::MAX);
        assert_message(
            &ConfigError::GenerationsSpent { scene: SceneId(7), highest, last },
            "scene is 7, whose generations are spent up to 4294967295 with last_generation \
             4294967295: allowed is another scene",
        );
    }

    #[test]
    fn config_capacity_message_names_the_value_and_the_range() {
        assert_message(
            &ConfigError::Capacity { value: 0, max: 4_294_967_295 },
            "capacity is 0, allowed are 1 to 4294967295, or usize::MAX for no limit",
        );
    }

    #[test]
    fn config_max_capacity_message_names_the_value_the_capacity_and_the_range() {
        assert_message(
            &ConfigError::MaxCapacity { value: 3, capacity: 4, max: 4_294_967_295 },
            "maxCapacity is 3, allowed are 4 (the capacity) to 4294967295, or usize::MAX for no \
             limit",
        );
    }

    #[test]
    fn config_backlog_message_names_the_value_and_the_policy() {
        assert_message(
            &ConfigError::Backlog { value: 0, min: 1, policy: Exhaustion::OverwriteOldest },
            "backlog is 0, allowed are 1 or more under overwriteOldest",
        );
    }

    #[test]
    fn config_shards_message_names_the_value_and_the_range() {
        assert_message(
            &ConfigError::Shards { value: 0, max: 256 },
            "shards is 0, allowed are 1 to 256",
        );
    }

    #[test]
    fn config_scene_messages_name_the_value_and_what_is_allowed() {
        assert_message(
            &ConfigError::ScenePolicy { value: Exhaustion::OverwriteOldest },
            "policy is overwriteOldest, allowed in a scene are reject and growToCap",
        );
        assert_message(
            &ConfigError::Threads { value: 0, max: 1024 },
            "threads is 0, allowed are 1 to 1024",
        );
        assert_message(
            &ConfigError::NoThreads { value: 1000 },
            "threads is 1000, which the system refused: allowed are fewer",
        );
        assert_message(
            &ConfigError::ServiceTwice { service: "game::Config" },
            "service is a second game::Config, allowed is one of a type",
        );
    }

    #[test]
    fn config_no_scene_message_says_what_to_do() {
        assert_message(
            &ConfigError::NoScene,
            "scene is not given and all 65536 ids are live or spent: allowed is one that is \
             neither, drop a store first",
        );
    }
}

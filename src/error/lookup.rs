//! A handle that does not lead to what was asked for.

use std::error::Error;
use std::fmt;
use std::num::NonZeroU32;

use crate::handle::Handle;
use crate::id::SceneId;

/// Says why a handle does not lead to an entity, or not to one that may be read.
///
/// The answer was true at some moment of the call; `Pending` and `Dying` may have changed since.
/// Once [`is_gone`](Self::is_gone) holds for a handle that a store gave out, it holds for ever.
///
/// # Examples
///
/// ```
/// use hatchery::{Handle, LookupError};
///
/// let handle: Handle = "1:42/gen3".parse()?;
/// let error = LookupError::NotFound { handle };
/// assert_eq!(error.handle(), handle);
/// assert!(error.is_gone());
/// assert!(error.to_string().contains("1:42/gen3"));
/// # Ok::<(), hatchery::ParseHandleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LookupError {
    /// The handle belongs to another scene than the store that was asked.
    SceneMismatch {
        /// The handle that was asked for.
        handle: Handle,
        /// The scene of the store that was asked.
        scene: SceneId,
    },
    /// There is no such slot, or this generation of it has ended and no later one has begun.
    NotFound {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity is reserved and not activated yet; reads and holds are refused.
    Pending {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity is Dying, and the call accepts only Active ones.
    Dying {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity has ended, and its slot carries a later generation, alive or ended as well.
    Stale {
        /// The handle that was asked for.
        handle: Handle,
        /// The generation that the slot carries.
        current: NonZeroU32,
    },
}

impl LookupError {
    /// Returns the handle that was asked for.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        match *self {
            LookupError::SceneMismatch { handle, .. }
            | LookupError::NotFound { handle }
            | LookupError::Pending { handle }
            | LookupError::Dying { handle }
            | LookupError::Stale { handle, .. } => handle,
        }
    }

    /// Returns whether the entity has ended: [`NotFound`](Self::NotFound) or
    /// [`Stale`](Self::Stale), which differ only in what became of the slot.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Handle, LookupError};
    ///
    /// let handle: Handle = "1:42/gen3".parse()?;
    /// assert!(LookupError::NotFound { handle }.is_gone());
    /// assert!(!LookupError::Dying { handle }.is_gone());
    /// # Ok::<(), hatchery::ParseHandleError>(())
    /// ```
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        matches!(self, LookupError::NotFound { .. } | LookupError::Stale { .. })
    }
}

impl fmt::Display for LookupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookupError::SceneMismatch { handle, scene } => {
                let home = handle.scene();
                write!(f, "{handle} is of scene {home}, not {scene}: ask the store of scene {home}")
            }
            LookupError::NotFound { handle } => {
                write!(f, "{handle} is not found: it has ended or never was, forget the handle")
            }
            LookupError::Pending { handle } => {
                write!(f, "{handle} is pending: ask again once it is active")
            }
            LookupError::Dying { handle } => {
                write!(f, "{handle} is dying, not active: read it by a call that takes both")
            }
            LookupError::Stale { handle, current } => write!(
                f,
                "{handle} is stale: it has ended and its slot is at generation {current}, \
                 forget the handle",
            ),
        }
    }
}

impl Error for LookupError {}

/// Says why an entity could not be held.
///
/// # Examples
///
/// ```
/// use hatchery::{Handle, HoldError, LookupError};
///
/// let handle: Handle = "1:42/gen3".parse()?;
/// let error = HoldError::from(LookupError::Pending { handle });
/// assert_eq!(error, HoldError::Lookup(LookupError::Pending { handle }));
/// assert_eq!(error.handle(), handle);
/// # Ok::<(), hatchery::ParseHandleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HoldError {
    /// The handle does not lead to an entity that may be read.
    Lookup(LookupError),
    /// The entity is Dying and its reap was requested, so it takes no new holds.
    ReapRequested {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity has as many holds as can be counted.
    TooManyHolds {
        /// The handle that was asked for.
        handle: Handle,
        /// How many holds one entity can have.
        limit: u32,
    },
}

impl HoldError {
    /// Returns the handle that was asked for.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        match self {
            HoldError::Lookup(error) => error.handle(),
            HoldError::ReapRequested { handle } | HoldError::TooManyHolds { handle, .. } => *handle,
        }
    }
}

impl From<LookupError> for HoldError {
    fn from(error: LookupError) -> HoldError {
        HoldError::Lookup(error)
    }
}

impl fmt::Display for HoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HoldError::Lookup(error) => error.fmt(f),
            HoldError::ReapRequested { handle } => write!(
                f,
                "{handle} is dying and its reap was requested: clone a hold that exists, \
                 or forget the handle",
            ),
            HoldError::TooManyHolds { handle, limit } => {
                write!(f, "{handle} has {limit} holds, the most there can be: drop one first")
            }
        }
    }
}

/// `Lookup` speaks for the error in it, which is therefore not a source besides.
impl Error for HoldError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::sample::{assert_message, handle};

    fn lookups() -> [LookupError; 5] {
        let handle = handle();
        let current = NonZeroU32::MIN.saturating_add(4);
        [
            LookupError::SceneMismatch { handle, scene: SceneId(7) },
            LookupError::NotFound { handle },
            LookupError::Pending { handle },
            LookupError::Dying { handle },
            LookupError::Stale { handle, current },
        ]
    }

    #[test]
    fn lookup_scene_mismatch_message_names_both_scenes() {
        assert_message(&lookups()[0], "1:42/gen3 is of scene 1, not 7: ask the store of scene 1");
    }

    #[test]
    fn lookup_not_found_message_says_to_forget() {
        assert_message(
            &lookups()[1],
            "1:42/gen3 is not found: it has ended or never was, forget the handle",
        );
    }

    #[test]
    fn lookup_pending_message_says_to_wait() {
        assert_message(&lookups()[2], "1:42/gen3 is pending: ask again once it is active");
    }

    #[test]
    fn lookup_dying_message_names_both_states() {
        assert_message(
            &lookups()[3],
            "1:42/gen3 is dying, not active: read it by a call that takes both",
        );
    }

    #[test]
    fn lookup_stale_message_names_the_generation() {
        assert_message(
            &lookups()[4],
            "1:42/gen3 is stale: it has ended and its slot is at generation 5, forget the handle",
        );
    }

    #[test]
    fn lookup_handle_of_every_variant_is_the_one_asked_for() {
        assert!(lookups().iter().all(|error| error.handle() == handle()));
    }

    #[test]
    fn lookup_is_gone_only_when_not_found_or_stale() {
        assert_eq!(lookups().map(|e| e.is_gone()), [false, true, false, false, true]);
    }

    #[test]
    fn hold_lookup_message_is_that_of_the_lookup() {
        for error in lookups() {
            assert_message(&HoldError::from(error), &error.to_string());
            assert_eq!(HoldError::from(error).handle(), handle());
        }
    }

    #[test]
    fn hold_reap_requested_message_names_the_state() {
        let error = HoldError::ReapRequested { handle: handle() };
        assert_message(
            &error,
            "1:42/gen3 is dying and its reap was requested: clone a hold that exists, \
             or forget the handle",
        );
        assert_eq!(error.handle(), handle());
    }

    #[test]
    fn hold_too_many_holds_message_names_the_limit() {
        let error = HoldError::TooManyHolds { handle: handle(), limit: 16_777_215 };
        assert_message(
            &error,
            "1:42/gen3 has 16777215 holds, the most there can be: drop one first",
        );
        assert_eq!(error.handle(), handle());
    }
}

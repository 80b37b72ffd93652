//! A change of state that was refused; nothing was changed.

use std::error::Error;
use std::fmt;

use super::LookupError;
use crate::handle::Handle;
use crate::state::{IllegalTransition, State};

/// Says why a transition was refused; the entity is unchanged.
///
/// When several callers ask for the same edge at once, one wins and the others are told the state
/// that they found.
///
/// # Examples
///
/// ```
/// use hatchery::{Handle, State, TransitionError};
///
/// let handle: Handle = "1:42/gen3".parse()?;
/// let found = State::Pending;
/// let error = TransitionError::WrongState { handle, found, needed: State::Dying };
/// assert_eq!(error.handle(), handle);
/// assert_eq!(error.found(), Some(State::Pending));
/// # Ok::<(), hatchery::ParseHandleError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TransitionError {
    /// The handle does not lead to an entity that is alive.
    Lookup(LookupError),
    /// The table of legal edges has none from the state found to the one asked for.
    Illegal {
        /// The handle that was asked for.
        handle: Handle,
        /// The edge that does not exist.
        transition: IllegalTransition,
    },
    /// The table has an edge from the state found, but it is not that of the operation.
    WrongState {
        /// The handle that was asked for.
        handle: Handle,
        /// The state that was found.
        found: State,
        /// The state that the operation starts from.
        needed: State,
    },
    /// The entity is Pending, and a `Pending` guard has it to itself.
    Guarded {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity is Dying and its reap was requested, so it ends with its last hold.
    ReapRequested {
        /// The handle that was asked for.
        handle: Handle,
    },
    /// The entity is Active and has as many holds as can be counted; only from `kill_and_hold`.
    TooManyHolds {
        /// The handle that was asked for.
        handle: Handle,
        /// How many holds one entity can have.
        limit: u32,
    },
}

impl TransitionError {
    /// Returns the handle that was asked for.
    #[must_use]
    pub const fn handle(&self) -> Handle {
        match self {
            TransitionError::Lookup(error) => error.handle(),
            TransitionError::Illegal { handle, .. }
            | TransitionError::WrongState { handle, .. }
            | TransitionError::Guarded { handle }
            | TransitionError::ReapRequested { handle }
            | TransitionError::TooManyHolds { handle, .. } => *handle,
        }
    }

    /// Returns the state that the entity was found in, or `None` when there was no such entity.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Handle, LookupError, State, TransitionError};
    ///
    /// let handle: Handle = "1:42/gen3".parse()?;
    /// assert_eq!(TransitionError::Guarded { handle }.found(), Some(State::Pending));
    /// assert_eq!(TransitionError::from(LookupError::NotFound { handle }).found(), None);
    /// # Ok::<(), hatchery::ParseHandleError>(())
    /// ```
    #[must_use]
    pub const fn found(&self) -> Option<State> {
        match self {
            TransitionError::Illegal { transition, .. } => Some(transition.from),
            TransitionError::WrongState { found, .. } => Some(*found),
            TransitionError::TooManyHolds { .. } => Some(State::Active),
            TransitionError::Guarded { .. }
            | TransitionError::Lookup(LookupError::Pending { .. }) => Some(State::Pending),
            TransitionError::ReapRequested { .. }
            | TransitionError::Lookup(LookupError::Dying { .. }) => Some(State::Dying),
            TransitionError::Lookup(
                LookupError::SceneMismatch { .. }
                | LookupError::NotFound { .. }
                | LookupError::Stale { .. },
            ) => None,
        }
    }
}

impl From<LookupError> for TransitionError {
    fn from(error: LookupError) -> TransitionError {
        TransitionError::Lookup(error)
    }
}

impl fmt::Display for TransitionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TransitionError::Lookup(error) => error.fmt(f),
            TransitionError::Illegal { handle, transition } => {
                let from = transition.from;
                write!(f, "{handle}: {transition}, {from} can become ")?;
                for (i, state) in from.successors().iter().enumerate() {
                    write!(f, "{}{state}", if i == 0 { "" } else { " or " })?;
                }
                Ok(())
            }
            TransitionError::WrongState { handle, found, needed } => write!(
                f,
                "{handle} is {found} and the operation starts from {needed}: use one that starts \
                 from {found}",
            ),
            TransitionError::Guarded { handle } => write!(
                f,
                "{handle} is pending and a guard has it: activate, cancel or detach it by the \
                 guard",
            ),
            TransitionError::ReapRequested { handle } => write!(
                f,
                "{handle} is dying and its reap was requested: it becomes dead with its last \
                 hold, forget the handle",
            ),
            TransitionError::TooManyHolds { handle, limit } => write!(
                f,
                "{handle} is active and has {limit} holds, the most there can be: drop one first, \
                 or kill it without a hold",
            ),
        }
    }
}

/// What `Lookup` and `Illegal` carry is part of the message, and therefore not a source besides.
impl Error for TransitionError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::error::sample::{assert_message, handle};
    use crate::id::SceneId;

    fn illegal(from: State, to: State) -> TransitionError {
        let transition = from.advance(to).expect_err("the edge does not exist");
        TransitionError::Illegal { handle: handle(), transition }
    }

    #[test]
    fn transition_lookup_message_is_that_of_the_lookup() {
        let error = LookupError::NotFound { handle: handle() };
        assert_message(&TransitionError::from(error), &error.to_string());
    }

    #[test]
    fn transition_illegal_message_names_the_edge_and_the_legal_ones() {
        assert_message(
            &illegal(State::Active, State::Dead),
            "1:42/gen3: illegal transition active -> dead, active can become dying",
        );
        assert_message(
            &illegal(State::Dying, State::Dying),
            "1:42/gen3: illegal transition dying -> dying, dying can become active or dead",
        );
    }

    #[test]
    fn transition_wrong_state_message_names_both_states() {
        assert_message(
            &TransitionError::WrongState {
                handle: handle(),
                found: State::Pending,
                needed: State::Dying,
            },
            "1:42/gen3 is pending and the operation starts from dying: use one that starts from \
             pending",
        );
    }

    #[test]
    fn transition_guarded_message_points_to_the_guard() {
        assert_message(
            &TransitionError::Guarded { handle: handle() },
            "1:42/gen3 is pending and a guard has it: activate, cancel or detach it by the guard",
        );
    }

    #[test]
    fn transition_reap_requested_message_says_what_comes() {
        assert_message(
            &TransitionError::ReapRequested { handle: handle() },
            "1:42/gen3 is dying and its reap was requested: it becomes dead with its last hold, \
             forget the handle",
        );
    }

    #[test]
    fn transition_too_many_holds_message_names_the_limit() {
        assert_message(
            &TransitionError::TooManyHolds { handle: handle(), limit: 16_777_215 },
            "1:42/gen3 is active and has 16777215 holds, the most there can be: drop one first, \
             or kill it without a hold",
        );
    }

    #[test]
    fn transition_handle_and_found_of_every_variant_are_exact() {
        let handle = handle();
        let scene = SceneId(7);
        let current = NonZeroU32::MAX;
        let (found, needed) = (State::Active, State::Pending);
        for (error, found) in [
            (illegal(State::Dying, State::Dying), Some(State::Dying)),
            (TransitionError::WrongState { handle, found, needed }, Some(State::Active)),
            (TransitionError::Guarded { handle }, Some(State::Pending)),
            (TransitionError::ReapRequested { handle }, Some(State::Dying)),
            (TransitionError::TooManyHolds { handle, limit: 1 }, Some(State::Active)),
            (LookupError::Pending { handle }.into(), Some(State::Pending)),
            (LookupError::Dying { handle }.into(), Some(State::Dying)),
            (LookupError::SceneMismatch { handle, scene }.into(), None),
            (LookupError::NotFound { handle }.into(), None),
            (LookupError::Stale { handle, current }.into(), None),
        ] {
            assert_eq!(error.found(), found, "{error}");
            assert_eq!(error.handle(), handle, "{error}");
        }
    }
}

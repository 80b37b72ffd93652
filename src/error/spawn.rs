//! A spawn that found no room; the payload comes back.

use std::error::Error;
use std::fmt;

use crate::handle::Handle;

/// Says why nothing was spawned; nothing has changed.
///
/// # Examples
///
/// ```
/// use hatchery::SpawnFailure;
///
/// let failure = SpawnFailure::Exhausted { capacity: 64 };
/// assert!(failure.to_string().starts_with("all 64 places are taken"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpawnFailure {
    /// As many entities are alive as the capacity allows.
    Exhausted {
        /// The capacity, as grown so far.
        capacity: usize,
    },
    /// There is room, but the slots that could be used are Dead and readers may still look at them;
    /// the caller's own pin may be one of these readers.
    Reclaiming {
        /// How many slots are Dead.
        dead: usize,
    },
    /// The system refused memory for more slots; nothing is lost.
    OutOfMemory {
        /// How many bytes were asked for.
        bytes: usize,
    },
}

impl fmt::Display for SpawnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpawnFailure::Exhausted { capacity } => {
                write!(f, "all {capacity} places are taken: reap an entity or raise the capacity")
            }
            SpawnFailure::Reclaiming { dead } => write!(
                f,
                "{dead} dead slots still wait for readers: repin or end the pins that are out",
            ),
            SpawnFailure::OutOfMemory { bytes } => {
                write!(f, "no memory for {bytes} bytes of slots: reap entities or free memory")
            }
        }
    }
}

impl Error for SpawnFailure {}

/// Gives back a payload that was not spawned, and says why.
///
/// It implements `Debug` and `Error` for every `T`, so that a refusal can be reported whatever the
/// payload implements.
///
/// # Examples
///
/// ```
/// use hatchery::SpawnError;
///
/// /// Takes the payload out of a refusal, to try again later.
/// fn queue<T>(later: &mut Vec<T>, error: SpawnError<T>) {
///     eprintln!("{error}");
///     later.push(error.value);
/// }
///
/// fn is_error<E: std::error::Error>() -> bool { true }
/// struct Opaque;
/// assert!(is_error::<SpawnError<Opaque>>());
/// # let _ = queue::<Opaque>;
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpawnError<T> {
    /// The payload, untouched.
    pub value: T,
    /// Why it was not spawned.
    pub failure: SpawnFailure,
}

impl<T> fmt::Debug for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpawnError").field("failure", &self.failure).finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SpawnError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failure.fmt(f)
    }
}

/// The failure is the whole message, and is therefore not reported as a source as well.
impl<T> Error for SpawnError<T> {}

/// Says how far a batch came, gives back what was not spawned, and says why.
///
/// The values that were spawned stay alive; `despawn_batch` of `spawned` undoes them. It implements
/// `Debug` and `Error` for every `T`.
///
/// # Examples
///
/// ```
/// use hatchery::{BatchError, Handle};
///
/// /// Keeps what was spawned and returns what is to be tried again.
/// fn settle<T>(alive: &mut Vec<Handle>, error: BatchError<T>) -> Vec<T> {
///     eprintln!("{error}");
///     alive.extend(error.spawned);
///     error.rest
/// }
///
/// fn is_error<E: std::error::Error>() -> bool { true }
/// struct Opaque;
/// assert!(is_error::<BatchError<Opaque>>());
/// # let _ = settle::<Opaque>;
/// ```
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchError<T> {
    /// The entities that were spawned, in order; all are Active.
    pub spawned: Vec<Handle>,
    /// Every value that was not spawned, in order.
    pub rest: Vec<T>,
    /// Why the first value of `rest` was not spawned.
    pub failure: SpawnFailure,
}

impl<T> fmt::Debug for BatchError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchError")
            .field("spawned", &self.spawned)
            .field("rest", &format_args!("[{} values]", self.rest.len()))
            .field("failure", &self.failure)
            .finish()
    }
}

impl<T> fmt::Display for BatchError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (spawned, rest) = (self.spawned.len(), self.rest.len());
        write!(f, "batch spawned {spawned} and gives {rest} back: {}", self.failure)
    }
}

/// The failure is part of the message, and is therefore not reported as a source as well.
impl<T> Error for BatchError<T> {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::sample::{assert_message, handle};

    /// A payload that can do nothing.
    struct Opaque;

    #[test]
    fn spawn_exhausted_message_names_the_capacity() {
        assert_message(
            &SpawnFailure::Exhausted { capacity: 64 },
            "all 64 places are taken: reap an entity or raise the capacity",
        );
    }

    #[test]
    fn spawn_reclaiming_message_names_the_dead_and_the_cure() {
        assert_message(
            &SpawnFailure::Reclaiming { dead: 12 },
            "12 dead slots still wait for readers: repin or end the pins that are out",
        );
    }

    #[test]
    fn spawn_out_of_memory_message_names_the_bytes() {
        assert_message(
            &SpawnFailure::OutOfMemory { bytes: 4096 },
            "no memory for 4096 bytes of slots: reap entities or free memory",
        );
    }

    #[test]
    fn spawn_error_of_any_payload_speaks_for_its_failure() {
        let failure = SpawnFailure::Exhausted { capacity: 1 };
        let error = SpawnError { value: Opaque, failure };
        assert_message(&error, &failure.to_string());
        assert_eq!(format!("{error:?}"), "SpawnError { failure: Exhausted { capacity: 1 }, .. }");
    }

    #[test]
    fn batch_error_of_any_payload_counts_both_parts() {
        let error = BatchError {
            spawned: vec![handle()],
            rest: vec![Opaque, Opaque],
            failure: SpawnFailure::Exhausted { capacity: 1 },
        };
        assert_message(
            &error,
            "batch spawned 1 and gives 2 back: all 1 places are taken: reap an entity or raise \
             the capacity",
        );
        assert_eq!(
            format!("{error:?}"),
            "BatchError { spawned: [Handle(1:42/gen3)], rest: [2 values], \
             failure: Exhausted { capacity: 1 } }",
        );
    }
}

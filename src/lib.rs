//! A lock-free concurrent entity store for multi-threaded game servers.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

#[macro_use]
mod sync;

mod error;
mod free;
mod handle;
mod id;
mod limits;
mod reason;
mod reclaim;
mod segment;
mod slot;
mod state;
mod stats;
mod store;
mod word;

#[cfg(all(loom, test))]
#[path = "../loom-tests/mod.rs"]
mod models;

pub use error::{
    BatchError, ConfigError, HoldError, LookupError, ParseHandleError, SpawnError, SpawnFailure,
    TransitionError,
};
pub use handle::Handle;
pub use id::{EntityId, SceneId};
pub use limits::{Exhaustion, Limits};
pub use reason::EndReason;
pub use state::{IllegalTransition, InvalidState, State, StateSet};
pub use stats::Stats;
pub use store::{Hold, Pending, Pinned, Reaped, Store, StoreBuilder, WeakStore};

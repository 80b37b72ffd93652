//! A lock-free concurrent entity store for multi-threaded game servers.
//!
//! A [`Store`] keeps entities of one type in slots that never move and hands out a [`Handle`] for
//! each: scene, sequence number and generation, 16 bytes. A handle resolves to the entity that it
//! was issued for, or to an error that says why not, for ever.
//!
//! An entity goes through a life cycle, along the edges of one table ([`State`]):
//!
//! ```text
//! None ──spawn──► Pending ──activate──► Active ──kill──► Dying ──reap──► Dead ──► None
//!                    │                     ▲               │
//!                    └──cancel──► Dead     └────revive─────┘
//! ```
//!
//! * [`Store::spawn`] reserves a slot and gives a [`Pending`] guard, which has the payload to
//!   itself: the entity can be registered with every system before anybody sees it.
//! * [`Store::kill`] takes it out of play, and exactly one caller wins; it stays readable while it
//!   is settled. [`Store::kill_and_hold`] gives the winner a [`Hold`], a counted reference that may
//!   cross threads and `await`s: a reap that is requested meanwhile is carried out when the last
//!   one drops.
//! * [`Store::reap`] ends it. Its slot is reused only after every reader that could have seen it is
//!   gone.
//! * [`Store::pin`] gives a [`Pinned`], under which a look-up is one load and a comparison, and
//!   readers write nothing that is shared.
//!
//! [`pool`] lends objects that have no life cycle, under the same limits, and [`scene`] is a game
//! loop on such a store: actors with hooks, components and tags, in fixed phases.
//!
//! # What it costs
//!
//! A slot takes the payload and 13 bytes: 77 bytes for a payload of 64. A generation has 32 bits; a
//! slot whose 2^32 - 1 generations are spent is retired and replaced, never wrapped. An empty store
//! takes less than 8 KiB. Operations are lock-free; in a steady state they allocate nothing but the
//! collector's 2 KiB for each batch of up to 256 deaths.
//!
//! # How it works
//!
//! [`design`] explains the slot word, the invariants, and why the whole is safe and fast.
//!
//! # Features
//!
//! * `rayon` (default): `Pinned::par_iter`, `Pinned::par_iter_in`, and the threads of a [`scene`].
//! * `serde`: handles as text or 12 bytes, limits and statistics in camel case.
//! * `tracing`: spans for the frames and phases of a [`scene`], and events for its actors.
#![deny(missing_docs, unsafe_op_in_unsafe_fn)]

#[macro_use]
mod sync;

mod error;
mod free;
mod handle;
mod id;
mod limits;
mod memory;
pub mod pool;
mod reason;
mod reclaim;
mod recycle;
pub mod scene;
mod segment;
mod seniority;
mod shards;
mod slot;
mod state;
mod stats;
mod store;
mod word;

#[doc = include_str!("../docs/design.md")]
pub mod design {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(all(loom, test))]
#[path = "../loom-tests/mod.rs"]
mod models;

#[cfg(all(test, not(loom)))]
#[path = "../fault-tests/mod.rs"]
mod faults;

pub use error::{
    BatchError, ConfigError, HoldError, LookupError, ParseHandleError, SpawnError, SpawnFailure,
    TransitionError,
};
pub use handle::Handle;
pub use id::{EntityId, SceneId};
pub use limits::{Exhaustion, Limits};
pub use reason::EndReason;
pub use recycle::Recycle;
pub use state::{IllegalTransition, InvalidState, State, StateSet};
pub use stats::Stats;
pub use store::{Hold, Pending, Pinned, Reaped, Store, StoreBuilder, WeakStore};

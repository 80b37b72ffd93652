//! The free slots, and how they circulate.
//!
//! Slots travel in [`Batch`](batch::Batch)es: numbered boxes of indices, which are reused. The life
//! of a batch:
//!
//! ```text
//!   magazine (taken from) → empty → magazine (filled with Dead slots) → limbo
//!          ↑                                                              │ grace period
//!          └──────────── ripe stack of a shard ←──────────────────────────┘
//!                              │ reclaim
//!                              ├→ depot → magazine
//!                              └→ rest, where a shrink has asked for it → depot
//! ```
//!
//! Rule L (`docs/design.md`) keeps ABA out of the lists: what was popped inside a pin is pushed on
//! that *same* list only after a grace period. So an unused slot goes back into the claimed
//! magazine or through limbo. Lists that are exempt rely on the tags of their heads.

mod batch;
mod boxes;
mod chain;
mod circulation;
mod claim;
mod magazine;
mod peak;
mod pocket;
mod shard;
mod tally;
mod treiber;

pub(crate) use batch::{BATCH_CAPACITY, Owned};
pub(crate) use chain::Chain;
pub(crate) use circulation::Circulation;
pub(crate) use magazine::{Claimed, Magazine, Put};
pub(crate) use tally::Event;
pub(crate) use treiber::{TaggedHead, TaggedStack};

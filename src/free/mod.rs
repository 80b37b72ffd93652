//! The free slots and how they travel.
//!
//! Slots travel in [`Batch`](batch::Batch)es: numbered boxes of indices, used again and again. A batch's life:
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
//! **Rule L, against ABA.** What was popped from a list by compare-and-swap, inside a pin, is
//! pushed on that *same* list only after a grace period. So a batch moves only ripe → depot →
//! magazine → limbo → ripe, and an unused slot goes back into the claimed magazine or through
//! limbo, never on a list. Heads carry a tag besides. The stack of empty boxes, that of crates
//! whose contents were freed, and the depot, where `shrink` puts back what it need not keep, stand on
//! their tags alone: a box is popped and pushed back at once, and 2^32 changes would have to happen
//! between one popper's two instructions.

mod batch;
mod boxes;
mod chain;
mod circulation;
mod claim;
mod magazine;
mod peak;
mod pocket;
mod tally;
mod treiber;

pub(crate) use batch::{BATCH_CAPACITY, Owned};
pub(crate) use chain::Chain;
pub(crate) use circulation::Circulation;
pub(crate) use magazine::{Claimed, Magazine, Put};
pub(crate) use tally::Event;
pub(crate) use treiber::{TaggedHead, TaggedStack};

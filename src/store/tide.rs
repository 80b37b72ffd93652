//! The tide: free slots above it are put to rest, so that a later `shrink` can give their segments
//! back.
//!
//! A thread reuses the slots of the entities that it has ended, because they are in its core's
//! cache. So after a spike the few slots in use are scattered, and as long as each death is
//! followed by a spawn in the same slot, every segment keeps some. That is why `shrink` sets a
//! limit, the tide, below which there are enough slots. A call that finds a ripe batch with a slot
//! above it takes a batch from the depot instead, where the lowest are on top, and leaves the other
//! to the next `reclaim`. As entities die, all that live end up below.
//!
//! The tide is a hint and orders nothing: a call that reads an old value only uses less suitable
//! slots.

use std::ops::Range;

use super::core::Core;
use crate::free::Owned;

/// The tide at which no slot is put to rest.
pub(super) const HIGH: u64 = u64::MAX;

/// How many slots stay below the tide: a multiple of those in use, and some more.
const ROOM: u64 = 2;
const LEAST_ROOM: u64 = if cfg!(all(loom, test)) { 1 << 20 } else { 4096 };

impl<T> Core<T> {
    /// How many slots are enough while `free` of them are free; `None` unless there are far more
    /// than that.
    pub(super) fn needed_beside(&self, free: u64) -> Option<u64> {
        let slots = self.growth.slots();
        let needed = ROOM * slots.saturating_sub(free) + LEAST_ROOM;
        (needed < slots / 2).then_some(needed)
    }

    /// Lowers the tide to the end of the segment with which `needed` slots are reached, or raises
    /// it fully; `ranges` are those of the existing segments, in order.
    pub(super) fn ebb(&self, needed: Option<u64>, mut ranges: impl Iterator<Item = Range<u64>>) {
        let reached = needed.and_then(|needed| {
            let mut below = 0;
            ranges.find(|range| {
                below += range.end - range.start;
                below >= needed
            })
        });
        self.tide.set(reached.map_or(HIGH, |range| range.end));
    }

    /// Raises the tide fully, because new slots are needed.
    #[inline]
    pub(super) fn flood(&self) {
        if self.tide.get() != HIGH {
            self.tide.set(HIGH);
        }
    }

    /// Returns a ripe batch or, if it reaches above the tide, one from the depot in its place.
    #[inline]
    pub(super) fn lower(&self, batch: Owned) -> Owned {
        let tide = self.tide.get();
        if tide == HIGH { batch } else { self.lower_than(tide, batch) }
    }

    #[cold]
    fn lower_than(&self, tide: u64, batch: Owned) -> Owned {
        if !reaches(&batch, tide) {
            return batch;
        }
        let Some(low) = self.circulation.take_drained() else { return batch };
        if reaches(&low, tide) {
            // The lowest batch of the depot reaches above it too: nothing is left below.
            self.flood();
        }
        // Rule L: it came off a ripe stack.
        self.circulation.put_to_rest(batch);
        low
    }
}

/// Whether a slot of a batch is above the tide.
fn reaches(batch: &Owned, tide: u64) -> bool {
    (0..batch.len()).any(|position| u64::from(batch.at(position).0) >= tide)
}

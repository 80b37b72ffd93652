//! The tide: slots above it are to come to rest, so that a later `shrink` can give their segments back.
//!
//! What a thread ends it uses again, since its core has it. So after a spike the few slots that are in use
//! lie all over, and as long as lives go on in them every segment keeps some. That is why `shrink` tells up
//! to where slots are needed. Whoever finds a ripe batch with a slot above that takes one off the depot in its
//! place, where the lowest lie on top, and leaves the other to the next `reclaim`. Each life ends some day,
//! and in the end all of them go on below.
//!
//! It is a hint, which orders nothing: who follows an old one uses other slots than he might.

use std::ops::Range;

use super::core::Core;
use crate::free::Owned;

/// Nothing is to come to rest.
pub(super) const HIGH: u64 = u64::MAX;

/// So many times the slots in use are left to use, and so many besides.
const ROOM: u64 = 2;
const LEAST_ROOM: u64 = if cfg!(all(loom, test)) { 1 << 20 } else { 4096 };

impl<T> Core<T> {
    /// How many slots are needed while so many lie free, if far more lie there than that.
    pub(super) fn needed_beside(&self, free: u64) -> Option<u64> {
        let slots = self.growth.slots();
        let needed = ROOM * slots.saturating_sub(free) + LEAST_ROOM;
        (needed < slots / 2).then_some(needed)
    }

    /// Says that slots above the first so many are to come to rest; `ranges` are those of the segments that
    /// there are, in order.
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

    /// Slots are needed that there were not.
    #[inline]
    pub(super) fn flood(&self) {
        if self.tide.get() != HIGH {
            self.tide.set(HIGH);
        }
    }

    /// A ripe batch, or one off the depot in its place if that lies lower.
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
            // Nothing is left below.
            self.flood();
        }
        // Rule L: it came off a ripe stack.
        self.circulation.put_to_rest(batch);
        low
    }
}

/// Whether a slot of a batch lies above the tide.
fn reaches(batch: &Owned, tide: u64) -> bool {
    (0..batch.len()).any(|position| u64::from(batch.at(position).0) >= tide)
}

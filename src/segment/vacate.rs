//! How a segment leaves the table, so that its memory can be given back, and how it comes again.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use super::attic::{Entered, Kept};
use super::sides::{allocate_segment, free_segment, layout_made};
use super::table::{Table, given_back};
use super::{MAX_SLOTS, Segment, Sides};
use crate::memory::OutOfMemory;
use crate::slot::{Header, Slot};
use crate::state::State;
use crate::sync::{Counter, Ordering, planted};
use crate::word::SlotWord;

/// A segment that is out of the table: whoever looks for its slots finds none, and who has found
/// one before may still look at its word.
#[derive(Debug)]
#[must_use = "a segment that is not freed is leaked"]
pub(crate) struct Unlinked<T, H: Header = ()> {
    first: *mut Slot<T, H>,
    slots: u32,
    sides: Sides,
}

impl<T, H: Header> Unlinked<T, H> {
    pub(crate) fn bytes(&self) -> usize {
        layout_made::<T, H>(self.slots as usize, self.sides).size()
    }

    /// Frees it, and counts its bytes out.
    ///
    /// # Safety
    /// * Everybody who could have seen it in the table has gone.
    pub(crate) unsafe fn free(self, waiting: &Counter) {
        waiting.sub_shared(self.bytes() as u64);
        // SAFETY: the table's, made so; the caller's duty, and no slot of it had a payload when it
        // left the table (invariant 11).
        unsafe { free_segment(self.first, self.slots as usize, self.sides) };
    }
}

impl Segment {
    /// The indices of its slots.
    pub(crate) fn range(self) -> Range<u64> {
        let begin = self.begin() as u64;
        begin..(begin + self.slots() as u64).min(MAX_SLOTS)
    }
}

impl<T, H: Header> Table<T, H> {
    /// What has to be kept of a segment before it leaves the table, and room for it; `None` if
    /// there is no such segment.
    ///
    /// The generations are those that the words have now: the caller owns the slots that were given
    /// out, and nobody changes the others.
    pub(crate) fn keep(
        &self,
        segment: Segment,
        attic: &mut Entered<'_>,
    ) -> Result<Option<Kept>, OutOfMemory> {
        let Some(slots) = self.slots_of(segment) else { return Ok(None) };
        let kept = Kept::of(segment, slots.iter().map(|slot| slot.word.peek().generation()))?;
        attic.make_room()?;
        Ok(Some(kept))
    }

    /// Takes a segment out of the table, which keeps what `keep` has made of it.
    ///
    /// # Safety
    /// * The segment is there, and the caller owns all its slots: each is None, and its index in
    ///   nobody else's hands and in no list, where it never comes again.
    /// * The caller frees it by a deferred call, after every pin that could have seen it.
    /// * It has seen nobody looking without a pin since it entered the attic.
    pub(crate) unsafe fn vacate(
        &self,
        kept: Kept,
        attic: &mut Entered<'_>,
        waiting: &Arc<Counter>,
    ) -> Unlinked<T, H> {
        let segment = kept.segment;
        let Some(place) = self.place(segment) else {
            unreachable!("the caller has seen the segment")
        };
        attic.keep(kept);
        // Relaxed: who is in the attic received what was made there (A1), and who owns the slots
        // the segment. Relaxed store: nothing is read behind it; the epoch orders what is freed
        // after those who have seen the pointer before.
        let origin = place.load(Ordering::Relaxed);
        let mark =
            if planted("no mark where a segment was") { ptr::null_mut() } else { given_back() };
        place.store(mark, Ordering::Relaxed);
        let first = origin.wrapping_add(segment.begin());
        let unlinked = Unlinked { first, slots: segment.slots() as u32, sides: self.sides };
        self.bytes.sub_shared(unlinked.bytes() as u64);
        waiting.add_shared(unlinked.bytes() as u64);
        unlinked
    }

    /// Makes the lowest of the segments that have left the table again, with the generations that
    /// its slots had; the indices of its slots, which are the caller's to give out.
    pub(crate) fn restore(
        &self,
        attic: &mut Entered<'_>,
    ) -> Result<Option<Range<u64>>, OutOfMemory> {
        attic.take_lowest(|kept| {
            let segment = kept.segment;
            let Some(place) = self.place(segment) else {
                unreachable!("the segment was in the table before")
            };
            let first = allocate_segment::<T, H>(segment.slots(), self.sides)?;
            for offset in 0..segment.slots() {
                // SAFETY: the allocation has so many slots (invariant 12).
                let slot = unsafe { first.add(offset) };
                // SAFETY: as above; all zeroes is a slot, and nobody else has seen it (invariant
                // 11).
                let slot = unsafe { &*slot };
                slot.word.set(SlotWord::new(kept.generation(offset), State::None));
            }
            pause_point!("segment made again, not in the table");
            let origin = first.wrapping_sub(segment.begin());
            // Release G1: publishes the words, old generations and all, to every look-up. A plain
            // store: who is in the attic alone puts segments back.
            place.store(origin, ord!(Release: G1));
            self.bytes.add_shared(layout_made::<T, H>(segment.slots(), self.sides).size() as u64);
            Ok(segment.range())
        })
    }
}

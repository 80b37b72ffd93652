//! Slots that lie in a row, for whoever walks over them: under a session, as for a single one.

use std::ptr::NonNull;
use std::slice;

use super::{Index, Near, Segment, Sides, Table};
use crate::slot::{Header, Slot};
use crate::sync::AtomicU8;

/// Slots in a row, and their marks.
#[derive(Debug)]
pub(crate) struct Run<'t, T> {
    pub(crate) slots: &'t [Slot<T>],
    pub(crate) marks: &'t [AtomicU8],
}

impl<'t, T> Run<'t, T> {
    /// The first so many, and the others.
    #[inline]
    pub(crate) fn split_at(&self, length: usize) -> (Run<'t, T>, Run<'t, T>) {
        let (slots, other_slots) = self.slots.split_at(length);
        let (marks, other_marks) = self.marks.split_at(length);
        (Run { slots, marks }, Run { slots: other_slots, marks: other_marks })
    }
}

impl<T> Default for Run<'_, T> {
    fn default() -> Self {
        Run { slots: &[], marks: &[] }
    }
}

impl<T, H: Header> Table<T, H> {
    /// The slots from an index on, to the end of its segment or before `end`; how many there would
    /// be if the segment is not there.
    pub(crate) fn run(&self, from: u64, end: u64) -> Result<&[Slot<T, H>], u64> {
        let (slot, length) = self.run_at(from, end)?;
        // SAFETY: the slots of a segment lie in a row, and so many of them follow this one, itself
        // included; they are shared and only changed through their cells (invariant 11, 12).
        Ok(unsafe { slice::from_raw_parts(slot.as_ptr(), length) })
    }

    /// Where a run begins, and how long it is.
    fn run_at(&self, from: u64, end: u64) -> Result<(NonNull<Slot<T, H>>, usize), u64> {
        let segment = Segment::of(Index(from as u32));
        let length = ((segment.begin() + segment.slots()) as u64 - from).min(end - from);
        let slot = self.address(from, Near::of(from)).ok_or(length)?;
        Ok((slot, length as usize))
    }

    /// All slots of a segment, if it is there.
    pub(crate) fn slots_of(&self, segment: Segment) -> Option<&[Slot<T, H>]> {
        let begin = segment.begin() as u64;
        self.run(begin, begin + segment.slots() as u64).ok()
    }
}

impl<T> Table<T> {
    /// All marks of the segment of a slot that the caller owns, and the index of the first.
    pub(crate) fn marks_around(&self, index: Index) -> (u32, &[AtomicU8]) {
        let segment = Segment::of(index);
        let begin = segment.begin() as u64;
        match self.marked_run(begin, begin + segment.slots() as u64) {
            Ok(run) => (begin as u32, run.marks),
            Err(_) => unreachable!("an owner of a slot keeps its segment"),
        }
    }

    /// As [`run`](Table::run), with their marks.
    pub(crate) fn marked_run(&self, from: u64, end: u64) -> Result<Run<'_, T>, u64> {
        debug_assert!(self.sides.marks);
        let (slot, length) = self.run_at(from, end)?;
        let segment = Segment::of(Index(from as u32));
        let offset = from as usize - segment.begin();
        // Of the segment that was found: the table may have lost it meanwhile, since who walks over
        // slots owns none.
        let first = slot.as_ptr().wrapping_sub(offset);
        let marks = first.wrapping_byte_add(Sides::marks_offset::<T, ()>(segment.slots()));
        let mark = marks.cast::<AtomicU8>().wrapping_add(offset);
        // SAFETY: as in `run` (invariant 11, 12).
        let slots = unsafe { slice::from_raw_parts(slot.as_ptr(), length) };
        // SAFETY: the marks lie in a row behind the slots, one for each (invariant 11, 12).
        let marks = unsafe { slice::from_raw_parts(mark, length) };
        Ok(Run { slots, marks })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::ptr;

    use super::*;

    const SIDES: Sides = Sides { marks: true, stamps: true, links: true };

    /// In small segments, full ones, and far ones.
    #[test]
    fn marks_of_a_segment_are_those_of_the_runs_in_it() {
        let table = Table::<[u8; 3]>::new(SIDES);
        let end = 4 << 16;
        table.ensure(0, end).unwrap();
        let mut at = 0;
        while at < end {
            let run = table.marked_run(at, end).unwrap();
            let (begin, marks) = table.marks_around(Index(at as u32));
            assert!(ptr::eq(&marks[(at - u64::from(begin)) as usize..], run.marks), "from {at}");
            // Not only from where a segment begins.
            at += (run.slots.len() as u64).min(1000);
        }
    }

    #[test]
    fn slots_and_marks_begin_on_lines() {
        fn check<T>() {
            let table = Table::<T>::new(SIDES);
            table.ensure(0, 1000).unwrap();
            for begin in [0, 64, 128, 256, 512] {
                let run = table.marked_run(begin, 1000).unwrap();
                assert_eq!(run.slots.as_ptr().addr() % 64, 0);
                assert_eq!(run.marks.as_ptr().addr() % 64, 0);
            }
        }
        check::<u8>();
        check::<[u64; 7]>();
        check::<[u64; 8]>();
        #[repr(align(128))]
        struct Wide;
        check::<Wide>();
    }
}

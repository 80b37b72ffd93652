//! Where slots live: segments that never move, found by a little arithmetic and a pointer load.
//! One that is wholly free may be given back ([`Table::vacate`]), and comes again
//! ([`Table::restore`]) before others are made.
//!
//! The first segment has 2^6 slots, the next one as many, and from there they double up to 2^15:
//! eleven small segments for the first 2^16 slots. From there every segment has 2^16 slots, and
//! directories of 2^10 pointers lead to them, made on first use.

mod attic;
mod sides;
mod table;
mod vacate;

pub(crate) use attic::{Attic, Entered};
pub(crate) use sides::Sides;
pub(crate) use table::Table;

/// The number of a slot: a handle's `seq`, once it was compared with [`MAX_SLOTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Index(pub(crate) u32);

/// 2^this slots in the first segment. Models have tiny segments, to cross their borders soon.
const FIRST_BITS: u32 = if cfg!(all(loom, test)) { 1 } else { 6 };
/// 2^this slots in a full segment, and in all small ones together.
const FULL_BITS: u32 = if cfg!(all(loom, test)) { 2 } else { 16 };
/// 2^this full segments behind one directory.
const DIRECTORY_BITS: u32 = if cfg!(all(loom, test)) { 1 } else { 10 };
/// Directories.
const DIRECTORIES: usize = if cfg!(all(loom, test)) { 2 } else { 64 };
/// Small segments.
const SMALL: usize = (FULL_BITS - FIRST_BITS + 1) as usize;

/// Slots that a store can ever have: an index, and the number that means none, fit in 32 bits.
pub(crate) const MAX_SLOTS: u64 = ((DIRECTORIES as u64) << (DIRECTORY_BITS + FULL_BITS)) - 1;

const _: () = assert!(MAX_SLOTS <= u32::MAX as u64);

/// A segment, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Segment {
    Small(usize),
    Full { directory: usize, number: usize },
}

impl Segment {
    /// The segment of a slot. Worked example: index 200 has its highest bit at 7, so it lies in
    /// small segment 7 - 5 = 2. The bits below the first segment's size are set for the search, so
    /// that indices 0 to 63 count as having their highest bit at 5 and lie in segment 0.
    #[inline(always)]
    pub(crate) const fn of(index: Index) -> Segment {
        let index = index.0;
        if index >> FULL_BITS == 0 {
            const BELOW_FIRST: u32 = (1 << FIRST_BITS) - 1;
            let highest = (index | BELOW_FIRST).ilog2();
            return Segment::Small((highest + 1 - FIRST_BITS) as usize);
        }
        let full = index >> FULL_BITS;
        Segment::Full {
            directory: (full >> DIRECTORY_BITS) as usize,
            number: (full & ((1 << DIRECTORY_BITS) - 1)) as usize,
        }
    }

    /// Its place among all segments, in the order of indices.
    pub(crate) const fn ordinal(self) -> usize {
        match self {
            Segment::Small(number) => number,
            Segment::Full { directory, number } => {
                // Of the full segments the first one's indices are the small ones'.
                SMALL + (directory << DIRECTORY_BITS) + number - 1
            }
        }
    }

    /// The index of its first slot.
    const fn begin(self) -> usize {
        match self {
            Segment::Small(0) => 0,
            Segment::Small(number) => 1 << (FIRST_BITS as usize + number - 1),
            Segment::Full { directory, number } => {
                ((directory << DIRECTORY_BITS) + number) << FULL_BITS
            }
        }
    }

    /// How many slots it has.
    const fn slots(self) -> usize {
        match self {
            Segment::Small(0) => 1 << FIRST_BITS,
            Segment::Small(number) => 1 << (FIRST_BITS as usize + number - 1),
            Segment::Full { .. } => 1 << FULL_BITS,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn segments_follow_each_other_without_gaps() {
        let mut last = None;
        let mut end = 0;
        for index in 0..(1u32 << 16) * 3 {
            let here = Segment::of(Index(index));
            if last != Some(here) {
                assert!(last < Some(here), "segments come in order");
                assert_eq!((here.begin(), index as usize), (end, end), "{here:?}");
                assert_eq!(here.ordinal(), last.map_or(0, |last: Segment| last.ordinal() + 1));
                end = here.begin() + here.slots();
                last = Some(here);
            }
            assert!((index as usize) < end, "index {index} lies in {here:?}");
        }
    }

    #[test]
    fn segment_of_the_last_index_is_the_last_of_the_last_directory() {
        let last = Segment::of(Index((MAX_SLOTS - 1) as u32));
        assert_eq!(last, Segment::Full { directory: DIRECTORIES - 1, number: 1023 });
        assert_eq!(last.begin() + last.slots(), MAX_SLOTS as usize + 1);
    }
}

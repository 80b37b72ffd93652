//! Where slots live: segments that never move, found by a little arithmetic and a pointer load.
//! One that is wholly free may be given back ([`Table::vacate`]), and comes again
//! ([`Table::restore`]) before others are made.
//!
//! The first segment has 2^6 slots, the next one as many, and from there they double up to 2^15:
//! eleven small segments for the first 2^16 slots. From there every segment has 2^16 slots. The
//! pointers to the first ones, for fifteen million slots, lie in the table itself, and those to the
//! others in directories of 2^10, made on first use.

mod attic;
mod runs;
mod sides;
mod table;
mod vacate;

pub(crate) use attic::{Attic, Entered};
pub(crate) use runs::Run;
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
/// Full segments that the table itself points to. Tests are to come to a directory soon.
const NEAR_FULL: usize = match (cfg!(test), cfg!(loom)) {
    (true, true) => 0,
    (true, false) => 1,
    (false, _) => 232,
};

/// Slots that a look-up finds by way of the table itself, with one comparison.
const NEAR_SLOTS: u64 = (NEAR_FULL as u64 + 1) << FULL_BITS;

/// Slots that a store can ever have: an index, and the number that means none, fit in 32 bits.
pub(crate) const MAX_SLOTS: u64 = ((DIRECTORIES as u64) << (DIRECTORY_BITS + FULL_BITS)) - 1;

const _: () = assert!(MAX_SLOTS <= u32::MAX as u64);

/// A segment, by its place among all of them, in the order of indices.
///
/// That is the highest bit of an index, plus how many full segments would fit below it: one formula
/// without a branch, which nobody could predict where look-ups go here and there. Some places stay
/// empty: the first, of bits that lie within the first segment, and one wherever the highest bit of
/// a full segment's indices is another than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Segment(usize);

/// The place of the first segment.
const FIRST: usize = FIRST_BITS as usize - 1;
/// The place of the last small segment.
const LAST_SMALL: usize = FULL_BITS as usize - 1;
/// The places of the segments that the table itself points to end here. Outside of tests all that a
/// [`Near`] can be are such, so that no look-up asks whether it is one.
const NEAR: usize = if cfg!(test) { full_place(NEAR_FULL + 1) } else { 1 << u8::BITS };
const _: () = assert!(NEAR_FULL == 0 || full_place(NEAR_FULL) < NEAR);

/// The place of the full segment that has so many times its slots below it.
const fn full_place(number: usize) -> usize {
    number + number.ilog2() as usize + FULL_BITS as usize
}

/// The place of a slot's segment among those that the table itself points to, as a handle carries
/// it, so that a look-up need not find it out. It is made of the number alone; that of a number
/// which lies beyond them says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Near(pub(crate) u8);

impl Near {
    /// Of the slot of this number.
    #[inline(always)]
    pub(crate) const fn of(seq: u64) -> Near {
        Near(Segment::of(Index(seq as u32)).0 as u8)
    }
}

impl Segment {
    /// The segment of a slot. Worked examples: index 200 has its highest bit at 7, so it lies at
    /// place 7; index 200 000 has it at 17, and three full segments fit below it, so it lies at
    /// place 20. The bits below the first segment's size are set for the search, so that indices 0
    /// to 63 count as having their highest bit at 5.
    #[inline(always)]
    pub(crate) const fn of(index: Index) -> Segment {
        const BELOW_FIRST: usize = (1 << FIRST_BITS) - 1;
        let index = index.0 as usize;
        Segment((index | BELOW_FIRST).ilog2() as usize + (index >> FULL_BITS))
    }

    /// How many times the slots of a full segment lie below it; 0 for a small one.
    const fn number(self) -> usize {
        let Some(beyond) = self.0.checked_sub(FULL_BITS as usize) else { return 0 };
        if beyond == 0 {
            return 0;
        }
        // The number and its highest bit, added up, have the same highest bit or the next.
        let number = beyond - beyond.ilog2() as usize;
        if full_place(number) == self.0 { number } else { number + 1 }
    }

    /// Which one it is of those that the table does not point to itself, if it is one.
    const fn far(self) -> Option<usize> {
        self.number().checked_sub(NEAR_FULL + 1)
    }

    /// The one for which that is `far`.
    const fn of_far(far: usize) -> Segment {
        Segment(full_place(NEAR_FULL + 1 + far))
    }

    #[inline(always)]
    const fn place(self) -> usize {
        self.0
    }

    /// How many segments come before it.
    pub(crate) const fn ordinal(self) -> usize {
        match self.number() {
            0 => self.0 - FIRST,
            full => LAST_SMALL - FIRST + full,
        }
    }

    /// The index of its first slot.
    const fn begin(self) -> usize {
        match self.0 {
            FIRST => 0,
            small if small <= LAST_SMALL => 1 << small,
            _ => self.number() << FULL_BITS,
        }
    }

    /// How many slots it has.
    const fn slots(self) -> usize {
        match self.0 {
            FIRST => 1 << FIRST_BITS,
            small if small <= LAST_SMALL => 1 << small,
            _ => 1 << FULL_BITS,
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
    fn segment_of_the_last_index_has_a_place_in_the_last_directory() {
        let last = Segment::of(Index((MAX_SLOTS - 1) as u32));
        assert_eq!(last.begin() + last.slots(), MAX_SLOTS as usize + 1);
        assert_eq!(last.far().map(|far| far >> DIRECTORY_BITS), Some(DIRECTORIES - 1));
        assert_eq!(last.far().map(Segment::of_far), Some(last));
    }

    #[test]
    fn full_segments_are_known_by_their_places() {
        for number in (1..1 << 12).chain(65_000..65_536) {
            let segment = Segment::of(Index((number << FULL_BITS) as u32));
            assert_eq!((segment.0, segment.number()), (full_place(number), number));
            assert_eq!(segment.begin(), number << FULL_BITS);
        }
    }
}

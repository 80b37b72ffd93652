//! Where slots live: segments that never move, found by a little arithmetic and a pointer load.
//!
//! The first segment has 2^6 slots, the next one as many, and from there they double up to 2^15:
//! eleven small segments for the first 2^16 slots. From there every segment has 2^16 slots, and
//! directories of 2^10 pointers lead to them, made on first use.

mod sides;
mod table;

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

/// Where a slot lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Small { segment: usize, offset: usize },
    Full { directory: usize, segment: usize, offset: usize },
}

/// The place of a slot. Worked example: index 200 has its highest bit at 7, so it lies in small
/// segment 7 - 5 = 2, which begins at 128, at offset 72. The bits below the first segment's size
/// are set for the search, so that indices 0 to 63 count as having their highest bit at 5 and lie
/// in segment 0, which begins at 32 with that bit cleared: at 0.
#[inline(always)]
const fn place(index: Index) -> Place {
    let index = index.0;
    if index >> FULL_BITS == 0 {
        const BELOW_FIRST: u32 = (1 << FIRST_BITS) - 1;
        let highest = (index | BELOW_FIRST).ilog2();
        let begin = (1 << highest) & !BELOW_FIRST;
        let segment = (highest + 1 - FIRST_BITS) as usize;
        return Place::Small { segment, offset: (index - begin) as usize };
    }
    let full = index >> FULL_BITS;
    Place::Full {
        directory: (full >> DIRECTORY_BITS) as usize,
        segment: (full & ((1 << DIRECTORY_BITS) - 1)) as usize,
        offset: (index & ((1 << FULL_BITS) - 1)) as usize,
    }
}

/// Slots of a segment.
const fn slots_of(place: Place) -> usize {
    match place {
        Place::Small { segment: 0, .. } => 1 << FIRST_BITS,
        Place::Small { segment, .. } => 1 << (FIRST_BITS as usize + segment - 1),
        Place::Full { .. } => 1 << FULL_BITS,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn place_walks_every_segment_in_order_without_gaps() {
        let mut expected = 0;
        let mut last = None;
        for index in 0..(1u32 << 16) * 3 {
            let here = place(Index(index));
            let (segment, offset) = match here {
                Place::Small { segment, offset } => ((0, segment), offset),
                Place::Full { directory, segment, offset } => ((1 + directory, segment), offset),
            };
            if last != Some(segment) {
                assert!(last.is_none_or(|before| before < segment), "segments come in order");
                expected = 0;
                last = Some(segment);
            }
            assert_eq!(offset, expected, "index {index}");
            assert!(offset < slots_of(here), "index {index}");
            expected += 1;
        }
    }

    #[test]
    fn place_of_the_last_index_is_within_the_last_directory() {
        let Place::Full { directory, segment, offset } = place(Index((MAX_SLOTS - 1) as u32))
        else {
            panic!("the last index lies in a full segment");
        };
        assert_eq!((directory, segment, offset), (DIRECTORIES - 1, 1023, (1 << 16) - 2));
    }
}

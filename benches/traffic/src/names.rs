//! What an allocation is, by its shape: the library's types have no other name from outside.

use crate::places::{Place, Shape};

/// What traffic is told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// Words and payloads, and the marks and links of a segment.
    Slots,
    /// Magazines: pockets, tally, peak.
    Magazines,
    /// Indices in boxes.
    Boxes,
    /// Shards: ripe stack, dead stack, tally.
    Shards,
    /// The circulation: depot, empty boxes, references to it.
    Circulation,
    /// crossbeam's collector: queue and epoch.
    Collector,
    /// crossbeam's participants: the epochs of threads.
    Participants,
    /// crossbeam's nodes of the queue, each with a bag.
    Bags,
    /// What no shape is known of: permits, the store's shared part, the pool, the bare array.
    Others,
    /// What is no allocation: mostly what the allocator keeps for itself.
    Allocator,
}

impl Owner {
    /// All there are, in the order of the tables.
    pub const ALL: [Owner; 10] = [
        Owner::Slots,
        Owner::Boxes,
        Owner::Magazines,
        Owner::Participants,
        Owner::Collector,
        Owner::Bags,
        Owner::Circulation,
        Owner::Shards,
        Owner::Others,
        Owner::Allocator,
    ];

    /// What a place belongs to, in a store of 64 bytes an entity.
    ///
    /// Shapes change with the library. What is not known any more is counted among the others,
    /// where it is seen.
    pub fn of(place: Place) -> Owner {
        let Place::Allocated(Shape { size, align }, _) = place else { return Owner::Allocator };
        match (size, align) {
            (256, 128) => Owner::Magazines,
            (512, 128) => Owner::Shards,
            (768, 128) => Owner::Circulation,
            (640, 128) => Owner::Collector,
            (2304, 128) => Owner::Participants,
            (2072, 8) => Owner::Bags,
            // A gap of 64 bytes; 72, a mark of one and a link of 4 for each slot, 64 of them at
            // least.
            _ if size > 64 && is_so_many(size - 64, 77, 64) => Owner::Slots,
            // 260 numbers of 4 bytes for each box, 4 of them at least.
            _ if is_so_many(size, 1040, 4) => Owner::Boxes,
            _ => Owner::Others,
        }
    }

    /// For a table.
    pub fn name(self) -> &'static str {
        match self {
            Owner::Slots => "slots",
            Owner::Magazines => "magazines, their tallies",
            Owner::Boxes => "boxes of indices",
            Owner::Shards => "shards, their stacks",
            Owner::Circulation => "the circulation: references, empty boxes",
            Owner::Collector => "crossbeam's queue and epoch",
            Owner::Participants => "crossbeam's participants",
            Owner::Bags => "crossbeam's nodes, a bag each",
            Owner::Others => "others: permits, the shared part, the pool",
            Owner::Allocator => "the allocator's own",
        }
    }
}

/// Whether `size` is that of a power of two of things of `each` bytes, `least` of them at least.
fn is_so_many(size: u64, each: u64, least: u64) -> bool {
    size.is_multiple_of(each) && (size / each).is_power_of_two() && size / each >= least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_have_owners() {
        let of = |size, align| Owner::of(Place::Allocated(Shape { size, align }, 0));
        assert_eq!(of(64 + 64 * 77, 8), Owner::Slots);
        assert_eq!(of(64 + 1024 * 77, 64), Owner::Slots);
        assert_eq!(of(64 + 63 * 77, 8), Owner::Others);
        assert_eq!(of(8 * 1040, 8), Owner::Boxes);
        assert_eq!(of(256, 128), Owner::Magazines);
        assert_eq!(of(256, 8), Owner::Others);
        assert_eq!(Owner::of(Place::Elsewhere), Owner::Allocator);
    }

    #[test]
    fn every_owner_has_a_row() {
        let mut all = Owner::ALL;
        all.sort();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    }
}

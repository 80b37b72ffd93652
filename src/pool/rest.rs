//! Objects at rest: a tagged stack a shard, linked through the slots.
//!
//! The depth that a slot carries while it lies on a stack, itself included, is a statistic: with
//! it a pop knows how many it leaves behind, and the lowest such number since the window began
//! tells how many objects were out at once, without a counter that every thread would write.

use std::ptr::NonNull;

use crossbeam_utils::CachePadded;

use crate::free::TaggedHead;
use crate::segment::{Index, Table};
use crate::slot::{self, Header};
use crate::sync::{AtomicU32, Counter, Ordering};

/// What a pool's slot has beside its word: its place in the stack that it lies on.
#[derive(Debug, Default)]
pub(super) struct Place {
    /// The slot below, plus one; 0 for none.
    below: AtomicU32,
    /// How many lie there, from this one down.
    depth: AtomicU32,
}

/// A cache line.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Line;

// SAFETY: both numbers are plain, and 0 by default (invariant 12).
unsafe impl Header for Place {
    type Align = Line;
}

/// The slots of a pool. No links lie behind them: each has its own.
pub(super) type Slots<T> = Table<T, Place>;
/// A slot of a pool.
pub(super) type Slot<T> = slot::Slot<T, Place>;

impl Place {
    #[inline]
    pub(super) fn below(&self) -> u32 {
        // Relaxed: the Acquire B1 of the head comes before; a link read while others pop and push
        // the slot is thrown away, because the tag has moved on.
        self.below.load(Ordering::Relaxed)
    }

    #[inline]
    fn depth(&self) -> u32 {
        // Relaxed: a statistic; a thread that works alone reads what it stored.
        self.depth.load(Ordering::Relaxed)
    }

    /// Takes the depth of a slot over that this one replaces.
    pub(super) fn stand_in_for(&self, spent: &Place) {
        self.put(0, spent.depth());
    }

    #[inline]
    fn put(&self, below: u32, depth: u32) {
        // Relaxed: the Release B1 of the head comes after.
        self.below.store(below, Ordering::Relaxed);
        // Relaxed: see `depth`.
        self.depth.store(depth, Ordering::Relaxed);
    }
}

/// One shard: a stack, and what its threads count. Any shard may hold any slot.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) head: TaggedHead,
    /// The fewest that lay on the stack since the window of statistics began.
    pub(super) low: Counter,
    pub(super) events: Events,
}

/// What happens seldom, and is counted where it happens.
#[derive(Debug)]
pub(super) struct Events {
    /// Objects constructed.
    pub(super) created: Counter,
    /// Acquisitions that were refused.
    pub(super) rejected: Counter,
    /// Leases ended by others: by `reset`, and to be overwritten.
    pub(super) revoked: Counter,
    /// Acquisitions served by taking the oldest lease's object.
    pub(super) overwritten: Counter,
    /// Objects constructed in place of one that an overwritten lease had left broken.
    pub(super) rebuilt: Counter,
    /// Panics of `recycle` and of destructors.
    pub(super) drop_panics: Counter,
}

impl Shard {
    fn new() -> Shard {
        let zero = || Counter::new(0);
        Shard {
            head: TaggedHead::new(),
            low: zero(),
            events: Events {
                created: zero(),
                rejected: zero(),
                revoked: zero(),
                overwritten: zero(),
                rebuilt: zero(),
                drop_panics: zero(),
            },
        }
    }

    /// `count` shards, a power of two. All of them are made at once: a closing pool must find every
    /// stack.
    pub(super) fn all(count: usize) -> Box<[CachePadded<Shard>]> {
        (0..count).map(|_| CachePadded::new(Shard::new())).collect()
    }

    /// A slot off the stack, which the caller owns, or the tag under which there is none.
    #[inline]
    pub(super) fn pop<'t, T>(&'t self, slots: &'t Slots<T>) -> Result<Taken<'t, T>, u32> {
        // The last look is at the slot that was popped.
        let looked_at = std::cell::Cell::new(None);
        let index = self.head.pop(|number| {
            let slot = slots.known(Index(number));
            looked_at.set(Some(slot));
            slot.header.below()
        })?;
        let Some(slot) = looked_at.get() else { unreachable!("a pop looks at what it takes") };
        Ok(Taken { slot, index: Index(index), from: Origin::Stack(self) })
    }

    /// Notes how many a slot that was taken left behind.
    #[inline]
    pub(super) fn note_low(&self, place: &Place) {
        let left = u64::from(place.depth().saturating_sub(1));
        if left < self.low.get() {
            self.low.lower(left);
        }
    }
}

/// Puts a slot on a stack, from where anybody may take it; false if the stack is closed, and the
/// caller owns the slot still.
///
/// The table goes in as a pointer: it may be freed before this returns, and is not all cells.
///
/// # Safety
/// * The table is good until the slot is on the stack.
#[inline]
pub(super) unsafe fn push<T>(
    head: &TaggedHead,
    slots: NonNull<Slots<T>>,
    place: &Place,
    index: Index,
) -> bool {
    head.push_unless_closed(index.0, move |below| {
        // SAFETY: the slot is not on the stack yet, so this is the caller's duty (invariant 15).
        let depth = depth(unsafe { slots.as_ref() }, below);
        place.put(below, depth + 1);
    })
}

/// How many lie on a stack whose top this link leads to: a statistic. The link may be news from a
/// thread whose segment is none yet here, and so the slot is looked for, not relied on.
#[inline]
pub(super) fn depth<T>(slots: &Slots<T>, link: u32) -> u32 {
    let top = link.checked_sub(1).and_then(|top| slots.slot(Index(top)));
    top.map_or(0, |top| top.header.depth())
}

/// A slot that the caller owns.
#[derive(Debug)]
pub(super) struct Taken<'t, T> {
    pub(super) slot: &'t Slot<T>,
    pub(super) index: Index,
    pub(super) from: Origin<'t>,
}

/// Where a slot was taken from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'t> {
    /// The stack of a shard.
    Stack(&'t Shard),
    /// Nowhere: its unit was opened for this call.
    Fresh,
    /// A lease that was overwritten.
    Lease,
}

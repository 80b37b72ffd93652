//! One core's part of the circulation.

use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use super::batch::Owned;
use super::boxes::Boxes;
use super::chain::Chain;
use super::magazine::Magazine;
use super::tally::Tally;
use super::treiber::TaggedStack;
use crate::segment::Index;
use crate::sync::{AtomicPtr, AtomicU32, Counter, Ordering, planted};

/// One shard's traffic. It holds no slots: any shard may hold any slot's index.
#[derive(Debug)]
pub(crate) struct Shard {
    ripe: CachePadded<Ripe>,
    /// Dead slots from threads without a magazine, linked through the slots: an index plus one.
    dead: CachePadded<AtomicU32>,
    /// Batches that were ever sent into limbo from here. Not in a line of its own: what is beside it
    /// is seldom asked for by other cores, and seldom written.
    handed_over: Counter,
    magazines: AtomicPtr<Magazine>,
    /// Events on threads without a magazine.
    pub(crate) tally: Tally,
}

/// Batches whose grace period is over.
#[derive(Debug)]
struct Ripe {
    stack: TaggedStack,
    /// How many were ever pushed: in the line that whoever pushes has anyway.
    pushed: Counter,
}

impl Shard {
    pub(super) fn new() -> Shard {
        Shard {
            ripe: CachePadded::new(Ripe { stack: TaggedStack::new(), pushed: Counter::new(0) }),
            dead: CachePadded::new(AtomicU32::new(0)),
            handed_over: Counter::new(0),
            magazines: AtomicPtr::new(ptr::null_mut()),
            tally: Tally::new(),
        }
    }

    /// Batches from here that wait for their grace period.
    pub(crate) fn in_limbo(&self) -> u64 {
        // What has ripened is read first: it was counted as handed over before.
        let ripened = self.ripened();
        self.handed_over().saturating_sub(ripened)
    }

    /// Batches whose grace period has ended, and that came back here.
    pub(super) fn ripened(&self) -> u64 {
        self.ripe.pushed.get()
    }

    /// Batches that were ever sent into limbo from here.
    pub(super) fn handed_over(&self) -> u64 {
        self.handed_over.get()
    }

    /// Counts batches that go into limbo.
    pub(super) fn count_hand_over(&self, batches: u64) {
        self.handed_over.add_shared(batches);
    }

    /// Takes batches back whose grace period is over.
    pub(super) fn ripen(&self, boxes: &Boxes, chain: Chain) {
        let batches = chain.batches();
        self.ripe.stack.push_chain(boxes, chain);
        pause_point!("ripe, not counted");
        self.ripe.pushed.add_shared(batches);
    }

    /// Whether there was a ripe batch a moment ago: a hint.
    pub(super) fn has_ripe(&self) -> bool {
        !self.ripe.stack.looks_empty()
    }

    /// Pops a ripe batch.
    pub(super) fn take_ripe(&self, boxes: &Boxes) -> Option<Owned> {
        if self.has_ripe() { self.ripe.stack.pop(boxes) } else { None }
    }

    /// The magazines of the shard, the newest first.
    pub(crate) fn magazines(&self) -> impl Iterator<Item = &Magazine> {
        // Acquire M2: receives the magazine and its link; pairs with the Release M2 in
        // `add_magazine`.
        let mut at = self.magazines.load(ord!(Acquire: M2));
        std::iter::from_fn(move || {
            // SAFETY: a magazine that was published stays until the circulation is dropped
            // (invariant 11).
            let magazine = unsafe { at.as_ref() }?;
            // Relaxed: set before the magazine was published, and never changed.
            at = magazine.next.load(Ordering::Relaxed);
            Some(magazine)
        })
    }

    /// Adds a magazine, which the shard frees when it is dropped.
    ///
    /// # Safety
    /// * It comes from a box, and nobody else frees it.
    pub(super) unsafe fn add_magazine(&self, fresh: NonNull<Magazine>) {
        // SAFETY: the caller's duty: it is there as long as the shard (invariant 11).
        let magazine = unsafe { fresh.as_ref() };
        // Relaxed: linked to, not dereferenced.
        let mut first = self.magazines.load(Ordering::Relaxed);
        loop {
            // Relaxed: the Release M2 below comes after.
            magazine.next.store(first, Ordering::Relaxed);
            // Release M2: publishes the magazine and its link; pairs with the Acquire M2 in
            // `magazines`. Nothing is ever unlinked, so there is no ABA.
            match self.magazines.compare_exchange_weak(
                first,
                fresh.as_ptr(),
                ord!(Release: M2),
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(actual) => first = actual,
            }
        }
    }

    /// Pushes a Dead slot that the caller owns: one compare-and-swap, no pin, no allocation.
    pub(crate) fn push_dead(&self, index: Index, link: &AtomicU32) {
        // Relaxed: the head is only linked to.
        let mut head = self.dead.load(Ordering::Relaxed);
        loop {
            // Relaxed: the Release D1 below comes after.
            link.store(head, Ordering::Relaxed);
            // Release D1: publishes the link, and the end of the slot's life; pairs with the
            // Acquire D1 in `take_dead`. No ABA: the stack is only ever taken whole.
            match self.dead.compare_exchange_weak(
                head,
                index.0 + 1,
                ord!(Release: D1),
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(_) if planted("dead slot by a plain store") => {
                    return self.dead.store(index.0 + 1, Ordering::Relaxed);
                }
                Err(actual) => head = actual,
            }
        }
    }

    /// Takes all Dead slots: the first one's index plus one, or 0.
    pub(crate) fn take_dead(&self) -> u32 {
        // Relaxed: a hint that saves the read-modify-write.
        if self.dead.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        // Acquire D1: receives the links and the ends of the lives. The pushes below the top are
        // read-modify-writes, so the release sequence of each extends to the head.
        self.dead.swap(0, ord!(Acquire: D1))
    }
}

impl Drop for Shard {
    fn drop(&mut self) {
        // Relaxed: the drop is exclusive, and comes after every publication.
        let mut at = self.magazines.load(Ordering::Relaxed);
        while let Some(magazine) = NonNull::new(at) {
            // SAFETY: the shard is dropped, so nobody refers to its magazines; each was added by
            // who made it, from a box (invariant 11).
            let magazine = unsafe { Box::from_raw(magazine.as_ptr()) };
            // Relaxed: set before the magazine was published.
            at = magazine.next.load(Ordering::Relaxed);
        }
    }
}

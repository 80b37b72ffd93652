//! A stack of batches: Treiber's, over numbers instead of pointers, with a tag in its head.
//!
//! The idea is from R. K. Treiber, "Systems Programming: Coping with Parallelism" (IBM, 1986).

use super::batch::{Boxes, Owned};
use crate::sync::{AtomicU64, Ordering, planted};

/// The head: a tag in the high half that every change advances, and a batch's number plus one in
/// the low half, 0 for none.
#[derive(Debug)]
pub(crate) struct TaggedStack(AtomicU64);

const NUMBER_BITS: u32 = 32;

const fn pack(tag: u32, link: u32) -> u64 {
    ((tag as u64) << NUMBER_BITS) | link as u64
}

const fn tag(head: u64) -> u32 {
    (head >> NUMBER_BITS) as u32
}

const fn link(head: u64) -> u32 {
    head as u32
}

/// The tag after `head`'s.
fn next_tag(head: u64) -> u32 {
    if planted("untagged head") { 0 } else { tag(head).wrapping_add(1) }
}

impl TaggedStack {
    pub(crate) fn new() -> TaggedStack {
        TaggedStack(AtomicU64::new(0))
    }

    /// Whether nothing lay on it a moment ago: a hint.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        // Relaxed: a hint; `pop` looks again.
        link(self.0.load(Ordering::Relaxed)) == 0
    }

    /// Pushes a batch.
    pub(crate) fn push(&self, batch: Owned) {
        let batch = batch.batch();
        // Relaxed: the head is only compared and linked to.
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            batch.set_next(link(head));
            let new = pack(next_tag(head), batch.number() + 1);
            // Release B1: publishes the batch's contents and its link; pairs with the Acquire B1
            // in `pop`. Relaxed on failure: the head is compared again.
            match self.0.compare_exchange_weak(head, new, ord!(Release: B1), Ordering::Relaxed) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }

    /// Pops a batch.
    pub(crate) fn pop(&self, boxes: &Boxes) -> Option<Owned> {
        // Acquire B1: receives the link of the batch that is on top, to read it below.
        let mut head = self.0.load(ord!(Acquire: B1));
        loop {
            let number = link(head).checked_sub(1)?;
            let batch = boxes.get(number);
            let new = pack(next_tag(head), batch.next());
            // Acquire B1: receives the contents; pairs with the Release B1 in `push`. The pops in
            // between are read-modify-writes, so the push's release sequence goes on. On failure
            // too: the next round reads the link behind the head that was found.
            match self.0.compare_exchange_weak(head, new, ord!(Acquire: B1), ord!(Acquire: B1)) {
                // SAFETY: popped off this stack just now, by this call alone: the tag has moved on
                // (invariant 5).
                Ok(_) => return Some(unsafe { Owned::new(batch) }),
                Err(actual) => head = actual,
            }
        }
    }
}

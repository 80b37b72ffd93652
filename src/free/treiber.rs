//! Treiber's stack over numbers instead of pointers, with a tag in its head; and the stack of
//! batches that stands on it.
//!
//! The idea is from R. K. Treiber, "Systems Programming: Coping with Parallelism" (IBM, 1986).

use super::batch::{Boxes, Owned};
use crate::sync::{AtomicU64, Ordering, planted};

/// The head of a stack of numbered things that are never freed while it lasts: a tag in the high
/// half that every change advances, and the top's number plus one in the low half, 0 for none.
///
/// What it numbers, and where their links lie, is for its user to say.
#[derive(Debug)]
pub(crate) struct TaggedHead(AtomicU64);

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

impl TaggedHead {
    pub(crate) fn new() -> TaggedHead {
        TaggedHead(AtomicU64::new(0))
    }

    /// Whether nothing lay there a moment ago: a hint.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        // Relaxed: a hint; `pop` looks again.
        link(self.0.load(Ordering::Relaxed)) == 0
    }

    /// Pushes a number that the caller owns, below 2^32 - 1. `set_next` stores the link that it is
    /// given with the number's thing; Relaxed suffices.
    pub(crate) fn push(&self, number: u32, set_next: impl Fn(u32)) {
        // Relaxed: the head is only compared and linked to.
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            set_next(link(head));
            let new = pack(next_tag(head), number + 1);
            // Release B1: publishes what the number's thing holds, and its link; pairs with the
            // Acquire B1 in `pop`. Relaxed on failure: the head is compared again.
            match self.0.compare_exchange_weak(head, new, ord!(Release: B1), Ordering::Relaxed) {
                Ok(_) => return,
                Err(actual) => head = actual,
            }
        }
    }

    /// Pops a number, which the caller owns from here; the head's tag when there is none: under an
    /// equal tag nothing was pushed in between.
    ///
    /// `next_of` answers the link that was stored with a number; Relaxed suffices. It may be asked
    /// about a number that another thread has popped meanwhile, and that answer is thrown away.
    pub(crate) fn pop(&self, next_of: impl Fn(u32) -> u32) -> Result<u32, u32> {
        // Acquire B1: receives the link of what is on top, to read it below.
        let mut head = self.0.load(ord!(Acquire: B1));
        loop {
            let Some(number) = link(head).checked_sub(1) else { return Err(tag(head)) };
            let new = pack(next_tag(head), next_of(number));
            // Acquire B1: receives what the thing holds; pairs with the Release B1 in `push`. The
            // pops in between are read-modify-writes, so the push's release sequence goes on. On
            // failure too: the next round reads the link behind the head that was found.
            match self.0.compare_exchange_weak(head, new, ord!(Acquire: B1), ord!(Acquire: B1)) {
                Ok(_) => return Ok(number),
                Err(actual) => head = actual,
            }
        }
    }
}

/// A stack of batches.
#[derive(Debug)]
pub(crate) struct TaggedStack(TaggedHead);

impl TaggedStack {
    pub(crate) fn new() -> TaggedStack {
        TaggedStack(TaggedHead::new())
    }

    /// Whether nothing lay on it a moment ago: a hint.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.0.looks_empty()
    }

    /// Pushes a batch.
    pub(crate) fn push(&self, batch: Owned) {
        let batch = batch.batch();
        self.0.push(batch.number(), |link| batch.set_next(link));
    }

    /// Pops a batch.
    pub(crate) fn pop(&self, boxes: &Boxes) -> Option<Owned> {
        let number = self.0.pop(|number| boxes.get(number).next()).ok()?;
        // SAFETY: popped off this stack just now, by this call alone: the tag has moved on
        // (invariant 5).
        Some(unsafe { Owned::new(boxes.get(number)) })
    }
}

//! Treiber's stack over numbers instead of pointers, with a tag in its head; and the stack of
//! batches that stands on it.
//!
//! The idea is from R. K. Treiber, "Systems Programming: Coping with Parallelism" (IBM, 1986).

use super::batch::Owned;
use super::boxes::Boxes;
use super::chain::Chain;
use crate::sync::{AtomicU64, Ordering, planted};

/// The head of a stack of numbered things that are never freed while it lasts: a tag in the high
/// half that every change advances, and the top's number plus one in the low half, 0 for none.
///
/// What it numbers, and where their links lie, is for its user to say.
#[derive(Debug)]
pub(crate) struct TaggedHead(AtomicU64);

const NUMBER_BITS: u32 = 32;

/// The link of a stack that is closed for ever.
const CLOSED: u32 = u32::MAX;

const fn pack(tag: u32, link: u32) -> u64 {
    ((tag as u64) << NUMBER_BITS) | link as u64
}

const fn tag(head: u64) -> u32 {
    (head >> NUMBER_BITS) as u32
}

const fn link(head: u64) -> u32 {
    head as u32
}

/// The link to a number; 0 leads nowhere.
pub(super) const fn link_to(number: u32) -> u32 {
    number + 1
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

    /// The link to what lay on top a moment ago: a hint.
    pub(crate) fn top(&self) -> u32 {
        // Relaxed: a hint.
        link(self.0.load(Ordering::Relaxed))
    }

    /// Pushes a number that the caller owns, below 2^32 - 2, on a stack that is never closed while
    /// anybody pushes. `set_next` stores the link that it is given with the number's thing, or,
    /// where that heads a chain, with the last thing of the chain; Relaxed suffices.
    pub(crate) fn push(&self, number: u32, set_next: impl Fn(u32)) {
        let open = self.push_unless_closed(number, set_next);
        debug_assert!(open, "a stack that is closed");
    }

    /// The same on a stack that may be closed; false if it is, and the caller owns the number
    /// still.
    #[inline]
    #[must_use]
    pub(crate) fn push_unless_closed(&self, number: u32, set_next: impl Fn(u32)) -> bool {
        // Relaxed: the head is only compared and linked to.
        let mut head = self.0.load(Ordering::Relaxed);
        loop {
            if link(head) == CLOSED && !planted("push on a closed stack") {
                return false;
            }
            set_next(link(head));
            let new = pack(next_tag(head), link_to(number));
            // Release B1: publishes what the number's thing holds, and its link, and the same of
            // those that are linked below it already; pairs with the Acquire B1 in `pop`. Relaxed
            // on failure: the head is compared again.
            match self.0.compare_exchange_weak(head, new, ord!(Release: B1), Ordering::Relaxed) {
                Ok(_) => return true,
                Err(actual) => head = actual,
            }
        }
    }

    /// Takes everything that lies there and closes the stack for ever: the link of the top, 0 for
    /// none, and the caller owns all that it leads to.
    pub(crate) fn close(&self) -> u32 {
        // Acquire B1: receives what the things hold, and their links.
        link(self.0.swap(pack(0, CLOSED), ord!(Acquire: B1)))
    }

    /// Pops a number, which the caller owns from here; the head's tag when there is none: under an
    /// equal tag nothing was pushed in between.
    ///
    /// `next_of` answers the link that was stored with a number; Relaxed suffices. It may be asked
    /// about a number that another thread has popped meanwhile, and that answer is thrown away.
    #[inline]
    pub(crate) fn pop(&self, next_of: impl Fn(u32) -> u32) -> Result<u32, u32> {
        // Acquire B1, B3: receives the thing that is on top and its link; the pops since its push
        // are read-modify-writes, so the push's release sequence goes on. And whoever finds nothing
        // receives what the taker of the last thing had pushed elsewhere before.
        let mut head = self.0.load(ord!(Acquire: B1, B3));
        loop {
            debug_assert!(link(head) != CLOSED, "nobody pops any more when a stack is closed");
            let Some(number) = link(head).checked_sub(1) else { return Err(tag(head)) };
            let new = pack(next_tag(head), next_of(number));
            // Release B3: whoever finds nothing here sees what this thread had pushed elsewhere
            // before. Nothing to receive: no two values of the head are equal, so the one that is
            // replaced is the one that was read. Acquire B1, B3 on failure: as above.
            match self.0.compare_exchange_weak(head, new, ord!(Release: B3), ord!(Acquire: B1, B3))
            {
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

    /// Pushes the batches of a chain in one step: its top is the top then.
    pub(crate) fn push_chain(&self, boxes: &Boxes, chain: Chain) {
        let (top, bottom) = chain.ends();
        let bottom = boxes.get(bottom);
        self.0.push(top, |link| bottom.set_next(link));
    }

    /// Pops a batch.
    pub(crate) fn pop(&self, boxes: &Boxes) -> Option<Owned> {
        let number = self.0.pop(|number| boxes.get(number).next()).ok()?;
        // SAFETY: popped off this stack just now, by this call alone: the tag has moved on
        // (invariant 5).
        Some(unsafe { Owned::new(boxes.get(number)) })
    }
}

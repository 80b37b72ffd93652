//! Where cleared payloads wait for `spawn_recycled`: a bounded number of them, by value.
//!
//! A payload lies in a *cell*, and no more cells are ever made than payloads may be kept: that is
//! the bound, at every instant. A cell is on one of two stacks, of those with a payload and of
//! those without, or in the hands of one call, so a popped one needs no grace period. Cells are
//! the slots of a [`Table`], which never move and are freed with the stash; their words are not
//! used. Both stacks stand on the tags of their heads alone.

use crate::free::TaggedHead;
use crate::segment::{Index, MAX_SLOTS, Sides, Table};
use crate::slot::in_destructor;
use crate::sync::{AtomicU64, Counter, Ordering};

/// Cells that a stash can ever have: a number plus one must be below the mark of a closed stack.
const MAX_CELLS: u64 = MAX_SLOTS - 1;

/// Payloads that are kept, and the cells that they lie in.
pub(crate) struct Stash<T> {
    cells: Table<T>,
    furnished: TaggedHead,
    empty: TaggedHead,
    /// The first cell that was never given out.
    fresh: AtomicU64,
    /// Cells that may be made.
    most: u64,
    kept: Counter,
}

/// An empty cell that its holder owns: the evidence for invariant 5, not Clone.
#[must_use = "a cell that is not given back is lost"]
#[derive(Debug)]
pub(crate) struct EmptyCell(u32);

impl<T> Stash<T> {
    /// Keeps `most` payloads at most.
    pub(crate) fn new(most: usize) -> Stash<T> {
        Stash {
            cells: Table::new(Sides { marks: false, stamps: false, links: true }),
            furnished: TaggedHead::new(),
            empty: TaggedHead::new(),
            fresh: AtomicU64::new(0),
            most: (most as u64).min(MAX_CELLS),
            kept: Counter::new(0),
        }
    }

    /// How many payloads are kept: exact when quiet, and never more than may be.
    pub(crate) fn kept(&self) -> usize {
        self.kept.get() as usize
    }

    /// Whether nothing lay here a moment ago: a hint.
    #[inline]
    pub(super) fn looks_empty(&self) -> bool {
        self.furnished.looks_empty()
    }

    /// Memory of the cells.
    pub(super) fn bytes(&self) -> usize {
        self.cells.bytes()
    }

    /// An empty cell, unless as many payloads are kept as may be, or memory is refused.
    pub(crate) fn claim(&self) -> Option<EmptyCell> {
        let number = self.pop(&self.empty).or_else(|| self.fresh_cell())?;
        Some(EmptyCell(number))
    }

    /// Gives a cell back that was not used.
    pub(crate) fn unclaim(&self, cell: EmptyCell) {
        self.push(&self.empty, cell.0);
    }

    /// Keeps a payload.
    pub(crate) fn put(&self, cell: EmptyCell, value: T) {
        // SAFETY: the caller owns the cell, which is empty (invariant 5).
        unsafe { self.cells.known(Index(cell.0)).payload.write(value) };
        self.kept.add_shared(1);
        self.push(&self.furnished, cell.0);
    }

    /// Takes a payload out.
    pub(crate) fn take(&self) -> Option<T> {
        let number = self.pop(&self.furnished)?;
        // SAFETY: popped just now by this call alone, with what `put` wrote (B1); the cell is empty
        // from here (invariant 4, 5).
        let value = unsafe { self.cells.known(Index(number)).payload.take() };
        // Before the cell is another's: the count is never above the bound.
        self.kept.sub_shared(1);
        self.push(&self.empty, number);
        Some(value)
    }

    fn pop(&self, head: &TaggedHead) -> Option<u32> {
        // Relaxed: the Acquire B1 of the head comes before; a link read while others pop and push
        // the cell is thrown away, because the tag has moved on.
        head.pop(|number| self.cells.link(Index(number)).load(Ordering::Relaxed)).ok()
    }

    fn push(&self, head: &TaggedHead, number: u32) {
        // Relaxed: the Release B1 of the head comes after.
        head.push(number, |link| self.cells.link(Index(number)).store(link, Ordering::Relaxed));
    }

    /// A cell that nobody had before.
    fn fresh_cell(&self) -> Option<u32> {
        // Relaxed: only a number; what lies behind it is found through the table.
        let mut number = self.fresh.load(Ordering::Relaxed);
        while number < self.most {
            self.cells.ensure(number, number + 1).ok()?;
            // Relaxed: uniqueness alone, by the read-modify-write; and the number is taken after
            // its segment exists, so that a failed allocation loses none.
            match self.fresh.compare_exchange_weak(
                number,
                number + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(number as u32),
                Err(actual) => number = actual,
            }
        }
        None
    }
}

impl<T> Drop for Stash<T> {
    fn drop(&mut self) {
        while let Some(value) = self.take() {
            let _ = in_destructor::run(|| drop(value));
        }
    }
}

impl<T> std::fmt::Debug for Stash<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stash").field("kept", &self.kept()).field("most", &self.most).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::refusals;

    #[test]
    fn stash_keeps_as_many_as_it_may_and_gives_each_back_once() {
        let stash = Stash::new(3);
        for round in 0..10 {
            for value in 0..3 {
                let cell = stash.claim().expect("there is room");
                stash.put(cell, round * 10 + value);
            }
            assert!(stash.claim().is_none(), "it is full");
            let mut all: Vec<i32> = std::iter::from_fn(|| stash.take()).collect();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2].map(|value| round * 10 + value));
            assert_eq!(stash.kept(), 0);
        }
    }

    #[test]
    fn cell_given_back_unused_serves_again() {
        let stash = Stash::new(1);
        for _ in 0..10 {
            let cell = stash.claim().expect("there is room");
            assert!(stash.claim().is_none());
            stash.unclaim(cell);
        }
        stash.put(stash.claim().expect("there is room"), String::from("kept"));
        assert_eq!(stash.take().as_deref(), Some("kept"));
    }

    #[test]
    fn cell_whose_memory_is_refused_is_not_there_and_not_lost() {
        let stash: Stash<u64> = Stash::new(1);
        refusals::refuse_after(0);
        assert!(stash.claim().is_none());
        assert!(refusals::stop());
        assert!(stash.claim().is_some());
        assert!(stash.claim().is_none());
    }
}

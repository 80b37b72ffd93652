//! A pocket of a magazine: the box that its owner takes indices out of, or puts them into.

use super::batch::Owned;
use crate::segment::Index;

/// At most one box, and how many indices are in it.
///
/// How many there are is known here while the box is open, not in the box: a processor that follows
/// pointers to find a slot has one less to follow, and each costs it as much as several comparisons.
#[derive(Debug)]
pub(super) struct Pocket {
    open: Option<Owned>,
    /// None, while there is no box.
    len: usize,
}

impl Pocket {
    /// Without a box.
    pub(super) const fn new() -> Pocket {
        Pocket { open: None, len: 0 }
    }

    /// How many indices there are.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is a box.
    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The index that `pop` would take.
    #[inline]
    pub(super) fn peek(&self) -> Option<Index> {
        let last = self.len.checked_sub(1)?;
        self.open.as_ref().map(|batch| batch.at(last))
    }

    /// Takes an index out, the last one first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Index> {
        let top = self.peek()?;
        self.len -= 1;
        Some(top)
    }

    /// Adds indices; there is a box, and room in it.
    #[inline]
    pub(super) fn extend(&mut self, more: &[Index]) {
        let Some(batch) = &mut self.open else {
            unreachable!("whoever adds has seen that there is room")
        };
        batch.write(self.len, more);
        self.len += more.len();
    }

    /// Puts a box in, with what is in it; the one that was there comes out.
    pub(super) fn replace(&mut self, batch: Owned) -> Option<Owned> {
        let before = self.take();
        self.len = batch.len();
        self.open = Some(batch);
        before
    }

    /// Takes the box out, with what is in it.
    pub(super) fn take(&mut self) -> Option<Owned> {
        let mut batch = self.open.take()?;
        batch.set_len(std::mem::take(&mut self.len));
        Some(batch)
    }
}

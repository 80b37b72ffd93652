//! A pocket of a magazine: the box that its owner takes indices out of, or puts them into.

use super::batch::Owned;
use crate::segment::Index;

/// At most one box, how many indices are in it, and the last of them.
///
/// The two are here while the box is open, and not in the box: a spawn follows one pointer after
/// the other to its slot, and each that it need not follow saves it as much as a dozen other
/// instructions.
#[derive(Debug)]
pub(super) struct Pocket {
    open: Option<Owned>,
    /// None, while there is no box.
    len: usize,
    /// Says nothing where there is none.
    top: Index,
}

impl Pocket {
    /// Without a box.
    pub(super) const fn new() -> Pocket {
        Pocket { open: None, len: 0, top: Index(0) }
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
        if self.len > 0 { Some(self.top) } else { None }
    }

    /// Takes an index out, the last one first.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Index> {
        let top = self.peek()?;
        self.len -= 1;
        self.look();
        Some(top)
    }

    /// Adds an index; there is a box, and room in it.
    #[inline]
    pub(super) fn push(&mut self, index: Index) {
        self.extend(&[index]);
    }

    /// Adds indices; there is a box, and room in it.
    #[inline]
    pub(super) fn extend(&mut self, more: &[Index]) {
        let Some(batch) = &mut self.open else {
            unreachable!("whoever adds has seen that there is room")
        };
        batch.write(self.len, more);
        self.len += more.len();
        self.top = more.last().copied().unwrap_or(self.top);
    }

    /// Puts a box in, with what is in it; the one that was there comes out.
    pub(super) fn replace(&mut self, batch: Owned) -> Option<Owned> {
        let before = self.take();
        self.len = batch.len();
        self.open = Some(batch);
        self.look();
        before
    }

    /// Takes the box out, with what is in it.
    pub(super) fn take(&mut self) -> Option<Owned> {
        let mut batch = self.open.take()?;
        batch.set_len(std::mem::take(&mut self.len));
        Some(batch)
    }

    /// Has the last index at hand.
    #[inline]
    fn look(&mut self) {
        if let (Some(batch), Some(last)) = (&self.open, self.len.checked_sub(1)) {
            self.top = batch.at(last);
        }
    }
}

//! A list of the oldest, and how a scan comes to it.

use crate::memory::{OutOfMemory, reserve};
use crate::segment::Index;
use crate::sync::{Counter, UnsafeCell, planted};

/// A life, and when it began to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Elder {
    pub(crate) stamp: u64,
    pub(crate) index: Index,
    pub(crate) generation: u32,
}

/// What became of the attempt to end one.
#[derive(Debug)]
pub(crate) enum Attempt<W> {
    /// It is the caller's to finish.
    Won(W),
    /// It is in use just now: others may end it later.
    InUse,
    /// It has ended, or is about to: nobody has to look at it again.
    Ended,
}

/// The k oldest as one scan saw them, the oldest first.
#[derive(Debug)]
pub(super) struct Elders {
    /// Never written after it is shared; a cell only so that the models watch how it is shared.
    pub(super) oldest: UnsafeCell<Vec<Elder>>,
    /// For the first of those that have ended in a row, a place that is not behind the end of the
    /// row: a walk skips them in one step, however many lie behind one that is held for long.
    skips: Vec<Counter>,
    /// Whether the scan saw more than it could list.
    pub(super) cut: bool,
    /// Whether it saw one that can be ended and is too young to be listed.
    pub(super) younger: bool,
}

// SAFETY: the list is only read once it is shared (invariant 14).
unsafe impl Sync for Elders {}

impl Elders {
    fn oldest(&self) -> &[Elder] {
        // SAFETY: nobody writes it after it was made (invariant 14).
        self.oldest.with(|oldest| unsafe { &*oldest })
    }

    pub(super) fn len(&self) -> usize {
        self.skips.len()
    }

    /// Ends the oldest that can be ended; otherwise how many are in use.
    pub(super) fn walk<W>(&self, mut end: impl FnMut(Elder) -> Attempt<W>) -> Result<W, usize> {
        let oldest = self.oldest();
        let mut in_use = 0;
        // Where the row of those that have ended begins, which `at` is the end of so far.
        let (mut row, mut at) = (0, 0);
        while at < oldest.len() {
            let skip = self.skips[at].get() as usize;
            if skip > at {
                at = skip;
                continue;
            }
            match end(oldest[at]) {
                Attempt::Ended => at += 1,
                Attempt::Won(won) => {
                    self.remember(row, at + 1);
                    return Ok(won);
                }
                Attempt::InUse => {
                    self.remember(row, at);
                    in_use += 1;
                    (row, at) = (at + 1, at + 1);
                }
            }
        }
        self.remember(row, at);
        Err(in_use)
    }

    /// Notes that those of `row..end` have ended, which is for ever. A plain store: a note that
    /// takes back a longer one costs a few looks, no more.
    fn remember(&self, row: usize, end: usize) {
        if row < end {
            self.skips[row].set(end as u64);
        }
    }
}

/// Model builds watch that a list is dropped after everybody who reads it.
#[cfg(all(loom, test))]
impl Drop for Elders {
    fn drop(&mut self) {
        self.oldest.with_mut(|_| ());
    }
}

/// What a scan offers what it finds to.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Stamps from here on were given out after the scan began.
    horizon: u64,
    /// How many to keep.
    most: usize,
    found: Vec<Elder>,
    cut: bool,
    younger: bool,
}

impl Selection {
    /// For the `most` oldest; what has a stamp from `horizon` on is too young. The memory comes
    /// first: the horizon is to be as late as it can.
    pub(super) fn new(
        most: usize,
        horizon: impl FnOnce() -> u64,
    ) -> Result<Selection, OutOfMemory> {
        let mut found = Vec::new();
        reserve(&mut found, 2 * most)?;
        Ok(Selection { horizon: horizon(), most, found, cut: false, younger: false })
    }

    /// Takes one in, if it is old enough and among the oldest so far.
    #[inline]
    pub(crate) fn offer(&mut self, elder: Elder, in_use: bool) {
        if elder.stamp >= self.horizon && !planted("no horizon") {
            self.younger |= !in_use;
            return;
        }
        if self.found.len() == 2 * self.most {
            self.halve();
        }
        self.found.push(elder);
    }

    /// Keeps the older half.
    fn halve(&mut self) {
        self.found.select_nth_unstable(self.most);
        self.found.truncate(self.most);
        self.cut = true;
    }

    pub(super) fn finish(mut self) -> Result<Elders, OutOfMemory> {
        if self.found.len() > self.most {
            self.halve();
        }
        if !planted("list in the order of the slots") {
            self.found.sort_unstable();
        }
        let Selection { found, cut, younger, .. } = self;
        let mut skips = Vec::new();
        reserve(&mut skips, found.len())?;
        skips.extend(found.iter().map(|_| Counter::new(0)));
        Ok(Elders { oldest: UnsafeCell::new(found), skips, cut, younger })
    }
}

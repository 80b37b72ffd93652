//! A list of the oldest, and how a scan builds it.

use crate::memory::{OutOfMemory, reserve};
use crate::segment::Index;
use crate::sync::{Counter, UnsafeCell, planted};

/// An entity or a lease, and the stamp of its activation.
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
    /// It is in use at the moment, and may be ended later.
    InUse,
    /// It has ended, or is about to: it need not be looked at again.
    Ended,
}

/// The k oldest as one scan saw them, the oldest first.
#[derive(Debug)]
pub(super) struct Elders {
    /// Never written after it is shared; a cell only so that the models watch how it is shared.
    pub(super) oldest: UnsafeCell<Vec<Elder>>,
    /// For the first entry of a run of ended ones, a position up to which all have ended: a walk
    /// skips the run in one step, however long it is behind an entry that is held for long.
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

    /// Ends the oldest that can be ended; if there is none, says how many are in use.
    pub(super) fn walk<W>(&self, mut end: impl FnMut(Elder) -> Attempt<W>) -> Result<W, usize> {
        let oldest = self.oldest();
        let mut in_use = 0;
        // The run of ended entries that ends at `at` begins at `row`.
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

    /// Notes that the entries `row..end` have ended, which is final. A plain store: to overwrite a
    /// longer run by a shorter one only costs a few looks.
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

/// Collects the oldest of what a scan offers to it.
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
    /// A selection of the `most` oldest; entries with a stamp of at least `horizon` are too young.
    /// The memory is allocated before the horizon is read, so that the horizon is as late as
    /// possible.
    pub(super) fn new(
        most: usize,
        horizon: impl FnOnce() -> u64,
    ) -> Result<Selection, OutOfMemory> {
        let mut found = Vec::new();
        reserve(&mut found, 2 * most)?;
        Ok(Selection { horizon: horizon(), most, found, cut: false, younger: false })
    }

    /// Adds an entry, if it is below the horizon.
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

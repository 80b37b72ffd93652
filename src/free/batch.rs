//! Boxes of slot indices: numbered, reused for ever, never freed while anybody may pop them.
//!
//! A box is two things. The [`Batch`], its number and its link, stays until the circulation goes,
//! because whoever pops a stack may look at the link of a box that is another's by then. Its
//! [`Contents`] are reached by its owner alone, and can go while nothing is in the box (`boxes`).

use std::ptr::NonNull;

use crate::segment::Index;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};

/// Indices that fit into a batch.
pub(crate) const BATCH_CAPACITY: usize = if cfg!(all(loom, test)) { 2 } else { 256 };

/// A box of indices. Its contents belong to whoever has it as [`Owned`].
#[derive(Debug)]
pub(super) struct Batch {
    number: u32,
    /// The [link](super::treiber::link_to) to the batch below it, on a stack or in a chain.
    next: AtomicU32,
    /// Where its contents are, if it has any. Its owner's alone.
    pub(super) contents: UnsafeCell<Option<NonNull<Contents>>>,
}

/// What is in a box that has an owner or lies on a stack of such.
#[derive(Debug)]
pub(super) struct Contents {
    batch: NonNull<Batch>,
    indices: UnsafeCell<Indices>,
}

#[derive(Debug)]
struct Indices {
    len: u32,
    /// Whether slots are in it that have no mark.
    unmarked: bool,
    indices: [u32; BATCH_CAPACITY],
}

impl Batch {
    pub(super) fn new(number: u32) -> Batch {
        Batch { number, next: AtomicU32::new(0), contents: UnsafeCell::new(None) }
    }

    #[inline]
    pub(super) fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(super) fn next(&self) -> u32 {
        // Relaxed: the Acquire B1 of the head comes before; a link read while others pop and push
        // the batch is thrown away, because the tag has moved on.
        self.next.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_next(&self, link: u32) {
        // Relaxed: the Release B1 of the head comes after.
        self.next.store(link, Ordering::Relaxed);
    }
}

/// A batch that its holder owns: it is on no stack, and in nobody else's hands.
///
/// The evidence for invariant 5: it is made where a batch is made or popped, it is not Clone, and
/// pushing it on a stack uses it up. It must not outlive the circulation that its box belongs to.
#[derive(Debug)]
pub(crate) struct Owned(NonNull<Contents>);

impl Contents {
    /// Of an empty box.
    pub(super) fn of(batch: &Batch) -> Contents {
        let indices =
            UnsafeCell::new(Indices { len: 0, unmarked: false, indices: [0; BATCH_CAPACITY] });
        Contents { batch: NonNull::from(batch), indices }
    }
}

// SAFETY: ownership of a batch passes between threads with the Release and Acquire of a stack, of
// a magazine's claim, or of an epoch's end (invariant 5).
unsafe impl Send for Owned {}

impl Owned {
    /// # Safety
    /// * The caller has just popped the batch off a stack of such as have contents.
    #[inline]
    pub(super) unsafe fn new(batch: &Batch) -> Owned {
        // SAFETY: the caller's duty: it has the box to itself (invariant 5).
        let contents = batch.contents.with(|contents| unsafe { *contents });
        match contents {
            Some(contents) => Owned(contents),
            None => unreachable!("a box goes on such a stack with its contents"),
        }
    }

    /// Where its contents are.
    pub(super) fn place(&self) -> NonNull<Contents> {
        self.0
    }

    #[inline]
    pub(super) fn batch(&self) -> &Batch {
        // SAFETY: the contents stay while this is not used up (invariant 5).
        let batch = unsafe { self.0.as_ref() }.batch;
        // SAFETY: boxes stay until the circulation is dropped, and this does not outlive it
        // (invariant 11).
        unsafe { batch.as_ref() }
    }

    /// The number of its box.
    pub(crate) fn number(&self) -> u32 {
        self.batch().number
    }

    #[inline]
    fn contents<R>(&self, f: impl FnOnce(&mut Indices) -> R) -> R {
        // SAFETY: the contents stay while this is not used up (invariant 5).
        let contents = unsafe { self.0.as_ref() };
        // SAFETY: a batch has one owner at a time, which this is; no caller here nests or runs
        // user code (invariant 5).
        contents.indices.with_mut(|indices| f(unsafe { &mut *indices }))
    }

    /// How many indices it holds.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.contents(|contents| contents.len as usize)
    }

    /// Whether it holds none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds an index; the batch is not full. How many it holds then.
    #[inline]
    pub(crate) fn push(&mut self, index: Index) -> usize {
        self.contents(|contents| {
            contents.indices[contents.len as usize] = index.0;
            contents.len += 1;
            contents.len as usize
        })
    }

    /// Takes an index out, the last one first.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Index> {
        self.contents(|contents| {
            contents.len = contents.len.checked_sub(1)?;
            Some(Index(contents.indices[contents.len as usize]))
        })
    }

    /// Writes indices from a position on, for an owner that counts them itself (`set_len`).
    #[inline]
    pub(super) fn write(&mut self, begin: usize, more: &[Index]) {
        self.contents(|contents| {
            for (place, index) in contents.indices[begin..begin + more.len()].iter_mut().zip(more) {
                *place = index.0;
            }
        });
    }

    /// Says how many indices it holds.
    pub(super) fn set_len(&mut self, len: usize) {
        self.contents(|contents| contents.len = len as u32);
    }

    /// The index at a position, for an owner that walks the batch.
    #[inline]
    pub(crate) fn at(&self, position: usize) -> Index {
        self.contents(|contents| Index(contents.indices[position]))
    }

    /// Exchanges the indices at two positions.
    pub(crate) fn swap(&mut self, one: usize, other: usize) {
        self.contents(|contents| contents.indices.swap(one, other));
    }

    /// Whether slots may be in it that have no mark.
    pub(crate) fn is_unmarked(&self) -> bool {
        self.contents(|contents| contents.unmarked)
    }

    /// Notes whether slots are in it that have no mark.
    pub(crate) fn set_unmarked(&mut self, unmarked: bool) {
        self.contents(|contents| contents.unmarked = unmarked);
    }

    /// Moves what another batch holds on top; there is room for it.
    pub(crate) fn append(&mut self, other: &mut Owned) {
        let unmarked = self.is_unmarked() || other.is_unmarked();
        self.set_unmarked(unmarked);
        for position in 0..other.len() {
            self.push(other.at(position));
        }
        other.contents(|contents| contents.len = 0);
    }

    /// Takes the index at a position out and moves the last one there.
    pub(crate) fn swap_remove(&mut self, position: usize) {
        self.contents(|contents| {
            contents.len -= 1;
            contents.indices[position] = contents.indices[contents.len as usize];
        });
    }
}

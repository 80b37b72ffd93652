//! Boxes of slot indices: numbered, reused for ever, never freed while anybody may pop them.

use std::alloc::{Layout, dealloc};
use std::ptr::{self, NonNull};

use crate::memory::{OutOfMemory, allocate};
use crate::segment::Index;
use crate::sync::{AtomicPtr, AtomicU32, AtomicU64, Counter, Ordering, UnsafeCell};

/// Indices that fit into a batch.
pub(crate) const BATCH_CAPACITY: usize = if cfg!(all(loom, test)) { 2 } else { 256 };

/// A box of indices. Its contents belong to whoever has it as [`Owned`].
#[derive(Debug)]
pub(super) struct Batch {
    number: u32,
    /// The batch below it on a stack, plus one.
    next: AtomicU32,
    contents: UnsafeCell<Contents>,
}

#[derive(Debug)]
struct Contents {
    len: u32,
    indices: [u32; BATCH_CAPACITY],
}

impl Batch {
    fn new(number: u32) -> Batch {
        Batch {
            number,
            next: AtomicU32::new(0),
            contents: UnsafeCell::new(Contents { len: 0, indices: [0; BATCH_CAPACITY] }),
        }
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
pub(crate) struct Owned(NonNull<Batch>);

// SAFETY: ownership of a batch passes between threads with the Release and Acquire of a stack, of
// a magazine's claim, or of an epoch's end (invariant 5).
unsafe impl Send for Owned {}

impl Owned {
    /// # Safety
    /// * The caller has just made the batch or popped it off a stack.
    #[inline]
    pub(super) unsafe fn new(batch: &Batch) -> Owned {
        Owned(NonNull::from(batch))
    }

    #[inline]
    pub(super) fn batch(&self) -> &Batch {
        // SAFETY: boxes stay until the circulation is dropped, and this does not outlive it
        // (invariant 11).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn contents<R>(&self, f: impl FnOnce(&mut Contents) -> R) -> R {
        // SAFETY: a batch has one owner at a time, which this is; no caller here nests or runs
        // user code (invariant 5).
        self.batch().contents.with_mut(|contents| f(unsafe { &mut *contents }))
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

    /// The index that `pop` would take.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Index> {
        self.contents(|contents| {
            let last = contents.len.checked_sub(1)?;
            Some(Index(contents.indices[last as usize]))
        })
    }

    /// The index at a position, for an owner that walks the batch.
    pub(crate) fn at(&self, position: usize) -> Index {
        self.contents(|contents| Index(contents.indices[position]))
    }

    /// Exchanges the indices at two positions.
    pub(crate) fn swap(&mut self, one: usize, other: usize) {
        self.contents(|contents| contents.indices.swap(one, other));
    }

    /// Moves what another batch holds on top; there is room for it.
    pub(crate) fn append(&mut self, other: &mut Owned) {
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

/// Chunks of boxes: each twice the one before, so that numbers stay where they are.
const CHUNKS: usize = 24;
/// Boxes in the first chunk.
const FIRST_CHUNK: u32 = 4;

/// Every box of a store, by number.
#[derive(Debug)]
pub(crate) struct Boxes {
    chunks: [AtomicPtr<Batch>; CHUNKS],
    /// The first number that was never given out.
    fresh: AtomicU64,
    bytes: Counter,
}

/// Chunk and offset of a number. Worked example: the first chunk has 4 boxes, the second 8, so
/// number 5 is in the second at offset 1.
const fn chunk_of(number: u32) -> (usize, usize) {
    let chunk = (number / FIRST_CHUNK + 1).ilog2();
    let first = FIRST_CHUNK * ((1 << chunk) - 1);
    (chunk as usize, (number - first) as usize)
}

const fn boxes_of(chunk: usize) -> usize {
    (FIRST_CHUNK as usize) << chunk
}

impl Boxes {
    pub(super) fn new() -> Boxes {
        Boxes {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            fresh: AtomicU64::new(0),
            bytes: Counter::new(0),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.get() as usize
    }

    /// The box of a number that was given out.
    pub(super) fn get(&self, number: u32) -> &Batch {
        let (chunk, offset) = chunk_of(number);
        // Acquire B2: receives the boxes of the chunk; pairs with the Release B2 in `ensure`.
        let first = self.chunks[chunk].load(ord!(Acquire: B2));
        // SAFETY: a number is given out after its chunk exists, and `chunk_of` keeps the offset
        // below the boxes of the chunk (its test walks them) (invariant 11, 12).
        let batch = unsafe { first.add(offset) };
        // SAFETY: as above; a chunk stays until the table is dropped (invariant 11).
        unsafe { &*batch }
    }

    /// A box that nobody had before, empty.
    pub(super) fn make(&self) -> Result<Owned, OutOfMemory> {
        // Relaxed: only a number; what lies behind it is read through `get`.
        let mut number = self.fresh.load(Ordering::Relaxed);
        loop {
            let (chunk, _) = chunk_of(number as u32);
            if chunk >= CHUNKS {
                return Err(OutOfMemory { bytes: size_of::<Batch>() });
            }
            self.ensure(chunk)?;
            // Relaxed: uniqueness alone, by the read-modify-write; and the number is taken after
            // its chunk exists, so that a failed allocation loses none.
            match self.fresh.compare_exchange_weak(
                number,
                number + 1,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                // SAFETY: made just now: the number was given out once, to this call (invariant 5).
                Ok(_) => return Ok(unsafe { Owned::new(self.get(number as u32)) }),
                Err(actual) => number = actual,
            }
        }
    }

    fn ensure(&self, chunk: usize) -> Result<(), OutOfMemory> {
        // Relaxed: only whether there is one; `get` loads it with Acquire.
        if !self.chunks[chunk].load(Ordering::Relaxed).is_null() {
            return Ok(());
        }
        let layout = chunk_layout(chunk);
        let memory = allocate(layout)?.cast::<Batch>().as_ptr();
        let (first, boxes) = (FIRST_CHUNK * ((1 << chunk) - 1), boxes_of(chunk));
        for offset in 0..boxes {
            // SAFETY: the allocation has room for this many boxes (invariant 12).
            let batch = unsafe { memory.add(offset) };
            // SAFETY: the allocation is exclusive (invariant 11).
            unsafe { batch.write(Batch::new(first + offset as u32)) };
        }
        // Release B2: publishes the boxes. Relaxed on failure: `get` loads again.
        match self.chunks[chunk].compare_exchange(
            ptr::null_mut(),
            memory,
            ord!(Release: B2),
            Ordering::Relaxed,
        ) {
            Ok(_) => {
                self.bytes.add_shared(layout.size() as u64);
            }
            // SAFETY: this thread made it and nobody else has seen it (invariant 11).
            Err(_) => unsafe { free_chunk(memory, chunk) },
        }
        Ok(())
    }
}

impl Drop for Boxes {
    fn drop(&mut self) {
        for (chunk, first) in self.chunks.iter().enumerate() {
            // Relaxed: the drop has the table to itself, and comes after all that was made.
            let first = first.load(Ordering::Relaxed);
            if !first.is_null() {
                // SAFETY: the table goes, so nobody refers to its boxes (invariant 11).
                unsafe { free_chunk(first, chunk) };
            }
        }
    }
}

fn chunk_layout(chunk: usize) -> Layout {
    match Layout::array::<Batch>(boxes_of(chunk)) {
        Ok(layout) => layout,
        Err(_) => unreachable!("the largest chunk is far below the address space"),
    }
}

/// # Safety
/// * `first` was made for this chunk by [`Boxes::ensure`], and nobody refers to it any more.
unsafe fn free_chunk(first: *mut Batch, chunk: usize) {
    let boxes = ptr::slice_from_raw_parts_mut(first, boxes_of(chunk));
    // SAFETY: the caller's duty; every box of a chunk was written (invariant 11).
    unsafe { ptr::drop_in_place(boxes) };
    // SAFETY: the caller's duty; allocated with this layout (invariant 11).
    unsafe { dealloc(first.cast(), chunk_layout(chunk)) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn chunk_of_walks_every_chunk_in_order_without_gaps() {
        let mut number = 0;
        for chunk in 0..12 {
            for offset in 0..boxes_of(chunk) {
                assert_eq!(chunk_of(number), (chunk, offset));
                number += 1;
            }
        }
    }
}

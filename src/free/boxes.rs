//! Every box of a store, by number, and the memory of what is in them.
//!
//! The contents of many boxes, a *crate*, are one allocation. Who owns all boxes of a crate can
//! free it, and the next need makes it again.

use std::alloc::{Layout, dealloc};
use std::cmp::Reverse;
use std::ops::Range;
use std::ptr::{self, NonNull};

use super::batch::{Batch, Contents, Owned};
use super::treiber::TaggedHead;
use crate::memory::{OutOfMemory, allocate, give_back};
use crate::sync::{AtomicPtr, AtomicU64, Counter, Ordering};

/// Chunks of boxes: each twice the one before, so that numbers stay where they are.
const CHUNKS: usize = 24;
/// Boxes in the first chunk.
const FIRST_CHUNK: u32 = if cfg!(all(loom, test)) { 1 } else { 4 };

/// Every box of a store, by number.
#[derive(Debug)]
pub(crate) struct Boxes {
    chunks: [AtomicPtr<Batch>; CHUNKS],
    /// The first number that was never given out.
    fresh: AtomicU64,
    /// The first box of each crate whose contents are not there: who pops it has them all. The
    /// stack stands on its tag alone, as that of empty boxes does.
    bare: TaggedHead,
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

/// Boxes in a crate at most.
const CRATE: u32 = if cfg!(all(loom, test)) { 1 } else { 256 };

/// The numbers of a box's crate: a small chunk is one, a large one has many.
fn crate_of(number: u32) -> Range<u32> {
    let (chunk, offset) = chunk_of(number);
    let boxes = (boxes_of(chunk) as u32).min(CRATE);
    let first = number - offset as u32 % boxes;
    first..first + boxes
}

fn crate_layout(boxes: u32) -> Layout {
    match Layout::array::<Contents>(boxes as usize) {
        Ok(layout) => layout,
        Err(_) => unreachable!("a crate is small"),
    }
}

/// # Safety
/// * `first` was made for a crate of so many boxes by [`Boxes::make`], and nobody refers to it any
///   more.
unsafe fn free_crate(first: NonNull<Contents>, boxes: u32) {
    let all = ptr::slice_from_raw_parts_mut(first.as_ptr(), boxes as usize);
    // SAFETY: the caller's duty; every box of a crate was furnished (invariant 11).
    unsafe { ptr::drop_in_place(all) };
    // SAFETY: the caller's duty; allocated with this layout (invariant 11).
    unsafe { give_back(first.cast(), crate_layout(boxes)) };
}

impl Boxes {
    pub(super) fn new() -> Boxes {
        Boxes {
            chunks: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            fresh: AtomicU64::new(0),
            bare: TaggedHead::new(),
            bytes: Counter::new(0),
        }
    }

    /// Memory of the boxes and of their contents.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get() as usize
    }

    /// How many boxes there are.
    pub(super) fn made(&self) -> usize {
        // Relaxed: only a bound.
        self.fresh.load(Ordering::Relaxed) as usize
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

    /// An empty box that was on no stack, out of a crate that nobody has; the others of the crate
    /// go to `rest`, the first one last.
    pub(super) fn make(&self, mut rest: impl FnMut(Owned)) -> Result<Owned, OutOfMemory> {
        let first = match self.pop_bare() {
            Some(first) => first,
            None => self.fresh_crate()?,
        };
        let boxes = crate_of(first).len() as u32;
        let layout = crate_layout(boxes);
        let memory = match allocate(layout) {
            Ok(memory) => memory.cast::<Contents>(),
            Err(refused) => {
                self.push_bare(first);
                return Err(refused);
            }
        };
        self.bytes.add_shared(layout.size() as u64);
        (1..boxes).rev().for_each(|at| rest(self.furnish(first + at, memory, at)));
        Ok(self.furnish(first, memory, 0))
    }

    /// Gives a box of a crate that the caller owns its place in the memory of the crate.
    fn furnish(&self, number: u32, memory: NonNull<Contents>, at: u32) -> Owned {
        let batch = self.get(number);
        // SAFETY: the crate has room for so many (invariant 12).
        let contents = unsafe { memory.add(at as usize) };
        // SAFETY: the allocation is the caller's alone (invariant 11).
        unsafe { contents.write(Contents::of(batch)) };
        // SAFETY: the crate was given out to the caller alone, and with it the box (invariant 5).
        batch.contents.with_mut(|at| unsafe { *at = Some(contents) });
        // SAFETY: given out to the caller alone, and it has its contents (invariant 5).
        unsafe { Owned::new(batch) }
    }

    /// Frees what empty boxes hold their indices in, a crate at a time, where the crate is whole;
    /// the others come back by `rest`. The bytes.
    pub(super) fn strip(&self, mut empty: Vec<Owned>, mut rest: impl FnMut(Owned)) -> usize {
        empty.sort_unstable_by_key(|empty| Reverse(empty.number()));
        let mut bytes = 0;
        while let Some(lowest) = empty.last() {
            let boxes = crate_of(lowest.number());
            let is_in = |empty: &&Owned| boxes.contains(&empty.number());
            let there = empty.iter().rev().take_while(is_in).count();
            let of_crate = empty.drain(empty.len() - there..);
            if there == boxes.len() {
                bytes += self.strip_crate(of_crate, &boxes);
            } else {
                of_crate.for_each(&mut rest);
            }
        }
        bytes
    }

    /// Frees the contents of a crate, all of whose boxes the caller owns.
    fn strip_crate(&self, boxes: impl Iterator<Item = Owned>, numbers: &Range<u32>) -> usize {
        let layout = crate_layout(numbers.len() as u32);
        let mut memory = None;
        for empty in boxes {
            debug_assert!(empty.is_empty());
            // SAFETY: the caller's box, which it gives up (invariant 5).
            empty.batch().contents.with_mut(|at| unsafe { *at = None });
            memory = Some(empty.place());
        }
        // In descending order: the crate's first box, where its memory begins, came last.
        if let Some(memory) = memory {
            // SAFETY: `make` allocated it, and none of its boxes is looked into again (invariant
            // 5, 11).
            unsafe { free_crate(memory, numbers.len() as u32) };
        }
        self.bytes.sub_shared(layout.size() as u64);
        self.push_bare(numbers.start);
        layout.size()
    }

    fn pop_bare(&self) -> Option<u32> {
        if self.bare.looks_empty() {
            return None;
        }
        self.bare.pop(|number| self.get(number).next()).ok()
    }

    fn push_bare(&self, first: u32) {
        let batch = self.get(first);
        self.bare.push(first, |link| batch.set_next(link));
    }

    /// The first number of a crate that nobody had before.
    fn fresh_crate(&self) -> Result<u32, OutOfMemory> {
        // Relaxed: only a number; what lies behind it is read through `get`.
        let mut first = self.fresh.load(Ordering::Relaxed);
        loop {
            let (chunk, _) = chunk_of(first as u32);
            if chunk >= CHUNKS {
                return Err(OutOfMemory { bytes: size_of::<Batch>() });
            }
            self.ensure(chunk)?;
            let end = u64::from(crate_of(first as u32).end);
            // Relaxed: uniqueness alone, by the read-modify-write; and the numbers are taken after
            // their chunk exists, so that a failed allocation loses none.
            match self.fresh.compare_exchange_weak(first, end, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return Ok(first as u32),
                Err(actual) => first = actual,
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
    for batch in unsafe { &*boxes } {
        let boxes = crate_of(batch.number());
        // SAFETY: the caller's duty: nobody has the box (invariant 11).
        let contents = batch.contents.with(|contents| unsafe { *contents });
        if let Some(memory) = contents.filter(|_| boxes.start == batch.number()) {
            // SAFETY: the caller's duty; the crate's memory begins at its first box (invariant 11).
            unsafe { free_crate(memory, boxes.len() as u32) };
        }
    }
    // SAFETY: as above (invariant 11).
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

    #[test]
    fn crates_follow_each_other_without_gaps_and_never_cross_chunks() {
        let mut first = 0;
        while first < 100_000 {
            let numbers = crate_of(first);
            assert_eq!(numbers.start, first);
            assert!(numbers.len() <= CRATE as usize);
            assert!(numbers.clone().all(|number| crate_of(number) == numbers));
            assert_eq!(chunk_of(first).0, chunk_of(numbers.end - 1).0);
            first = numbers.end;
        }
    }

    #[test]
    fn crates_are_stripped_when_they_are_whole_and_made_again_first() {
        let boxes = Boxes::new();
        let mut all = Vec::new();
        for _ in 0..8 {
            let first = boxes.make(|rest| all.push(rest)).unwrap();
            all.push(first);
        }
        assert_eq!(all.len(), 252 + 2 * 256);
        let full = boxes.bytes();
        // One box of the first crate and one of the last are in use.
        let in_use = [2, 600].map(|number| {
            let at = all.iter().position(|empty| empty.number() == number).unwrap();
            all.swap_remove(at)
        });
        let mut rest = Vec::new();
        let stripped = boxes.strip(all, |empty| rest.push(empty.number()));
        assert_eq!(stripped, (252 - 4 + 256) * size_of::<Contents>());
        assert_eq!(boxes.bytes(), full - stripped);
        rest.sort_unstable();
        assert_eq!(
            rest,
            Vec::from_iter([0, 1, 3].into_iter().chain((508..764).filter(|n| *n != 600)))
        );
        // The crates that were stripped come before any fresh one.
        let again = boxes.make(drop).unwrap();
        assert!((4..508).contains(&again.number()));
        assert!(in_use.iter().all(Owned::is_empty));
    }
}

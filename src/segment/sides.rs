//! The memory of a segment: its slots, and behind them what is kept for each slot apart, because it
//! is written by others than the slot's readers or seldom at all.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::memory::{OutOfMemory, allocate_zeroed, give_back};
use crate::slot::{Header, Slot};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64};

/// What lies behind the slots of every segment of a table: arrays of one item a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    /// Whether each slot may be in use, for a store that is scanned.
    pub(crate) marks: bool,
    /// When each entity was activated, for a store that ends the oldest.
    pub(crate) stamps: bool,
    /// The links of the dead stacks.
    pub(crate) links: bool,
}

impl Sides {
    /// Whole words, so that what comes behind is aligned.
    const fn marks_bytes(self, slots: usize) -> usize {
        let bytes = size_of::<AtomicU8>() * slots;
        if self.marks { bytes.next_multiple_of(align_of::<AtomicU64>()) } else { 0 }
    }

    const fn stamps_bytes(self, slots: usize) -> usize {
        if self.stamps { size_of::<AtomicU64>() * slots } else { 0 }
    }

    const fn links_bytes(self, slots: usize) -> usize {
        if self.links { size_of::<AtomicU32>() * slots } else { 0 }
    }

    /// Where the marks begin: whatever else there is, so that their place follows from the segment's. For
    /// slots so large that they are refused it says nothing.
    pub(super) const fn marks_offset<T, H: Header>(slots: usize) -> usize {
        const { assert!(align_of::<Slot<T, H>>().is_multiple_of(align_of::<AtomicU8>())) };
        size_of::<Slot<T, H>>().wrapping_mul(slots)
    }

    /// Where the stamps begin.
    pub(super) const fn stamps_offset<T, H: Header>(self, slots: usize) -> usize {
        const { assert!(align_of::<Slot<T, H>>().is_multiple_of(align_of::<AtomicU64>())) };
        size_of::<Slot<T, H>>() * slots + self.marks_bytes(slots)
    }

    /// Where the links begin.
    pub(super) const fn links_offset<T, H: Header>(self, slots: usize) -> usize {
        const { assert!(align_of::<AtomicU64>().is_multiple_of(align_of::<AtomicU32>())) };
        self.stamps_offset::<T, H>(slots) + self.stamps_bytes(slots)
    }

    /// A gap, then slots, marks, stamps, and links. Refused where they are more than the address space.
    fn layout<T, H: Header>(self, slots: usize) -> Result<Layout, OutOfMemory> {
        let beside = most_gap::<T, H>()
            + self.marks_bytes(slots)
            + self.stamps_bytes(slots)
            + self.links_bytes(slots);
        let bytes = size_of::<Slot<T, H>>().saturating_mul(slots).saturating_add(beside);
        Layout::from_size_align(bytes, align_of::<Slot<T, H>>()).map_err(|_| OutOfMemory { bytes })
    }
}

/// The layout of a segment that exists.
pub(super) fn layout_made<T, H: Header>(slots: usize, sides: Sides) -> Layout {
    match sides.layout::<T, H>(slots) {
        Ok(layout) => layout,
        Err(_) => unreachable!("it was allocated with this layout"),
    }
}

/// The first slot lies on a line of its own, and so does the first mark: slots that divide a line do not
/// cross one, and marks of slots that are given out together lie together. More than an allocator is
/// asked for, because of those that align so far many clear the memory themselves, all of it at once.
const LINE: usize = 64;

/// How large the gap before the slots is at most.
const fn most_gap<T, H: Header>() -> usize {
    if align_of::<Slot<T, H>>() < LINE { LINE } else { 0 }
}

/// Puts the first slot where it belongs in an allocation, and notes before it how far from its begin.
///
/// # Safety
/// * The allocation is exclusive, and was made with a `layout`.
unsafe fn leave_gap<T, H: Header>(memory: NonNull<u8>) -> *mut Slot<T, H> {
    const { assert!(align_of::<Slot<T, H>>() >= align_of::<usize>()) };
    if most_gap::<T, H>() == 0 {
        return memory.cast().as_ptr();
    }
    // At least the alignment, which has room for the note.
    let gap = LINE - memory.addr().get() % LINE;
    // SAFETY: the layout has room for the gap before the slots (invariant 12).
    let first = unsafe { memory.add(gap) };
    // SAFETY: as above (invariant 12).
    let note = unsafe { first.cast::<usize>().sub(1) };
    // SAFETY: as above, and it is the caller's alone (invariant 11).
    unsafe { note.write(gap) };
    first.cast().as_ptr()
}

/// Where an allocation begins, from where its first slot is.
///
/// # Safety
/// * [`leave_gap`] put it there.
unsafe fn begin_of<T, H: Header>(first: NonNull<Slot<T, H>>) -> NonNull<u8> {
    if most_gap::<T, H>() == 0 {
        return first.cast();
    }
    // SAFETY: the caller's duty: the note lies there (invariant 11, 12).
    let note = unsafe { first.cast::<usize>().sub(1) };
    // SAFETY: as above (invariant 11).
    let gap = unsafe { note.read() };
    // SAFETY: as above: so far before it the allocation begins (invariant 12).
    unsafe { first.cast::<u8>().sub(gap) }
}

/// A segment of slots that were never used: generation 0, None, which is what zeroes say.
pub(super) fn allocate_segment<T, H: Header>(
    slots: usize,
    sides: Sides,
) -> Result<*mut Slot<T, H>, OutOfMemory> {
    let memory = allocate_zeroed(sides.layout::<T, H>(slots)?)?;
    // SAFETY: allocated just now with this layout (invariant 11).
    let first = unsafe { leave_gap(memory) };
    #[cfg(all(loom, test))]
    // SAFETY: the allocation is exclusive and has this layout (invariant 11, 12).
    unsafe {
        construct(first, slots, sides);
    }
    Ok(first)
}

/// Frees a segment.
///
/// # Safety
/// * It was allocated by [`allocate_segment`] with as many slots and the same sides.
/// * Nobody refers to it any more, and its payloads are gone.
pub(super) unsafe fn free_segment<T, H: Header>(
    first: *mut Slot<T, H>,
    slots: usize,
    sides: Sides,
) {
    #[cfg(all(loom, test))]
    // SAFETY: the caller's duty: nobody refers to it, and it was constructed so (invariant 11).
    unsafe {
        destruct(first, slots, sides);
    }
    let layout = layout_made::<T, H>(slots, sides);
    if let Some(first) = NonNull::new(first) {
        // SAFETY: the caller's duty: `allocate_segment` has left a gap before it (invariant 11).
        let memory = unsafe { begin_of(first) };
        // SAFETY: the caller's duty: allocated with this layout (invariant 11).
        unsafe { give_back(memory, layout) };
    }
}

/// Model builds construct what a segment holds: loom's atomics are not plain memory.
///
/// # Safety
/// * `first` is an exclusive allocation of so many slots with these sides.
#[cfg(all(loom, test))]
unsafe fn construct<T, H: Header>(first: *mut Slot<T, H>, slots: usize, sides: Sides) {
    for offset in 0..slots {
        // SAFETY: the caller's duty (invariant 11, 12).
        unsafe { first.add(offset).write(Slot::new()) };
        if sides.marks {
            // SAFETY: the caller's duty (invariant 11, 12).
            let marks = unsafe { first.byte_add(Sides::marks_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { marks.cast::<AtomicU8>().add(offset).write(AtomicU8::new(0)) };
        }
        if sides.stamps {
            // SAFETY: the caller's duty (invariant 11, 12).
            let stamps = unsafe { first.byte_add(sides.stamps_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { stamps.cast::<AtomicU64>().add(offset).write(AtomicU64::new(0)) };
        }
        if sides.links {
            // SAFETY: the caller's duty (invariant 11, 12).
            let links = unsafe { first.byte_add(sides.links_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { links.cast::<AtomicU32>().add(offset).write(AtomicU32::new(0)) };
        }
    }
}

/// Drops what [`construct`] made.
///
/// # Safety
/// * As for `construct`, which has run; nobody refers to it any more.
#[cfg(all(loom, test))]
unsafe fn destruct<T, H: Header>(first: *mut Slot<T, H>, slots: usize, sides: Sides) {
    use std::ptr::drop_in_place;

    for offset in 0..slots {
        // SAFETY: the caller's duty (invariant 11, 12).
        unsafe { drop_in_place(first.add(offset)) };
        if sides.marks {
            // SAFETY: the caller's duty (invariant 11, 12).
            let marks = unsafe { first.byte_add(Sides::marks_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { drop_in_place(marks.cast::<AtomicU8>().add(offset)) };
        }
        if sides.stamps {
            // SAFETY: the caller's duty (invariant 11, 12).
            let stamps = unsafe { first.byte_add(sides.stamps_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { drop_in_place(stamps.cast::<AtomicU64>().add(offset)) };
        }
        if sides.links {
            // SAFETY: the caller's duty (invariant 11, 12).
            let links = unsafe { first.byte_add(sides.links_offset::<T, H>(slots)) };
            // SAFETY: as above (invariant 11, 12).
            unsafe { drop_in_place(links.cast::<AtomicU32>().add(offset)) };
        }
    }
}

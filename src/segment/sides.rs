//! The memory of a segment: its slots, and behind them what is kept for each slot apart, because it
//! is written by others than the slot's readers or seldom at all.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::memory::{OutOfMemory, allocate_zeroed, give_back};
use crate::slot::{Header, Slot};
use crate::sync::{AtomicU32, AtomicU64};

/// What lies behind the slots of every segment of a table: arrays of one item a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    /// When each entity was activated, for a store that ends the oldest.
    pub(crate) stamps: bool,
    /// The links of the dead stacks.
    pub(crate) links: bool,
}

impl Sides {
    const fn stamps_bytes(self, slots: usize) -> usize {
        if self.stamps { size_of::<AtomicU64>() * slots } else { 0 }
    }

    const fn links_bytes(self, slots: usize) -> usize {
        if self.links { size_of::<AtomicU32>() * slots } else { 0 }
    }

    /// Where the stamps begin.
    pub(super) const fn stamps_offset<T, H: Header>(self, slots: usize) -> usize {
        const { assert!(align_of::<Slot<T, H>>().is_multiple_of(align_of::<AtomicU64>())) };
        size_of::<Slot<T, H>>() * slots
    }

    /// Where the links begin.
    pub(super) const fn links_offset<T, H: Header>(self, slots: usize) -> usize {
        const { assert!(align_of::<AtomicU64>().is_multiple_of(align_of::<AtomicU32>())) };
        size_of::<Slot<T, H>>() * slots + self.stamps_bytes(slots)
    }

    /// Slots, then stamps, then links. Refused where they are more than the address space.
    fn layout<T, H: Header>(self, slots: usize) -> Result<Layout, OutOfMemory> {
        let behind = self.stamps_bytes(slots) + self.links_bytes(slots);
        let bytes = size_of::<Slot<T, H>>().saturating_mul(slots).saturating_add(behind);
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

/// A segment of slots that were never used: generation 0, None, which is what zeroes say.
pub(super) fn allocate_segment<T, H: Header>(
    slots: usize,
    sides: Sides,
) -> Result<*mut Slot<T, H>, OutOfMemory> {
    let first = allocate_zeroed(sides.layout::<T, H>(slots)?)?.cast::<Slot<T, H>>().as_ptr();
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
    if let Some(memory) = NonNull::new(first.cast()) {
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

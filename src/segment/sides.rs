//! The memory of a segment: its slots, and behind them the side arrays, with what look-ups do not
//! need: one item for each slot.

use std::alloc::Layout;
use std::ptr::NonNull;

use crate::memory::{OutOfMemory, allocate_zeroed, give_back};
use crate::slot::{Header, Slot};
use crate::sync::{AtomicU8, AtomicU32, AtomicU64};

/// Which side arrays the segments of a table have.
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

    /// Where the marks begin. They come first, so that this depends on no other array. Meaningless
    /// for slots so large that [`layout`](Sides::layout) refuses them.
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

    /// A gap, then slots, marks, stamps, and links. Refused if they exceed the address space.
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

/// The alignment of the first slot and of the first mark: slots whose size divides a cache line do
/// not cross one, and the marks of a batch of fresh slots have their lines to themselves. It is
/// made by a gap: allocators that are asked for such an alignment often clear all of the memory at
/// once.
const LINE: usize = 64;

/// The largest gap before the slots.
const fn most_gap<T, H: Header>() -> usize {
    if align_of::<Slot<T, H>>() < LINE { LINE } else { 0 }
}

/// Aligns the first slot within an allocation, and stores the size of the gap right before it.
///
/// # Safety
/// * The allocation is exclusive, and was made with a `layout`.
unsafe fn leave_gap<T, H: Header>(memory: NonNull<u8>) -> *mut Slot<T, H> {
    const { assert!(align_of::<Slot<T, H>>() >= align_of::<usize>()) };
    if most_gap::<T, H>() == 0 {
        return memory.cast().as_ptr();
    }
    // At least the allocation's alignment: room for the note.
    let gap = LINE - memory.addr().get() % LINE;
    // SAFETY: the layout has room for the gap before the slots (invariant 12).
    let first = unsafe { memory.add(gap) };
    // SAFETY: as above (invariant 12).
    let note = unsafe { first.cast::<usize>().sub(1) };
    // SAFETY: as above, and it is the caller's alone (invariant 11).
    unsafe { note.write(gap) };
    first.cast().as_ptr()
}

/// Where the allocation of this first slot begins.
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
    // SAFETY: as above: the allocation begins so far before it (invariant 12).
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

/// What a segment holds; an array that it does not have is empty.
#[cfg(all(loom, test))]
struct Arrays<T, H: Header> {
    slots: *mut [Slot<T, H>],
    marks: *mut [AtomicU8],
    stamps: *mut [AtomicU64],
    links: *mut [AtomicU32],
}

#[cfg(all(loom, test))]
impl<T, H: Header> Arrays<T, H> {
    fn of(first: *mut Slot<T, H>, slots: usize, sides: Sides) -> Arrays<T, H> {
        use std::ptr::slice_from_raw_parts_mut as slice;

        let at = |offset| first.wrapping_byte_add(offset);
        let count = |kept| if kept { slots } else { 0 };
        Arrays {
            slots: slice(first, slots),
            marks: slice(at(Sides::marks_offset::<T, H>(slots)).cast(), count(sides.marks)),
            stamps: slice(at(sides.stamps_offset::<T, H>(slots)).cast(), count(sides.stamps)),
            links: slice(at(sides.links_offset::<T, H>(slots)).cast(), count(sides.links)),
        }
    }
}

/// Model builds construct what a segment holds: loom's atomics are not plain memory.
///
/// # Safety
/// * `first` is an exclusive allocation of so many slots with these sides.
#[cfg(all(loom, test))]
unsafe fn construct<T, H: Header>(first: *mut Slot<T, H>, slots: usize, sides: Sides) {
    /// # Safety
    /// * The places of the array are exclusive.
    unsafe fn fill<V>(array: *mut [V], make: impl Fn() -> V) {
        for at in 0..array.len() {
            let place = array.cast::<V>().wrapping_add(at);
            // SAFETY: the caller's duty (invariant 11, 12).
            unsafe { place.write(make()) };
        }
    }

    let arrays = Arrays::of(first, slots, sides);
    // SAFETY: the caller's duty (invariant 11, 12).
    unsafe { fill(arrays.slots, Slot::new) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { fill(arrays.marks, || AtomicU8::new(0)) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { fill(arrays.stamps, || AtomicU64::new(0)) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { fill(arrays.links, || AtomicU32::new(0)) };
}

/// Drops what [`construct`] made.
///
/// # Safety
/// * As for `construct`, which has run; nobody refers to it any more.
#[cfg(all(loom, test))]
unsafe fn destruct<T, H: Header>(first: *mut Slot<T, H>, slots: usize, sides: Sides) {
    use std::ptr::drop_in_place;

    let arrays = Arrays::of(first, slots, sides);
    // SAFETY: the caller's duty (invariant 11, 12).
    unsafe { drop_in_place(arrays.slots) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { drop_in_place(arrays.marks) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { drop_in_place(arrays.stamps) };
    // SAFETY: as above (invariant 11, 12).
    unsafe { drop_in_place(arrays.links) };
}

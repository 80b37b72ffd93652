//! Where the library asks for memory, so that a refusal is an error and not an abort, and so that
//! the tests can refuse it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::ptr::NonNull;

/// An allocation that the system refused.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutOfMemory {
    pub(crate) bytes: usize,
}

/// Memory of a layout that is not empty, uninitialised.
pub(crate) fn allocate(layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
    // SAFETY: the layout is not empty, which `checked` insists on (invariant 12).
    checked(layout, |layout| unsafe { alloc(layout) })
}

/// Memory of a layout that is not empty, zeroed.
pub(crate) fn allocate_zeroed(layout: Layout) -> Result<NonNull<u8>, OutOfMemory> {
    // SAFETY: as in `allocate` (invariant 12).
    checked(layout, |layout| unsafe { alloc_zeroed(layout) })
}

/// A value in memory of its own.
pub(crate) fn boxed<V>(value: V) -> Result<Box<V>, OutOfMemory> {
    let memory = allocate(Layout::new::<V>())?.cast::<V>();
    // SAFETY: the allocation is exclusive and has the layout (invariant 11).
    unsafe { memory.write(value) };
    // SAFETY: allocated with the layout that `Box` uses, and written (invariant 11).
    Ok(unsafe { Box::from_raw(memory.as_ptr()) })
}

/// Frees memory, and lets the system have its pages at once: an allocator may keep a large block
/// for later as it is, resident and all.
///
/// # Safety
/// * It was allocated with this layout, and nobody refers to it any more.
pub(crate) unsafe fn give_back(memory: NonNull<u8>, layout: Layout) {
    pages::let_go(memory, layout.size());
    // SAFETY: the caller's duty (invariant 11).
    unsafe { dealloc(memory.as_ptr(), layout) };
}

/// Asks for the line of an address ahead of its use: a hint, whatever is there.
#[inline(always)]
pub(crate) fn prefetch<V>(address: *const V) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: every processor of this kind has the instruction, which reads nothing and faults
        // at no address (invariant 11).
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
    // Elsewhere there is no stable way to ask.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

/// Where the system can be told that the contents of pages are not needed.
#[cfg(all(target_os = "linux", not(miri)))]
mod pages {
    use std::ptr::NonNull;

    use libc::{MADV_DONTNEED, madvise};

    /// What pages may measure, at most; where they are larger the system refuses, and that is all.
    const PAGE: usize = 1 << 14;

    /// Blocks below this are not worth a call.
    const LARGE: usize = 1 << 17;

    /// The contents of the whole pages in a block are undefined from here.
    pub(super) fn let_go(block: NonNull<u8>, length: usize) {
        if length < LARGE {
            return;
        }
        let before = block.as_ptr().align_offset(PAGE);
        let whole = (length - before) / PAGE * PAGE;
        // SAFETY: the pages lie wholly within a block that is about to be freed, so nobody needs
        // what is in them; whatever memory an allocator has, this leaves it mapped (invariant 11).
        unsafe { madvise(block.as_ptr().wrapping_add(before).cast(), whole, MADV_DONTNEED) };
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod pages {
    pub(super) fn let_go(_block: std::ptr::NonNull<u8>, _length: usize) {}
}

/// Room for `more` items in a vector.
pub(crate) fn reserve<V>(items: &mut Vec<V>, more: usize) -> Result<(), OutOfMemory> {
    let refused = OutOfMemory { bytes: more.saturating_mul(size_of::<V>()) };
    if refusals::due() {
        return Err(refused);
    }
    items.try_reserve_exact(more).map_err(|_| refused)
}

/// Room for one item more in a vector that grows by one after the other.
pub(crate) fn reserve_one<V>(items: &mut Vec<V>) -> Result<(), OutOfMemory> {
    if items.len() < items.capacity() {
        return Ok(());
    }
    reserve(items, items.len().max(16))
}

fn checked(
    layout: Layout,
    allocate: impl FnOnce(Layout) -> *mut u8,
) -> Result<NonNull<u8>, OutOfMemory> {
    assert!(layout.size() > 0, "nothing here is empty");
    let refused = OutOfMemory { bytes: layout.size() };
    if refusals::due() {
        return Err(refused);
    }
    NonNull::new(allocate(layout)).ok_or(refused)
}

/// Without tests nothing but the system refuses memory.
#[cfg(not(all(test, not(loom))))]
mod refusals {
    #[inline(always)]
    pub(super) const fn due() -> bool {
        false
    }
}

/// How a test refuses the allocations of its thread.
#[cfg(all(test, not(loom)))]
pub(crate) mod refusals {
    use std::cell::Cell;

    std::thread_local! {
        /// How many allocations are granted yet before one is refused; negative is all of them.
        static GRANTED: Cell<i64> = const { Cell::new(-1) };
    }

    /// Grants this thread `granted` allocations, refuses the one after, and grants the rest.
    pub(crate) fn refuse_after(granted: u32) {
        GRANTED.set(i64::from(granted));
    }

    /// Grants everything again; whether an allocation had been refused.
    pub(crate) fn stop() -> bool {
        GRANTED.replace(-1) < 0
    }

    pub(super) fn due() -> bool {
        let granted = GRANTED.get();
        if granted >= 0 {
            GRANTED.set(granted - 1);
        }
        granted == 0
    }
}

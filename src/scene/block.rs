//! A block of memory with the components of one actor, in the order of adding.
//!
//! ```text
//! Header | entry, component | entry, component | ..
//! ```
//!
//! So a tick over all of them walks over neighbouring cache lines. An entry is a pointer to the
//! table of its component's type; where the component lies after its entry follows from the type.
//!
//! **Lending.** A component is called in place, with its owner by `&mut`: it is marked as lent, and
//! a look-up does not find it. One component of a block is lent at a time, nothing is added
//! meanwhile, and the block stays. But the owner may lose the block: user code can exchange actors
//! by `mem::swap`, and drop the one that it has swapped out, or send it to another thread. From
//! then on the block has two owners: the caller owns the component that is lent, whose mark stays
//! for good; the owner of the other actor owns the rest. Each leaves the block when it is done, and
//! the second to leave frees the memory.

use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use super::actor::Core;
use super::component::Kind;
use crate::memory::allocate;

/// What a block begins with.
#[repr(C)]
pub(super) struct Header {
    /// The entry of the component that is lent or, between two calls of a tick, of the last one
    /// that was.
    pub(super) lent: Option<At>,
    /// How far the entries reach.
    pub(super) used: u32,
    pub(super) capacity: u32,
    pub(super) align: u32,
    /// Whether anything in it has to be dropped.
    pub(super) drops: bool,
    /// Whether one of two has left. Touched under [`LEAVING`] alone.
    left: Cell<bool>,
}

/// Held while one of two owners leaves a block: only after user code has exchanged actors while a
/// component was called.
static LEAVING: Mutex<()> = Mutex::new(());

/// Where the first entry begins.
pub(super) const FIRST: u32 = size_of::<Header>() as u32;
/// An entry is a pointer to a table, whatever the type of the core.
const ENTRY: usize = size_of::<usize>();
/// Every entry begins at a multiple of it.
pub(super) const ENTRY_ALIGN: u32 = align_of::<usize>() as u32;

/// A block, which its holder owns alone or as one of two.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Block(NonNull<Header>);

impl Block {
    /// An empty one, which the caller has as a whole.
    pub(super) fn new(capacity: u32, align: u32) -> Block {
        let layout = layout(capacity, align);
        let Ok(memory) = allocate(layout) else { handle_alloc_error(layout) };
        let block = memory.cast::<Header>();
        let left = Cell::new(false);
        // SAFETY: it is as large as a header at least, and exclusive (invariant 17).
        unsafe {
            block.write(Header { lent: None, used: FIRST, capacity, align, drops: false, left })
        };
        Block(block)
    }

    /// # Safety
    /// * The caller has the block, and does not write the header as long as the borrow lasts.
    #[inline]
    pub(super) unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { self.0.as_ref() }
    }

    /// Marks a component as lent, or none.
    ///
    /// # Safety
    /// * The caller has the block as a whole.
    #[inline]
    pub(super) unsafe fn set_lent(self, entry: Option<At>) {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { (*self.0.as_ptr()).lent = entry };
    }

    /// Takes note of whether anything in it has to be dropped.
    ///
    /// # Safety
    /// * The caller has the block as a whole.
    #[inline]
    pub(super) unsafe fn set_drops(self, drops: bool) {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { (*self.0.as_ptr()).drops = drops };
    }

    /// # Safety
    /// * The caller has the block as a whole, and so much of it is used.
    #[inline]
    pub(super) unsafe fn set_used(self, used: u32) {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { (*self.0.as_ptr()).used = used };
    }

    /// What lies at an offset.
    ///
    /// # Safety
    /// * The caller has the block, which is at least so long.
    #[inline]
    pub(super) unsafe fn at(self, offset: u32) -> At {
        // SAFETY: the caller's duty (invariant 17).
        At(unsafe { self.0.cast::<u8>().add(offset as usize) })
    }

    /// Where the last component ends.
    ///
    /// # Safety
    /// * The caller has the block.
    #[inline]
    pub(super) unsafe fn end(self) -> At {
        // SAFETY: the caller's duty (invariant 17).
        let used = unsafe { self.header() }.used;
        // SAFETY: so much is used (invariant 17).
        unsafe { self.at(used) }
    }

    /// The address, for a hint.
    #[inline]
    pub(super) fn address(self) -> NonNull<u8> {
        self.0.cast()
    }

    /// Moves all that is in it to another one, at the same offsets, and frees it.
    ///
    /// # Safety
    /// * The caller has both as a whole, nothing is lent, and the other is as long at least, and
    ///   aligned for all of it.
    pub(super) unsafe fn move_to(self, other: Block) {
        // SAFETY: the caller has it (invariant 17).
        let &Header { used, drops, .. } = unsafe { self.header() };
        let (from, to) = (self.0.cast::<u8>(), other.0.cast::<u8>());
        let length = (used - FIRST) as usize;
        // SAFETY: so much is used (invariant 17).
        let from = unsafe { from.add(FIRST as usize) };
        // SAFETY: the other is as long (invariant 17).
        let to = unsafe { to.add(FIRST as usize) };
        // SAFETY: two blocks are apart, and what lies in one may be moved while nothing of it is
        // lent (invariant 17).
        unsafe { from.copy_to_nonoverlapping(to, length) };
        // SAFETY: the caller has the other (invariant 17).
        unsafe { other.set_used(used) };
        // SAFETY: as above (invariant 17).
        unsafe { other.set_drops(drops) };
        // SAFETY: the caller has it as a whole, and what was in it lies elsewhere (invariant 17).
        unsafe { self.free() };
    }

    /// Frees the memory; what is in it is forgotten.
    ///
    /// # Safety
    /// * The caller has the block as a whole, and nobody uses it any more.
    pub(super) unsafe fn free(self) {
        // SAFETY: the caller's duty (invariant 17).
        let Header { capacity, align, .. } = *unsafe { self.header() };
        // SAFETY: allocated with this layout, and nobody refers to it (invariant 17).
        unsafe { dealloc(self.0.as_ptr().cast(), layout(capacity, align)) };
    }

    /// Leaves a block that two have. The second to leave frees it.
    ///
    /// # Safety
    /// * A component was lent as its owner lost the block, the caller has that component or has all
    ///   the others, has dropped what it has, and does not use the block any more.
    #[cold]
    pub(super) unsafe fn leave(self) {
        let leaving = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the caller has the block by half (invariant 17).
        let second = unsafe { self.header() }.left.replace(true);
        drop(leaving);
        if second {
            // SAFETY: both have left, and the lock shows the second what the first did
            // (invariant 17).
            unsafe { self.free() };
        }
    }
}

fn layout(capacity: u32, align: u32) -> Layout {
    match Layout::from_size_align(capacity as usize, align as usize) {
        Ok(layout) => layout,
        Err(_) => unreachable!("an align is a power of two, and growth keeps within the limits"),
    }
}

/// Where an entry begins, or the last component ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub(super) struct At(NonNull<u8>);

impl At {
    /// Nowhere.
    pub(super) const NOWHERE: At = At(NonNull::dangling());

    /// So many bytes further, which may be anywhere: to compare with.
    #[inline]
    pub(super) fn ahead(self, bytes: usize) -> At {
        At(self.0.map_addr(|addr| addr.saturating_add(bytes)))
    }

    /// The table of the component whose entry is here.
    ///
    /// # Safety
    /// * An entry of components of this core begins here, and the caller has the block.
    #[inline]
    pub(super) unsafe fn kind<C: Core>(self) -> &'static Kind<C> {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { self.0.cast::<&'static Kind<C>>().read() }
    }

    /// Writes an entry.
    ///
    /// # Safety
    /// * The caller has the block as a whole, in which there is room for it, and a component of the
    ///   table's type is in its place, or is put there.
    #[inline]
    pub(super) unsafe fn set_kind<C: Core>(self, kind: &'static Kind<C>) {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { self.0.cast::<&'static Kind<C>>().write(kind) };
    }

    /// The component of an entry.
    ///
    /// # Safety
    /// * An entry of a component that lies like this begins here, or there is room for it.
    #[inline]
    pub(super) unsafe fn component(self, fit: Fit) -> NonNull<u8> {
        let ahead = fit.ahead(self.0.addr().get());
        // SAFETY: within the block, which is aligned for all that is in it (invariant 17).
        unsafe { self.0.add(ahead) }
    }

    /// What is behind an entry and its component.
    ///
    /// # Safety
    /// * As for [`component`](At::component).
    #[inline]
    pub(super) unsafe fn next(self, fit: Fit) -> At {
        // SAFETY: the caller's duty (invariant 17).
        let component = unsafe { self.component(fit) };
        // SAFETY: a component is within the block (invariant 17).
        At(unsafe { component.add(fit.room) })
    }
}

const fn align_up(offset: usize, align: usize) -> usize {
    (offset + align - 1) & !(align - 1)
}

/// How the components of a type lie behind their entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub(super) align: usize,
    /// How much a component takes up to the next entry.
    room: usize,
}

impl Fit {
    pub(super) const fn of<T>() -> Fit {
        // No type is so large that this overflows.
        Fit { align: align_of::<T>(), room: align_up(size_of::<T>(), ENTRY) }
    }

    /// How far behind the beginning of its entry a component lies. An address serves as well as an
    /// offset, since a block is aligned for all that is in it.
    #[inline]
    const fn ahead(self, entry: usize) -> usize {
        if self.align <= ENTRY { ENTRY } else { align_up(entry + ENTRY, self.align) - entry }
    }

    /// Whether a block of such an align does.
    #[inline]
    pub(super) const fn suits(self, align: u32) -> bool {
        // No block is aligned less than its entries.
        self.align <= ENTRY || self.align <= align as usize
    }

    /// Where a component ends whose entry begins at an offset; nowhere, if that is too far.
    #[inline]
    pub(super) fn end(self, entry: u32) -> Option<u32> {
        let entry = entry as usize;
        let end = entry.checked_add(self.ahead(entry))?.checked_add(self.room)?;
        u32::try_from(end).ok().filter(|end| *end <= i32::MAX as u32)
    }
}

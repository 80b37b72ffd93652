//! The extension components of one actor: side by side in one block of memory, in the order of
//! adding.
//!
//! ```text
//! Header | entry, component | entry, component | ..
//! ```
//!
//! So a tick over all of them is a walk over neighbouring lines. An entry tells the table of its
//! component's type, and where the next entry is. A component that is being called is out of its
//! place: the header says which.

mod clearing;

use std::alloc::{Layout, dealloc, handle_alloc_error};
use std::any::TypeId;
use std::fmt;
use std::hint::assert_unchecked;
use std::marker::PhantomData;
use std::ptr::NonNull;

use self::clearing::fresh_number;
use super::actor::Core;
use super::component::{self, Component, Kind, TickComponent};
use super::prefetch::prefetch;
use crate::memory::allocate;

/// What a block of components begins with.
#[repr(C)]
struct Header {
    /// Never given out twice: user code may exchange actors, and with them their components, while
    /// one is out.
    id: u64,
    capacity: u32,
    /// Where the last component ends.
    used: u32,
    /// Where the one lies that is out, or [`NOBODY`].
    out: u32,
    align: u32,
}

const NOBODY: u32 = u32::MAX;
const FIRST: u32 = size_of::<Header>() as u32;
/// What stands before each component. It says itself where the next one is, so that a walk need not
/// wait for the table to find it.
#[repr(C)]
struct Entry<C: Core> {
    kind: &'static Kind<C>,
    /// Where the component lies.
    data: u32,
    /// Where the next entry begins.
    next: u32,
}

const ENTRY: u32 = size_of::<(usize, u32, u32)>() as u32;
/// Every entry begins with a pointer.
const ENTRY_ALIGN: u32 = 8;
/// The smallest block.
const SMALLEST: u32 = 128;

/// What processors fetch at a time.
const LINE: u32 = 64;

/// The components of one actor.
pub(super) struct Components<C: Core> {
    /// Nothing before the first.
    block: Option<NonNull<Header>>,
    _tables: PhantomData<fn(C)>,
}

/// Where a component lies, in the block of a number. Two words, which calls pass in registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    block: u64,
    data: u32,
}

/// A walk over the components of one actor, which ends when they are exchanged for another's.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    block: u64,
    next: u32,
}

const fn align_up(offset: u32, align: u32) -> u32 {
    (offset + align - 1) & !(align - 1)
}

impl<C: Core> Components<C> {
    pub(super) const fn new() -> Components<C> {
        Components { block: None, _tables: PhantomData }
    }

    #[inline]
    fn header(&self) -> Option<&Header> {
        // SAFETY: the block is this value's own, and begins with a header (invariant 17).
        self.block.map(|block| unsafe { block.as_ref() })
    }

    fn header_mut(&mut self) -> Option<&mut Header> {
        // SAFETY: as above (invariant 17).
        self.block.map(|mut block| unsafe { block.as_mut() })
    }

    /// The address of an offset within the block.
    ///
    /// # Safety
    /// * There is a block, and it is at least so long.
    #[inline]
    unsafe fn at(&self, offset: u32) -> NonNull<u8> {
        let block = self.block.map_or(NonNull::dangling(), NonNull::cast::<u8>);
        // SAFETY: the caller's duty (invariant 17).
        unsafe { block.add(offset as usize) }
    }

    /// The entry at an offset.
    ///
    /// # Safety
    /// * An entry begins there.
    #[inline]
    unsafe fn entry(&self, offset: u32) -> Entry<C> {
        // SAFETY: an entry is within the block (invariant 17).
        let entry = unsafe { self.at(offset) }.cast::<Entry<C>>();
        // SAFETY: as above, and it is not written while the components are borrowed (invariant 17).
        unsafe { entry.read() }
    }

    /// Asks for the line that the components begin with.
    #[inline]
    pub(super) fn prefetch_header(&self) {
        if let Some(block) = self.block {
            prefetch(block);
        }
    }

    /// Asks for the lines behind the first, of which the header, which is there by now, tells.
    #[inline]
    pub(super) fn prefetch_rest(&self) {
        let used = self.header().map_or(0, |header| header.used);
        for offset in (LINE..used).step_by(LINE as usize) {
            // SAFETY: what is used is within the block (invariant 17).
            prefetch(unsafe { self.at(offset) });
        }
    }

    /// The component of a type, unless it is out: where its entry begins, and where it lies.
    #[inline]
    fn find(&self, id: TypeId) -> Option<(u32, u32)> {
        let mut walk = Walk::of(self);
        loop {
            let entry = walk.next;
            let (kind, data) = walk.step(self)?;
            if (kind.id)() == id {
                return Some((entry, data)).filter(|_| !self.is_out(data));
            }
        }
    }

    #[inline]
    fn is_out(&self, data: u32) -> bool {
        self.header().is_some_and(|header| header.out == data)
    }

    pub(super) fn get<T: Component<C>>(&self) -> Option<&T> {
        let (_, data) = self.find(TypeId::of::<T>())?;
        // SAFETY: found just now in this block (invariant 17).
        let data = unsafe { self.at(data) };
        // SAFETY: it has a component of this type, in its place, and is borrowed with the actor
        // (invariant 17).
        Some(unsafe { component::get(data) })
    }

    pub(super) fn get_mut<T: Component<C>>(&mut self) -> Option<&mut T> {
        let (_, data) = self.find(TypeId::of::<T>())?;
        // SAFETY: found just now in this block (invariant 17).
        let data = unsafe { self.at(data) };
        // SAFETY: as in `get`, and the actor is borrowed to be written (invariant 17).
        Some(unsafe { component::get_mut(data) })
    }

    pub(super) fn add<T: Component<C>>(&mut self, value: T) {
        self.add_as(Kind::plain::<T>(), value);
    }

    pub(super) fn add_ticking<T: TickComponent<C>>(&mut self, value: T) {
        self.add_as(Kind::ticking::<T>(), value);
    }

    /// Adds a component, or puts it in the place of the one of its type; that one is dropped last.
    fn add_as<T: Component<C>>(&mut self, kind: &'static Kind<C>, value: T) {
        if let Some((entry, data)) = self.find(TypeId::of::<T>()) {
            // SAFETY: found just now in this block (invariant 17).
            let table = unsafe { self.at(entry) }.cast::<&'static Kind<C>>();
            // SAFETY: the tables of a type differ in whether it ticks, and in nothing that the
            // place depends on (invariant 17).
            unsafe { table.write(kind) };
            // SAFETY: found just now in this block (invariant 17).
            let data = unsafe { self.at(data) };
            // SAFETY: a component of this type is there (invariant 17).
            let old = unsafe { component::replace(data, value) };
            return drop(old);
        }
        let offset = self.reserve(kind);
        let data = kind.fit.data(offset);
        let next = data + kind.fit.room;
        // SAFETY: reserved just now (invariant 17).
        let entry = unsafe { self.at(offset) }.cast::<Entry<C>>();
        // SAFETY: as above (invariant 17).
        unsafe { entry.write(Entry { kind, data, next }) };
        // SAFETY: reserved just now (invariant 17).
        let place = unsafe { self.at(data) };
        // SAFETY: reserved for this layout, and empty (invariant 17).
        unsafe { component::put(place, value) };
        if let Some(header) = self.header_mut() {
            header.used = next;
        }
    }

    /// Makes room for one more entry; where it begins.
    fn reserve(&mut self, kind: &Kind<C>) -> u32 {
        let (used, capacity, align) = match self.header() {
            Some(header) => (header.used, header.capacity, header.align),
            None => (FIRST, 0, ENTRY_ALIGN),
        };
        let end = kind.fit.data(used) + kind.fit.room;
        let needed = align.max(kind.fit.align);
        if end > capacity || needed > align {
            self.grow(end.max(capacity.saturating_mul(2)).max(SMALLEST), needed);
        }
        used
    }

    /// Moves everything into a larger block. Offsets stay as they are, and so does what is out.
    fn grow(&mut self, capacity: u32, align: u32) {
        let layout = block_layout(capacity, align);
        let Ok(memory) = allocate(layout) else { handle_alloc_error(layout) };
        let block = memory.cast::<Header>();
        let header = match self.header() {
            Some(old) => Header { capacity, align, ..*old },
            None => Header { id: fresh_number(), capacity, used: FIRST, out: NOBODY, align },
        };
        if let Some(old) = self.block {
            let from = old.cast::<u8>();
            // SAFETY: the new block is longer, and apart; what lies in it may be moved
            // (invariant 17).
            unsafe { memory.copy_from_nonoverlapping(from, header.used as usize) };
            self.free();
        }
        // SAFETY: it is as large as a header at least, and exclusive (invariant 17).
        unsafe { block.write(header) };
        self.block = Some(block);
    }

    /// Frees the block, and what is in it is forgotten.
    fn free(&mut self) {
        if let Some(block) = self.block.take() {
            // SAFETY: as in `header` (invariant 17).
            let header = unsafe { block.as_ref() };
            let layout = block_layout(header.capacity, header.align);
            // SAFETY: allocated with this layout, and nobody refers to it (invariant 17).
            unsafe { dealloc(block.as_ptr().cast(), layout) };
        }
    }

    /// Marks a component as out of its place, from where the caller reads it.
    ///
    /// # Safety
    /// * The place is one of these components', and nothing is out.
    #[inline]
    pub(super) unsafe fn take_out(&mut self, place: Place) -> NonNull<u8> {
        if let Some(header) = self.header_mut() {
            // Told to the compiler, so that a hook which does not touch its owner goes back unasked.
            // SAFETY: the caller's duty (invariant 17).
            unsafe { assert_unchecked(header.id == place.block) };
            debug_assert!(header.out == NOBODY);
            header.out = place.data;
        }
        // SAFETY: the place is in this block: the caller's duty (invariant 17).
        unsafe { self.at(place.data) }
    }

    /// Where the component goes back to that was taken out of `place`; nowhere, if these are other
    /// components meanwhile.
    #[inline]
    pub(super) fn put_back(&mut self, place: Place) -> Option<NonNull<u8>> {
        let header = self.header_mut()?;
        if header.id != place.block || header.out != place.data {
            return None;
        }
        header.out = NOBODY;
        // SAFETY: the place is in the block of this number (invariant 17).
        Some(unsafe { self.at(place.data) })
    }
}

/// How the components of a type lie behind their entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    align: u32,
    /// What is added to where an entry begins, and then masked: the component lies there.
    ahead: u32,
    mask: u32,
    /// How much it takes up to the next entry: wherever it lies, since that is at a multiple of
    /// [`ENTRY_ALIGN`].
    room: u32,
}

impl Fit {
    pub(super) const fn of<S>() -> Fit {
        let align = align_of::<S>() as u32;
        let room = align_up(size_of::<S>() as u32, ENTRY_ALIGN);
        Fit { align, ahead: ENTRY + align - 1, mask: !(align - 1), room }
    }

    /// Where the component of an entry lies.
    #[inline]
    const fn data(self, entry: u32) -> u32 {
        (entry + self.ahead) & self.mask
    }
}

fn block_layout(capacity: u32, align: u32) -> Layout {
    match Layout::from_size_align(capacity as usize, align as usize) {
        Ok(layout) => layout,
        Err(_) => {
            unreachable!("an align is a power of two, and the components of an actor are few")
        }
    }
}

impl Walk {
    /// The next component to be called. None while one is out, which is so only where user code has
    /// exchanged actors: a block has one mark, so only one can be out at a time.
    #[inline]
    pub(super) fn next_to_call<C: Core>(
        &mut self,
        components: &Components<C>,
    ) -> Option<(&'static Kind<C>, Place)> {
        components.header().filter(|header| header.out == NOBODY)?;
        let (kind, data) = self.step(components)?;
        Some((kind, Place { block: self.block, data }))
    }

    #[inline]
    pub(super) fn of<C: Core>(components: &Components<C>) -> Walk {
        Walk { block: components.header().map_or(0, |header| header.id), next: FIRST }
    }

    /// The next component, and where it lies.
    #[inline]
    fn step<C: Core>(&mut self, components: &Components<C>) -> Option<(&'static Kind<C>, u32)> {
        let header = components.header()?;
        if header.id != self.block || self.next >= header.used {
            return None;
        }
        // SAFETY: the walk is over the block of this number, whose entries stay where they are, and
        // is at the beginning of one (invariant 17).
        let Entry { kind, data, next } = unsafe { components.entry(self.next) };
        self.next = next;
        Some((kind, data))
    }
}

impl<C: Core> fmt::Debug for Components<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        let mut walk = Walk::of(self);
        while let Some((kind, data)) = walk.step(self) {
            if !self.is_out(data) {
                list.entry(&(kind.name)());
            }
        }
        list.finish()
    }
}

//! The extension components of one actor, which lie side by side in one [block](super::block).

mod clearing;

use std::any::TypeId;
use std::fmt;
use std::marker::PhantomData;
use std::mem::needs_drop;
use std::ptr::NonNull;

use super::actor::Core;
use super::block::{At, Block, ENTRY_ALIGN, FIRST, Fit, Header};
use super::component::{Component, Kind, TickComponent};
use crate::memory::prefetch;

/// The smallest block.
const SMALLEST: u32 = 128;

/// What processors fetch at a time.
const LINE: usize = 64;

/// The components of one actor.
pub(super) struct Components<C: Core> {
    /// `None` before the first component.
    block: Option<Block>,
    _tables: PhantomData<fn(C)>,
}

/// A walk over the components of one actor.
pub(super) struct Walk {
    pub(super) at: At,
    pub(super) end: At,
}

impl<C: Core> Components<C> {
    pub(super) const fn new() -> Components<C> {
        Components { block: None, _tables: PhantomData }
    }

    #[inline]
    pub(super) fn block(&self) -> Option<Block> {
        self.block
    }

    #[inline]
    fn header(&self) -> Option<&Header> {
        // SAFETY: the block is this value's own, but for a component that is lent (invariant 17).
        self.block.map(|block| unsafe { block.header() })
    }

    /// Whether a component is being called, so that nothing may be added.
    pub(super) fn is_lent(&self) -> bool {
        self.lent().is_some()
    }

    #[inline]
    fn lent(&self) -> Option<At> {
        self.header()?.lent
    }

    /// Prefetches the first line of the components.
    #[inline]
    pub(super) fn prefetch_header(&self) {
        if let Some(block) = self.block {
            prefetch(block.address().as_ptr());
        }
    }

    /// Prefetches the lines after the first; how many there are is in the header, which is in the
    /// cache by now.
    #[inline]
    pub(super) fn prefetch_rest(&self) {
        let Some(block) = self.block else { return };
        let begin = block.address().as_ptr().cast_const();
        let end = begin.wrapping_add(self.header().map_or(0, |header| header.used) as usize);
        let mut line = begin.wrapping_add(LINE);
        while line < end {
            // Two at a time: the test whether there is one more takes as long as a prefetch.
            prefetch(line);
            prefetch(line.wrapping_add(LINE));
            line = line.wrapping_add(2 * LINE);
        }
    }

    /// The component of a type, unless it is lent: where its entry begins, and where it lies.
    #[inline]
    fn find<T: Component<C>>(&self) -> Option<(At, NonNull<T>)> {
        let mut walk = Walk::of(self);
        loop {
            // SAFETY: the components are borrowed (invariant 17).
            let (kind, at, component) = unsafe { walk.step::<C>() }?;
            if kind.id == TypeId::of::<T>() {
                return (self.lent() != Some(at)).then_some((at, component.cast()));
            }
        }
    }

    pub(super) fn get<T: Component<C>>(&self) -> Option<&T> {
        let (_, component) = self.find::<T>()?;
        // SAFETY: a component of this type, in its place, and borrowed with the actor
        // (invariant 17).
        Some(unsafe { component.as_ref() })
    }

    pub(super) fn get_mut<T: Component<C>>(&mut self) -> Option<&mut T> {
        let (_, mut component) = self.find::<T>()?;
        // SAFETY: as in `get`, and the actor is borrowed to be written (invariant 17).
        Some(unsafe { component.as_mut() })
    }

    #[inline]
    pub(super) fn add<T: Component<C>>(&mut self, value: T) {
        self.add_as(Kind::plain::<T>(), value);
    }

    #[inline]
    pub(super) fn add_ticking<T: TickComponent<C>>(&mut self, value: T) {
        self.add_as(Kind::ticking::<T>(), value);
    }

    /// Adds a component, or puts it in the place of the one of its type; that one is dropped last.
    #[inline]
    fn add_as<T: Component<C>>(&mut self, kind: &'static Kind<C>, value: T) {
        assert!(!self.is_lent(), "the components are moved, and one of them is being called");
        if let Some((at, component)) = self.find::<T>() {
            // SAFETY: the tables of a type differ in whether it ticks, and in nothing that the
            // place depends on (invariant 17).
            unsafe { at.set_kind(kind) };
            // SAFETY: a component of this type is there, and not lent (invariant 17).
            let old = unsafe { component.replace(value) };
            return drop(old);
        }
        // Known from the type, where the table would have to be read.
        let fit = Fit::of::<T>();
        let (block, at, end) = self.reserve(fit);
        // SAFETY: reserved just now (invariant 17).
        let place = unsafe { at.component(fit) };
        // SAFETY: reserved for this type, and empty (invariant 17).
        unsafe { place.cast::<T>().write(value) };
        // SAFETY: its component is in its place (invariant 17).
        unsafe { at.set_kind(kind) };
        // SAFETY: the block is this value's own, and all of it is written (invariant 17).
        unsafe { block.set_used(end) };
        if needs_drop::<T>() {
            // SAFETY: as above (invariant 17).
            unsafe { block.set_drops(true) };
        }
    }

    /// Makes room for one more entry: in which block, where it begins, and at which offset it ends.
    #[inline]
    fn reserve(&mut self, fit: Fit) -> (Block, At, u32) {
        let (used, capacity, align) = match self.header() {
            Some(header) => (header.used, header.capacity, header.align),
            None => (FIRST, 0, ENTRY_ALIGN),
        };
        let block = match (self.block, fit.end(used)) {
            (Some(block), Some(end)) if end <= capacity && fit.suits(align) => Some((block, end)),
            _ => None,
        };
        let (block, end) = block.unwrap_or_else(|| self.make_room(fit, used, capacity, align));
        // SAFETY: so much is used (invariant 17).
        (block, unsafe { block.at(used) }, end)
    }

    /// A block with room for one more entry, and where that ends.
    #[cold]
    fn make_room(&mut self, fit: Fit, used: u32, capacity: u32, align: u32) -> (Block, u32) {
        let Some(end) = fit.end(used) else {
            panic!("the components of an actor take more than 2 GiB")
        };
        let capacity = end.max(capacity.saturating_mul(2)).max(SMALLEST);
        (self.grow(capacity, align.max(fit.align as u32)), end)
    }

    /// Gives back unused room, once no more components are added: a smaller block leaves more of
    /// the cache to others.
    pub(super) fn fit(&mut self) {
        let Some(&Header { used, capacity, align, .. }) = self.header() else { return };
        // An empty block goes back to the spares at once.
        if used > FIRST && capacity > SMALLEST && capacity - used >= capacity / 8 && !self.is_lent()
        {
            self.grow(used, align);
        }
    }

    /// Moves everything into another block. Offsets stay as they are.
    fn grow(&mut self, capacity: u32, align: u32) -> Block {
        let block = Block::new(capacity, align);
        if let Some(old) = self.block.replace(block) {
            // SAFETY: both are this value's own, nothing is lent while something is added, and the
            // new one is longer (invariant 17).
            unsafe { old.move_to(block) };
        }
        block
    }
}

impl Walk {
    /// Over all of them.
    #[inline]
    pub(super) fn of<C: Core>(components: &Components<C>) -> Walk {
        let Some(block) = components.block else {
            return Walk { at: At::NOWHERE, end: At::NOWHERE };
        };
        // SAFETY: there is a header, and behind it the first entry (invariant 17).
        let at = unsafe { block.at(FIRST) };
        // SAFETY: the block is theirs (invariant 17).
        let end = unsafe { block.end() };
        Walk { at, end }
    }

    /// Over the components to call: none while one is lent, since a block has one mark. That
    /// happens only after user code has exchanged actors.
    #[inline]
    pub(super) fn to_call<C: Core>(components: &Components<C>) -> Walk {
        let mut walk = Walk::of(components);
        if components.is_lent() {
            walk.at = walk.end;
        }
        walk
    }

    /// The table of the component that is next.
    ///
    /// # Safety
    /// * The components that it is over are there, and nothing was added to them.
    #[inline]
    pub(super) unsafe fn kind<C: Core>(&self) -> Option<&'static Kind<C>> {
        if self.at == self.end {
            return None;
        }
        // SAFETY: an entry begins here: the caller's duty (invariant 17).
        Some(unsafe { self.at.kind() })
    }

    /// Goes on to the next component: its table, its entry, and where it lies.
    ///
    /// # Safety
    /// * As for [`kind`](Walk::kind).
    #[inline]
    unsafe fn step<C: Core>(&mut self) -> Option<(&'static Kind<C>, At, NonNull<u8>)> {
        // SAFETY: the caller's duty (invariant 17).
        let kind = unsafe { self.kind::<C>() }?;
        let at = self.at;
        // SAFETY: the entry of such a component is here (invariant 17).
        let component = unsafe { at.component(kind.fit) };
        // SAFETY: as above (invariant 17).
        self.at = unsafe { at.next(kind.fit) };
        Some((kind, at, component))
    }
}

impl<C: Core> fmt::Debug for Components<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        let mut walk = Walk::of(self);
        // SAFETY: the components are borrowed (invariant 17).
        while let Some((kind, at, _)) = unsafe { walk.step::<C>() } {
            if self.lent() != Some(at) {
                list.entry(&(kind.name)());
            }
        }
        list.finish()
    }
}

//! The end of the components of an actor, and what is left of them for another: an empty block.

use std::marker::PhantomData;
use std::mem::forget;

use super::super::actor::Core;
use super::super::block::{At, Block, FIRST, Header};
use super::{Components, SMALLEST, Walk};
use crate::slot::contained;

/// The largest block that is worth keeping for another actor.
const LARGEST_KEPT: u32 = 1024;

impl<C: Core> Components<C> {
    /// Drops every component. The block stays, if another actor may have a use for it: one that was
    /// too large for this actor would hold more of the next as well.
    ///
    /// If a component panics, the others are dropped all the same, and the block is freed.
    #[inline]
    pub(in crate::scene) fn clear(&mut self) {
        let Some(&Header { used, capacity, drops, .. }) = self.header() else { return };
        let suits = capacity <= SMALLEST || used > capacity / 2;
        if !suits || capacity > LARGEST_KEPT || self.is_lent() {
            return drop(std::mem::take(self));
        }
        if drops {
            return self.clear_each();
        }
        if let Some(block) = self.block {
            // SAFETY: the block is this value's own, and nothing in it has to be dropped
            // (invariant 17).
            unsafe { block.set_used(FIRST) };
        }
    }

    /// Drops every component, and frees the block.
    fn end(&mut self) {
        if let Some(mut rest) = Rest::of(self) {
            rest.run();
        }
    }

    fn clear_each(&mut self) {
        let Some(mut rest) = Rest::of(self) else { return };
        rest.run();
        let block = rest.block;
        forget(rest);
        // SAFETY: the block is this value's own, and nothing is left in it (invariant 17).
        unsafe { block.set_used(FIRST) };
        // SAFETY: as above (invariant 17).
        unsafe { block.set_drops(false) };
        self.block = Some(block);
    }

    /// Whether there is a block, and nothing in it.
    #[inline]
    pub(in crate::scene) fn is_spare(&self) -> bool {
        self.header().is_some_and(|header| header.used == FIRST)
    }
}

impl<C: Core> Default for Components<C> {
    fn default() -> Components<C> {
        Components::new()
    }
}

/// The components that are not dropped yet, and the block.
struct Rest<C: Core> {
    block: Block,
    lent: Option<At>,
    walk: Walk,
    _tables: PhantomData<fn(C)>,
}

impl<C: Core> Rest<C> {
    /// Takes all that there is.
    fn of(components: &mut Components<C>) -> Option<Rest<C>> {
        let (lent, walk) = (components.lent(), Walk::of(components));
        let block = components.block.take()?;
        Some(Rest { block, lent, walk, _tables: PhantomData })
    }

    fn run(&mut self) {
        // SAFETY: nobody else has them (invariant 17).
        while let Some((kind, at, component)) = unsafe { self.walk.step::<C>() } {
            if self.lent == Some(at) {
                continue;
            }
            // SAFETY: it has a component of that type, which is dropped once, since the walk goes
            // on behind it (invariant 17).
            unsafe { (kind.drop)(component) };
        }
    }
}

impl<C: Core> Drop for Rest<C> {
    /// Drops what is left after a panic; the panic is unwinding, so further ones are contained.
    fn drop(&mut self) {
        while contained(|| self.run()).is_none() {}
        if self.lent.is_none() {
            // SAFETY: nobody else has it, and nothing is left in it (invariant 17).
            unsafe { self.block.free() };
        } else {
            // SAFETY: whoever called the component that is lent has the other half; all else was
            // dropped (invariant 17).
            unsafe { self.block.leave() };
        }
    }
}

impl<C: Core> Drop for Components<C> {
    /// If a component panics, the others are dropped and the block is freed all the same.
    #[inline]
    fn drop(&mut self) {
        if self.block().is_some() {
            self.end();
        }
    }
}

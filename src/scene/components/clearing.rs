//! The end of the components of an actor, and what is left of them for another: an empty block, under
//! another number.

use std::mem::forget;

use super::super::actor::Core;
use super::{Components, FIRST, NOBODY, SMALLEST, Walk};
use crate::sync::Number;

/// The largest block that is worth keeping for another actor.
const LARGEST_KEPT: u32 = 1024;

/// How many actors a block has, one after the other, under numbers that follow each other.
const NUMBERS: u64 = 1024;

static FRESH: Number = Number::starting_at(1);

impl<C: Core> Components<C> {
    /// Drops every component. The block stays, under another number, if another actor may have a use
    /// for it: one that was too large for this actor would hold more of the next as well.
    ///
    /// A component that panics keeps the others from nothing, and the block is freed.
    #[inline]
    pub(in crate::scene) fn clear(&mut self) {
        if self.block.is_none() {
            return;
        }
        let walk = Walk::of(self);
        let mut rest = Rest { components: self, walk };
        rest.run();
        forget(rest);
        let Some(header) = self.header_mut() else { return };
        let suits = header.capacity <= SMALLEST || header.used > header.capacity / 2;
        if !suits || header.capacity > LARGEST_KEPT {
            return self.free();
        }
        header.id = number_after(header.id);
        header.used = FIRST;
        header.out = NOBODY;
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

/// A number for a block that is made, with those that follow it to itself.
pub(super) fn fresh_number() -> u64 {
    FRESH.next() * NUMBERS
}

/// The number of a block for the next actor that has it.
#[inline]
fn number_after(number: u64) -> u64 {
    let next = number + 1;
    if next % NUMBERS == 0 { fresh_number() } else { next }
}

/// Drops the components that a walk has still to come by. One that panics does not keep the others,
/// nor the memory.
struct Rest<'a, C: Core> {
    components: &'a mut Components<C>,
    walk: Walk,
}

impl<C: Core> Rest<'_, C> {
    #[inline]
    fn run(&mut self) {
        while let Some((kind, data)) = self.walk.step(self.components) {
            if self.components.is_out(data) {
                continue;
            }
            // SAFETY: found just now in this block (invariant 17).
            let data = unsafe { self.components.at(data) };
            // SAFETY: it has a component of that type, which is dropped once, since the walk goes on
            // behind it, and whoever runs it forgets what is in the block (invariant 17).
            unsafe { (kind.drop)(data) };
        }
    }
}

impl<C: Core> Drop for Rest<'_, C> {
    fn drop(&mut self) {
        self.run();
        self.components.free();
    }
}

impl<C: Core> Drop for Components<C> {
    fn drop(&mut self) {
        if self.block.is_none() {
            return;
        }
        let walk = Walk::of(self);
        Rest { components: self, walk }.run();
    }
}

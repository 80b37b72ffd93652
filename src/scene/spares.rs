//! Empty blocks of components that destroyed actors have left, for the next actors.
//!
//! So a scene in which as many actors are created as destroyed allocates nothing. Of the blocks
//! that have been idle since the last sweep, a quarter is freed in the next: the memory of a burst
//! of deaths stays for some frames, and the next burst of creations finds some of it.

use std::fmt;

use super::actor::Core;
use super::components::Components;

/// One in so many idle blocks is freed in a sweep.
const IDLE_SHARE: usize = 4;

/// Blocks without components. They are freed with it.
pub(super) struct Spares<C: Core> {
    blocks: Vec<Components<C>>,
    /// The fewest blocks that there have been since the last sweep.
    idle: usize,
}

// SAFETY: whoever has it has the blocks to itself, and there is nothing in them (invariant 17).
unsafe impl<C: Core> Send for Spares<C> {}

impl<C: Core> Spares<C> {
    pub(super) const fn new() -> Spares<C> {
        Spares { blocks: Vec::new(), idle: 0 }
    }

    /// A block, or none yet.
    #[inline]
    pub(super) fn take(&mut self) -> Components<C> {
        let Some(block) = self.blocks.pop() else { return Components::new() };
        self.idle = self.idle.min(self.blocks.len());
        block
    }

    /// Keeps what is left of the components of an actor that is gone.
    #[inline]
    pub(super) fn keep(&mut self, left: Components<C>) {
        if left.is_spare() {
            self.blocks.push(left);
        }
    }

    /// Frees some of the blocks that have been idle since the last call.
    pub(super) fn trim(&mut self) {
        let stay = self.blocks.len() - self.idle.div_ceil(IDLE_SHARE);
        self.blocks.truncate(stay);
        self.idle = stay;
    }

    /// Frees all.
    pub(super) fn clear(&mut self) {
        *self = Spares::new();
    }
}

impl<C: Core> fmt::Debug for Spares<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spares").field("blocks", &self.blocks.len()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::{Actor, Component, TickContext};
    use super::*;

    struct Unit;
    impl Core for Unit {
        type Definition = ();
        type Position = ();
        type Public = ();
        fn construct((): ()) -> Unit {
            Unit
        }
        fn init(_: &mut Actor<Unit>, (): &()) {}
        fn publish(_: &Actor<Unit>) {}
        fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
    }

    struct Part<const BYTES: usize>(#[allow(dead_code, reason = "room")] [u8; BYTES]);
    impl<const BYTES: usize> Component<Unit> for Part<BYTES> {}

    fn left<const BYTES: usize>(mut components: Components<Unit>) -> Components<Unit> {
        components.add(Part([7; BYTES]));
        components.clear();
        assert!(components.get::<Part<BYTES>>().is_none());
        components
    }

    #[test]
    fn block_is_kept_that_suits_what_was_in_it() {
        let mut spares = Spares::new();
        spares.keep(left::<32>(Components::new()));
        spares.keep(Components::new());
        assert_eq!(spares.blocks.len(), 1);
        // It has grown for this one, and is too large for the next.
        let grown = left::<200>(spares.take());
        assert!(grown.is_spare());
        assert!(!left::<32>(grown).is_spare());
        assert!(!spares.take().is_spare());
    }

    #[test]
    fn idle_blocks_are_freed_bit_by_bit_and_used_ones_are_not() {
        let mut spares = Spares::new();
        (0..100).for_each(|_| spares.keep(left::<32>(Components::new())));
        spares.trim();
        assert_eq!(spares.blocks.len(), 100, "none has been idle since the last time");
        spares.trim();
        assert_eq!(spares.blocks.len(), 75);
        let used: Vec<_> = (0..75).map(|_| spares.take()).collect();
        used.into_iter().for_each(|block| spares.keep(left::<32>(block)));
        spares.trim();
        assert_eq!(spares.blocks.len(), 75);
        (0..20).for_each(|_| spares.trim());
        assert_eq!(spares.blocks.len(), 0);
    }
}

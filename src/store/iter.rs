//! Scans over the slots, in order.

use std::num::NonZeroU32;

use super::core::Core;
use crate::handle::Handle;
use crate::segment::Index;
use crate::state::{State, StateSet};

impl<T> Core<T> {
    /// What a scan yields for a slot: its entity, if it is readable and in one of `states`.
    ///
    /// Only for a caller that keeps the pin under which it calls for as long as the borrow lasts.
    #[inline]
    fn readable_at(&self, index: u64, states: StateSet) -> Option<(Handle, State, &T)> {
        let index = Index(index as u32);
        let slot = self.table.slot(index)?;
        let word = slot.word.read();
        let generation = NonZeroU32::new(word.generation())?;
        if !word.readable_as(generation.get()) || !states.contains(word.state()) {
            return None;
        }
        // SAFETY: an Acquire load saw the entity readable, under the caller's pin, which lasts as
        // long as the borrow of it (invariant 2, 4).
        let payload = unsafe { slot.payload.get() };
        Some((self.handle(index, generation), word.state(), payload))
    }

    /// Every entity in one of `states`, for a caller that lends its pin: see `readable_at`.
    pub(super) fn scan(&self, states: StateSet) -> impl Iterator<Item = (Handle, State, &T)> {
        (0..self.made()).filter_map(move |index| self.readable_at(index, states))
    }

    /// The same on rayon's threads: it holds the slots and the borrow of a pin, never the pin.
    #[cfg(feature = "rayon")]
    pub(super) fn par_scan(
        &self,
        states: StateSet,
    ) -> impl rayon::iter::ParallelIterator<Item = (Handle, State, &T)>
    where
        T: Send + Sync,
    {
        use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

        (0..self.made()).into_par_iter().filter_map(move |index| self.readable_at(index, states))
    }
}

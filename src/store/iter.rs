//! Scans over the slots, in order.

use std::num::NonZeroU32;
use std::ops::Range;
use std::{ptr, slice};

use super::core::Core;
use crate::handle::Handle;
use crate::memory::prefetch;
use crate::segment::{Index, Near};
use crate::slot::Slot;
use crate::state::{State, StateSet};
use crate::word::Filter;

/// Slots that one job of a parallel scan looks at.
#[cfg(feature = "rayon")]
const JOB: u64 = 1024;

/// How many bytes ahead of itself a scan asks for slots. A processor sees the stride and does so by
/// itself, but no further than the end of a page, which is some fifty slots away.
const AHEAD: usize = 4608;

/// Slots that are asked for, by their size: smaller ones fill lines so densely that asking for each
/// costs more than it saves, and of larger ones each waits for more than its first line.
const ASKED_FOR: Range<usize> = 33..1024;

/// Asks for a slot that comes later.
#[inline(always)]
fn ask_ahead<T>(slot: &Slot<T>) {
    let size = size_of::<Slot<T>>();
    if ASKED_FOR.contains(&size) {
        prefetch(ptr::from_ref(slot).wrapping_add(AHEAD / size));
    }
}

impl<T> Core<T> {
    /// Every entity in one of `states`, for a caller that lends its pin: it keeps the pin under
    /// which it calls for as long as the borrow lasts.
    pub(super) fn scan(&self, states: StateSet) -> Scan<'_, T> {
        Scan {
            core: self,
            filter: Filter::readable(states),
            run: [].iter(),
            place: Near::of(0),
            at: 0,
            end: self.made(),
        }
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

        let (made, filter) = (self.made(), Filter::readable(states));
        (0..made.div_ceil(JOB)).into_par_iter().flat_map_iter(move |job| {
            let (at, end) = (job * JOB, ((job + 1) * JOB).min(made));
            Scan { core: self, filter, run: [].iter(), place: Near::of(at), at, end }
        })
    }
}

/// A scan: it walks the slots of one segment after another.
#[derive(Debug)]
pub(super) struct Scan<'c, T> {
    core: &'c Core<T>,
    filter: Filter,
    /// What is left of the segment that it is in.
    run: slice::Iter<'c, Slot<T>>,
    /// The place of that segment.
    place: Near,
    /// The index of the next slot.
    at: u64,
    end: u64,
}

impl<'c, T> Scan<'c, T> {
    /// What the scan yields for a slot: its entity, if it is readable and in a state that is wanted.
    #[inline]
    fn read(&self, index: u64, slot: &'c Slot<T>) -> Option<(Handle, State, &'c T)> {
        let word = slot.word.read();
        if !word.passes(self.filter) {
            return None;
        }
        // SAFETY: a word comes to be readable under the generation of a vacancy, which is not zero
        // (invariant 1).
        let generation = unsafe { NonZeroU32::new_unchecked(word.generation()) };
        // SAFETY: an Acquire load saw the entity readable, under the caller's pin, which lasts as
        // long as the borrow of it (invariant 2, 4).
        let payload = unsafe { slot.payload.get() };
        let handle = self.core.handle_at(Index(index as u32), self.place, generation);
        Some((handle, word.state(), payload))
    }
}

impl<'c, T> Iterator for Scan<'c, T> {
    type Item = (Handle, State, &'c T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(slot) = self.run.next() {
                let index = self.at;
                self.at += 1;
                ask_ahead(slot);
                if let Some(entity) = self.read(index, slot) {
                    return Some(entity);
                }
            }
            if self.at >= self.end {
                return None;
            }
            match self.core.table.run(self.at, self.end) {
                Ok(slots) => {
                    self.run = slots.iter();
                    self.place = Near::of(self.at);
                }
                Err(missing) => self.at += missing,
            }
        }
    }
}

//! Scans over the slots, in order.

use std::num::NonZeroU32;
use std::ops::Range;
use std::{mem, slice};

use super::ahead::{Ahead, prefetch_slot};
use super::core::Core;
use super::windows::{Row, Window, Windows};
use crate::handle::Handle;
use crate::segment::{Index, Near};
use crate::slot::Slot;
use crate::state::{State, StateSet};
use crate::word::Filter;

/// Slots that one job of a parallel scan looks at.
#[cfg(feature = "rayon")]
const JOB: u64 = 1024;

/// How many bytes ahead a scan prefetches slots in a row. A processor recognises the stride and
/// does so by itself, but no further than the end of a page, which is some fifty slots away.
const AHEAD: usize = 4608;

impl<T> Core<T> {
    /// Iterates over the entities in one of `states`. The caller keeps the pin under which it calls
    /// for as long as the borrow lasts.
    pub(super) fn scan(&self, states: StateSet) -> Scan<'_, T> {
        Scan::over(self, Filter::readable(states), 0..self.made())
    }

    /// As [`scan`](Core::scan), on rayon's threads: it holds the slots and a borrow of the pin,
    /// never the pin itself.
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
            Scan::over(self, filter, job * JOB..((job + 1) * JOB).min(made))
        })
    }
}

/// A scan: the slots in the order of their indices, without those that have no mark.
#[derive(Debug)]
pub(super) struct Scan<'c, T> {
    core: &'c Core<T>,
    filter: Filter,
    /// The slots in a row that are looked at now.
    row: slice::Iter<'c, Slot<T>>,
    /// The index of the last of them.
    last: u32,
    /// Where their segment is.
    place: Near,
    /// The scattered slots that are looked at now.
    window: Window<'c, T>,
    /// Those that come next and were prefetched.
    ahead: Ahead<'c, T>,
    /// What comes after them.
    windows: Windows<'c, T>,
}

impl<'c, T> Scan<'c, T> {
    fn over(core: &'c Core<T>, filter: Filter, indices: Range<u64>) -> Scan<'c, T> {
        Scan {
            core,
            filter,
            row: [].iter(),
            last: 0,
            place: Near::of(0),
            window: Window::default(),
            ahead: Ahead::new(),
            windows: Windows::over(core, indices),
        }
    }

    /// Advances to the next slots to look at; returns whether there are any. Not inlined, so that
    /// `next` stays small enough to be.
    #[inline(never)]
    fn go_on(&mut self) -> bool {
        while self.ahead.has_room()
            && let Some(window) = self.windows.next_window()
        {
            self.ahead.push(window);
        }
        if let Some(window) = self.ahead.pop() {
            self.window = window;
            return true;
        }
        let Some(Row { slots, index, place }) = self.windows.next_row() else { return false };
        (self.row, self.place) = (slots.iter(), place);
        self.last = index + (slots.len() as u32 - 1);
        true
    }

    /// What the scan yields for a slot: its entity, if it is readable and in a state that is
    /// wanted.
    #[inline(always)]
    fn read(&self, index: u32, place: Near, slot: &'c Slot<T>) -> Option<(Handle, State, &'c T)> {
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
        Some((self.core.handle_at(Index(index), place, generation), word.state(), payload))
    }
}

impl<'c, T> Iterator for Scan<'c, T> {
    type Item = (Handle, State, &'c T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(slot) = self.row.next() {
                let index = self.last - self.row.len() as u32;
                prefetch_slot(slot, AHEAD);
                if let Some(entity) = self.read(index, self.place, slot) {
                    return Some(entity);
                }
            }
            while let Some((index, slot)) = self.window.take() {
                if let Some(entity) = self.read(index, self.window.place(), slot) {
                    return Some(entity);
                }
            }
            if !self.go_on() {
                return None;
            }
        }
    }

    /// Keeps in registers what `next` has to store back into the scan.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = init;
        loop {
            let row = mem::take(&mut self.row);
            let first = self.last + 1 - row.len() as u32;
            for (slot, index) in row.zip(first..) {
                prefetch_slot(slot, AHEAD);
                if let Some(entity) = self.read(index, self.place, slot) {
                    folded = f(folded, entity);
                }
            }
            let mut window = mem::take(&mut self.window);
            while let Some((index, slot)) = window.take() {
                if let Some(entity) = self.read(index, window.place(), slot) {
                    folded = f(folded, entity);
                }
            }
            if !self.go_on() {
                return folded;
            }
        }
    }
}

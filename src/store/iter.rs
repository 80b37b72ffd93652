//! Scans over the slots, in order.

use std::num::NonZeroU32;
use std::ops::Range;
use std::{ptr, slice};

use super::core::Core;
use super::windows::{Marked, Row, Windows};
use crate::handle::Handle;
use crate::memory::prefetch;
use crate::segment::{Index, Near};
use crate::slot::Slot;
use crate::state::{State, StateSet};
use crate::word::Filter;

/// Slots that one job of a parallel scan looks at.
#[cfg(feature = "rayon")]
const JOB: u64 = 1024;

/// The sizes of slots that a scan prefetches: smaller ones are so dense that a prefetch for each costs more
/// than it saves, and for larger ones a prefetch of the first line alone does not help.
const ASKED_FOR: Range<usize> = 33..1024;

/// How many bytes ahead a scan prefetches slots in a row. A processor recognises the stride and does so by
/// itself, but no further than the end of a page, which is some fifty slots away.
const AHEAD: usize = 4608;

/// How many scattered slots ahead a scan prefetches.
const SOME_AHEAD: usize = 16;

/// Prefetches the slot `bytes` after this one.
#[inline(always)]
fn ask<T>(slot: &Slot<T>, bytes: usize) {
    if ASKED_FOR.contains(&size_of::<Slot<T>>()) {
        prefetch(ptr::from_ref(slot).wrapping_byte_add(bytes));
    }
}

impl<T> Core<T> {
    /// Iterates over the entities in one of `states`. The caller keeps the pin under which it calls for as
    /// long as the borrow lasts.
    pub(super) fn scan(&self, states: StateSet) -> Scan<'_, T> {
        Scan::over(self, Filter::readable(states), 0..self.made())
    }

    /// As [`scan`](Core::scan), on rayon's threads: it holds the slots and a borrow of the pin, never the
    /// pin itself.
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
    /// The slots that are looked at now: several in a row, or a scattered one.
    slots: slice::Iter<'c, Slot<T>>,
    /// The index of the last of them.
    last: u32,
    place: Near,
    /// How many bytes ahead of each of them the scan prefetches.
    reach: usize,
    /// A ring of scattered slots that come next and were prefetched; `None` after the last one.
    asked: [Option<Marked<'c, T>>; SOME_AHEAD],
    /// The position in the ring.
    turn: usize,
    /// The slots after those in the ring.
    windows: Windows<'c, T>,
}

impl<'c, T> Scan<'c, T> {
    fn over(core: &'c Core<T>, filter: Filter, indices: Range<u64>) -> Scan<'c, T> {
        Scan {
            core,
            filter,
            slots: [].iter(),
            last: 0,
            place: Near::of(0),
            reach: 0,
            asked: [const { None }; SOME_AHEAD],
            turn: 0,
            windows: Windows::over(core, indices),
        }
    }

    /// Advances to the next slots to look at; returns whether there are any. Not inlined, so that `next`
    /// stays small enough to be.
    #[inline(never)]
    fn go_on(&mut self) -> bool {
        loop {
            if let Some(Marked { slot, index, place }) = self.take_asked() {
                (self.slots, self.last, self.place) = (slice::from_ref(slot).iter(), index, place);
                self.reach = 0;
                return true;
            }
            if let Some(Row { slots, index, place }) = self.windows.next_row() {
                (self.slots, self.place) = (slots.iter(), place);
                self.last = index + (slots.len() as u32 - 1);
                self.reach = AHEAD;
                return true;
            }
            if !self.ask_some() {
                return false;
            }
        }
    }

    /// Takes the next scattered slot out of the ring, and puts a newly prefetched one in its place.
    #[inline(always)]
    fn take_asked(&mut self) -> Option<Marked<'c, T>> {
        let turn = self.turn % SOME_AHEAD;
        let asked = self.asked[turn].take()?;
        self.asked[turn] = self.ask_scattered();
        self.turn = turn + 1;
        Some(asked)
    }

    /// Fills the ring with the first scattered slots after a row; returns whether there are any.
    #[inline(always)]
    fn ask_some(&mut self) -> bool {
        self.turn = 0;
        let mut some = 0;
        while some < SOME_AHEAD {
            self.asked[some] = self.ask_scattered();
            if self.asked[some].is_none() {
                break;
            }
            some += 1;
        }
        some > 0
    }

    #[inline(always)]
    fn ask_scattered(&mut self) -> Option<Marked<'c, T>> {
        let next = self.windows.next_scattered()?;
        ask(next.slot, 0);
        Some(next)
    }

    /// What the scan yields for a slot: its entity, if it is readable and in a state that is wanted.
    #[inline(always)]
    fn read(&self, index: u32, slot: &'c Slot<T>) -> Option<(Handle, State, &'c T)> {
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
        Some((self.core.handle_at(Index(index), self.place, generation), word.state(), payload))
    }
}

impl<'c, T> Iterator for Scan<'c, T> {
    type Item = (Handle, State, &'c T);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            while let Some(slot) = self.slots.next() {
                let index = self.last - self.slots.len() as u32;
                ask(slot, self.reach);
                if let Some(entity) = self.read(index, slot) {
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
            let (slots, reach) = (std::mem::take(&mut self.slots), self.reach);
            let first = self.last + 1 - slots.len() as u32;
            for (slot, index) in slots.zip(first..) {
                ask(slot, reach);
                if let Some(entity) = self.read(index, slot) {
                    folded = f(folded, entity);
                }
            }
            if !self.go_on() {
                return folded;
            }
        }
    }
}

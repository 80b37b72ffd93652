//! The slots that a scan has to look at, in the order of their indices: those with a mark, where
//! they lie scattered, and all in a row, where most have one.

use std::ops::Range;
use std::{iter, mem};

use super::core::Core;
use super::marks::{WINDOW, dense};
use super::mask::marked;
use crate::segment::{Near, Run};
use crate::slot::Slot;

/// How many marks make a window a row.
const MANY: u32 = WINDOW as u32 * 3 / 8;

/// Windows in one row at most.
const ROW: usize = 16;

/// Slots that follow one another in a segment.
#[derive(Debug)]
pub(super) struct Row<'c, T> {
    pub(super) slots: &'c [Slot<T>],
    /// The index of the first one.
    pub(super) index: u32,
    pub(super) place: Near,
}

impl<T> Default for Row<'_, T> {
    fn default() -> Self {
        Row { slots: &[], index: 0, place: Near::of(0) }
    }
}

/// The marked slots of a window, which are taken one by one.
#[derive(Debug)]
pub(super) struct Window<'c, T> {
    row: Row<'c, T>,
    /// Which slots are marked and were not taken, a bit for each.
    marked: u64,
    /// How many there were before any was taken.
    count: u32,
}

impl<T> Default for Window<'_, T> {
    fn default() -> Self {
        Window { row: Row::default(), marked: 0, count: 0 }
    }
}

impl<'c, T> Window<'c, T> {
    pub(super) fn place(&self) -> Near {
        self.row.place
    }

    /// How many slots there were to be taken.
    pub(super) fn count(&self) -> usize {
        self.count as usize
    }

    /// The slots that can be taken.
    #[inline(always)]
    pub(super) fn slots(&self) -> impl Iterator<Item = &'c Slot<T>> {
        let mut all = Window { row: Row { ..self.row }, ..*self };
        iter::from_fn(move || all.take()).map(|(_, slot)| slot)
    }

    /// Takes the next slot, with its index.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<(u32, &'c Slot<T>)> {
        let offset = self.marked.trailing_zeros();
        // None are left: then the offset is beyond every window.
        let slot = self.row.slots.get(offset as usize)?;
        self.marked &= self.marked - 1;
        Some((self.row.index + offset, slot))
    }
}

/// The slots of some indices, a window at a time.
#[derive(Debug)]
pub(super) struct Windows<'c, T> {
    core: &'c Core<T>,
    /// What was found and not taken: a window, or a row, if it has marks.
    found: Window<'c, T>,
    is_row: bool,
    /// What is left of the segment behind it.
    rest: Run<'c, T>,
    /// The index where the rest begins.
    at: u64,
    end: u64,
}

impl<'c, T> Windows<'c, T> {
    pub(super) fn over(core: &'c Core<T>, indices: Range<u64>) -> Windows<'c, T> {
        let Range { start: at, end } = indices;
        Windows { core, found: Window::default(), is_row: false, rest: Run::default(), at, end }
    }

    /// The next window that has marked slots, unless a row comes before it.
    #[inline(always)]
    pub(super) fn next_window(&mut self) -> Option<Window<'c, T>> {
        if !self.find() || self.is_row {
            return None;
        }
        Some(mem::take(&mut self.found))
    }

    /// The row that is next, unless a window comes before it.
    #[inline(always)]
    pub(super) fn next_row(&mut self) -> Option<Row<'c, T>> {
        if !self.find() || !self.is_row {
            return None;
        }
        Some(mem::take(&mut self.found).row)
    }

    /// Finds a window, or a row, from which something is left to take; whether there is one.
    #[inline(always)]
    fn find(&mut self) -> bool {
        while self.found.marked == 0 {
            if self.rest.slots.is_empty() {
                if self.at >= self.end {
                    return false;
                }
                match self.core.table.marked_run(self.at, self.end) {
                    Ok(run) => self.rest = run,
                    Err(missing) => self.at += missing,
                }
                continue;
            }
            self.go_on();
        }
        true
    }

    /// Goes on to what comes next in the segment.
    #[inline(always)]
    fn go_on(&mut self) {
        let row = dense(self.rest.marks, ROW);
        let length = if row > 0 { row } else { self.rest.slots.len().min(WINDOW) };
        let (Run { slots, marks }, rest) = self.rest.split_at(length);
        let marked = if row > 0 { u64::MAX } else { marked(marks) };
        let count = marked.count_ones();
        self.is_row = count >= MANY;
        let row = Row { slots, index: self.at as u32, place: Near::of(self.at) };
        self.found = Window { row, marked, count };
        self.rest = rest;
        self.at += length as u64;
    }
}

//! The slots that a scan has to look at, in the order of their indices: those with a mark, where they lie
//! scattered, and all in a row, where most have one.

use std::ops::Range;

use super::core::Core;
use super::marks::{WINDOW, dense, marked};
use crate::segment::{Near, Run};
use crate::slot::Slot;

/// How many marks make a window a row.
const MANY: u32 = WINDOW as u32 * 3 / 8;

/// Windows in one row at most.
const ROW: usize = 16;

/// A slot that is marked.
#[derive(Debug)]
pub(super) struct Marked<'c, T> {
    pub(super) slot: &'c Slot<T>,
    pub(super) index: u32,
    pub(super) place: Near,
}

/// Slots that follow one another in a segment.
#[derive(Debug)]
pub(super) struct Row<'c, T> {
    pub(super) slots: &'c [Slot<T>],
    /// The index of the first one.
    pub(super) index: u32,
    pub(super) place: Near,
}

/// The slots of some indices, a window at a time.
#[derive(Debug)]
pub(super) struct Windows<'c, T> {
    core: &'c Core<T>,
    /// The window, or the row.
    here: Row<'c, T>,
    /// Which slots of the window are marked and were not taken, a bit for each; not zero for a row that
    /// was not taken.
    marked: u64,
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
        let here = Row { slots: &[], index: 0, place: Near::of(at) };
        Windows { core, here, marked: 0, is_row: false, rest: Run::default(), at, end }
    }

    /// The next marked slot, unless a row comes before it.
    #[inline(always)]
    pub(super) fn next_scattered(&mut self) -> Option<Marked<'c, T>> {
        if !self.find() || self.is_row {
            return None;
        }
        let offset = self.marked.trailing_zeros();
        self.marked &= self.marked - 1;
        let Row { slots, index, place } = self.here;
        Some(Marked { slot: slots.get(offset as usize)?, index: index + offset, place })
    }

    /// The row that is next, unless a scattered slot is.
    #[inline(always)]
    pub(super) fn next_row(&mut self) -> Option<Row<'c, T>> {
        if !self.find() || !self.is_row {
            return None;
        }
        self.marked = 0;
        let Row { slots, index, place } = self.here;
        Some(Row { slots, index, place })
    }

    /// Finds a window, or a row, from which something is left to take; whether there is one.
    #[inline(always)]
    fn find(&mut self) -> bool {
        while self.marked == 0 {
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
        self.marked = if row > 0 { u64::MAX } else { marked(marks) };
        self.is_row = self.marked.count_ones() >= MANY;
        self.here = Row { slots, index: self.at as u32, place: Near::of(self.at) };
        self.rest = rest;
        self.at += length as u64;
    }
}

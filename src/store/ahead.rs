//! What a scan prefetches.

use std::ops::Range;
use std::{mem, ptr};

use super::windows::Window;
use crate::memory::prefetch;
use crate::slot::Slot;

/// The sizes of slots that a scan prefetches: smaller ones are so dense that a prefetch for each
/// costs more than it saves, and for larger ones a prefetch of the first line alone does not help.
const PREFETCHED: Range<usize> = 33..1024;

/// A scan prefetches scattered slots until it has so many ahead of it, or so many windows of them.
const SLOTS_AHEAD: usize = 32;
const WINDOWS_AHEAD: usize = 8;

/// Prefetches the slot `bytes` after this one.
#[inline(always)]
pub(super) fn prefetch_slot<T>(slot: &Slot<T>, bytes: usize) {
    if PREFETCHED.contains(&size_of::<Slot<T>>()) {
        prefetch(ptr::from_ref(slot).wrapping_byte_add(bytes));
    }
}

/// Windows whose marked slots were prefetched, the first one first.
#[derive(Debug)]
pub(super) struct Ahead<'c, T> {
    ring: [Window<'c, T>; WINDOWS_AHEAD],
    first: usize,
    windows: usize,
    /// How many slots they have together.
    slots: usize,
}

impl<'c, T> Ahead<'c, T> {
    /// None.
    pub(super) fn new() -> Ahead<'c, T> {
        Ahead { ring: Default::default(), first: 0, windows: 0, slots: 0 }
    }

    /// Whether more should be prefetched.
    #[inline(always)]
    pub(super) fn has_room(&self) -> bool {
        self.slots < SLOTS_AHEAD && self.windows < WINDOWS_AHEAD
    }

    /// Prefetches the slots of a window.
    #[inline(always)]
    pub(super) fn push(&mut self, window: Window<'c, T>) {
        window.slots().for_each(|slot| prefetch_slot(slot, 0));
        self.slots += window.count();
        self.ring[(self.first + self.windows) % WINDOWS_AHEAD] = window;
        self.windows += 1;
    }

    /// The first window, whose slots should have arrived by now.
    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<Window<'c, T>> {
        self.windows = self.windows.checked_sub(1)?;
        let window = mem::take(&mut self.ring[self.first]);
        self.first = (self.first + 1) % WINDOWS_AHEAD;
        self.slots -= window.count();
        Some(window)
    }
}

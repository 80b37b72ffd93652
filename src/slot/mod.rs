//! A slot: its word and its payload, side by side, so that most look-ups touch a single cache line.
//!
//! Who may touch what (the invariants' numbers are those of `docs/design.md`):
//!
//! * The word changes by compare-and-swap, or by a plain store of its owner (invariant 3). A slot
//!   is owned by whoever took its index out of a box, from then until it is published or given
//!   back (invariant 5), and by its guard while the word says guarded.
//! * The payload is initialised from the moment before the word leaves `None` until it is dropped:
//!   in Pending, Active, Dying, and in Dead unless the word says emptied.
//! * The payload is written and dropped by the owner only; everybody else reads it through `&T`,
//!   after an Acquire load that saw Active or Dying, and within a pin or a hold (invariant 2, 4).

mod payload;

pub(crate) use payload::{PayloadCell, contained, forget_panic, in_destructor};

use crate::word::StateWord;

/// What a slot has besides word and payload: nothing in a store, its place in a stack in a pool.
///
/// # Safety
/// * All zeroes is a value, the same as the default. (Model builds construct it.)
pub(crate) unsafe trait Header: Default {
    /// A type with the slot's alignment: slots that different threads write all the time do not
    /// share a cache line.
    type Align;
}

// SAFETY: nothing at all is all zeroes (invariant 12).
unsafe impl Header for () {
    type Align = u64;
}

/// One slot. All zeroes is a slot that was never used.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Slot<T, H: Header = ()> {
    _align: [H::Align; 0],
    pub(crate) word: StateWord,
    pub(crate) header: H,
    pub(crate) payload: PayloadCell<T>,
}

impl<T, H: Header> Slot<T, H> {
    /// Model builds construct their slots: loom's atomics are not plain memory.
    #[cfg(all(loom, test))]
    pub(crate) fn new() -> Slot<T, H> {
        Slot {
            _align: [],
            word: StateWord::new(),
            header: H::default(),
            payload: PayloadCell::new(),
        }
    }
}

//! Payloads whose misuse is a report, not a corrupted heap.
//!
//! A [`Tomb`] points to a stone in a [`Graveyard`], which outlives the execution's every entity.
//! Reading the tomb reads a loom cell in the stone and its destructor writes it, so a destructor
//! that runs too early shows as "Causality violation", and one that runs twice is counted. The
//! store contains the panics of destructors, so what goes wrong there is kept for the harness.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use loom::cell::UnsafeCell;

/// What went wrong inside destructors in this execution.
static VIOLATIONS: AtomicUsize = AtomicUsize::new(0);

pub(super) fn forget_violations() {
    VIOLATIONS.store(0, Ordering::Relaxed);
}

pub(super) fn assert_no_violations() {
    let violations = VIOLATIONS.load(Ordering::Relaxed);
    assert_eq!(violations, 0, "a payload's destructor ran too early, or twice");
}

/// Runs what a destructor does to a watched cell: its panic is contained by the library, and
/// therefore kept for the harness.
pub(super) fn noting(access: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(access)).is_err() {
        VIOLATIONS.fetch_add(1, Ordering::Relaxed);
    }
}

struct Stone {
    cell: UnsafeCell<()>,
    name: u32,
    dropped: AtomicUsize,
}

/// Keeps the memory behind every tomb until the execution ends.
#[derive(Clone, Default)]
pub(super) struct Graveyard(Arc<Mutex<Vec<Box<Stone>>>>);

// SAFETY: the stones' cells are watched by loom, whatever thread touches them.
unsafe impl Send for Graveyard {}
// SAFETY: as above.
unsafe impl Sync for Graveyard {}

impl Graveyard {
    /// A payload that says `name` when it is read.
    pub(super) fn tomb(&self, name: u32) -> Tomb {
        let stone =
            Box::new(Stone { cell: UnsafeCell::new(()), name, dropped: AtomicUsize::new(0) });
        let tomb = Tomb(NonNull::from(&*stone));
        self.0.lock().unwrap().push(stone);
        tomb
    }

    /// How many payloads were dropped.
    pub(super) fn dropped(&self) -> usize {
        let stones = self.0.lock().unwrap();
        stones.iter().map(|stone| stone.dropped.load(Ordering::Relaxed)).sum()
    }

    /// Fails unless every payload was dropped exactly once.
    pub(super) fn assert_all_dropped(&self) {
        for stone in self.0.lock().unwrap().iter() {
            let dropped = stone.dropped.load(Ordering::Relaxed);
            assert_eq!(dropped, 1, "payload {} was dropped {dropped} times", stone.name);
        }
    }
}

/// A payload.
pub(super) struct Tomb(NonNull<Stone>);

// SAFETY: as for the graveyard.
unsafe impl Send for Tomb {}
// SAFETY: as above.
unsafe impl Sync for Tomb {}

impl Tomb {
    fn stone(&self) -> &Stone {
        // SAFETY: the graveyard keeps it, even from a tomb that is read or dropped too late.
        unsafe { self.0.as_ref() }
    }

    /// Reads it; what its maker called it.
    pub(super) fn read(&self) -> u32 {
        let stone = self.stone();
        stone.cell.with(|_| ());
        assert_eq!(stone.dropped.load(Ordering::Relaxed), 0, "{} read after its end", stone.name);
        stone.name
    }
}

impl Drop for Tomb {
    fn drop(&mut self) {
        let stone = self.stone();
        let again = stone.dropped.fetch_add(1, Ordering::Relaxed) > 0;
        if again {
            VIOLATIONS.fetch_add(1, Ordering::Relaxed);
        }
        noting(|| stone.cell.with_mut(|_| ()));
    }
}

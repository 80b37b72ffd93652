//! The count of open `Store`s, in an object that outlives the store.

use crate::sync::{AtomicUsize, Ordering, planted};

/// So many references exist only if most were forgotten. Before the count wraps to zero, the
/// process is aborted, as by `Arc`.
const MOST: usize = isize::MAX as usize;

/// The count of open `Store` references. At zero the store is closed for ever.
#[derive(Debug)]
pub(crate) struct Gate(AtomicUsize);

impl Gate {
    /// Open, with one reference.
    pub(crate) fn new() -> Gate {
        Gate(AtomicUsize::new(1))
    }

    /// Adds a reference, for a caller that has one.
    pub(crate) fn enter_again(&self) {
        // Relaxed: the caller's reference keeps the store open; the count guards no other data.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before > 0, "only an open store is cloned");
        if before > MOST {
            std::process::abort();
        }
    }

    /// Adds a reference, unless the store is closed; whether it did.
    pub(crate) fn try_enter(&self) -> bool {
        // Relaxed: the count is compared again below.
        let mut open = self.0.load(Ordering::Relaxed);
        while open > 0 || planted("upgrade of a closed store") {
            if open > MOST {
                std::process::abort();
            }
            // Relaxed: the caller received the store's memory with its weak reference.
            match self.0.compare_exchange_weak(open, open + 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(actual) => open = actual,
            }
        }
        false
    }

    /// Removes a reference; whether it was the last, so that the caller must close the store.
    pub(crate) fn leave(&self) -> bool {
        // AcqRel K1: each call publishes what was done through its reference, and the last one
        // receives all of it.
        self.0.fetch_sub(1, ord!(AcqRel: K1)) == 1
    }

    /// Whether the store is closed, which it then stays.
    pub(crate) fn closed(&self) -> bool {
        // Relaxed: the count guards no other data.
        self.0.load(Ordering::Relaxed) == 0
    }
}

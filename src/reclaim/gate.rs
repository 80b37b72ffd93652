//! How many `Store`s there are of a store, in an object that outlives it.

use crate::sync::{AtomicUsize, Ordering, planted};

/// More references than this were forgotten, not dropped: the count would come round to zero, so
/// the process is ended, as by `Arc`.
const MOST: usize = isize::MAX as usize;

/// The count of open `Store` references. At zero the store is closed for ever.
#[derive(Debug)]
pub(crate) struct Gate(AtomicUsize);

impl Gate {
    /// With one reference.
    pub(crate) fn new() -> Gate {
        Gate(AtomicUsize::new(1))
    }

    /// One reference more, for somebody who has one.
    pub(crate) fn enter_again(&self) {
        // Relaxed: the caller's reference keeps the store open; nothing is read behind the count.
        let before = self.0.fetch_add(1, Ordering::Relaxed);
        debug_assert!(before > 0, "only an open store is cloned");
        if before > MOST {
            std::process::abort();
        }
    }

    /// One reference more, unless the store is closed.
    pub(crate) fn try_enter(&self) -> bool {
        // Relaxed: the count is compared again below.
        let mut open = self.0.load(Ordering::Relaxed);
        while open > 0 || planted("upgrade of a closed store") {
            if open > MOST {
                std::process::abort();
            }
            // Relaxed: who has a weak reference received the store's memory with it.
            match self.0.compare_exchange_weak(open, open + 1, Ordering::Relaxed, Ordering::Relaxed)
            {
                Ok(_) => return true,
                Err(actual) => open = actual,
            }
        }
        false
    }

    /// One reference less; whether it was the last and the caller must close the store.
    pub(crate) fn leave(&self) -> bool {
        // AcqRel K1: the last one to leave comes after everything that the others did through
        // theirs; each hands on what it did.
        self.0.fetch_sub(1, ord!(AcqRel: K1)) == 1
    }

    /// Whether the store is closed: it stays so.
    pub(crate) fn closed(&self) -> bool {
        // Relaxed: nothing is read behind it.
        self.0.load(Ordering::Relaxed) == 0
    }
}

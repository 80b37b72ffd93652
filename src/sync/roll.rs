//! A roll: how many threads have a seat, and whether any is present, told from seats that each
//! thread writes alone. It is not modelled and orders nothing: it only tells how long waiting is
//! worthwhile, and who has company.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use crossbeam_utils::CachePadded;

use super::Counter;

/// Every chair that was ever made; one that was given up is reused.
#[derive(Clone, Debug)]
pub(crate) struct Roll(Arc<Chairs>);

#[derive(Debug)]
struct Chairs {
    first: AtomicPtr<CachePadded<Chair>>,
    taken: Counter,
}

/// A cache line that belongs to one thread, which alone writes how many are present.
#[derive(Debug)]
struct Chair {
    taken: AtomicBool,
    present: AtomicU32,
    /// Set before the chair is linked, never changed.
    next: AtomicPtr<CachePadded<Chair>>,
}

/// A chair that its thread has to itself until this is dropped.
#[derive(Debug)]
pub(crate) struct Seat {
    roll: Roll,
    chair: *const CachePadded<Chair>,
}

impl Chairs {
    fn iter(&self) -> impl Iterator<Item = &CachePadded<Chair>> {
        // Acquire: receives the chair and its link; pairs with the Release in `add`.
        let mut at = self.first.load(Ordering::Acquire);
        std::iter::from_fn(move || {
            // SAFETY: a chair that was linked stays until the roll is dropped (invariant 11).
            let chair = unsafe { at.as_ref() }?;
            // Relaxed: set before the chair was linked.
            at = chair.next.load(Ordering::Relaxed);
            Some(chair)
        })
    }

    fn add(&self) -> *const CachePadded<Chair> {
        let mut fresh = Box::new(CachePadded::new(Chair {
            taken: AtomicBool::new(true),
            present: AtomicU32::new(0),
            next: AtomicPtr::new(ptr::null_mut()),
        }));
        // Relaxed: linked to, not looked into.
        let mut first = self.first.load(Ordering::Relaxed);
        loop {
            *fresh.next.get_mut() = first;
            let chair = Box::into_raw(fresh);
            // Release: publishes the chair to `iter`. Nothing is unlinked, so there is no ABA.
            let added = self.first.compare_exchange_weak(
                first,
                chair,
                Ordering::Release,
                Ordering::Relaxed,
            );
            match added {
                Ok(_) => return chair,
                // SAFETY: made above, and nobody else has seen it (invariant 11).
                Err(actual) => (first, fresh) = (actual, unsafe { Box::from_raw(chair) }),
            }
        }
    }
}

impl Drop for Chairs {
    fn drop(&mut self) {
        let mut at = *self.first.get_mut();
        while !at.is_null() {
            // SAFETY: the roll goes, so nobody has a seat; `add` made it (invariant 11).
            let mut chair = unsafe { Box::from_raw(at) };
            at = *chair.next.get_mut();
        }
    }
}

impl Roll {
    pub(crate) fn new() -> Roll {
        Roll(Arc::new(Chairs { first: AtomicPtr::new(ptr::null_mut()), taken: Counter::new(0) }))
    }

    /// Whether anybody was present a moment ago.
    pub(crate) fn anybody(&self) -> bool {
        // Relaxed: a hint.
        self.0.iter().any(|chair| chair.present.load(Ordering::Relaxed) > 0)
    }

    /// How many seats are taken.
    pub(crate) fn seated(&self) -> u64 {
        self.0.taken.get()
    }

    /// A seat for the calling thread.
    pub(crate) fn take_seat(&self) -> Seat {
        // Acquire: receives the count as the owner before left it, zero; pairs with the Release in
        // the drop of its seat. Without it this thread could add to a count that it has never seen
        // go down, and one of the two would be lost.
        let free = |chair: &&CachePadded<Chair>| !chair.taken.swap(true, Ordering::Acquire);
        let chair = self.0.iter().find(free).map_or_else(|| self.0.add(), ptr::from_ref);
        self.0.taken.add_shared(1);
        Seat { roll: self.clone(), chair }
    }
}

impl Seat {
    #[inline]
    fn chair(&self) -> &Chair {
        // SAFETY: a chair stays until the roll is dropped, and the seat keeps the roll
        // (invariant 11).
        unsafe { &*self.chair }
    }

    /// Whether this is the only seat that is taken.
    pub(crate) fn is_alone(&self) -> bool {
        self.roll.seated() == 1
    }

    /// One more is present.
    #[inline]
    pub(crate) fn enter(&self) {
        let present = &self.chair().present;
        // Relaxed: a hint, and this thread alone writes it.
        present.store(present.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// One less is present.
    #[inline]
    pub(crate) fn leave(&self) {
        let present = &self.chair().present;
        // Relaxed: see `enter`.
        present.store(present.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        debug_assert!(self.roll.0.iter().any(|chair| ptr::eq(chair, self.chair)));
        self.roll.0.taken.sub_shared(1);
        // Release: hands the count on to the next owner, see `take_seat`.
        self.chair().taken.store(false, Ordering::Release);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn roll_tells_of_anybody_present_and_reuses_chairs() {
        let roll = Roll::new();
        assert!(!roll.anybody());
        let (one, two) = (roll.take_seat(), roll.take_seat());
        one.enter();
        two.enter();
        one.leave();
        assert!(roll.anybody());
        two.leave();
        assert!(!roll.anybody());
        assert_eq!((roll.seated(), one.is_alone()), (2, false));
        drop(two);
        assert!(one.is_alone());
        let _again = roll.take_seat();
        assert_eq!(roll.seated(), 2);
        assert_eq!(roll.0.iter().count(), 2);
    }
}

//! Who is the oldest: for the policy that ends the oldest to make room.
//!
//! A queue of activations would grow without bound under churn, and would lose an entity that was
//! passed over because it was held. So nothing is queued: every activation takes a *stamp* from a
//! counter, and when room is needed a scan collects the k oldest into a list, which is used for
//! many evictions. Each eviction walks over the list from a cursor that passes only what has ended,
//! so what is held now is looked at again the next time. When nothing on the list can be ended, a
//! new scan looks for more.
//!
//! **The promise.** E is never ended while F, whose activation returned before E's began, can be
//! ended throughout the call. Why it holds:
//!
//! * F's stamp is smaller than E's: it was taken before.
//! * A scan lists only stamps below its *horizon*, the counter as it stood before the scan. So if E
//!   is listed, E's activation had begun by then, F was visible, and the scan saw F.
//! * The list has the oldest of what the scan saw. So F is listed before E, and every eviction that
//!   comes to E has tried F before.
//!
//! The memory of a list is bounded by the capacity, whatever the churn, and the number of lists is
//! bounded too: while readers hold back too many replaced ones, a call keeps its list to itself.

mod elders;

use std::ptr;

use crossbeam_utils::CachePadded;

pub(crate) use self::elders::{Attempt, Elder, Selection};

use self::elders::Elders;
use crate::memory::{OutOfMemory, boxed};
use crate::reclaim::Session;
use crate::sync::{AtomicPtr, AtomicU64, Counter, Ordering, planted};

/// How many of the oldest a scan collects at least.
const FEWEST: usize = if cfg!(all(loom, test)) { 1 } else { 64 };

/// How many replaced lists readers may hold back, at most; more, as long as they have no more
/// entries than [`ENTRIES`] together. A thread that is preempted in the middle of a walk holds back
/// all that others replace during a whole time slice, and without a shared list each call scans for
/// itself.
const REPLACED: u64 = 4;
const ENTRIES: u64 = 1 << 14;

/// The capacity from which a scan costs more than asking the collector to advance.
const LARGE: usize = 1024;

/// The stamps, and the list of the oldest that all evictions share.
#[derive(Debug)]
pub(crate) struct Seniority {
    next: CachePadded<AtomicU64>,
    listed: AtomicPtr<Elders>,
    /// The entries of lists that were replaced and are not dropped yet, and one more for each.
    replaced: std::sync::Arc<Counter>,
    /// No list is longer.
    capacity: usize,
}

impl Seniority {
    pub(crate) fn new(capacity: usize) -> Seniority {
        Seniority {
            next: CachePadded::new(AtomicU64::new(1)),
            listed: AtomicPtr::new(ptr::null_mut()),
            replaced: std::sync::Arc::new(Counter::new(0)),
            capacity,
        }
    }

    /// A stamp for an activation that begins now.
    #[inline]
    pub(crate) fn stamp(&self) -> u64 {
        // Release S1: whoever has a horizon above this stamp sees what was activated before this
        // activation began; pairs with the Acquire S1 in `horizon`. The stamps taken after it are
        // read-modify-writes, so its release sequence goes on.
        self.next.fetch_add(1, ord!(Release: S1))
    }

    /// Stamps from here on are still to be given out.
    pub(crate) fn horizon(&self) -> u64 {
        // Acquire S1: receives every activation that returned before one with a smaller stamp
        // began: the scan, which comes after, sees it.
        self.next.load(ord!(Acquire: S1))
    }

    /// Ends the oldest that can be ended: `scan` offers every life to the selection, `end` tries to
    /// end one. `None` if there was none that could be ended.
    ///
    /// Lock-free: a call scans again only when others have activated entities meanwhile, or with
    /// twice the list, up to the capacity.
    pub(crate) fn end_oldest<W>(
        &self,
        session: &Session,
        scan: impl Fn(&mut Selection),
        mut end: impl FnMut(Elder) -> Attempt<W>,
    ) -> Result<Option<W>, OutOfMemory> {
        let mut most = (self.capacity / 4).max(FEWEST);
        loop {
            // Acquire E1: receives the list; pairs with the Release E1 in `replace`.
            let listed = self.listed.load(ord!(Acquire: E1));
            // SAFETY: the session's pin keeps a list that was seen under it (invariant 14).
            if let Some(elders) = unsafe { listed.as_ref() } {
                match elders.walk(&mut end) {
                    Ok(won) => return Ok(Some(won)),
                    Err(in_use) => most = most.max(2 * in_use),
                }
            }
            let fresh = self.select(most.min(self.capacity), &scan)?;
            let outcome = fresh.walk(&mut end);
            let complete = !fresh.cut && !fresh.younger;
            self.replace(session, listed, fresh);
            match outcome {
                Ok(won) => return Ok(Some(won)),
                Err(_) if complete => return Ok(None),
                Err(in_use) => most = most.max(2 * in_use),
            }
        }
    }

    fn select(
        &self,
        most: usize,
        scan: impl Fn(&mut Selection),
    ) -> Result<Box<Elders>, OutOfMemory> {
        let mut selection = Selection::new(most, || self.horizon())?;
        scan(&mut selection);
        boxed(selection.finish()?)
    }

    /// Shares a list in place of the one that was found, unless others have done so or readers
    /// hold too many back.
    fn replace(&self, session: &Session, listed: *mut Elders, fresh: Box<Elders>) {
        let entries = fresh.len() as u64 + 1;
        if self.replaced.get() >= ENTRIES.max(REPLACED * entries) {
            // Or every call would scan for itself until some pin happens to advance the epoch.
            if self.capacity >= LARGE {
                session.hurry();
            }
            return;
        }
        let fresh = Box::into_raw(fresh);
        // Release E1: publishes the list. Relaxed on failure: the list is this call's own again.
        match self.listed.compare_exchange(listed, fresh, ord!(Release: E1), Ordering::Relaxed) {
            Ok(_) if listed.is_null() => {}
            Ok(_) => {
                let replaced = std::sync::Arc::clone(&self.replaced);
                // SAFETY: `replace` made it, from a box, and took it out of everybody's reach just
                // now; who has seen it before is pinned (invariant 14).
                let list = unsafe { Box::from_raw(listed) };
                let entries = list.len() as u64 + 1;
                self.replaced.add_shared(entries);
                if planted("list dropped under its readers") {
                    list.oldest.with_mut(|_| ());
                    // Kept, so that who reads it finds it: loom reports that it is read.
                    return std::mem::forget(list);
                }
                session.defer_drop(list, entries, replaced);
            }
            // SAFETY: made above, and nobody else has seen it (invariant 14).
            Err(_) => drop(unsafe { Box::from_raw(fresh) }),
        }
    }
}

impl Drop for Seniority {
    fn drop(&mut self) {
        // Relaxed: the drop has the lists to itself, and comes after all that was shared.
        let listed = self.listed.load(Ordering::Relaxed);
        if !listed.is_null() {
            // SAFETY: `replace` made it, from a box, and nobody can see it any more (invariant 14).
            drop(unsafe { Box::from_raw(listed) });
        }
    }
}

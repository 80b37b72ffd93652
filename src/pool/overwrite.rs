//! The policy that overwrites the oldest: an acquisition takes the object of the lease that was
//! acquired first, where that is not in use.
//!
//! Who is the oldest is told as in a store (`seniority/`): every lease has a stamp, which is its
//! number; a scan lists the oldest, and each acquisition walks the list, passing over what is in
//! use and coming back to it the next time. Slots are given to other leases without a grace period,
//! so a scan may read the stamp of a later lease than the one whose word it saw. That one has ended
//! then, and the entry in the list is dead; the later one's stamp is above the horizon of the scan.

use crate::memory::OutOfMemory;
use crate::reclaim::{Domain, Session};
use crate::recycle::Recycle;
use crate::segment::Index;
use crate::seniority::{Attempt, Elder, Selection, Seniority};
use crate::slot::in_destructor;
use crate::state::State;
use crate::sync::Ordering;
use crate::word::Refusal;

use super::core::Core;
use super::rest::{Origin, Slot, Taken};

/// What a pool that overwrites has beside the others.
#[derive(Debug)]
pub(super) struct Overwriting {
    seniority: Seniority,
    /// For the lists of the oldest, which are shared.
    domain: Domain,
}

impl Overwriting {
    pub(super) fn new(capacity: usize) -> Overwriting {
        Overwriting { seniority: Seniority::new(capacity), domain: Domain::new() }
    }

    /// Stamps from here on are still to be given out.
    pub(super) fn horizon(&self) -> u64 {
        self.seniority.horizon()
    }
}

impl<T> Core<T> {
    /// The number of a lease that is about to be given out, and its stamp where that matters.
    #[inline]
    pub(super) fn number(&self, index: Index) -> u64 {
        match &self.overwriting {
            None => self.sequence.next(),
            Some(overwriting) => self.stamp(overwriting, index),
        }
    }

    /// Apart, so that the way of all other pools stays short.
    #[inline(never)]
    fn stamp(&self, overwriting: &Overwriting, index: Index) -> u64 {
        let stamp = overwriting.seniority.stamp();
        // Relaxed: the caller owns the slot, and gives it out with Release afterwards; a scan reads
        // the stamp after it saw the lease, with Acquire.
        self.slots.stamp(index).store(stamp, Ordering::Relaxed);
        stamp
    }

    /// Offers every lease to a selection.
    fn offer_all(&self, selection: &mut Selection) {
        for (index, slot) in self.every_slot() {
            let word = slot.word.read();
            if word.state() != State::Active {
                continue;
            }
            // Relaxed: written before the lease was given out, which `read` has received.
            let stamp = self.slots.stamp(index).load(Ordering::Relaxed);
            let elder = Elder { stamp, index, generation: word.generation() };
            selection.offer(elder, word.guarded());
        }
    }
}

impl<T: Recycle> Core<T> {
    /// The slot of the oldest lease that is not in use, with its object recycled; `None` if there
    /// is none, and inside a destructor or `recycle`: those do not nest, and would go on without
    /// end if each took the next object.
    #[cold]
    pub(super) fn overwrite(
        &self,
        overwriting: &Overwriting,
    ) -> Result<Option<Taken<'_, T>>, OutOfMemory> {
        if in_destructor::now() {
            return Ok(None);
        }
        let session = Session::own(&overwriting.domain);
        let scan = |selection: &mut Selection| self.offer_all(selection);
        let end = |elder| self.try_revoke(elder);
        let revoked = overwriting.seniority.end_oldest(&session, scan, end)?;
        drop(session);
        let Some((slot, index)) = revoked else { return Ok(None) };
        pause_point!("revoked, not kept for");
        self.keep_for_revoked();
        slot.word.set(slot.word.peek().at_rest());
        self.home().events.revoked.add_shared(1);
        pause_point!("overwritten, not recycled");
        self.recycle(slot);
        Ok(Some(Taken { slot, index, from: Origin::Lease }))
    }

    fn try_revoke(&self, elder: Elder) -> Attempt<(&Slot<T>, Index)> {
        let slot = self.slots.known(elder.index);
        match slot.word.revoke_lease(elder.generation) {
            Ok(()) => Attempt::Won((slot, elder.index)),
            Err(Refusal::Guarded) => Attempt::InUse,
            Err(_) => Attempt::Ended,
        }
    }
}

impl Drop for Overwriting {
    fn drop(&mut self) {
        // What threads keep of the domain goes at their next registration.
        let last = self.domain.gate.leave();
        debug_assert!(last, "a pool's domain has one owner");
    }
}

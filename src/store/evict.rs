//! The policy that ends the oldest: how a spawn into a full store makes room.

use std::num::NonZeroU32;

use super::core::Core;
use crate::free::Event;
use crate::handle::Handle;
use crate::memory::OutOfMemory;
use crate::reason::EndReason;
use crate::reclaim::Session;
use crate::segment::Index;
use crate::seniority::{Attempt, Elder, Selection, Seniority};
use crate::slot::Slot;
use crate::state::State;
use crate::sync::Ordering;
use crate::word::{Refusal, SlotWord};

/// An entity that an eviction has won: it is sealed, or was Dying and is Dead.
struct Victim<'c, T> {
    slot: &'c Slot<T>,
    handle: Handle,
    word: SlotWord,
}

impl<T> Core<T> {
    /// Ends the oldest entity that nobody holds; its permit is the caller's. False if there is
    /// none, and inside the callback of another eviction of this store on this thread.
    #[cold]
    pub(super) fn evict(
        &self,
        session: &Session,
        seniority: &Seniority,
    ) -> Result<bool, OutOfMemory> {
        let Some(_under_way) = session.begin_eviction() else { return Ok(false) };
        let scan = |selection: &mut Selection| self.offer_all(selection);
        let end = |elder| self.try_evict(elder);
        let Some(victim) = seniority.end_oldest(session, scan, end)? else { return Ok(false) };
        if victim.word.state() == State::Dying {
            self.count(session, Event::Killed);
            self.tell_dying(session, victim.slot, victim.handle, EndReason::Overwritten);
            victim.slot.word.finish(victim.word);
        }
        self.bury_evicted(session, Self::index(victim.handle));
        Ok(true)
    }

    /// Offers every Active or Dying entity to a selection.
    ///
    /// Under the session's pin no slot that was seen readable is given to another life, so the
    /// stamp that is read after the word belongs to the same entity.
    fn offer_all(&self, selection: &mut Selection) {
        let (mut at, end) = (0, self.made());
        while at < end {
            match self.table.run(at, end) {
                Ok(slots) => {
                    for (slot, index) in slots.iter().zip(at..) {
                        self.offer(selection, slot, Index(index as u32));
                    }
                    at += slots.len() as u64;
                }
                Err(missing) => at += missing,
            }
        }
    }

    #[inline]
    fn offer(&self, selection: &mut Selection, slot: &Slot<T>, index: Index) {
        let word = slot.word.read();
        if !word.readable_as(word.generation()) || word.reap_requested() {
            return;
        }
        // Relaxed: written before the entity was shown, which `read` has received.
        let stamp = self.table.stamp(index).load(Ordering::Relaxed);
        let elder = Elder { stamp, index, generation: word.generation() };
        selection.offer(elder, word.holds() > 0);
    }

    fn try_evict(&self, elder: Elder) -> Attempt<Victim<'_, T>> {
        let slot = self.table.known(elder.index);
        let Some(generation) = NonZeroU32::new(elder.generation) else { return Attempt::Ended };
        match slot.word.advance(elder.generation, SlotWord::evict) {
            Ok(word) => {
                Attempt::Won(Victim { slot, handle: self.handle(elder.index, generation), word })
            }
            Err((_, Refusal::Held)) => Attempt::InUse,
            Err(_) => Attempt::Ended,
        }
    }
}

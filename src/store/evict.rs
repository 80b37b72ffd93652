//! The policy that ends the oldest: how a spawn into a full store makes room.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::ptr;

use super::core::{Core, Vacancy};
use super::permits::Permits;
use crate::error::SpawnFailure;
use crate::free::Event;
use crate::handle::Handle;
use crate::memory::OutOfMemory;
use crate::reason::EndReason;
use crate::reclaim::Session;
use crate::segment::Index;
use crate::seniority::{Attempt, Elder, Selection, Seniority};
use crate::slot::Slot;
use crate::state::State;
use crate::sync::{Ordering, local};
use crate::word::{Refusal, SlotWord};

/// An entity that an eviction has won: it is sealed, or was Dying and is Dead.
struct Victim<'c, T> {
    slot: &'c Slot<T>,
    handle: Handle,
    word: SlotWord,
}

/// An eviction whose callback runs on this thread, in the frame of its caller: what it calls back
/// may spawn, and must not evict without end.
///
/// Not in what a thread has of a store: that is made anew for every call in the thread's last
/// moments.
struct UnderWay {
    store: *const (),
    outer: *const UnderWay,
}

local! {
    /// The innermost of this thread.
    static INNERMOST: Cell<*const UnderWay> = Cell::new(ptr::null());
}

impl UnderWay {
    fn run(store: *const (), callback: impl FnOnce()) {
        let under_way = UnderWay { store, outer: INNERMOST.with(Cell::get) };
        INNERMOST.with(|innermost| innermost.set(&raw const under_way));
        // Contained: it comes back here.
        callback();
        INNERMOST.with(|innermost| innermost.set(under_way.outer));
    }

    fn anywhere(store: *const ()) -> bool {
        let mut at = INNERMOST.with(Cell::get);
        // SAFETY: each lies in a frame of this thread that has not returned: `run` takes it off the
        // list before it does (invariant 8).
        while let Some(under_way) = unsafe { at.as_ref() } {
            if under_way.store == store {
                return true;
            }
            at = under_way.outer;
        }
        false
    }
}

/// How a spawn into a full store came by its permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// A unit had come back meanwhile.
    Free,
    /// The oldest was ended for it.
    Overwritten,
}

impl<T> Core<T> {
    /// A slot for one more entity where there is no permit: that of the oldest, if the policy says
    /// so. The slot comes first, so that nobody is ended for a spawn that readers refuse.
    #[cold]
    pub(super) fn reserve_full(
        &self,
        session: &Session,
        permits: &Permits,
    ) -> Result<Vacancy<'_, T>, SpawnFailure> {
        let exhausted = SpawnFailure::Exhausted { capacity: permits.in_force() };
        let Some(seniority) = &self.seniority else { return Err(exhausted) };
        if self.evicting() {
            return Err(exhausted);
        }
        let vacancy = self.take_vacancy(session)?;
        let refusal = match self.make_room(session, permits, seniority) {
            Ok(Some(room)) => return Ok(Vacancy { forced: room == Room::Overwritten, ..vacancy }),
            Ok(None) => exhausted,
            Err(refused) => refused.into(),
        };
        self.put_back(session, vacancy.index);
        Err(refusal)
    }

    /// A permit for a spawn that has its slot: one that came back meanwhile, before anybody is
    /// ended for it, or that of the oldest.
    ///
    /// `None` if there was a moment without any when nobody could be ended: nothing was activated
    /// between the search for the oldest, which found none, and that moment. What the search saw
    /// and could not end was in use, or in the hands of a call that was ending it. Lock-free: it
    /// searches again only when others have activated entities meanwhile.
    fn make_room(
        &self,
        session: &Session,
        permits: &Permits,
        seniority: &Seniority,
    ) -> Result<Option<Room>, OutOfMemory> {
        let mut searched_at = None;
        loop {
            if permits.take(session.home()) {
                return Ok(Some(Room::Free));
            }
            let now = seniority.horizon();
            if searched_at == Some(now) {
                return Ok(None);
            }
            if self.evict(session, seniority)? {
                return Ok(Some(Room::Overwritten));
            }
            searched_at = Some(now);
        }
    }

    /// Ends the oldest entity that nobody holds; its permit is the caller's. False if there is
    /// none.
    #[cold]
    fn evict(&self, session: &Session, seniority: &Seniority) -> Result<bool, OutOfMemory> {
        debug_assert!(!self.evicting(), "the spawn in a callback has been refused before");
        let scan = |selection: &mut Selection| self.offer_all(selection);
        let end = |elder| self.try_evict(elder);
        let Some(victim) = seniority.end_oldest(session, scan, end)? else { return Ok(false) };
        if victim.word.state() == State::Dying {
            self.count(session, Event::Killed);
            let Victim { slot, handle, .. } = victim;
            let tell = || self.tell_dying(session, slot, handle, EndReason::Overwritten);
            UnderWay::run(self.address(), tell);
            slot.word.finish(victim.word);
        }
        self.bury_evicted(session, Self::index(victim.handle));
        Ok(true)
    }

    /// Whether this call comes from the callback of an eviction of this store, at whatever depth.
    fn evicting(&self) -> bool {
        UnderWay::anywhere(self.address())
    }

    fn address(&self) -> *const () {
        ptr::from_ref(self).cast()
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
        // One that ended long ago may have been given back with its whole segment.
        let Some(slot) = self.table.slot(elder.index) else { return Attempt::Ended };
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

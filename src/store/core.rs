//! What the references to a store share: slots, circulation, epochs, limits.

use std::num::NonZeroU32;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use super::growth::Growth;
use super::permits::Permits;
use super::reuse::{Reuse, drop_contained};
use super::scenes;
use super::stats::Window;
use crate::error::{LookupError, TransitionError};
use crate::free::{Circulation, Claimed, Event};
use crate::handle::Handle;
use crate::id::{EntityId, SceneId};
use crate::limits::Limits;
use crate::reason::EndReason;
use crate::reclaim::{Domain, Session, claimed_here};
use crate::segment::{Attic, Index, Near, Table};
use crate::seniority::Seniority;
use crate::slot::{Slot, contained, in_destructor};
use crate::state::State;
use crate::sync::{Arc, Counter, planted, thread_ordinal};
use crate::word::{Refusal, SlotWord};

/// What `StoreBuilder::on_dying` registers.
pub(super) type OnDying<T> = Box<dyn Fn(Handle, &T, EndReason) + Send + Sync>;

/// The shared part of a store. One reference belongs to all `Store`s together, one to each `Hold`.
pub(crate) struct Core<T> {
    pub(super) table: Table<T>,
    pub(super) circulation: Arc<Circulation>,
    pub(super) domain: Domain,
    pub(super) scene: SceneId,
    /// The id of slot 0, as bits.
    pub(super) first_id: u64,
    /// Generations up to this one were issued by earlier stores under the same id.
    pub(super) floor: u32,
    /// A slot is retired after this generation.
    pub(super) last: NonZeroU32,
    pub(super) limits: Limits,
    /// How many can ever be alive at once, grown units included; `usize::MAX` is no limit.
    pub(super) most: usize,
    pub(super) backlog: usize,
    pub(super) permits: Option<Permits>,
    /// Who is the oldest, in a store that ends the oldest.
    pub(super) seniority: Option<Seniority>,
    pub(super) on_dying: Option<OnDying<T>>,
    /// What `StoreBuilder::retain` asked for.
    pub(super) reuse: Option<Arc<Reuse<T>>>,
    pub(super) growth: CachePadded<Growth>,
    /// What is kept of segments whose memory was given back.
    pub(super) attic: Attic,
    /// Slots with this index and above are put to rest instead of reused (`tide`).
    pub(super) tide: Counter,
    /// Slots taken out of use.
    pub(super) retired: Counter,
    /// How many calls are short of a slot at the moment; if any, sessions hand over what they keep.
    pub(super) starving: Counter,
    /// How many batches had ripened when a call last gave up waiting for one.
    pub(super) stalled_at: Counter,
    pub(super) window: Mutex<Window>,
}

impl<T> std::fmt::Debug for Core<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Core").field("scene", &self.scene).finish_non_exhaustive()
    }
}

/// A slot that the caller owns, for its next entity.
#[derive(Debug)]
pub(super) struct Vacancy<'c, T> {
    pub(super) slot: &'c Slot<T>,
    pub(super) index: Index,
    /// The handle of that entity.
    pub(super) handle: Handle,
    /// Where the slot came from, and where its entity is counted.
    pub(super) magazine: Claimed<'c>,
    /// Whether another entity was ended to make room.
    pub(super) forced: bool,
}

impl<T> Core<T> {
    /// The handle of a slot's entity.
    #[inline]
    pub(super) fn handle(&self, index: Index, generation: NonZeroU32) -> Handle {
        self.handle_at(index, Near::of(index.0.into()), generation)
    }

    /// As [`handle`](Core::handle), where the place of the slot's segment is known.
    #[inline]
    pub(super) fn handle_at(&self, index: Index, place: Near, generation: NonZeroU32) -> Handle {
        let id = EntityId::from_bits(self.first_id + u64::from(index.0));
        Handle::placed(id, generation, place)
    }

    /// The slot that a handle refers to, whatever its bits are. What keeps the slot is the caller's
    /// session, by its pin or by a looking claim.
    #[inline]
    pub(super) fn find(&self, handle: Handle) -> Result<&Slot<T>, LookupError> {
        // Scene and range in one comparison: for another scene the difference is out of range as
        // well.
        let seq = handle.id().to_bits().wrapping_sub(self.first_id);
        self.table.find(seq, handle.place()).ok_or_else(|| self.elsewhere(handle))
    }

    /// Why a handle refers to no slot of this store.
    #[cold]
    fn elsewhere(&self, handle: Handle) -> LookupError {
        if handle.scene() == self.scene {
            LookupError::NotFound { handle }
        } else {
            LookupError::SceneMismatch { handle, scene: self.scene }
        }
    }

    /// Why a handle does not resolve to the word that was found.
    #[cold]
    pub(super) fn missing(handle: Handle, word: SlotWord) -> LookupError {
        let generation = handle.generation_bits();
        match NonZeroU32::new(word.generation()) {
            Some(current) if current.get() > generation => LookupError::Stale { handle, current },
            Some(current) if current.get() == generation && word.state() == State::Pending => {
                LookupError::Pending { handle }
            }
            _ => LookupError::NotFound { handle },
        }
    }

    /// A refusal in the terms of the API.
    #[cold]
    pub(super) fn refused(handle: Handle, (word, refusal): (SlotWord, Refusal)) -> TransitionError {
        match refusal {
            Refusal::Gone | Refusal::NotYet => Self::missing(handle, word).into(),
            Refusal::Illegal(transition) => TransitionError::Illegal { handle, transition },
            Refusal::WrongState { found, needed } => {
                TransitionError::WrongState { handle, found, needed }
            }
            Refusal::Guarded => TransitionError::Guarded { handle },
            Refusal::ReapRequested => TransitionError::ReapRequested { handle },
            Refusal::TooManyHolds => {
                TransitionError::TooManyHolds { handle, limit: crate::word::MAX_HOLDS }
            }
            Refusal::Held => unreachable!("only an eviction is refused so, and tells nobody"),
        }
    }

    /// Counts an event for the thread of a session.
    #[inline]
    pub(super) fn count(&self, session: &Session, event: Event) {
        match self.magazine(session) {
            Some(magazine) => magazine.tally.of(event).add_owned(1),
            None => self.count_foreign(session.home(), event),
        }
    }

    /// [`count`](Core::count) for so many at once.
    pub(super) fn count_many(&self, session: &Session, event: Event, count: u64) {
        match self.magazine(session) {
            Some(magazine) => magazine.tally.of(event).add_owned(count),
            None => (0..count).for_each(|_| self.count_foreign(session.home(), event)),
        }
    }

    /// Counts an event for a thread that may have no session open.
    #[inline]
    pub(super) fn count_here(&self, event: Event) {
        match claimed_here(&self.domain, &self.circulation) {
            Some(magazine) => magazine.tally.of(event).add_owned(1),
            None => self.count_foreign(thread_ordinal(), event),
        }
    }

    /// Counts an event for a thread without a magazine.
    #[cold]
    pub(super) fn count_foreign(&self, home: usize, event: Event) {
        self.circulation.count_foreign(home, event);
    }

    /// Whether a call that changes one entity may look it up under its claim on a magazine, without
    /// a pin.
    ///
    /// That needs a store without `on_dying`, so that no payload is read; without capacity and
    /// backlog, so that no spawn is refused for want of a slot in that magazine; and no memory that
    /// waits for a pin to end, since crossbeam frees it only as pins come and go.
    #[inline]
    pub(super) fn may_look_unpinned(&self) -> bool {
        let refuses = self.permits.is_some() || self.backlog != usize::MAX;
        self.on_dying.is_none() && !refuses && self.attic.waiting.get() == 0
    }

    /// The magazine of a session.
    #[inline]
    pub(super) fn magazine(&self, session: &Session) -> Option<Claimed<'_>> {
        session.magazine(&self.circulation).ok()
    }

    /// Tells `on_dying` of an entity that this call has moved to Dying; the payload is readable,
    /// because the session's pin is older than any reap that might follow.
    #[inline]
    pub(super) fn tell_dying(
        &self,
        session: &Session,
        slot: &Slot<T>,
        handle: Handle,
        reason: EndReason,
    ) {
        if let Some(on_dying) = &self.on_dying {
            self.tell(on_dying, session, slot, handle, reason);
        }
    }

    #[cold]
    fn tell(
        &self,
        on_dying: &OnDying<T>,
        session: &Session,
        slot: &Slot<T>,
        handle: Handle,
        reason: EndReason,
    ) {
        // SAFETY: the caller's compare-and-swap saw the entity Active, with Acquire, under a pin
        // that lasts until after the callback (invariant 2, 4).
        let payload = unsafe { slot.payload.get() };
        if session.meanwhile(|| contained(|| on_dying(handle, payload, reason))).is_none() {
            self.count(session, Event::DropPanicked);
        }
    }

    /// Retains or drops a payload that was taken out of its slot: here or, inside a destructor,
    /// when the outermost one has returned, so that a chain of any length needs no stack.
    pub(super) fn drop_taken(&self, value: T) {
        if let Some(reuse) = &self.reuse {
            return self.let_go(reuse, value);
        }
        if !std::mem::needs_drop::<T>() {
            return;
        }
        if !in_destructor::now() {
            return drop_contained(&self.circulation, value);
        }
        let circulation = Arc::clone(&self.circulation);
        let task = move || drop_contained(&circulation, value);
        // SAFETY: the task runs on this thread, before the destructor that is running here has
        // returned. `T` may borrow nothing that ends before: a `Store<T>` asks for `T: 'static`
        // (invariant 8).
        unsafe { in_destructor::run_outermost(task) };
    }

    /// Ends everything when the last `Store` is gone; what a Hold keeps is left to its last Hold.
    ///
    /// Walks words, never lists: nothing but Holds acts on the store at the same time, and each
    /// slot is decided by compare-and-swap on its word.
    pub(super) fn close(&self) {
        let kept = self.attic.enter().map_or(0, |attic| attic.highest_generation());
        let mut highest = self.floor.max(kept);
        for index in 0..self.made() {
            let Some(slot) = self.table.slot(Index(index as u32)) else { continue };
            highest = highest.max(slot.word.peek().generation());
            pause_point!("closing a slot");
            if self.close_slot(slot) {
                // SAFETY: the word went to Dead and emptied in a change that this call won, which
                // came after every other change of the life (L1); no pin is left, since every
                // session borrows a `Store` (invariant 4).
                if unsafe { slot.payload.drop_in_place() } {
                    self.count_foreign(0, Event::DropPanicked);
                }
            }
        }
        self.close_stash();
        scenes::give_back(self.scene, highest);
    }

    /// Whether the caller owes the slot's payload its destructor.
    fn close_slot(&self, slot: &Slot<T>) -> bool {
        let mut found = slot.word.peek();
        loop {
            let (next, owed) = match found.state() {
                State::None => return false,
                State::Dead if found.emptied() => return false,
                State::Active | State::Dying
                    if found.holds() > 0 && !planted("close ignores holds") =>
                {
                    (found.close_held(), false)
                }
                _ => (found.buried_empty(), true),
            };
            match slot.word.close(found, next) {
                Ok(()) => return owed,
                Err(actual) => found = actual,
            }
        }
    }
}

impl<T> Drop for Core<T> {
    fn drop(&mut self) {
        // What the callback owns is the user's: it may panic, and hold other stores' entities.
        let on_dying = self.on_dying.take();
        if on_dying.is_some() {
            let _ = in_destructor::run(|| drop(on_dying));
        }
    }
}

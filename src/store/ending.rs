//! Ending many entities that were sealed one by one, in a store whose payloads only one thread
//! looks at.
//!
//! Their slots go to the nursery of that thread, as far as it has room, and otherwise through
//! limbo.

use std::num::NonZeroU32;

use super::Store;
use super::core::Core;
use super::nursery::Nursery;
use super::place::Place;
use crate::free::Event;
use crate::reclaim::Session;
use crate::segment::Index;

/// How many finished entities are buried together.
const TOGETHER: usize = if cfg!(all(loom, test)) { 2 } else { 32 };

/// The session of a thread that ends entities which it has sealed. It lends nothing out.
pub(crate) struct Ending<'s, T> {
    core: &'s Core<T>,
    session: Session,
    /// Slots whose words say Dead and which are not buried yet, `count` of them.
    buried: [Index; TOGETHER],
    count: usize,
    /// How many slots went to the nursery and are not counted yet.
    taken_back: u64,
}

impl<T: Send + Sync + 'static> Store<T> {
    /// One session to finish many with.
    pub(crate) fn ending(&self) -> Ending<'_, T> {
        let buried = [Index(0); TOGETHER];
        Ending { core: self.core(), session: self.session(), buried, count: 0, taken_back: 0 }
    }
}

impl<T> Ending<'_, T> {
    /// Sealed → Dead, where there is nothing left in the payload that has to be dropped; then →
    /// None at once, if the nursery has room for the slot.
    ///
    /// # Safety
    /// * The slot is there, and has that index.
    /// * The caller has sealed its entity, of that generation, and finishes it once.
    /// * No other thread looks into a payload of this store: there is no reader to wait for.
    /// * The nursery is used with no other store, and what was spawned from it is
    ///   [counted](Store::count_spawned).
    #[inline]
    pub(crate) unsafe fn finish_empty(
        &mut self,
        nursery: &mut Nursery<T>,
        place: Place<T>,
        index: u32,
        generation: NonZeroU32,
    ) {
        // SAFETY: the caller's duty (invariant 11).
        unsafe { place.slot() }.word.finish_empty(generation.get());
        let index = Index(index);
        if self.core.take_back(nursery, place, index, generation) {
            self.taken_back += 1;
        } else {
            self.bury(index);
        }
    }

    fn bury(&mut self, index: Index) {
        if self.core.permits.is_some() {
            // Somebody may wait for it.
            return self.core.bury(&self.session, index, Event::Reaped);
        }
        self.buried[self.count] = index;
        self.count += 1;
        if self.count == TOGETHER {
            self.bury_all();
        }
    }

    fn bury_all(&mut self) {
        self.core.bury_many(&self.session, &self.buried[..self.count], Event::Reaped);
        self.count = 0;
    }

    /// Counts those whose slots the nursery has.
    fn count_taken_back(&self) {
        let Ending { core, session, taken_back, .. } = self;
        core.count_many(session, Event::Reaped, *taken_back);
        core.count_many(session, Event::Renewed, *taken_back);
        if let Some(magazine) = core.magazine(session) {
            magazine.peak.fall_by(*taken_back);
        }
    }
}

impl<T> Drop for Ending<'_, T> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.bury_all();
        }
        self.count_taken_back();
    }
}

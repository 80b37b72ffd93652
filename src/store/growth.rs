//! New slots: first those of segments whose memory was given back, lowest first, and then slots
//! that were never used.

use std::ops::Range;

use super::burial::PARTIAL_BATCH;
use super::core::Core;
use crate::error::SpawnFailure;
use crate::free::{BATCH_CAPACITY, Owned};
use crate::memory::OutOfMemory;
use crate::reclaim::Session;
use crate::segment::{Index, MAX_SLOTS};
use crate::sync::{AtomicU64, Counter, Ordering};

/// How far a store has grown.
#[derive(Debug)]
pub(crate) struct Growth {
    /// The first index that was never given out.
    fresh: AtomicU64,
    /// What is left of the segment that was restored last, as a range: its start in the high half,
    /// its end in the low half.
    again: AtomicU64,
    /// Slots made and not given back. A call counts slots before it makes them.
    slots: Counter,
    /// Slots of segments that were given back and not given out again: a hint.
    returned: Counter,
}

const HALF: u32 = 32;

const fn pack(left: &Range<u64>) -> u64 {
    left.start << HALF | left.end
}

const fn unpack(again: u64) -> Range<u64> {
    again >> HALF..again & u32::MAX as u64
}

impl Growth {
    pub(crate) fn new() -> Growth {
        Growth {
            fresh: AtomicU64::new(0),
            again: AtomicU64::new(0),
            slots: Counter::new(0),
            returned: Counter::new(0),
        }
    }

    /// Slots made and not given back.
    #[inline]
    pub(super) fn slots(&self) -> u64 {
        self.slots.get()
    }

    /// Indices below this one were given out at some time.
    #[inline]
    pub(super) fn made(&self) -> u64 {
        // Relaxed: a bound; the slots behind it are found through the table, with Acquire.
        self.fresh.load(Ordering::Relaxed)
    }

    /// What is left of the segment that was made again last.
    pub(super) fn again(&self) -> Range<u64> {
        // Relaxed: a look; who takes of it compares it again.
        unpack(self.again.load(Ordering::Relaxed))
    }

    /// Takes at most so many of what is left of the segment that was made again last.
    pub(crate) fn take_again(&self, most: u64) -> Option<Range<u64>> {
        // Relaxed: only compared below.
        let mut found = self.again.load(Ordering::Relaxed);
        loop {
            let left = unpack(found);
            if left.is_empty() {
                return None;
            }
            let taken = left.start..left.end.min(left.start + most);
            let rest = pack(&(taken.end..left.end));
            // Acquire A2: receives the segment, so that its new owners find it in the table; pairs
            // with the Release A2 in `open`. What others take are read-modify-writes, so the
            // release sequence goes on. Should the same range be left again later, its slots are
            // there to be taken again.
            match self.again.compare_exchange_weak(
                found,
                rest,
                ord!(Acquire: A2),
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    self.returned.sub_shared(taken.end - taken.start);
                    return Some(taken);
                }
                Err(actual) => found = actual,
            }
        }
    }

    /// Lets everybody take of a segment that the caller has made again: nothing is left of the one
    /// before, and nobody else opens one at the same time.
    pub(crate) fn open(&self, segment: &Range<u64>) {
        debug_assert!(self.again().is_empty());
        // Release A2: publishes the segment to those who take its slots.
        self.again.store(pack(segment), ord!(Release: A2));
    }

    /// Takes the part of a segment that was not given out yet, if `made` and `again` have not
    /// changed since they were read.
    pub(super) fn take_rest(&self, segment: &Range<u64>, made: u64, again: &Range<u64>) -> bool {
        if segment.contains(&made) {
            // Relaxed: uniqueness alone, by the read-modify-write; nothing is done with the slots.
            let exchange = self.fresh.compare_exchange(
                made,
                segment.end,
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            return exchange.is_ok();
        }
        if again.is_empty() || !segment.contains(&again.start) {
            return true;
        }
        let none = pack(&(again.end..again.end));
        // Relaxed: as above.
        self.again.compare_exchange(pack(again), none, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    /// Subtracts a segment whose memory is given back, of which `given` slots were given out.
    pub(crate) fn count_back(&self, segment: &Range<u64>, given: u64, rest_again: u64) {
        self.slots.sub_shared(given);
        self.returned.add_shared(segment.end - segment.start - rest_again);
    }
}

impl<T> Core<T> {
    /// Indices below this one were given out at some time.
    #[inline]
    pub(super) fn made(&self) -> u64 {
        self.growth.made()
    }

    /// New slots, a batch at a time; `None` when the limits leave no room.
    pub(super) fn grow(&self, session: &Session) -> Result<Option<Owned>, SpawnFailure> {
        if self.most == usize::MAX && self.backlog < usize::MAX && self.dead() > self.backlog {
            return Ok(None);
        }
        self.circulation.ensure_shard(session.home())?;
        let counted = self.growth.slots.add_within(self.new_batch(), self.most_slots());
        if counted == 0 {
            return Ok(None);
        }
        self.flood();
        let outcome = self.fill_new(counted);
        let taken = outcome.as_ref().map_or(0, |batch| batch.as_ref().map_or(0, Owned::len));
        self.growth.slots.sub_shared(counted - taken as u64);
        Ok(outcome?)
    }

    /// A batch of at most so many new slots.
    fn fill_new(&self, most: u64) -> Result<Option<Owned>, OutOfMemory> {
        let mut batch = self.circulation.empty_box()?;
        match self.take_new(most) {
            Ok(taken) if !taken.is_empty() => {
                // The lowest on top.
                for index in taken.rev() {
                    batch.push(Index(index as u32));
                }
                batch.set_unmarked(true);
                Ok(Some(batch))
            }
            outcome => {
                self.circulation.put_empty(batch);
                outcome.map(|_none| None)
            }
        }
    }

    /// At most so many new slots. Memory that is refused for one segment may not be needed for
    /// another.
    fn take_new(&self, most: u64) -> Result<Range<u64>, OutOfMemory> {
        let again = self.take_again(most);
        match again {
            Ok(Some(taken)) => Ok(taken),
            Ok(None) => self.take_fresh(most),
            Err(refused) => match self.take_fresh(most) {
                Ok(taken) if taken.is_empty() => Err(refused),
                outcome => outcome,
            },
        }
    }

    /// Slots of segments that were given back. One call at a time restores a segment; the others do
    /// not wait for it.
    fn take_again(&self, most: u64) -> Result<Option<Range<u64>>, OutOfMemory> {
        while self.growth.returned.get() > 0 {
            let taken = self.growth.take_again(most);
            if taken.is_some() {
                return Ok(taken);
            }
            let Some(mut attic) = self.attic.enter() else { return Ok(None) };
            if !self.growth.again().is_empty() {
                continue;
            }
            pause_point!("segment to be made again");
            let Some(segment) = self.table.restore(&mut attic)? else { return Ok(None) };
            self.growth.open(&segment);
        }
        Ok(None)
    }

    /// Slots that nobody ever had; none when there is no index left.
    fn take_fresh(&self, most: u64) -> Result<Range<u64>, OutOfMemory> {
        let mut first = self.made();
        loop {
            let end = (first + most).min(MAX_SLOTS);
            self.table.ensure(first, end)?;
            pause_point!("segment made, slots not taken");
            // Relaxed: uniqueness alone, by the read-modify-write; the segments were published by
            // the table, and the indices are taken after they exist, so that a failed allocation
            // loses none.
            match self.growth.fresh.compare_exchange_weak(
                first,
                end,
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(first..end),
                Err(actual) => first = actual,
            }
        }
    }

    /// How many slots there may be at once.
    fn most_slots(&self) -> u64 {
        let wanted = match self.most {
            usize::MAX => MAX_SLOTS,
            capacity => (capacity as u64).saturating_add(self.backlog as u64),
        };
        wanted.saturating_add(self.retired.get()).min(MAX_SLOTS)
    }

    /// How many new slots to take at once: with limits few enough that many threads find some;
    /// without, 64 or a share of what there is.
    pub(super) fn new_batch(&self) -> u64 {
        let wanted = match self.most {
            usize::MAX => (self.growth.slots() / 8).max(64),
            capacity => (capacity / (8 * self.circulation.shard_count())).max(1) as u64,
        };
        wanted.min(BATCH_CAPACITY as u64)
    }

    /// How many Dead slots make a batch full: fewer in small stores, and when somebody is short of
    /// slots.
    #[inline]
    pub(super) fn full_batch(&self) -> usize {
        let wanted = match self.most {
            usize::MAX => (self.growth.slots() / 4).max(32),
            capacity => {
                let slots = (capacity as u64).saturating_add(self.backlog as u64);
                (slots / (8 * self.circulation.shard_count() as u64)).max(1)
            }
        };
        let most = if self.starving.get() > 0 { PARTIAL_BATCH } else { BATCH_CAPACITY };
        wanted.min(most as u64) as usize
    }
}

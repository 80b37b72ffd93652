//! What the references to a pool share, and the way of an object from rest to its user.

use std::num::NonZeroU32;
use std::ptr::NonNull;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use super::overwrite::Overwriting;
use super::rest::{self, Origin, Shard, Slot, Slots, Taken};
use super::sequence::Sequence;
use super::stats::Window;
use super::units::Units;
use crate::error::SpawnFailure;
use crate::limits::{Exhaustion, Limits};
use crate::reclaim::Gate;
use crate::recycle::Recycle;
use crate::segment::{Index, Sides};
use crate::slot::in_destructor;
use crate::state::State;
use crate::sync::{AtomicU64, planted, thread_ordinal};
use crate::word::SlotWord;

/// The shared part of a pool. `close.rs` says who keeps it.
pub(super) struct Core<T> {
    pub(super) slots: Slots<T>,
    /// Their number is a power of two.
    pub(super) shards: Box<[CachePadded<Shard>]>,
    pub(super) limits: Limits,
    /// The most units of capacity that may ever be open.
    pub(super) limit: u64,
    /// A slot is retired after this generation.
    last: NonZeroU32,
    pub(super) sequence: Sequence,
    /// Who is the oldest, in a pool that overwrites.
    pub(super) overwriting: Option<Overwriting>,
    pub(super) window: Mutex<Window>,
    pub(super) gate: Gate,
    pub(super) units: CachePadded<Units>,
    /// Who keeps the core; see `close.rs`.
    pub(super) references: CachePadded<AtomicU64>,
}

/// A slot that is leased out from here on, and everything that its lease must know.
#[derive(Debug)]
pub(super) struct Grant<T> {
    pub(super) slot: NonNull<Slot<T>>,
    pub(super) index: Index,
    pub(super) generation: u32,
    pub(super) seq: u64,
}

impl<T> Core<T> {
    pub(super) fn new(limits: Limits, limit: u64, shards: usize, last: NonZeroU32) -> Core<T> {
        let overwrites =
            limits.policy == Exhaustion::OverwriteOldest && limits.capacity < usize::MAX;
        Core {
            slots: Slots::new(Sides { marks: false, stamps: overwrites, links: false }),
            shards: Shard::all(shards),
            limits,
            limit,
            last,
            sequence: Sequence::new(),
            overwriting: overwrites.then(|| Overwriting::new(limits.capacity)),
            window: Mutex::new(Window::default()),
            gate: Gate::new(),
            units: CachePadded::new(Units::new()),
            references: CachePadded::new(AtomicU64::new(super::close::OPEN)),
        }
    }

    /// The shard that this thread prefers.
    #[inline]
    pub(super) fn home(&self) -> &Shard {
        self.shard(thread_ordinal())
    }

    #[inline]
    fn shard(&self, number: usize) -> &Shard {
        &self.shards[number & (self.shards.len() - 1)]
    }

    /// Every slot that was made, except those of a segment that another thread is publishing just
    /// now.
    pub(super) fn every_slot(&self) -> impl Iterator<Item = (Index, &Slot<T>)> {
        let indices = (0..self.units.tally().made).map(|index| Index(index as u32));
        indices.filter_map(|index| Some((index, self.slots.slot(index)?)))
    }

    /// Units of capacity as grown so far; `usize::MAX` is no limit.
    pub(super) fn capacity(&self) -> usize {
        self.limits.capacity.saturating_add(self.grown() as usize)
    }

    /// Units above the capacity of the limits.
    pub(super) fn grown(&self) -> u64 {
        self.units.tally().open().saturating_sub(self.limits.capacity as u64)
    }
}

impl<T: Recycle> Core<T> {
    /// An object for one more lease.
    #[inline]
    pub(super) fn acquire(&self) -> Result<Grant<T>, SpawnFailure> {
        match self.home().pop(&self.slots) {
            Ok(taken) if self.is_ready(taken.slot.word.peek()) => Ok(self.give_out(taken)),
            Ok(taken) => self.make_ready_slow(taken),
            Err(_) => self.acquire_slow(),
        }
    }

    /// Whether a slot off a stack has an object and a generation to give it out under.
    #[inline]
    fn is_ready(&self, word: SlotWord) -> bool {
        word.state() == State::Dead && word.generation() < self.last.get()
    }

    /// Leases a slot that is ready.
    #[inline]
    fn give_out(&self, taken: Taken<'_, T>) -> Grant<T> {
        if let Origin::Stack(shard) = taken.from {
            shard.note_low(&taken.slot.header);
        }
        let generation = taken.slot.word.peek().generation() + 1;
        let early = planted("lease shown before its number");
        if early {
            taken.slot.word.publish(generation);
        }
        let seq = self.number(taken.index);
        pause_point!("numbered, not shown");
        if !early {
            taken.slot.word.publish(generation);
        }
        let (slot, index) = (NonNull::from(taken.slot), taken.index);
        Grant { slot, index, generation, seq }
    }

    #[cold]
    #[inline(never)]
    fn acquire_slow(&self) -> Result<Grant<T>, SpawnFailure> {
        self.counted(self.find().and_then(|taken| self.make_ready(taken)))
    }

    #[cold]
    #[inline(never)]
    fn make_ready_slow(&self, taken: Taken<'_, T>) -> Result<Grant<T>, SpawnFailure> {
        self.counted(self.make_ready(taken))
    }

    fn counted<R>(&self, outcome: Result<R, SpawnFailure>) -> Result<R, SpawnFailure> {
        if outcome.is_err() {
            self.home().events.rejected.add_shared(1);
        }
        outcome
    }

    /// A slot to lease: one at rest, else a fresh one, else that of the oldest lease if the policy
    /// says so, else a refusal.
    ///
    /// A refusal is right: with every unit open, which stays so, and every stack empty under equal
    /// tags in two passes, there is a moment between the passes at which all stacks were empty at
    /// once, and every unit belonged to a lease or to a call in progress. And if no lease was given
    /// out between the passes, the search for the oldest, which came between them too, missed none,
    /// and found each in use: not at one moment, which would take a count of uses in every word.
    fn find(&self) -> Result<Taken<'_, T>, SpawnFailure> {
        loop {
            let horizon = self.horizon();
            let first = match self.look_through() {
                Ok(taken) => return Ok(taken),
                Err(tags) => tags,
            };
            if let Some(taken) = self.fresh()? {
                return Ok(taken);
            }
            if let Some(overwriting) = &self.overwriting
                && let Some(taken) = self.overwrite(overwriting)?
            {
                return Ok(taken);
            }
            if planted("one pass before a pool refuses") {
                return Err(self.exhausted());
            }
            match self.look_through() {
                Ok(taken) => return Ok(taken),
                Err(second) if second == first && self.horizon() == horizon => {
                    return Err(self.exhausted());
                }
                Err(_) => {}
            }
        }
    }

    /// Numbers of leases from here on are still to be given out, in a pool that overwrites.
    fn horizon(&self) -> Option<u64> {
        self.overwriting.as_ref().map(Overwriting::horizon)
    }

    #[cold]
    fn exhausted(&self) -> SpawnFailure {
        SpawnFailure::Exhausted { capacity: self.capacity() }
    }

    /// A slot off any stack, the own one first, or the sum of the tags under which they were empty.
    /// Tags only advance, so equal sums are equal tags, unless 2^32 changes came between.
    fn look_through(&self) -> Result<Taken<'_, T>, u64> {
        let home = thread_ordinal();
        let mut tags = 0;
        for step in 0..self.shards.len() {
            match self.shard(home + step).pop(&self.slots) {
                Ok(taken) => return Ok(taken),
                Err(tag) => tags += u64::from(tag),
            }
        }
        Err(tags)
    }

    /// A slot that was never used, while there are units that have none.
    fn fresh(&self) -> Result<Option<Taken<'_, T>>, SpawnFailure> {
        let index = self.units.open(self.limit, |index| self.slots.ensure(index, index + 1))?;
        Ok(index.map(|index| Taken { slot: self.slots.known(index), index, from: Origin::Fresh }))
    }

    /// Gives a slot an object and a generation where it lacks them, and leases it.
    fn make_ready(&self, taken: Taken<'_, T>) -> Result<Grant<T>, SpawnFailure> {
        let word = taken.slot.word.peek();
        let taken = if word.generation() < self.last.get() { taken } else { self.replace(taken)? };
        if taken.slot.word.peek().state() == State::None {
            self.construct(&taken);
        }
        let served_by_overwriting = matches!(taken.from, Origin::Lease);
        let grant = self.give_out(taken);
        if served_by_overwriting {
            self.home().events.overwritten.add_shared(1);
        }
        Ok(grant)
    }

    /// Constructs the object of a slot that has none.
    fn construct(&self, taken: &Taken<'_, T>) {
        // The constructor is user code: if it panics, the slot goes back as it was.
        let unmade = Unmade { core: self, taken };
        let object = T::default();
        std::mem::forget(unmade);
        // SAFETY: the caller owns the slot, and its word says that there is no object in it
        // (invariant 5).
        unsafe { taken.slot.payload.write(object) };
        self.home().events.created.add_shared(1);
        if matches!(taken.from, Origin::Lease) {
            self.home().events.rebuilt.add_shared(1);
        }
    }

    /// Retires a slot whose generations are spent, and moves its object into a fresh one.
    #[cold]
    fn replace<'t>(&'t self, spent: Taken<'t, T>) -> Result<Taken<'t, T>, SpawnFailure> {
        let index = match self.units.replace(|index| self.slots.ensure(index, index + 1)) {
            Ok(Some(index)) => index,
            Ok(None) => {
                self.put_unused(&spent);
                return Err(self.exhausted());
            }
            Err(refused) => {
                self.put_unused(&spent);
                return Err(refused.into());
            }
        };
        let (old, new) = (spent.slot, self.slots.known(index));
        let word = old.word.peek();
        if word.state() == State::Dead {
            // SAFETY: the caller owns the slot, whose word says that an object is in it, and ends
            // it there (invariant 4, 5).
            let object = unsafe { old.payload.take() };
            // SAFETY: nobody else has the fresh slot, and there is nothing in it (invariant 5).
            unsafe { new.payload.write(object) };
            new.word.set(new.word.peek().at_rest());
        }
        old.word.set(word.vacant());
        new.header.stand_in_for(&old.header);
        Ok(Taken { slot: new, index, from: spent.from })
    }

    /// Puts a slot back to rest, from a call on the open pool.
    pub(super) fn put(&self, slot: &Slot<T>, index: Index) {
        let slots = NonNull::from(&self.slots);
        // SAFETY: the caller borrows a pool, which keeps the core with its table (invariant 15).
        let open = unsafe { rest::push(&self.home().head, slots, &slot.header, index) };
        debug_assert!(open, "the caller borrows a pool");
    }

    /// Puts a slot to rest that was taken and not leased out.
    fn put_unused(&self, taken: &Taken<'_, T>) {
        self.put(taken.slot, taken.index);
        if matches!(taken.from, Origin::Fresh) {
            // Its unit was opened and never leased: it counts as one that lay there all along.
            self.home().low.add_shared(1);
        }
    }

    /// Recycles an object that goes to rest; if `recycle` panics the object is dropped, and its
    /// slot goes to rest without one.
    #[inline]
    pub(super) fn recycle(&self, slot: &Slot<T>) {
        // SAFETY: the caller owns the slot: it ended the lease, with an object in it (invariant 3).
        let object = unsafe { slot.payload.get_mut() };
        if in_destructor::run(|| object.recycle()) {
            self.drop_broken(slot);
        }
    }

    #[cold]
    fn drop_broken(&self, slot: &Slot<T>) {
        self.home().events.drop_panics.add_shared(1);
        self.drop_object(slot);
    }

    /// Drops the object of a slot that the caller owns; the slot is empty afterwards.
    pub(super) fn drop_object(&self, slot: &Slot<T>) {
        slot.word.set(slot.word.peek().vacant());
        // SAFETY: the caller owns the slot, with an object in it until now (invariant 4, 5).
        if unsafe { slot.payload.drop_in_place() } {
            self.home().events.drop_panics.add_shared(1);
        }
    }
}

#[cfg(all(loom, test))]
impl<T> Drop for Core<T> {
    fn drop(&mut self) {
        self.every_slot().for_each(|(_, slot)| slot.payload.goes());
    }
}

/// A slot whose object is being constructed: it goes back without, if that panics.
struct Unmade<'c, 't, T: Recycle> {
    core: &'c Core<T>,
    taken: &'c Taken<'t, T>,
}

impl<T: Recycle> Drop for Unmade<'_, '_, T> {
    fn drop(&mut self) {
        self.core.put_unused(self.taken);
    }
}

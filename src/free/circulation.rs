//! What a deferred call may touch: boxes, stacks and magazines, no slots and no payloads.
//!
//! It has a reference count of its own: a deferred call owns a reference, and may run on any thread
//! after the store is gone; then it pushes a box that nobody reads.

use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use super::batch::Owned;
use super::boxes::Boxes;
use super::chain::Chain;
use super::magazine::{Claimed, Magazine};
use super::shard::Shard;
use super::tally::{Event, Tally};
use super::treiber::TaggedStack;
use crate::memory::{OutOfMemory, boxed, reserve_one};
use crate::sync::{AtomicPtr, Counter, Ordering, fence, planted};

/// The boxes of a store, and the stacks that they travel on.
#[derive(Debug)]
pub(crate) struct Circulation {
    boxes: Boxes,
    empties: CachePadded<TaggedStack>,
    /// Batches of None slots that `reclaim` has drained.
    depot: CachePadded<TaggedStack>,
    /// Ripe batches that are used last, until `reclaim` drains them.
    resting: CachePadded<TaggedStack>,
    shards: Box<[AtomicPtr<Shard>]>,
    /// Threads that step aside now.
    aside: Counter,
    bytes: Counter,
}

// SAFETY: what the raw pointers lead to is shared by the rules of `Magazine` (a claim) and
// `Batch` (one owner), and freed by the drop of the circulation alone (invariant 5).
unsafe impl Send for Circulation {}
// SAFETY: as above (invariant 5).
unsafe impl Sync for Circulation {}

impl Circulation {
    /// `shards` is a power of two; each shard is allocated on first use.
    pub(crate) fn new(shards: usize) -> Circulation {
        debug_assert!(shards.is_power_of_two());
        Circulation {
            boxes: Boxes::new(),
            empties: CachePadded::new(TaggedStack::new()),
            depot: CachePadded::new(TaggedStack::new()),
            resting: CachePadded::new(TaggedStack::new()),
            shards: (0..shards).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            aside: Counter::new(0),
            bytes: Counter::new(0),
        }
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// How many shards have been used.
    pub(crate) fn shards_in_use(&self) -> usize {
        self.used_shards().count()
    }

    /// Memory of boxes, shards and magazines.
    pub(crate) fn bytes(&self) -> usize {
        let fixed = size_of::<Circulation>() + size_of_val(&*self.shards);
        fixed + self.boxes.bytes() + self.bytes.get() as usize
    }

    /// Batches that wait for their grace period. Those that a session has not handed on yet are not
    /// counted: [`Session::in_limbo`](crate::reclaim::Session::in_limbo) adds its thread's own.
    pub(crate) fn in_limbo(&self) -> u64 {
        self.used_shards().map(Shard::in_limbo).sum()
    }

    /// The same of one shard.
    pub(crate) fn in_limbo_of(&self, shard: usize) -> u64 {
        self.shard(shard).map_or(0, Shard::in_limbo)
    }

    /// Batches whose grace period has ended since the store was created.
    pub(crate) fn ripened(&self) -> u64 {
        self.used_shards().map(Shard::ripened).sum()
    }

    /// Batches that were ever sent into limbo, except those that a session has not handed on yet.
    pub(crate) fn handed_over(&self) -> u64 {
        self.used_shards().map(Shard::handed_over).sum()
    }

    /// Runs what a thread does that steps aside, with how many do so now on each core.
    pub(crate) fn while_aside(&self, wait: impl FnOnce(u64)) {
        let others = self.aside.add_shared(1);
        wait(others / self.shards.len() as u64 + 1);
        self.aside.sub_shared(1);
    }

    /// The first shard in use from this one on, and its number.
    pub(crate) fn nearest(&self, home: usize) -> Option<(usize, &Shard)> {
        let mut numbers =
            (0..self.shards.len()).map(|step| (home + step) & (self.shards.len() - 1));
        numbers.find_map(|number| Some((number, self.shard(number)?)))
    }

    fn used_shards(&self) -> impl Iterator<Item = &Shard> {
        (0..self.shards.len()).filter_map(|number| self.shard(number))
    }

    /// Counts an event for a thread without a magazine.
    pub(crate) fn count_foreign(&self, home: usize, event: Event) {
        if let Some((_, shard)) = self.nearest(home) {
            shard.tally.of(event).add_shared(1);
        }
    }

    /// Counts batches that go into limbo; the shard that they come back to, of which the number has
    /// at most 32 bits: the nearest one in use.
    pub(crate) fn count_hand_over(&self, home: usize, batches: u64) -> u32 {
        let Some((number, shard)) = self.nearest(home) else {
            unreachable!("a store that has batches has a shard")
        };
        shard.count_hand_over(batches);
        number as u32
    }

    /// What a deferred call does after the grace period, and all that it does.
    pub(crate) fn ripen(&self, chain: Chain, shard: u32) {
        match self.shard(shard as usize) {
            Some(shard) => shard.ripen(&self.boxes, chain),
            None => unreachable!("a shard that exists stays"),
        }
    }

    /// Pops a batch of slots that may be used: off the shard's own ripe stack, the depot, a
    /// neighbour's ripe stack, or the batches at rest.
    pub(crate) fn take_ripe(&self, home: usize) -> Option<Owned> {
        self.take_ripe_of(home)
            .or_else(|| self.take_drained())
            .or_else(|| (1..self.shards.len()).find_map(|step| self.take_ripe_of(home + step)))
            .or_else(|| self.take_resting())
    }

    /// Pops a batch off one shard's ripe stack.
    pub(crate) fn take_ripe_of(&self, shard: usize) -> Option<Owned> {
        self.shard(shard)?.take_ripe(&self.boxes)
    }

    /// Whether there was a ripe batch somewhere a moment ago: a hint.
    pub(crate) fn has_ripe(&self) -> bool {
        !self.resting.looks_empty() || self.used_shards().any(Shard::has_ripe)
    }

    /// Puts a ripe batch where it is used last. Rule L: it came from a ripe stack, not from here.
    pub(crate) fn put_to_rest(&self, batch: Owned) {
        self.resting.push(batch);
    }

    /// Pops a ripe batch that was put to rest.
    pub(crate) fn take_resting(&self) -> Option<Owned> {
        if self.resting.looks_empty() { None } else { self.resting.pop(&self.boxes) }
    }

    /// Pops a batch of None slots.
    pub(crate) fn take_drained(&self) -> Option<Owned> {
        if self.depot.looks_empty() { None } else { self.depot.pop(&self.boxes) }
    }

    /// Puts a drained batch on the depot. Rule L: it came from a ripe stack, not from here. For
    /// what `shrink` takes from here and puts back the tag suffices, as for empty boxes.
    pub(crate) fn put_drained(&self, batch: Owned) {
        self.depot.push(batch);
    }

    /// An empty box.
    pub(crate) fn empty_box(&self) -> Result<Owned, OutOfMemory> {
        match self.empties.pop(&self.boxes) {
            Some(empty) => Ok(empty),
            None => self.boxes.make(|rest| self.put_empty(rest)),
        }
    }

    /// Gives an empty box back.
    pub(crate) fn put_empty(&self, mut empty: Owned) {
        debug_assert!(empty.is_empty());
        empty.set_unmarked(false);
        self.empties.push(empty);
    }

    /// Pops a batch off a stack that only the caller uses.
    pub(crate) fn pop_own(&self, own: &TaggedStack) -> Option<Owned> {
        own.pop(&self.boxes)
    }

    /// Frees the crates of which every box is among these or on the stack of empty boxes; how many
    /// bytes.
    pub(crate) fn strip(&self, mut empty: Vec<Owned>) -> usize {
        // At most as many as there are: others may give boxes back all the time.
        for _ in 0..self.boxes.made() {
            if reserve_one(&mut empty).is_err() {
                break;
            }
            let Some(more) = self.empties.pop(&self.boxes) else { break };
            empty.push(more);
        }
        self.boxes.strip(empty, |rest| self.put_empty(rest))
    }

    /// A shard, if it was used before.
    #[inline]
    pub(crate) fn shard(&self, number: usize) -> Option<&Shard> {
        // Acquire H1: receives the shard's empty stacks; pairs with the Release H1 in
        // `ensure_shard`.
        let shard = self.shards[number & (self.shards.len() - 1)].load(ord!(Acquire: H1));
        // SAFETY: a shard that exists stays until the circulation is dropped (invariant 11).
        unsafe { shard.as_ref() }
    }

    /// A shard, allocated if this is its first use.
    pub(crate) fn ensure_shard(&self, number: usize) -> Result<&Shard, OutOfMemory> {
        if let Some(shard) = self.shard(number) {
            return Ok(shard);
        }
        let fresh = self.boxed(Shard::new())?;
        let at = &self.shards[number & (self.shards.len() - 1)];
        // Release H1: publishes the empty stacks. Relaxed on failure: `shard` loads again.
        if at
            .compare_exchange(ptr::null_mut(), fresh.as_ptr(), ord!(Release: H1), Ordering::Relaxed)
            .is_err()
        {
            self.unboxed(fresh);
        }
        match self.shard(number) {
            Some(shard) => Ok(shard),
            None => unreachable!("a shard that exists stays"),
        }
    }

    /// Claims a magazine, of the home shard first; allocates one if all are claimed.
    pub(crate) fn claim_magazine(&self, home: usize) -> Result<Claimed<'_>, OutOfMemory> {
        let shard = self.ensure_shard(home)?;
        if let Some(claimed) = self.magazines_from(home).find_map(Magazine::claim) {
            return Ok(claimed);
        }
        let fresh = self.boxed(Magazine::claimed())?;
        // SAFETY: made above, for this shard (invariant 11).
        unsafe { shard.add_magazine(fresh) };
        // SeqCst: a call that claims this magazine to look, and misses a `shrink`, must not be
        // missed by it; pairs with the fence in `see_nobody_looking`. No model fails without it:
        // there the load of the attic has a fence of its own.
        fence(Ordering::SeqCst);
        // SAFETY: made above, freed by the drop of the circulation alone (invariant 11).
        let magazine = unsafe { fresh.as_ref() };
        // SAFETY: it was made claimed, by this call (invariant 5).
        Ok(unsafe { Claimed::new(magazine) })
    }

    /// Every magazine, those of the home shard first.
    pub(crate) fn magazines_from(&self, home: usize) -> impl Iterator<Item = &Magazine> {
        (0..self.shards.len())
            .filter_map(move |step| self.shard(home + step))
            .flat_map(Shard::magazines)
    }

    /// Whether each magazine was seen, after the caller had entered the attic, without a claim that
    /// [looks](super::claim). `wait` leaves the processor to the owners, or gives up. A call that
    /// makes such a claim afterwards finds the caller in the attic.
    pub(crate) fn see_nobody_looking(&self, mut wait: impl FnMut() -> Option<()>) -> bool {
        // SeqCst: the attic is entered before the claims are loaded; pairs with the two SeqCst
        // operations of a call that claims to look, and with the fence after a magazine is
        // published.
        fence(Ordering::SeqCst);
        let mut looking = Vec::new();
        for magazine in self.magazines_from(0).filter(|magazine| magazine.looks()) {
            if reserve_one(&mut looking).is_err() {
                return false;
            }
            looking.push(magazine);
        }
        // All of them at each turn: one that has stopped looking may look again while others are
        // waited for.
        while !looking.is_empty() && !planted("shrink under who looks") {
            if wait().is_none() {
                return false;
            }
            looking.retain(|magazine| magazine.looks());
        }
        true
    }

    /// Every tally: the magazines' and the shards' own.
    pub(crate) fn tallies(&self) -> impl Iterator<Item = &Tally> {
        self.used_shards().flat_map(|shard| {
            std::iter::once(&shard.tally).chain(shard.magazines().map(|magazine| &magazine.tally))
        })
    }

    /// Allocates, without aborting on failure, and counts the bytes.
    fn boxed<V>(&self, value: V) -> Result<NonNull<V>, OutOfMemory> {
        let memory = boxed(value)?;
        self.bytes.add_shared(size_of::<V>() as u64);
        Ok(NonNull::from(Box::leak(memory)))
    }

    /// Frees what `boxed` made and nobody has seen.
    fn unboxed<V>(&self, value: NonNull<V>) {
        self.bytes.sub_shared(size_of::<V>() as u64);
        // SAFETY: allocated by `boxed` with this type's layout, which is what `Box` uses (invariant
        // 11).
        drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
}

impl Drop for Circulation {
    fn drop(&mut self) {
        for shard in &self.shards {
            // Relaxed: the drop is exclusive, and comes after every publication.
            let Some(shard) = NonNull::new(shard.load(Ordering::Relaxed)) else { continue };
            // SAFETY: the circulation is dropped, so nobody refers to it; `boxed` made it
            // (invariant 11).
            drop(unsafe { Box::from_raw(shard.as_ptr()) });
        }
    }
}

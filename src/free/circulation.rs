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
use super::tally::{Event, Tally};
use super::treiber::TaggedStack;
use crate::memory::{OutOfMemory, boxed, reserve_one};
use crate::segment::Index;
use crate::sync::{AtomicPtr, AtomicU32, Counter, Ordering, fence, planted};

/// One shard's traffic. It holds no slots: any shard may hold any slot's index.
#[derive(Debug)]
pub(crate) struct Shard {
    /// Batches whose grace period is over.
    ripe: CachePadded<TaggedStack>,
    /// Dead slots from threads without a magazine, linked through the slots: an index plus one.
    dead: CachePadded<AtomicU32>,
    magazines: AtomicPtr<Magazine>,
    /// Events on threads without a magazine.
    pub(crate) tally: Tally,
}

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
    handed_over: CachePadded<Counter>,
    ripened: CachePadded<Counter>,
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
            handed_over: CachePadded::new(Counter::new(0)),
            ripened: CachePadded::new(Counter::new(0)),
            bytes: Counter::new(0),
        }
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    /// How many shards have been used.
    pub(crate) fn shards_in_use(&self) -> usize {
        (0..self.shards.len()).filter(|number| self.shard(*number).is_some()).count()
    }

    /// Memory of boxes, shards and magazines.
    pub(crate) fn bytes(&self) -> usize {
        let fixed = size_of::<Circulation>() + size_of_val(&*self.shards);
        fixed + self.boxes.bytes() + self.bytes.get() as usize
    }

    /// Batches that wait for their grace period. Those that a session has not handed on yet are not
    /// counted: [`Session::in_limbo`](crate::reclaim::Session::in_limbo) adds its thread's own.
    pub(crate) fn in_limbo(&self) -> u64 {
        let ripened = self.ripened.get();
        self.handed_over.get().saturating_sub(ripened)
    }

    /// Batches whose grace period has ended since the store was created.
    pub(crate) fn ripened(&self) -> u64 {
        self.ripened.get()
    }

    /// Batches that were ever sent into limbo, except those that a session has not handed on yet.
    pub(crate) fn handed_over(&self) -> u64 {
        self.handed_over.get()
    }

    /// Counts an event for a thread without a magazine.
    pub(crate) fn count_foreign(&self, home: usize, event: Event) {
        let mut shards = 0..self.shards.len();
        if let Some(shard) = shards.find_map(|step| self.shard(home + step)) {
            shard.tally.of(event).add_shared(1);
        }
    }

    /// Counts batches that go into limbo.
    pub(crate) fn count_hand_over(&self, batches: u64) {
        self.handed_over.add_shared(batches);
    }

    /// What a deferred call does after the grace period, and all that it does.
    pub(crate) fn ripen(&self, chain: Chain, shard: usize) {
        let batches = chain.batches();
        match self.shard(shard) {
            Some(shard) => shard.ripe.push_chain(&self.boxes, chain),
            None => self.depot.push_chain(&self.boxes, chain),
        }
        pause_point!("ripe, not counted");
        self.ripened.add_shared(batches);
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
        let ripe = &self.shard(shard & (self.shards.len() - 1))?.ripe;
        if ripe.looks_empty() { None } else { ripe.pop(&self.boxes) }
    }

    /// Whether there was a ripe batch somewhere a moment ago: a hint.
    pub(crate) fn has_ripe(&self) -> bool {
        !self.resting.looks_empty()
            || (0..self.shards.len())
                .any(|number| self.shard(number).is_some_and(|shard| !shard.ripe.looks_empty()))
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
        let fresh = self.boxed(Shard {
            ripe: CachePadded::new(TaggedStack::new()),
            dead: CachePadded::new(AtomicU32::new(0)),
            magazines: AtomicPtr::new(ptr::null_mut()),
            tally: Tally::new(),
        })?;
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
        // Relaxed: linked to, not dereferenced.
        let mut first = shard.magazines.load(Ordering::Relaxed);
        loop {
            // SAFETY: made above, freed by the drop of the circulation alone (invariant 11).
            let magazine = unsafe { fresh.as_ref() };
            // Relaxed: the Release M2 below comes after.
            magazine.next.store(first, Ordering::Relaxed);
            // Release M2: publishes the magazine and its link; pairs with the Acquire M2 in
            // `Shard::magazines`. Nothing is ever unlinked, so there is no ABA.
            match shard.magazines.compare_exchange_weak(
                first,
                fresh.as_ptr(),
                ord!(Release: M2),
                Ordering::Relaxed,
            ) {
                Ok(_) => {
                    // SeqCst: a call that claims this magazine to look, and misses a `shrink`, must
                    // not be missed by it; pairs with the fence in `see_nobody_looking`. No model
                    // fails without it: there the load of the attic has a fence of its own.
                    fence(Ordering::SeqCst);
                    // SAFETY: it was made claimed, by this call (invariant 5).
                    return Ok(unsafe { Claimed::new(magazine) });
                }
                Err(actual) => first = actual,
            }
        }
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
        let shards = (0..self.shards.len()).filter_map(|number| self.shard(number));
        shards.flat_map(|shard| {
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

impl Shard {
    /// The magazines of the shard, the newest first.
    pub(crate) fn magazines(&self) -> impl Iterator<Item = &Magazine> {
        // Acquire M2: receives the magazine and its link; pairs with the Release M2 in
        // `claim_magazine`.
        let mut at = self.magazines.load(ord!(Acquire: M2));
        std::iter::from_fn(move || {
            // SAFETY: a magazine that was published stays until the circulation is dropped
            // (invariant 11).
            let magazine = unsafe { at.as_ref() }?;
            // Relaxed: set before the magazine was published, and never changed.
            at = magazine.next.load(Ordering::Relaxed);
            Some(magazine)
        })
    }

    /// Pushes a Dead slot that the caller owns: one compare-and-swap, no pin, no allocation.
    pub(crate) fn push_dead(&self, index: Index, link: &AtomicU32) {
        // Relaxed: the head is only linked to.
        let mut head = self.dead.load(Ordering::Relaxed);
        loop {
            // Relaxed: the Release D1 below comes after.
            link.store(head, Ordering::Relaxed);
            // Release D1: publishes the link, and the end of the slot's life; pairs with the
            // Acquire D1 in `take_dead`. No ABA: the stack is only ever taken whole.
            match self.dead.compare_exchange_weak(
                head,
                index.0 + 1,
                ord!(Release: D1),
                Ordering::Relaxed,
            ) {
                Ok(_) => return,
                Err(_) if planted("dead slot by a plain store") => {
                    return self.dead.store(index.0 + 1, Ordering::Relaxed);
                }
                Err(actual) => head = actual,
            }
        }
    }

    /// Takes all Dead slots: the first one's index plus one, or 0.
    pub(crate) fn take_dead(&self) -> u32 {
        // Relaxed: a hint that saves the read-modify-write.
        if self.dead.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        // Acquire D1: receives the links and the ends of the lives. The pushes below the top are
        // read-modify-writes, so the release sequence of each extends to the head.
        self.dead.swap(0, ord!(Acquire: D1))
    }
}

impl Drop for Circulation {
    fn drop(&mut self) {
        for shard in &self.shards {
            // Relaxed: the drop is exclusive, and comes after every publication.
            let Some(shard) = NonNull::new(shard.load(Ordering::Relaxed)) else { continue };
            // SAFETY: the circulation is dropped, so nobody refers to it; `boxed` made it
            // (invariant 11).
            let shard = unsafe { Box::from_raw(shard.as_ptr()) };
            // Relaxed: as above.
            let mut at = shard.magazines.load(Ordering::Relaxed);
            while let Some(magazine) = NonNull::new(at) {
                // SAFETY: as above (invariant 11).
                let magazine = unsafe { Box::from_raw(magazine.as_ptr()) };
                // Relaxed: set before the magazine was published.
                at = magazine.next.load(Ordering::Relaxed);
            }
        }
    }
}

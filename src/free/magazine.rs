//! Magazines: what a session takes slots from and gives slots back into, without any
//! read-modify-write. Claimed by one byte; they belong to shards, not to threads, so nothing is
//! stranded when a thread ends and nobody waits for one that is stopped.

use std::marker::PhantomData;
use std::ops::Deref;

use super::batch::{BATCH_CAPACITY, Owned};
use super::claim::Claim;
use super::peak::Peak;
use super::pocket::Pocket;
use super::tally::Tally;
use crate::segment::Index;
use crate::sync::{AtomicPtr, Counter, UnsafeCell};

/// A batch to take from, a batch to give back into, and a spare box.
#[derive(Debug)]
struct Pockets {
    take: Pocket,
    give: Pocket,
    /// How many indices make `give` full; none fits where there is no box.
    limit: usize,
    spare: Option<Owned>,
}

impl Pockets {
    /// Takes the batch of Dead slots away, if there is one.
    fn close(&mut self) -> Option<Owned> {
        self.limit = 0;
        self.give.take()
    }
}

/// A claimable magazine. On lines of its own: its owner writes it all the time.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Magazine {
    claim: Claim,
    /// The next one of the shard; set before it is published, never changed.
    pub(super) next: AtomicPtr<Magazine>,
    pockets: UnsafeCell<Pockets>,
    pub(crate) tally: Tally,
    pub(crate) peak: Peak,
    /// Refills in a row that grew the store before they gathered scattered free slots.
    pub(crate) growths: Counter,
    /// Whether its owner found many slots free when it last looked.
    pub(crate) many_free: CachedAnswer,
}

/// A yes or no that is costly to find out, kept for a number of uses. Only the magazine's owner
/// asks.
///
/// In one word: twice the uses left, plus one for a yes.
#[derive(Debug)]
pub(crate) struct CachedAnswer(Counter);

impl CachedAnswer {
    const fn none() -> CachedAnswer {
        CachedAnswer(Counter::new(0))
    }

    /// The answer, if it has a use left, which this is.
    #[inline]
    pub(crate) fn recall(&self) -> Option<bool> {
        let kept = self.0.get();
        self.0.set(kept.checked_sub(2)?);
        Some(kept % 2 == 1)
    }

    /// Keeps an answer for so many uses.
    #[inline]
    pub(crate) fn keep(&self, answer: bool, uses: u64) {
        self.0.set(2 * uses + u64::from(answer));
    }
}

/// What became of an index that was given back.
#[must_use]
#[derive(Debug)]
pub(crate) enum Put {
    /// It is in the magazine.
    Kept,
    /// It is in this batch, which is full: the caller owes it the way through limbo.
    Full(Owned),
    /// There is no box to put it in: the caller owes one (`supply`), or another place.
    NoBox,
}

impl Magazine {
    /// A magazine that its maker has claimed.
    pub(super) fn claimed() -> Magazine {
        Magazine {
            claim: Claim::claimed(),
            next: AtomicPtr::new(std::ptr::null_mut()),
            pockets: UnsafeCell::new(Pockets {
                take: Pocket::new(),
                give: Pocket::new(),
                limit: 0,
                spare: None,
            }),
            tally: Tally::new(),
            peak: Peak::new(),
            growths: Counter::new(0),
            many_free: CachedAnswer::none(),
        }
    }

    /// Claims it, if nobody has it.
    #[inline]
    pub(crate) fn claim(&self) -> Option<Claimed<'_>> {
        // SAFETY: claimed just now, by this call (invariant 5).
        self.claim.claim().then(|| unsafe { Claimed::new(self) })
    }

    /// Claims it for a call that looks an entity up without a pin, if nobody has it. The caller may
    /// look once it has seen that nobody is in the attic.
    #[inline]
    pub(crate) fn claim_to_look(&self) -> Option<Claimed<'_>> {
        // SAFETY: claimed just now, by this call (invariant 5).
        self.claim.claim_to_look().then(|| unsafe { Claimed::new(self) })
    }

    /// Whether its owner may be looking an entity up without a pin.
    pub(crate) fn looks(&self) -> bool {
        self.claim.looks()
    }
}

/// A magazine that this thread has claimed: the way to its pockets.
///
/// The sessions of one thread share a claim, so it can be copied; it does not leave the thread,
/// and is not used after it was released.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claimed<'m> {
    magazine: &'m Magazine,
    _this_thread: PhantomData<*const ()>,
}

impl Deref for Claimed<'_> {
    type Target = Magazine;

    fn deref(&self) -> &Magazine {
        self.magazine
    }
}

impl<'m> Claimed<'m> {
    /// # Safety
    /// * This thread has claimed the magazine and uses the claim until it releases it, no longer.
    #[inline]
    pub(crate) unsafe fn new(magazine: &'m Magazine) -> Claimed<'m> {
        Claimed { magazine, _this_thread: PhantomData }
    }

    /// Releases it.
    #[inline]
    pub(crate) fn release(self) {
        self.magazine.claim.release();
    }

    /// Keeps it, and does not look without a pin any more.
    pub(crate) fn stop_looking(self) {
        self.magazine.claim.stop_looking();
    }

    #[inline]
    fn pockets<R>(&self, f: impl FnOnce(&mut Pockets) -> R) -> R {
        // SAFETY: the claim is exclusive, this thread has it, and no caller here nests or runs
        // user code (invariant 5, 8).
        self.magazine.pockets.with_mut(|pockets| f(unsafe { &mut *pockets }))
    }

    /// The index that `take` would give.
    #[inline]
    pub(crate) fn peek(&self) -> Option<Index> {
        self.pockets(|pockets| pockets.take.peek())
    }

    /// Takes an index out.
    #[inline]
    pub(crate) fn take(&self) -> Option<Index> {
        self.pockets(|pockets| pockets.take.pop())
    }

    /// Gives an index back that was taken and not used; whether there was room for it.
    pub(crate) fn untake(&self, index: Index) -> bool {
        self.pockets(|pockets| {
            let fits = pockets.take.is_open() && pockets.take.len() < BATCH_CAPACITY;
            if fits {
                pockets.take.push(index);
            }
            fits
        })
    }

    /// Gives a Dead slot's index back. A box that is begun with it counts as full at `limit`.
    #[inline]
    pub(crate) fn put(&self, index: Index, limit: impl FnOnce() -> usize) -> Put {
        let kept = self.pockets(|pockets| {
            let kept = pockets.give.len() + 1 < pockets.limit;
            if kept {
                pockets.give.push(index);
            }
            kept
        });
        if kept { Put::Kept } else { self.put_last(index, limit()) }
    }

    /// `put` into a box that is to be begun, or is full with it.
    #[cold]
    #[inline(never)]
    fn put_last(&self, index: Index, limit: usize) -> Put {
        self.put_many(&[index], || limit).1
    }

    /// Gives Dead slots' indices back, as `put` does one: how many, and what became of the last.
    pub(crate) fn put_many(
        &self,
        indices: &[Index],
        limit: impl FnOnce() -> usize,
    ) -> (usize, Put) {
        self.pockets(|pockets| {
            if !pockets.give.is_open() {
                let Some(spare) = pockets.spare.take() else { return (0, Put::NoBox) };
                pockets.limit = limit();
                pockets.give.replace(spare);
            }
            // At least one: what is full has left the pocket, or the limit has fallen meanwhile.
            let room = pockets.limit.saturating_sub(pockets.give.len()).max(1);
            let fitting = indices.len().min(room);
            pockets.give.extend(&indices[..fitting]);
            if pockets.give.len() < pockets.limit {
                return (fitting, Put::Kept);
            }
            (fitting, pockets.close().map_or(Put::Kept, Put::Full))
        })
    }

    /// Puts a full batch in place of the one to take from; the empty box comes out if there is a
    /// spare already.
    pub(crate) fn load(&self, batch: Owned) -> Option<Owned> {
        let old = self.pockets(|pockets| pockets.take.replace(batch))?;
        debug_assert!(old.is_empty(), "nothing is lost under a new batch");
        self.supply(old)
    }

    /// Adds a spare box; it comes out if there is one already.
    pub(crate) fn supply(&self, spare: Owned) -> Option<Owned> {
        self.pockets(|pockets| {
            if pockets.spare.is_some() {
                return Some(spare);
            }
            pockets.spare = Some(spare);
            None
        })
    }

    /// Takes the empty boxes away.
    pub(crate) fn clear_out(&self, mut empty: impl FnMut(Owned)) {
        let boxes = self.pockets(|pockets| {
            let emptied = if pockets.take.len() == 0 { pockets.take.take() } else { None };
            [pockets.spare.take(), emptied]
        });
        boxes.into_iter().flatten().for_each(&mut empty);
    }

    /// Takes the batch to take from away, unless it is empty.
    pub(crate) fn unload(&self) -> Option<Owned> {
        self.pockets(|pockets| if pockets.take.len() > 0 { pockets.take.take() } else { None })
    }

    /// Puts a batch of Dead slots that `collect` took away back; it counts as full at `limit`.
    pub(crate) fn put_aside(&self, batch: Owned, limit: usize) {
        let displaced = self.pockets(|pockets| {
            pockets.limit = limit;
            pockets.give.replace(batch)
        });
        debug_assert!(displaced.is_none(), "nothing was given back meanwhile");
    }

    /// Takes the batch of Dead slots away, if there is one.
    pub(crate) fn collect(&self) -> Option<Owned> {
        self.pockets(Pockets::close)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::CachedAnswer;

    #[test]
    fn answer_is_recalled_as_often_as_it_is_kept_for() {
        let cached = CachedAnswer::none();
        assert_eq!(cached.recall(), None);
        for answer in [true, false] {
            cached.keep(answer, 2);
            assert_eq!([(); 3].map(|()| cached.recall()), [Some(answer), Some(answer), None]);
            assert_eq!(cached.recall(), None, "for good");
        }
    }
}

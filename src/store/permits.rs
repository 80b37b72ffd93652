//! Permits: one for each unit of capacity, spread over the shards, so that threads do not contend
//! for a single counter.
//!
//! A word a shard: the count of free permits in the low half, and a version in the high half that
//! every return advances. A refusal needs two passes that find every count zero under the same
//! versions. Then no word was returned to between its two readings, and there is a moment, after
//! the last reading of the first pass and before the first of the second, at which all were zero
//! at once. One pass would refuse although a permit was free at every instant: it could have moved
//! from a word not read yet to one read already.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicU64, Ordering, planted};

const VERSION_SHIFT: u32 = 32;

const fn count(word: u64) -> u32 {
    word as u32
}

const fn version(word: u64) -> u64 {
    word >> VERSION_SHIFT
}

/// How many entities may be alive: initially, and after all growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ceiling {
    pub(crate) capacity: u32,
    /// Units that may be added, one by one, when all others are out.
    pub(crate) growth: u32,
}

impl Ceiling {
    /// How many may be alive in the end.
    pub(crate) const fn most(self) -> usize {
        self.capacity as usize + self.growth as usize
    }
}

/// The free units of a capacity.
#[derive(Debug)]
pub(crate) struct Permits {
    words: Box<[CachePadded<AtomicU64>]>,
    ceiling: Ceiling,
    /// Units added so far. It only rises.
    grown: CachePadded<AtomicU32>,
}

impl Permits {
    /// Permits over `shards` words, a power of two.
    pub(crate) fn new(ceiling: Ceiling, shards: usize) -> Permits {
        let (capacity, shards) = (ceiling.capacity, shards as u32);
        let words = (0..shards)
            .map(|shard| {
                let share = capacity / shards + u32::from(shard < capacity % shards);
                CachePadded::new(AtomicU64::new(u64::from(share)))
            })
            .collect();
        Permits { words, ceiling, grown: CachePadded::new(AtomicU32::new(0)) }
    }

    /// Memory of the words.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }

    /// Units added so far.
    pub(crate) fn grown(&self) -> u32 {
        // Relaxed: a statistic, which only rises.
        self.grown.load(Ordering::Relaxed)
    }

    /// Whether nothing is left to add, which stays so.
    fn spent(&self) -> bool {
        // Acquire C3: whoever added the last unit may have given one back before, which the passes
        // that follow must see; pairs with the Release C3 in `grow`.
        self.grown.load(ord!(Acquire: C3)) >= self.ceiling.growth
    }

    /// Units that there are, added ones included.
    pub(crate) fn in_force(&self) -> usize {
        self.ceiling.capacity as usize + self.grown() as usize
    }

    /// How many are out: never more than there are.
    pub(crate) fn out(&self) -> usize {
        self.in_force().saturating_sub(self.free())
    }

    /// How many are free: exact when quiet, and else off by those that change hands meanwhile.
    fn free(&self) -> usize {
        // Relaxed: a statistic.
        self.words.iter().map(|word| count(word.load(Ordering::Relaxed)) as usize).sum()
    }

    /// Takes a permit, from the home shard outward, or adds one; false if there was a moment
    /// without any and with nothing to add.
    #[inline]
    pub(crate) fn take(&self, home: usize) -> bool {
        self.take_at_home(home) || self.take_slow(home)
    }

    /// Takes a permit of the home shard, if there is one.
    #[inline]
    pub(super) fn take_at_home(&self, home: usize) -> bool {
        self.take_from(home & (self.words.len() - 1)).is_ok()
    }

    #[cold]
    fn take_slow(&self, home: usize) -> bool {
        loop {
            // Before the passes: growth that is spent stays so, and the moment that they find is
            // one without anything to add. Afterwards a unit could have come back between the
            // passes and the last growth, and something would have been there all along.
            let spent = self.spent();
            if self.take_any(home) {
                return true;
            }
            if spent {
                return false;
            }
            if self.grow() {
                return true;
            }
        }
    }

    /// Takes a permit of any word; false if there was a moment without any.
    fn take_any(&self, home: usize) -> bool {
        let mask = self.words.len() - 1;
        loop {
            let mut passes = [0u64; 2];
            for pass in &mut passes {
                for step in 0..self.words.len() {
                    match self.take_from((home + step) & mask) {
                        Ok(()) => return true,
                        Err(version) => *pass = pass.wrapping_add(version),
                    }
                }
                if planted("one pass before a refusal") {
                    return false;
                }
            }
            // Versions only grow, so equal sums are equal versions.
            if passes[0] == passes[1] {
                return false;
            }
        }
    }

    /// Adds a unit, which is the caller's; false if all are added.
    pub(crate) fn grow(&self) -> bool {
        let growth = self.ceiling.growth;
        if planted("growth by a plain store") && self.grown() < growth {
            self.grown.store(self.grown() + 1, Ordering::Relaxed);
            return true;
        }
        let one_more = |grown| (grown < growth).then_some(grown + 1);
        // Release C3: whoever finds growth spent sees what this thread gave back before. Relaxed
        // for what is found: the read-modify-write gives each unit to one caller, and a new one had
        // no entity whose end would have to be received.
        self.grown.fetch_update(ord!(Release: C3), Ordering::Relaxed, one_more).is_ok()
    }

    /// Takes a permit of one word, or answers the version under which it had none: one reading
    /// says both, because a count and a version from two readings need not belong together.
    #[inline]
    fn take_from(&self, shard: usize) -> Result<(), u64> {
        // Acquire C1, C2: the entity that gave a unit back has ended before the next one begins;
        // and whoever took the last unit here may have given one to another word before, which the
        // reading of that word must see.
        let mut word = self.words[shard].load(ord!(Acquire: C1, C2));
        while count(word) > 0 {
            // Release C2: whoever finds the word empty sees what this thread gave to other words
            // before. Nothing to receive: no two values of a word are equal, so the one that is
            // replaced is the one that was read. Acquire C1, C2 on failure: as above.
            match self.words[shard].compare_exchange_weak(
                word,
                word - 1,
                ord!(Release: C2),
                ord!(Acquire: C1, C2),
            ) {
                Ok(_) => return Ok(()),
                Err(_) if planted("permit whoever took it") => return Ok(()),
                Err(actual) => word = actual,
            }
        }
        Err(version(word))
    }

    /// Gives a permit back, after its entity is Dead.
    #[inline]
    pub(crate) fn give(&self, home: usize) {
        const ONE_MORE: u64 = (1 << VERSION_SHIFT) + 1;
        // Release C1: the entity has ended; pairs with the Acquire C1 in `take_from`.
        self.words[home & (self.words.len() - 1)].fetch_add(ONE_MORE, ord!(Release: C1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn permits_are_exactly_the_capacity_over_any_number_of_shards() {
        for shards in [1, 2, 4, 8] {
            for capacity in 0..20 {
                let permits = Permits::new(Ceiling { capacity, growth: 0 }, shards);
                for taken in 0..capacity {
                    assert!(permits.take(taken as usize), "{taken} of {capacity} over {shards}");
                }
                assert!(!permits.take(0));
                permits.give(1);
                assert!(permits.take(2));
                assert!(!permits.take(3));
            }
        }
    }
    #[test]
    fn permits_grow_one_by_one_when_all_are_out() {
        let permits = Permits::new(Ceiling { capacity: 2, growth: 3 }, 2);
        for taken in 1..=5 {
            assert!(permits.take(taken), "{taken} of 5");
            assert_eq!((permits.out(), permits.in_force()), (taken, taken.max(2)));
        }
        assert!(!permits.take(0));
        permits.give(0);
        assert_eq!((permits.out(), permits.in_force()), (4, 5));
        assert!(permits.take(1));
        assert_eq!(permits.grown(), 3, "a unit that came back is taken before one is added");
    }
}

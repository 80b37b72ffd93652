//! Permits: one for each unit of capacity, spread over the shards, so that no counter is fought
//! over by all threads.
//!
//! A word a shard: the count of free permits in the low half, and a version in the high half that
//! every return advances. A refusal needs two passes that find every count zero under the same
//! versions. Then no word was returned to between its two readings, and there is a moment, after
//! the last reading of the first pass and before the first of the second, at which all were zero
//! at once. One pass would refuse although a permit was free at every instant: it could have moved
//! from a word not read yet to one read already.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU64, Ordering, planted};

const VERSION_SHIFT: u32 = 32;

const fn count(word: u64) -> u32 {
    word as u32
}

const fn version(word: u64) -> u64 {
    word >> VERSION_SHIFT
}

/// The free units of a capacity.
#[derive(Debug)]
pub(crate) struct Permits(Box<[CachePadded<AtomicU64>]>);

impl Permits {
    /// `capacity` permits over `shards` words, a power of two.
    pub(crate) fn new(capacity: u32, shards: usize) -> Permits {
        let shards = shards as u32;
        Permits(
            (0..shards)
                .map(|shard| {
                    let share = capacity / shards + u32::from(shard < capacity % shards);
                    CachePadded::new(AtomicU64::new(u64::from(share)))
                })
                .collect(),
        )
    }

    /// Memory of the words.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// How many are free: exact when quiet, and else off by those that change hands meanwhile.
    pub(super) fn free(&self) -> usize {
        // Relaxed: a statistic.
        self.0.iter().map(|word| count(word.load(Ordering::Relaxed)) as usize).sum()
    }

    /// Takes a permit, from the home shard outward; false if there was a moment without any.
    #[inline]
    pub(crate) fn take(&self, home: usize) -> bool {
        self.take_from(home & (self.0.len() - 1)).is_ok() || self.take_slow(home)
    }

    #[cold]
    fn take_slow(&self, home: usize) -> bool {
        let mask = self.0.len() - 1;
        loop {
            let mut passes = [0u64; 2];
            for pass in &mut passes {
                for step in 0..self.0.len() {
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

    /// Takes a permit of one word, or answers the version under which it had none: one reading
    /// says both, because a count and a version from two readings need not belong together.
    #[inline]
    fn take_from(&self, shard: usize) -> Result<(), u64> {
        // Acquire C1, C2: the entity that gave a unit back has ended before the next one begins;
        // and whoever took the last unit here may have given one to another word before, which the
        // reading of that word must see.
        let mut word = self.0[shard].load(ord!(Acquire: C1, C2));
        while count(word) > 0 {
            // Release C2: whoever finds the word empty sees what this thread gave to other words
            // before. Nothing to receive: no two values of a word are equal, so the one that is
            // replaced is the one that was read. Acquire C1, C2 on failure: as above.
            match self.0[shard].compare_exchange_weak(
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
        let one = (1 << VERSION_SHIFT) + 1;
        // Release C1: the entity has ended; pairs with the Acquire C1 in `take_from`.
        self.0[home & (self.0.len() - 1)].fetch_add(one, ord!(Release: C1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn permits_are_exactly_the_capacity_over_any_number_of_shards() {
        for shards in [1, 2, 4, 8] {
            for capacity in 0..20 {
                let permits = Permits::new(capacity, shards);
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
}

//! Numbers of leases: unique, and rising for whoever takes them on one thread.
//!
//! A thread takes them in blocks, twice as many each time while it stays with one pool, so that in
//! the steady state a number costs no read-modify-write. What is left of a block when the thread
//! turns to another pool, or ends, is skipped.

use std::cell::Cell;

use crate::sync::{Counter, Number, local};

/// Numbers that a thread takes at once, at most.
const LARGEST_BLOCK: u64 = 256;

/// The numbers of one pool.
#[derive(Debug)]
pub(super) struct Sequence {
    /// Tells pools apart: never reused, and never 0.
    pool: u64,
    /// The first number that no thread has taken.
    free: Counter,
}

/// What a thread has taken and not used yet: `next..end`, of the pool that it used last.
#[derive(Debug)]
struct Block {
    pool: Cell<u64>,
    next: Cell<u64>,
    end: Cell<u64>,
    /// How many it took the last time.
    size: Cell<u64>,
}

impl Block {
    const fn new() -> Block {
        Block { pool: Cell::new(0), next: Cell::new(0), end: Cell::new(0), size: Cell::new(0) }
    }
}

local! {
    /// This thread's numbers. Nothing to drop, so it is there in the thread's last moments too.
    static BLOCK: Block = Block::new();
}

impl Sequence {
    pub(super) fn new() -> Sequence {
        static POOLS: Number = Number::starting_at(1);
        Sequence { pool: POOLS.next(), free: Counter::new(1) }
    }

    /// The next number of this thread.
    #[inline]
    pub(super) fn next(&self) -> u64 {
        let next = |block: &Block| {
            let number = block.next.get();
            if block.pool.get() != self.pool || number == block.end.get() {
                return self.refill(block);
            }
            block.next.set(number + 1);
            number
        };
        BLOCK.try_with(next).unwrap_or_else(|_| self.free.add_shared(1))
    }

    /// Takes a block, and the first number of it.
    #[cold]
    fn refill(&self, block: &Block) -> u64 {
        let stays = block.pool.replace(self.pool) == self.pool;
        let size = if stays { (block.size.get() * 2).min(LARGEST_BLOCK) } else { 1 };
        let first = self.free.add_shared(size);
        block.size.set(size);
        block.next.set(first + 1);
        block.end.set(first + size);
        first
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn numbers_on_one_thread_are_consecutive_from_one() {
        let sequence = Sequence::new();
        let numbers = Vec::from_iter((0..2000).map(|_| sequence.next()));
        assert_eq!(numbers, Vec::from_iter(1..=2000));
    }

    #[test]
    fn numbers_of_pools_in_turn_rise_and_are_unique() {
        let (one, two) = (Sequence::new(), Sequence::new());
        let mut last = (0, 0);
        for round in 0..1000 {
            for _ in 0..round % 5 {
                let number = one.next();
                assert!(number > last.0);
                last.0 = number;
            }
            let number = two.next();
            assert!(number > last.1);
            last.1 = number;
        }
    }

    #[test]
    fn numbers_of_threads_are_unique() {
        let sequence = Sequence::new();
        let take = || Vec::from_iter((0..1000).map(|_| sequence.next()));
        let mut all = std::thread::scope(|scope| {
            let threads = [(); 4].map(|()| scope.spawn(take));
            Vec::from_iter(threads.into_iter().flat_map(|thread| thread.join().unwrap()))
        });
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4000);
    }
}

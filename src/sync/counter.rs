//! A statistics counter: never modelled, never ordering anything.

use std::sync::atomic::{AtomicU64, Ordering};

/// A count that any thread may read at any time.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) const fn new(value: u64) -> Counter {
        Counter(AtomicU64::new(value))
    }

    #[inline]
    pub(crate) fn get(&self) -> u64 {
        // Relaxed: a statistic; who needs it exact has joined or otherwise synchronised first.
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn set(&self, value: u64) {
        // Relaxed: a statistic, see `get`.
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds as the only writer: a load and a store, no read-modify-write.
    #[inline]
    pub(crate) fn add_owned(&self, n: u64) {
        self.set(self.get().wrapping_add(n));
    }

    /// Adds where other threads may add at the same time; the sum before.
    #[inline]
    pub(crate) fn add_shared(&self, n: u64) -> u64 {
        // Relaxed: a statistic, see `get`; the read-modify-write loses no count.
        self.0.fetch_add(n, Ordering::Relaxed)
    }

    /// Lowers it to `n` if it is above.
    pub(crate) fn lower(&self, n: u64) {
        // Relaxed: a statistic, see `get`.
        self.0.fetch_min(n, Ordering::Relaxed);
    }

    /// Adds `n`, or as much of it as keeps the sum within `most`; how much.
    pub(crate) fn add_within(&self, n: u64, most: u64) -> u64 {
        let mut granted = 0;
        let add = |sum: u64| {
            granted = n.min(most.saturating_sub(sum));
            (granted > 0).then_some(sum + granted)
        };
        // Relaxed: a count, see `get`; the read-modify-write keeps it within.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
        granted
    }

    #[inline]
    pub(crate) fn sub_shared(&self, n: u64) {
        // Relaxed: a statistic, see `get`.
        self.0.fetch_sub(n, Ordering::Relaxed);
    }
}

/// A process-wide source of numbers that are never given out twice.
#[derive(Debug)]
pub(crate) struct Number(AtomicU64);

impl Number {
    pub(crate) const fn starting_at(first: u64) -> Number {
        Number(AtomicU64::new(first))
    }

    pub(crate) fn next(&self) -> u64 {
        // Relaxed: only uniqueness is asked for, and a read-modify-write gives it.
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

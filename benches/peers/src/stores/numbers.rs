//! Maps as stores. They do not make their own keys: each session has numbers of the harness.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;

use super::{Payload, Store};

/// What maps are given to hash with: the standard library's is made against attackers, and slow.
pub type Hasher = FixedState;

/// What the maps do each in their own way.
pub trait Map<const N: usize>: Debug + Default + Send + Sync + 'static {
    /// What is held while the map is used, `()` where there is no such thing.
    type Guard<'g>;

    fn guard(&self) -> Self::Guard<'_>;

    fn insert(&self, guard: &Self::Guard<'_>, key: u64, value: Payload<N>);

    /// Ends what a key is of; whether it was there.
    fn remove(&self, guard: &Self::Guard<'_>, key: u64) -> bool;

    /// The first word of the payload.
    fn first(&self, guard: &Self::Guard<'_>, key: u64) -> Option<u64>;

    /// The sum of all first words.
    fn sum(&self) -> u64;
}

/// A map and the numbers for its keys.
#[derive(Debug, Default)]
pub struct Numbered<M> {
    map: M,
    /// Each session has 2^32 of them to itself.
    numbers: CachePadded<AtomicU64>,
}

/// The next key of a session.
#[derive(Debug)]
pub struct Next(u64);

impl Next {
    #[inline]
    fn take(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

impl<M: Map<N>, const N: usize> Store<N> for Numbered<M> {
    type Key = u64;
    type Session<'s> = (M::Guard<'s>, Next);

    fn with_room(_room: usize) -> Self {
        Numbered::default()
    }

    fn session(&self) -> Self::Session<'_> {
        // Relaxed: only uniqueness is asked for.
        let next = Next(self.numbers.fetch_add(1 << 32, Ordering::Relaxed));
        (self.map.guard(), next)
    }

    /// The numbers go on.
    #[inline]
    fn reopen<'s>(&'s self, (guard, next): Self::Session<'s>) -> Self::Session<'s> {
        drop(guard);
        (self.map.guard(), next)
    }

    #[inline]
    fn insert(&self, (guard, next): &mut Self::Session<'_>, value: Payload<N>) -> u64 {
        let key = next.take();
        self.map.insert(guard, key, value);
        key
    }

    #[inline]
    fn remove(&self, (guard, _): &mut Self::Session<'_>, key: u64) -> bool {
        self.map.remove(guard, key)
    }

    #[inline]
    fn get(&self, (guard, _): &Self::Session<'_>, key: u64) -> Option<u64> {
        self.map.first(guard, key)
    }

    fn sum(&mut self) -> u64 {
        self.map.sum()
    }
}

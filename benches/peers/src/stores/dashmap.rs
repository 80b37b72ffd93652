//! dashmap: a locked table a shard.

use dashmap::DashMap;

use super::Payload;
use super::numbers::{Hasher, Map, Numbered};

/// With a fast hasher; it locks a shard for each operation.
pub type Dash<const N: usize> = Numbered<DashMap<u64, Payload<N>, Hasher>>;

impl<const N: usize> Map<N> for DashMap<u64, Payload<N>, Hasher> {
    type Guard<'g> = ();

    fn guard(&self) {}

    #[inline]
    fn insert(&self, _guard: &(), key: u64, value: Payload<N>) {
        DashMap::insert(self, key, value);
    }

    #[inline]
    fn remove(&self, _guard: &(), key: u64) -> bool {
        DashMap::remove(self, &key).is_some()
    }

    #[inline]
    fn first(&self, _guard: &(), key: u64) -> Option<u64> {
        self.get(&key).map(|payload| payload[0])
    }

    fn sum(&self) -> u64 {
        self.iter().map(|payload| payload[0]).sum()
    }
}

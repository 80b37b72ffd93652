//! papaya's `HashMap`: lock-free open addressing, a box for each entry, seize for reclamation.

use papaya::{HashMap, LocalGuard};

use super::Payload;
use super::numbers::{Hasher, Map, Numbered};

type Boxes<const N: usize> = HashMap<u64, Payload<N>, Hasher>;

/// With a fast hasher, under a guard that is held and taken anew as often as hatchery's session is
/// moved along.
pub type Papaya<const N: usize> = Numbered<Boxes<N>>;

impl<const N: usize> Map<N> for Boxes<N> {
    type Guard<'g> = LocalGuard<'g>;

    #[inline]
    fn guard(&self) -> LocalGuard<'_> {
        HashMap::guard(self)
    }

    #[inline]
    fn insert(&self, guard: &LocalGuard<'_>, key: u64, value: Payload<N>) {
        HashMap::insert(self, key, value, guard);
    }

    #[inline]
    fn remove(&self, guard: &LocalGuard<'_>, key: u64) -> bool {
        HashMap::remove(self, &key, guard).is_some()
    }

    #[inline]
    fn first(&self, guard: &LocalGuard<'_>, key: u64) -> Option<u64> {
        self.get(&key, guard).map(|payload| payload[0])
    }

    fn sum(&self) -> u64 {
        self.values(&HashMap::guard(self)).map(|payload| payload[0]).sum()
    }
}

/// With a guard for each operation.
pub type PapayaEach<const N: usize> = Numbered<Each<N>>;

#[derive(Debug, Default)]
pub struct Each<const N: usize>(Boxes<N>);

impl<const N: usize> Map<N> for Each<N> {
    type Guard<'g> = ();

    fn guard(&self) {}

    #[inline]
    fn insert(&self, _guard: &(), key: u64, value: Payload<N>) {
        self.0.pin().insert(key, value);
    }

    #[inline]
    fn remove(&self, _guard: &(), key: u64) -> bool {
        self.0.pin().remove(&key).is_some()
    }

    #[inline]
    fn first(&self, _guard: &(), key: u64) -> Option<u64> {
        self.0.pin().get(&key).map(|payload| payload[0])
    }

    fn sum(&self) -> u64 {
        Map::sum(&self.0)
    }
}

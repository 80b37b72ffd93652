//! scc's `HashMap`: locked buckets, a table that grows by and by.

use scc::HashMap;

use super::Payload;
use super::numbers::{Hasher, Map, Numbered};

/// With a fast hasher, by the synchronous calls, and reading in place by `read_sync`.
pub type Scc<const N: usize> = Numbered<HashMap<u64, Payload<N>, Hasher>>;

impl<const N: usize> Map<N> for HashMap<u64, Payload<N>, Hasher> {
    type Guard<'g> = ();

    fn guard(&self) {}

    #[inline]
    fn insert(&self, _guard: &(), key: u64, value: Payload<N>) {
        assert!(self.insert_sync(key, value).is_ok());
    }

    #[inline]
    fn remove(&self, _guard: &(), key: u64) -> bool {
        self.remove_sync(&key).is_some()
    }

    #[inline]
    fn first(&self, _guard: &(), key: u64) -> Option<u64> {
        self.read_sync(&key, |_, payload| payload[0])
    }

    fn sum(&self) -> u64 {
        let mut sum = 0;
        self.iter_sync(|_, payload| {
            sum += payload[0];
            true
        });
        sum
    }
}

//! The empty harness: what the workloads take by themselves.

use std::hint::black_box;

use super::{Payload, Store};

/// Nothing: a payload is made and looked at, and its first word is the key.
#[derive(Debug)]
pub struct Empty<const N: usize>;

impl<const N: usize> Store<N> for Empty<N> {
    type Key = u64;
    type Session<'s> = ();

    const ITERATES: bool = false;

    fn with_room(_room: usize) -> Self {
        Empty
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> u64 {
        black_box(value)[0]
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: u64) -> bool {
        black_box(key);
        true
    }

    #[inline]
    fn get(&self, _session: &(), key: u64) -> Option<u64> {
        Some(key)
    }

    fn sum(&mut self) -> u64 {
        unreachable!("there is nothing to iterate over")
    }
}

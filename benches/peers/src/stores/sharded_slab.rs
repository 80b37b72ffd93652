//! sharded-slab: pages for each thread, a reference count in each slot's word.

use super::{Payload, Store, payload};

/// `Slab`: `remove` rather than `take`, which would copy the payload out.
#[derive(Debug)]
pub struct Slab<const N: usize>(sharded_slab::Slab<Payload<N>>);

impl<const N: usize> Store<N> for Slab<N> {
    type Key = usize;
    type Session<'s> = ();

    fn with_room(_room: usize) -> Self {
        Slab(sharded_slab::Slab::new())
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> usize {
        self.0.insert(value).unwrap()
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: usize) -> bool {
        self.0.remove(key)
    }

    #[inline]
    fn get(&self, _session: &(), key: usize) -> Option<u64> {
        self.0.get(key).map(|payload| payload[0])
    }

    /// Only who has it alone may iterate.
    fn sum(&mut self) -> u64 {
        self.0.unique_iter().map(|payload| payload[0]).sum()
    }
}

/// What the pool asks for.
#[derive(Debug)]
pub struct Pooled<const N: usize>(Payload<N>);

impl<const N: usize> Default for Pooled<N> {
    fn default() -> Self {
        Pooled(payload(0))
    }
}

impl<const N: usize> sharded_slab::Clear for Pooled<N> {
    /// Nothing to clear: the next payload is written over the old one.
    fn clear(&mut self) {}
}

/// `Pool`: payloads are made once and written over.
#[derive(Debug)]
pub struct Pool<const N: usize>(sharded_slab::Pool<Pooled<N>>);

impl<const N: usize> Store<N> for Pool<N> {
    type Key = usize;
    type Session<'s> = ();

    /// The crate gives no way to iterate over a pool.
    const ITERATES: bool = false;

    fn with_room(_room: usize) -> Self {
        Pool(sharded_slab::Pool::new())
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> usize {
        self.0.create_with(|pooled| pooled.0 = value).unwrap()
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: usize) -> bool {
        self.0.clear(key)
    }

    #[inline]
    fn get(&self, _session: &(), key: usize) -> Option<u64> {
        self.0.get(key).map(|pooled| pooled.0[0])
    }

    fn sum(&mut self) -> u64 {
        unreachable!("a pool does not iterate")
    }
}

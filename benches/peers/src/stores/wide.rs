//! Another candidate with its keys as wide as hatchery's, of which as many fill twice the memory.

use std::mem::size_of;

use super::{Payload, Store};

/// The store of another candidate.
#[derive(Debug)]
pub struct Wide<S>(S);

/// A key, and as much again as makes it 16 bytes.
#[derive(Clone, Copy, Debug)]
pub struct Key<K> {
    key: K,
    _width: u64,
}

impl<S: Store<N>, const N: usize> Store<N> for Wide<S> {
    type Key = Key<S::Key>;
    type Session<'s> = S::Session<'s>;

    const ITERATES: bool = S::ITERATES;
    const MAPS_MEMORY: bool = S::MAPS_MEMORY;

    fn with_room(room: usize) -> Self {
        const { assert!(size_of::<Key<S::Key>>() == size_of::<hatchery::Handle>()) };
        Wide(S::with_room(room))
    }

    #[inline]
    fn session(&self) -> Self::Session<'_> {
        self.0.session()
    }

    #[inline]
    fn repin<'s>(&'s self, session: Self::Session<'s>) -> Self::Session<'s> {
        self.0.repin(session)
    }

    #[inline]
    fn insert(&self, session: &mut Self::Session<'_>, value: Payload<N>) -> Self::Key {
        Key { key: self.0.insert(session, value), _width: value[0] }
    }

    #[inline]
    fn remove(&self, session: &mut Self::Session<'_>, key: Self::Key) -> bool {
        self.0.remove(session, key.key)
    }

    #[inline]
    fn get(&self, session: &Self::Session<'_>, key: Self::Key) -> Option<u64> {
        self.0.get(session, key.key)
    }

    fn sum(&mut self) -> u64 {
        self.0.sum()
    }
}

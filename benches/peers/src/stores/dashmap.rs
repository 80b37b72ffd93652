//! dashmap: a locked table a shard. Its keys are numbers of the harness.

use dashmap::DashMap;

use super::numbers::{Hasher, Next, Numbers};
use super::{Payload, Store};

/// With a fast hasher; it locks a shard for each operation.
#[derive(Debug)]
pub struct Dash<const N: usize> {
    map: DashMap<u64, Payload<N>, Hasher>,
    numbers: Numbers,
}

impl<const N: usize> Store<N> for Dash<N> {
    type Key = u64;
    type Session<'s> = Next;

    fn with_room(_room: usize) -> Self {
        Dash { map: DashMap::with_hasher(Hasher::default()), numbers: Numbers::default() }
    }

    fn session(&self) -> Next {
        self.numbers.session()
    }

    /// The numbers go on.
    #[inline]
    fn reopen(&self, session: Next) -> Next {
        session
    }

    #[inline]
    fn insert(&self, session: &mut Next, value: Payload<N>) -> u64 {
        let key = session.take();
        self.map.insert(key, value);
        key
    }

    #[inline]
    fn remove(&self, _session: &mut Next, key: u64) -> bool {
        self.map.remove(&key).is_some()
    }

    #[inline]
    fn get(&self, _session: &Next, key: u64) -> Option<u64> {
        self.map.get(&key).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        self.map.iter().map(|payload| payload[0]).sum()
    }
}

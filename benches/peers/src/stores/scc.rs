//! scc's `HashMap`: locked buckets, a table that grows by and by. Its keys are numbers of the
//! harness.

use scc::HashMap;

use super::numbers::{Hasher, Next, Numbers};
use super::{Payload, Store};

/// With a fast hasher, by the synchronous calls, and reading in place by `read_sync`.
#[derive(Debug)]
pub struct Scc<const N: usize> {
    map: HashMap<u64, Payload<N>, Hasher>,
    numbers: Numbers,
}

impl<const N: usize> Store<N> for Scc<N> {
    type Key = u64;
    type Session<'s> = Next;

    fn with_room(_room: usize) -> Self {
        Scc { map: HashMap::with_hasher(Hasher::default()), numbers: Numbers::default() }
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
        assert!(self.map.insert_sync(key, value).is_ok());
        key
    }

    #[inline]
    fn remove(&self, _session: &mut Next, key: u64) -> bool {
        self.map.remove_sync(&key).is_some()
    }

    #[inline]
    fn get(&self, _session: &Next, key: u64) -> Option<u64> {
        self.map.read_sync(&key, |_, payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        let mut sum = 0;
        self.map.iter_sync(|_, payload| {
            sum += payload[0];
            true
        });
        sum
    }
}

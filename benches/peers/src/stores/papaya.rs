//! papaya's `HashMap`: lock-free open addressing, a box for each entry, seize for reclamation. Its
//! keys are numbers of the harness.

use papaya::{HashMap, LocalGuard};

use super::numbers::{Hasher, Next, Numbers};
use super::{Payload, Store};

/// With a fast hasher, under a guard that is held and taken anew as often as hatchery's session is
/// moved along.
#[derive(Debug)]
pub struct Papaya<const N: usize> {
    map: HashMap<u64, Payload<N>, Hasher>,
    numbers: Numbers,
}

impl<const N: usize> Store<N> for Papaya<N> {
    type Key = u64;
    type Session<'s> = (LocalGuard<'s>, Next);

    fn with_room(_room: usize) -> Self {
        Papaya { map: HashMap::with_hasher(Hasher::default()), numbers: Numbers::default() }
    }

    fn session(&self) -> Self::Session<'_> {
        (self.map.guard(), self.numbers.session())
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
        self.map.insert(key, value, guard);
        key
    }

    #[inline]
    fn remove(&self, (guard, _): &mut Self::Session<'_>, key: u64) -> bool {
        self.map.remove(&key, guard).is_some()
    }

    #[inline]
    fn get(&self, (guard, _): &Self::Session<'_>, key: u64) -> Option<u64> {
        self.map.get(&key, guard).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        let guard = self.map.guard();
        self.map.values(&guard).map(|payload| payload[0]).sum()
    }
}

/// With a guard for each operation.
#[derive(Debug)]
pub struct PapayaEach<const N: usize>(Papaya<N>);

impl<const N: usize> Store<N> for PapayaEach<N> {
    type Key = u64;
    type Session<'s> = Next;

    fn with_room(room: usize) -> Self {
        PapayaEach(Papaya::with_room(room))
    }

    fn session(&self) -> Next {
        self.0.numbers.session()
    }

    /// The numbers go on.
    #[inline]
    fn reopen(&self, session: Next) -> Next {
        session
    }

    #[inline]
    fn insert(&self, session: &mut Next, value: Payload<N>) -> u64 {
        let key = session.take();
        self.0.map.pin().insert(key, value);
        key
    }

    #[inline]
    fn remove(&self, _session: &mut Next, key: u64) -> bool {
        self.0.map.pin().remove(&key).is_some()
    }

    #[inline]
    fn get(&self, _session: &Next, key: u64) -> Option<u64> {
        self.0.map.pin().get(&key).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        self.0.sum()
    }
}

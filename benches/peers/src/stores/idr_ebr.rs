//! idr-ebr: a box for each payload, reclaimed by the epochs of sdd.

use idr_ebr::{EbrGuard, Idr, Key};

use super::{Payload, Store};

/// Reads under a guard that is held; inserting and removing take no guard from the caller.
#[derive(Debug)]
pub struct IdrHeld<const N: usize>(Idr<Payload<N>>);

impl<const N: usize> Store<N> for IdrHeld<N> {
    type Key = Key;
    type Session<'s> = EbrGuard;

    fn with_room(_room: usize) -> Self {
        IdrHeld(Idr::new())
    }

    #[inline]
    fn session(&self) -> EbrGuard {
        EbrGuard::new()
    }

    #[inline]
    fn insert(&self, _session: &mut EbrGuard, value: Payload<N>) -> Key {
        self.0.insert(value).unwrap()
    }

    #[inline]
    fn remove(&self, _session: &mut EbrGuard, key: Key) -> bool {
        self.0.remove(key)
    }

    #[inline]
    fn get(&self, session: &EbrGuard, key: Key) -> Option<u64> {
        self.0.get(key, session).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        let guard = EbrGuard::new();
        self.0.iter(&guard).map(|(_, payload)| payload[0]).sum()
    }
}

/// With a guard for each read.
#[derive(Debug)]
pub struct IdrEach<const N: usize>(Idr<Payload<N>>);

impl<const N: usize> Store<N> for IdrEach<N> {
    type Key = Key;
    type Session<'s> = ();

    fn with_room(_room: usize) -> Self {
        IdrEach(Idr::new())
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> Key {
        self.0.insert(value).unwrap()
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: Key) -> bool {
        self.0.remove(key)
    }

    #[inline]
    fn get(&self, _session: &(), key: Key) -> Option<u64> {
        self.0.get(key, &EbrGuard::new()).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        let guard = EbrGuard::new();
        self.0.iter(&guard).map(|(_, payload)| payload[0]).sum()
    }
}

//! hatchery, in the three ways that its users have.

use hatchery::{Handle, Pinned};

use super::{Payload, Store};

/// Spawned and activated in one call, despawned in another, under a session that is kept and moved
/// along.
#[derive(Debug)]
pub struct TwoSteps<const N: usize>(hatchery::Store<Payload<N>>);

impl<const N: usize> Store<N> for TwoSteps<N> {
    type Key = Handle;
    type Session<'s> = Pinned<'s, Payload<N>>;

    fn with_room(_room: usize) -> Self {
        TwoSteps(hatchery::Store::new())
    }

    #[inline]
    fn session(&self) -> Self::Session<'_> {
        self.0.pin()
    }

    #[inline]
    fn repin<'s>(&'s self, mut session: Self::Session<'s>) -> Self::Session<'s> {
        session.repin();
        session
    }

    #[inline]
    fn insert(&self, session: &mut Self::Session<'_>, value: Payload<N>) -> Handle {
        session.spawn_active(value).unwrap()
    }

    #[inline]
    fn remove(&self, session: &mut Self::Session<'_>, key: Handle) -> bool {
        session.despawn(key).is_ok()
    }

    #[inline]
    fn get(&self, session: &Self::Session<'_>, key: Handle) -> Option<u64> {
        session.get(key).ok().map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        self.0.pin().iter().map(|(_, payload)| payload[0]).sum()
    }
}

/// The whole life, a call for each step.
#[derive(Debug)]
pub struct FourSteps<const N: usize>(TwoSteps<N>);

impl<const N: usize> Store<N> for FourSteps<N> {
    type Key = Handle;
    type Session<'s> = Pinned<'s, Payload<N>>;

    fn with_room(room: usize) -> Self {
        FourSteps(TwoSteps::with_room(room))
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
    fn insert(&self, session: &mut Self::Session<'_>, value: Payload<N>) -> Handle {
        session.spawn(value).unwrap().activate()
    }

    #[inline]
    fn remove(&self, session: &mut Self::Session<'_>, key: Handle) -> bool {
        session.kill(key).is_ok() && session.reap(key).is_ok()
    }

    #[inline]
    fn get(&self, session: &Self::Session<'_>, key: Handle) -> Option<u64> {
        self.0.get(session, key)
    }

    fn sum(&mut self) -> u64 {
        self.0.sum()
    }
}

/// By the methods of `Store`, which pin for themselves.
#[derive(Debug)]
pub struct Unpinned<const N: usize>(hatchery::Store<Payload<N>>);

impl<const N: usize> Store<N> for Unpinned<N> {
    type Key = Handle;
    type Session<'s> = ();

    fn with_room(_room: usize) -> Self {
        Unpinned(hatchery::Store::new())
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> Handle {
        self.0.spawn_active(value).unwrap()
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: Handle) -> bool {
        self.0.despawn(key).is_ok()
    }

    #[inline]
    fn get(&self, _session: &(), key: Handle) -> Option<u64> {
        self.0.pin().get(key).ok().map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        self.0.pin().iter().map(|(_, payload)| payload[0]).sum()
    }
}

//! What every candidate does, behind one trait; one file for each of them.

mod bare;
mod concurrent_slotmap;
mod dashmap;
mod empty;
mod hatchery;
mod idr_ebr;
mod locked;
mod numbers;
mod papaya;
mod scc;
mod seed;
mod sharded_slab;
mod wide;

pub use self::bare::Bare;
pub use self::concurrent_slotmap::{Map, MapEach};
pub use self::dashmap::Dash;
pub use self::empty::Empty;
pub use self::hatchery::{FourSteps, TwoSteps, Unpinned};
pub use self::idr_ebr::{IdrEach, IdrHeld};
pub use self::locked::{ParkingLot, Std};
pub use self::papaya::{Papaya, PapayaEach};
pub use self::scc::Scc;
pub use self::seed::Seed;
pub use self::sharded_slab::{Pool, Slab};
pub use self::wide::Wide;

/// A payload of so many words.
pub type Payload<const N: usize> = [u64; N];

/// The payload that is known by its first word.
#[inline]
pub fn payload<const N: usize>(n: u64) -> Payload<N> {
    [n; N]
}

/// A candidate: it keeps payloads of `N` words and hands out keys.
///
/// What a thread does goes through a session of its own: a pin or a guard, where the candidate has
/// such a thing and holds it; nothing otherwise.
pub trait Store<const N: usize>: Send + Sync + Sized + 'static {
    type Key: Copy + Send + Sync + 'static;
    type Session<'s>;

    /// Whether [`sum`](Store::sum) is there.
    const ITERATES: bool = true;
    /// Whether its memory does not come from the allocator.
    const MAPS_MEMORY: bool = false;

    /// An empty store for as many payloads as are ever there at once, which most need not be told.
    fn with_room(room: usize) -> Self;

    fn session(&self) -> Self::Session<'_>;

    /// Moves a session's pin to now: what died before may be reclaimed.
    #[inline]
    fn repin<'s>(&'s self, session: Self::Session<'s>) -> Self::Session<'s> {
        self.reopen(session)
    }

    /// Ends a session and opens another.
    #[inline]
    fn reopen<'s>(&'s self, session: Self::Session<'s>) -> Self::Session<'s> {
        drop(session);
        self.session()
    }

    fn insert(&self, session: &mut Self::Session<'_>, value: Payload<N>) -> Self::Key;

    /// Ends what a key is of; whether it was there.
    fn remove(&self, session: &mut Self::Session<'_>, key: Self::Key) -> bool;

    /// The first word of the payload.
    fn get(&self, session: &Self::Session<'_>, key: Self::Key) -> Option<u64>;

    /// The sum of the first words of everything that is there.
    fn sum(&mut self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the workloads rely on: own values under own keys, and nothing under a removed one's.
    fn keeps_what_it_is_given<S: Store<8>>() {
        let mut store = S::with_room(1000);
        let mut session = store.session();
        let mut keys: Vec<S::Key> =
            (0..300).map(|n| store.insert(&mut session, payload(n))).collect();
        session = store.repin(session);
        for key in &keys[..100] {
            assert!(store.remove(&mut session, *key));
            assert_eq!(store.get(&session, *key), None);
            assert!(!store.remove(&mut session, *key));
        }
        session = store.reopen(session);
        for (n, key) in keys[..100].iter_mut().enumerate() {
            let old = std::mem::replace(key, store.insert(&mut session, payload(1000 + n as u64)));
            assert_eq!(store.get(&session, old), None);
        }
        for (n, key) in keys.iter().enumerate() {
            let first = if n < 100 { 1000 + n } else { n };
            assert_eq!(store.get(&session, *key), Some(first as u64));
        }
        drop(session);
        if S::ITERATES {
            let expected = (0..100).map(|n| 1000 + n).chain(100..300).sum::<u64>();
            assert_eq!(store.sum(), expected);
        }
    }

    #[test]
    fn every_candidate_keeps_what_it_is_given() {
        keeps_what_it_is_given::<TwoSteps<8>>();
        keeps_what_it_is_given::<FourSteps<8>>();
        keeps_what_it_is_given::<Unpinned<8>>();
        keeps_what_it_is_given::<Slab<8>>();
        keeps_what_it_is_given::<Pool<8>>();
        keeps_what_it_is_given::<Map<8>>();
        keeps_what_it_is_given::<MapEach<8>>();
        keeps_what_it_is_given::<IdrHeld<8>>();
        keeps_what_it_is_given::<IdrEach<8>>();
        keeps_what_it_is_given::<ParkingLot<8>>();
        keeps_what_it_is_given::<Std<8>>();
        keeps_what_it_is_given::<Scc<8>>();
        keeps_what_it_is_given::<Papaya<8>>();
        keeps_what_it_is_given::<PapayaEach<8>>();
        keeps_what_it_is_given::<Dash<8>>();
        keeps_what_it_is_given::<Seed<8>>();
        keeps_what_it_is_given::<Bare<8>>();
        keeps_what_it_is_given::<Wide<Bare<8>>>();
    }
}

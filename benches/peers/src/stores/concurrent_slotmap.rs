//! concurrent-slotmap: one array in mapped memory, a free list a shard, Hyaline for reclamation.

use concurrent_slotmap::hyaline::Guard;
use concurrent_slotmap::{SlotId, SlotMap};

use super::{Payload, Store};

/// Under a guard that is held, and taken anew as often as hatchery's session is moved along: a
/// guard keeps everything that is removed meanwhile.
#[derive(Debug)]
pub struct Map<const N: usize>(SlotMap<SlotId, Payload<N>>);

impl<const N: usize> Store<N> for Map<N> {
    type Key = SlotId;
    type Session<'s> = Guard<'s>;

    const MAPS_MEMORY: bool = true;

    /// The capacity is address space; memory is committed as it is used. What waits for guards to
    /// go takes slots too, and a full map panics.
    fn with_room(room: usize) -> Self {
        Map(SlotMap::new((2 * room + (1 << 22)) as u32))
    }

    #[inline]
    fn session(&self) -> Guard<'_> {
        self.0.pin()
    }

    #[inline]
    fn insert(&self, session: &mut Guard<'_>, value: Payload<N>) -> SlotId {
        self.0.insert(value, session)
    }

    #[inline]
    fn remove(&self, session: &mut Guard<'_>, key: SlotId) -> bool {
        self.0.remove(key, session).is_some()
    }

    #[inline]
    fn get(&self, session: &Guard<'_>, key: SlotId) -> Option<u64> {
        self.0.get(key, session).map(|payload| payload[0])
    }

    fn sum(&mut self) -> u64 {
        let guard = self.0.pin();
        self.0.iter(&guard).map(|(_, payload)| payload[0]).sum()
    }
}

/// With a guard for each operation.
#[derive(Debug)]
pub struct MapEach<const N: usize>(Map<N>);

impl<const N: usize> Store<N> for MapEach<N> {
    type Key = SlotId;
    type Session<'s> = ();

    const MAPS_MEMORY: bool = true;

    fn with_room(room: usize) -> Self {
        MapEach(Map::with_room(room))
    }

    fn session(&self) {}

    #[inline]
    fn insert(&self, _session: &mut (), value: Payload<N>) -> SlotId {
        self.0.insert(&mut self.0.session(), value)
    }

    #[inline]
    fn remove(&self, _session: &mut (), key: SlotId) -> bool {
        self.0.remove(&mut self.0.session(), key)
    }

    #[inline]
    fn get(&self, _session: &(), key: SlotId) -> Option<u64> {
        self.0.get(&self.0.session(), key)
    }

    fn sum(&mut self) -> u64 {
        self.0.sum()
    }
}

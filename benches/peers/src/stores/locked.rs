//! A `SlotMap` behind one lock: parking_lot's, and the standard library's.

use slotmap::{DefaultKey, SlotMap};

use super::{Payload, Store};

/// The lock is taken for each operation: who looks something up wants to let others insert.
macro_rules! locked {
    ($(#[$doc:meta])* $name:ident, $lock:path, $map:ident => $read:expr, $write:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<const N: usize>($lock);

        impl<const N: usize> Store<N> for $name<N> {
            type Key = DefaultKey;
            type Session<'s> = ();

            fn with_room(_room: usize) -> Self {
                $name(SlotMap::new().into())
            }

            fn session(&self) {}

            #[inline]
            fn insert(&self, _session: &mut (), value: Payload<N>) -> DefaultKey {
                let $map = &self.0;
                $write.insert(value)
            }

            #[inline]
            fn remove(&self, _session: &mut (), key: DefaultKey) -> bool {
                let $map = &self.0;
                $write.remove(key).is_some()
            }

            #[inline]
            fn get(&self, _session: &(), key: DefaultKey) -> Option<u64> {
                let $map = &self.0;
                $read.get(key).map(|payload| payload[0])
            }

            fn sum(&mut self) -> u64 {
                let $map = &self.0;
                $read.values().map(|payload| payload[0]).sum()
            }
        }
    };
}

locked! {
    /// Behind parking_lot's.
    ParkingLot, parking_lot::RwLock<SlotMap<DefaultKey, Payload<N>>>,
    map => map.read(), map.write()
}

locked! {
    /// Behind the standard library's.
    Std, std::sync::RwLock<SlotMap<DefaultKey, Payload<N>>>,
    map => map.read().unwrap(), map.write().unwrap()
}

//! What lies where: lines have the names of the allocations that they belong to.

use std::collections::BTreeMap;

/// An allocation, as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Bytes.
    pub size: u64,
    /// What the address is a multiple of.
    pub align: u64,
}

/// Where an access went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// Into an allocation, so many bytes from its beginning.
    Allocated(Shape, u64),
    /// Anywhere else: what the allocator writes for itself, statics, memory that was freed.
    Elsewhere,
}

/// The allocations that there are.
#[derive(Debug, Default)]
pub struct Places {
    allocations: BTreeMap<u64, Shape>,
}

impl Places {
    /// Takes note of an allocation.
    pub fn allocated(&mut self, at: u64, shape: Shape) {
        self.allocations.insert(at, shape);
    }

    /// Takes note that it is gone.
    pub fn freed(&mut self, at: u64) {
        self.allocations.remove(&at);
    }

    /// Where an address is.
    pub fn of(&self, address: u64) -> Place {
        match self.allocations.range(..=address).next_back() {
            Some((at, shape)) if address - at < shape.size => {
                Place::Allocated(*shape, address - at)
            }
            _ => Place::Elsewhere,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_allocation_around_it() {
        let shape = Shape { size: 32, align: 8 };
        let mut places = Places::default();
        places.allocated(64, shape);
        assert_eq!(places.of(63), Place::Elsewhere);
        assert_eq!(places.of(64), Place::Allocated(shape, 0));
        assert_eq!(places.of(95), Place::Allocated(shape, 31));
        assert_eq!(places.of(96), Place::Elsewhere);
        places.freed(64);
        assert_eq!(places.of(64), Place::Elsewhere);
    }
}

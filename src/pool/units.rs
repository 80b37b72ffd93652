//! The units of a pool: how many slots it has made and retired, in one word.

use crate::memory::OutOfMemory;
use crate::segment::{Index, MAX_SLOTS};
use crate::sync::{AtomicU64, Ordering, planted};

/// Slots that a pool can ever make: an index plus one must be below the mark of a closed stack.
pub(super) const MAX_MADE: u64 = MAX_SLOTS - 1;

const RETIRED_SHIFT: u32 = 32;

/// What the word says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    /// Indices below this one were given out at some time.
    pub(super) made: u64,
    /// Slots among them that are out of use: their generations are spent.
    pub(super) retired: u64,
}

impl Tally {
    /// Units of capacity that have a slot. It never falls: a retired slot is replaced in the step
    /// that retires it.
    pub(super) const fn open(self) -> u64 {
        self.made - self.retired
    }

    const fn unpack(word: u64) -> Tally {
        Tally { made: word as u32 as u64, retired: word >> RETIRED_SHIFT }
    }

    const fn pack(self) -> u64 {
        self.retired << RETIRED_SHIFT | self.made
    }
}

/// The word: slots made in the low half, slots retired in the high half.
#[derive(Debug)]
pub(super) struct Units(AtomicU64);

impl Units {
    pub(super) fn new() -> Units {
        Units(AtomicU64::new(0))
    }

    #[inline]
    pub(super) fn tally(&self) -> Tally {
        // Relaxed: a bound; the slots behind it are found through the table, with Acquire.
        Tally::unpack(self.0.load(Ordering::Relaxed))
    }

    /// Opens one more unit with a fresh slot; `None` when `limit` are open, and then they are so
    /// for ever after. `ensure` makes the memory of a slot, before its index is taken, so that a
    /// refused allocation loses none.
    pub(super) fn open(
        &self,
        limit: u64,
        ensure: impl Fn(u64) -> Result<(), OutOfMemory>,
    ) -> Result<Option<Index>, OutOfMemory> {
        let next = |now: Tally| {
            (now.open() < limit).then_some(Tally { made: now.made + 1, retired: now.retired })
        };
        self.make(ensure, next)
    }

    /// Retires a slot that the caller owns, and gives it a fresh one for the unit; `None` when no
    /// index is left.
    pub(super) fn replace(
        &self,
        ensure: impl Fn(u64) -> Result<(), OutOfMemory>,
    ) -> Result<Option<Index>, OutOfMemory> {
        self.make(ensure, |now| Some(Tally { made: now.made + 1, retired: now.retired + 1 }))
    }

    fn make(
        &self,
        ensure: impl Fn(u64) -> Result<(), OutOfMemory>,
        next: impl Fn(Tally) -> Option<Tally>,
    ) -> Result<Option<Index>, OutOfMemory> {
        let mut now = self.tally();
        while let Some(then) = next(now).filter(|then| then.made <= MAX_MADE) {
            ensure(now.made)?;
            pause_point!("segment made, unit not taken");
            // Relaxed: uniqueness alone, by the read-modify-write; the segment was published by
            // the table.
            match self.0.compare_exchange_weak(
                now.pack(),
                then.pack(),
                Ordering::Relaxed,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Ok(Some(Index(now.made as u32))),
                Err(_) if planted("unit whoever took it") => {
                    return Ok(Some(Index(now.made as u32)));
                }
                Err(actual) => now = Tally::unpack(actual),
            }
        }
        Ok(None)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn tally_round_trips_over_both_fields() {
        for (made, retired) in [(0, 0), (1, 0), (MAX_MADE, 0), (MAX_MADE, MAX_MADE - 1)] {
            let tally = Tally { made, retired };
            assert_eq!(Tally::unpack(tally.pack()), tally);
        }
    }

    #[test]
    fn units_open_up_to_the_limit_and_a_replacement_opens_none() {
        let units = Units::new();
        let granted = |_| Ok(());
        assert_eq!(units.open(2, granted).unwrap(), Some(Index(0)));
        assert_eq!(units.replace(granted).unwrap(), Some(Index(1)));
        assert_eq!(units.open(2, granted).unwrap(), Some(Index(2)));
        assert_eq!(units.open(2, granted).unwrap(), None);
        assert_eq!(units.tally(), Tally { made: 3, retired: 1 });
    }

    #[test]
    fn refused_memory_loses_no_unit() {
        let units = Units::new();
        assert!(units.open(1, |_| Err(OutOfMemory { bytes: 1 })).is_err());
        assert_eq!(units.tally(), Tally { made: 0, retired: 0 });
        assert_eq!(units.open(1, |_| Ok(())).unwrap(), Some(Index(0)));
    }
}

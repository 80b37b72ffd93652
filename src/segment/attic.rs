//! What is kept of segments whose memory was given back: the exact generations of their slots, so
//! that old handles stay dead, and that a segment which is made again goes on where it was. A floor
//! for all of them would be smaller, and would retire a whole segment for one worn slot.
//!
//! One call at a time is in here, and nobody waits for it: who finds somebody else there does
//! without. No user code runs meanwhile.

use std::cmp::Reverse;

use super::Segment;
use crate::memory::{OutOfMemory, reserve, reserve_one};
use crate::sync::{AtomicBool, Counter, Ordering, UnsafeCell, fence, planted};

/// Where what is kept lies.
#[derive(Debug)]
pub(crate) struct Attic {
    entered: AtomicBool,
    /// In descending order, so that the lowest is taken out first.
    kept: UnsafeCell<Vec<Kept>>,
    kept_bytes: Counter,
    /// Bytes of segments that were given back and that somebody may still look at.
    pub(crate) waiting: std::sync::Arc<Counter>,
}

// SAFETY: what is kept is reached by whoever has entered alone (invariant 11).
unsafe impl Sync for Attic {}

/// A segment that was given back.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) segment: Segment,
    generations: Generations,
}

/// The generation of each slot of a segment.
#[derive(Debug)]
enum Generations {
    /// All are at this one.
    Equal(u32),
    /// So far above the lowest.
    Near {
        lowest: u32,
        above: Vec<u8>,
    },
    Each(Vec<u32>),
}

impl Generations {
    /// Keeps what the slots of a segment are at.
    fn of(all: impl ExactSizeIterator<Item = u32> + Clone) -> Result<Generations, OutOfMemory> {
        let (mut lowest, mut highest) = (u32::MAX, 0);
        for generation in all.clone() {
            lowest = lowest.min(generation);
            highest = highest.max(generation);
        }
        if lowest >= highest {
            return Ok(Generations::Equal(highest));
        }
        if highest - lowest <= u32::from(u8::MAX) {
            let mut above = Vec::new();
            reserve(&mut above, all.len())?;
            above.extend(all.map(|generation| (generation - lowest) as u8));
            return Ok(Generations::Near { lowest, above });
        }
        let mut each = Vec::new();
        reserve(&mut each, all.len())?;
        each.extend(all);
        Ok(Generations::Each(each))
    }

    fn at(&self, offset: usize) -> u32 {
        match self {
            Generations::Equal(generation) => *generation,
            Generations::Near { lowest, above } => lowest + u32::from(above[offset]),
            Generations::Each(each) => each[offset],
        }
    }

    fn highest(&self) -> u32 {
        match self {
            Generations::Equal(generation) => *generation,
            Generations::Near { lowest, above } => {
                lowest + u32::from(above.iter().copied().max().unwrap_or(0))
            }
            Generations::Each(each) => each.iter().copied().max().unwrap_or(0),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Generations::Equal(_) => 0,
            Generations::Near { above, .. } => above.capacity(),
            Generations::Each(each) => each.capacity() * size_of::<u32>(),
        }
    }
}

impl Kept {
    /// Keeps what there is to keep of a segment.
    pub(super) fn of(
        segment: Segment,
        generations: impl ExactSizeIterator<Item = u32> + Clone,
    ) -> Result<Kept, OutOfMemory> {
        Ok(Kept { segment, generations: Generations::of(generations)? })
    }

    /// The generation of the slot at an offset.
    pub(super) fn generation(&self, offset: usize) -> u32 {
        if planted("generations not kept") { 0 } else { self.generations.at(offset) }
    }
}

impl Attic {
    pub(crate) fn new() -> Attic {
        Attic {
            entered: AtomicBool::new(false),
            kept: UnsafeCell::new(Vec::new()),
            kept_bytes: Counter::new(0),
            waiting: std::sync::Arc::new(Counter::new(0)),
        }
    }

    /// Memory of what is kept.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.kept_bytes.get() as usize
    }

    /// Memory of what is kept, and of what is given back and still there.
    pub(crate) fn bytes(&self) -> usize {
        self.kept_bytes() + self.waiting.get() as usize
    }

    /// Whether somebody is in there, for a call that has claimed its magazine to look an entity up
    /// without a pin (`free::claim`).
    #[inline]
    pub(crate) fn is_entered(&self) -> bool {
        if cfg!(all(loom, test)) && !planted("claim after the look at the attic") {
            // What SeqCst operations order, loom orders by fences alone.
            fence(Ordering::SeqCst);
        }
        // Acquire A1: receives what those who were in there took out of the table. SeqCst: behind
        // the claim; pairs with the fence in `see_nobody_looking`.
        self.entered.load(ord!(Acquire + SeqCst: A1))
            && !planted("claim does not look at the attic")
    }

    /// Enters, unless somebody is in there.
    pub(crate) fn enter(&self) -> Option<Entered<'_>> {
        // Acquire A1: receives what the one before has kept, and which segments it took out of the
        // table or put there; pairs with the Release A1 of its leaving. Relaxed on failure: nothing
        // is read.
        let entered =
            self.entered.compare_exchange(false, true, ord!(Acquire: A1), Ordering::Relaxed);
        // Not made before it is known: its drop leaves.
        entered.is_ok().then(|| Entered { attic: self })
    }
}

/// The evidence that the caller is in the attic, alone, until this is dropped.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    attic: &'a Attic,
}

impl Entered<'_> {
    fn kept<R>(&self, f: impl FnOnce(&mut Vec<Kept>) -> R) -> R {
        // SAFETY: entered by this call alone, which leaves when this is dropped; no caller here
        // nests (invariant 11).
        self.attic.kept.with_mut(|kept| f(unsafe { &mut *kept }))
    }

    /// Makes room for one more segment.
    pub(super) fn make_room(&mut self) -> Result<(), OutOfMemory> {
        self.kept(|kept| {
            let before = kept.capacity();
            reserve_one(kept)?;
            let more = (kept.capacity() - before) * size_of::<Kept>();
            self.attic.kept_bytes.add_shared(more as u64);
            Ok(())
        })
    }

    /// Keeps a segment, for which there is room.
    pub(super) fn keep(&mut self, segment: Kept) {
        self.attic.kept_bytes.add_shared(segment.generations.bytes() as u64);
        self.kept(|kept| {
            debug_assert!(kept.len() < kept.capacity());
            let at = kept.partition_point(|other| other.segment > segment.segment);
            kept.insert(at, segment);
        });
    }

    /// Makes something of the lowest segment, which is forgotten when that succeeds.
    pub(super) fn take_lowest<R, E>(
        &mut self,
        make: impl FnOnce(&Kept) -> Result<R, E>,
    ) -> Result<Option<R>, E> {
        self.kept(|kept| {
            debug_assert!(kept.is_sorted_by_key(|kept| Reverse(kept.segment)));
            let Some(lowest) = kept.last() else { return Ok(None) };
            let made = make(lowest)?;
            self.attic.kept_bytes.sub_shared(lowest.generations.bytes() as u64);
            kept.pop();
            Ok(Some(made))
        })
    }

    /// The highest generation that is kept.
    pub(crate) fn highest_generation(&self) -> u32 {
        let highest =
            |kept: &mut Vec<Kept>| kept.iter().map(|kept| kept.generations.highest()).max();
        self.kept(highest).unwrap_or(0)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        // Release A1: publishes what is kept, and what was done to the table.
        self.attic.entered.store(false, ord!(Release: A1));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::refusals;
    use proptest::prelude::*;

    fn round_trip(all: &[u32]) -> Generations {
        let kept = Generations::of(all.iter().copied()).unwrap();
        for (offset, generation) in all.iter().enumerate() {
            assert_eq!(kept.at(offset), *generation);
        }
        assert_eq!(kept.highest(), all.iter().copied().max().unwrap());
        kept
    }

    #[test]
    fn generations_are_kept_in_no_more_than_they_need() {
        for at in [0, 1, u32::MAX] {
            assert_eq!(round_trip(&[at; 64]).bytes(), 0);
        }
        assert_eq!(round_trip(&[7, 262, 7]).bytes(), 3);
        assert_eq!(round_trip(&[u32::MAX, u32::MAX - 255]).bytes(), 2);
        assert_eq!(round_trip(&[7, 263, 7]).bytes(), 12);
        assert_eq!(round_trip(&[0, u32::MAX]).bytes(), 8);
    }

    proptest! {
        #[test]
        fn generations_are_exact(all in prop::collection::vec(any::<u32>(), 1..300), few: u8) {
            round_trip(&all);
            round_trip(&Vec::from_iter(all.iter().map(|g| g % (u32::from(few) + 1) + 5)));
        }
    }

    #[test]
    fn segments_come_out_lowest_first_and_stay_when_they_are_not_made() {
        let attic = Attic::new();
        let mut entered = attic.enter().unwrap();
        assert!(attic.enter().is_none(), "one at a time");
        for number in [13, 11, 14, 10, 12] {
            let kept = Kept::of(Segment(number), [1, 2].into_iter()).unwrap();
            entered.make_room().unwrap();
            entered.keep(kept);
        }
        assert_eq!(entered.take_lowest(|_| Err::<(), _>("refused")), Err("refused"));
        let lowest = |kept: &Kept| Ok::<_, ()>(kept.segment);
        let order: Vec<_> = std::iter::from_fn(|| entered.take_lowest(lowest).unwrap()).collect();
        assert_eq!(order, [10, 11, 12, 13, 14].map(Segment));
        drop(entered);
        assert!(attic.enter().is_some());
    }

    #[test]
    fn room_that_is_refused_keeps_nothing() {
        let attic = Attic::new();
        let mut entered = attic.enter().unwrap();
        refusals::refuse_after(0);
        assert!(entered.make_room().is_err() && refusals::stop());
        refusals::refuse_after(0);
        assert!(Kept::of(Segment(10), [1, 2].into_iter()).is_err() && refusals::stop());
        assert_eq!(attic.bytes(), 0);
    }
}

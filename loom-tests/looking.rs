//! The claim that stands in for a pin: what is taken out of the table against those who look.

use std::ptr;
use std::sync::Arc;

use loom::thread;

use super::model;
use crate::free::{Circulation, Claimed};
use crate::segment::Attic;
use crate::sync::{AtomicPtr, Ordering, UnsafeCell};

/// A table of one segment, whose memory is a cell: freeing writes it, which the model forbids
/// beside a reader.
struct Memory {
    segment: UnsafeCell<u32>,
    place: AtomicPtr<u32>,
    attic: Attic,
    circulation: Circulation,
}

const THERE: *mut u32 = ptr::without_provenance_mut(8);

impl Memory {
    /// With so many magazines, which nobody has claimed.
    fn with_magazines(magazines: usize) -> Arc<Memory> {
        let circulation = Circulation::new(1);
        circulation.ensure_shard(0).unwrap();
        let claims = (0..magazines).map(|_| circulation.claim_magazine(0).unwrap());
        for claimed in Vec::from_iter(claims) {
            claimed.release();
        }
        let (segment, place) = (UnsafeCell::new(7), AtomicPtr::new(THERE));
        Arc::new(Memory { segment, place, attic: Attic::new(), circulation })
    }

    /// What a call does that changes one entity, as far as it needs no pin: whether it has found
    /// the segment.
    fn look(&self) -> bool {
        let mut magazines = self.circulation.magazines_from(0);
        let Some(claimed) = magazines.find_map(|magazine| magazine.claim_to_look()) else {
            return false;
        };
        let found = self.find();
        claimed.release();
        found
    }

    /// The same, and its thread keeps the magazine.
    fn look_and_stop(&self) -> Option<Claimed<'_>> {
        let claimed =
            self.circulation.magazines_from(0).find_map(|magazine| magazine.claim_to_look())?;
        self.find();
        claimed.stop_looking();
        Some(claimed)
    }

    fn find(&self) -> bool {
        // Relaxed: what the look at the attic receives is enough.
        let found = !self.attic.is_entered() && self.place.load(Ordering::Relaxed) == THERE;
        if found {
            // SAFETY: the claim keeps the segment (invariant 11).
            self.segment.with(|segment| assert_eq!(unsafe { *segment }, 7));
        }
        found
    }

    /// What `shrink` does, for calls without a pin: whether the segment is gone.
    fn shrink(&self) -> bool {
        let Some(attic) = self.attic.enter() else { return false };
        if !self.circulation.see_nobody_looking(|| None) {
            return false;
        }
        self.place.store(ptr::null_mut(), Ordering::Relaxed);
        drop(attic);
        // SAFETY: nobody looks, and whoever comes finds nothing (invariant 11).
        self.segment.with_mut(|segment| unsafe { *segment = 0 });
        true
    }
}

/// Threads that look as `look` does, against one that shrinks: whoever looks later finds the
/// segment, if it is not gone.
fn against_shrink(memory: Arc<Memory>, lookers: usize, look: fn(&Memory)) {
    let lookers = Vec::from_iter((0..lookers).map(|_| {
        let other = Arc::clone(&memory);
        thread::spawn(move || look(&other))
    }));
    let gone = memory.shrink();
    for looker in lookers {
        looker.join().unwrap();
    }
    assert_eq!(memory.look(), !gone);
}

#[test]
fn segment_stays_while_somebody_looks() {
    model("looking_against_shrink", 10, || {
        against_shrink(Memory::with_magazines(1), 1, |memory| {
            memory.look();
            memory.look();
        });
    });
}

/// The magazine is made while somebody shrinks, who may not know of it.
#[test]
fn segment_stays_while_somebody_looks_under_a_new_magazine() {
    model("looking_new_magazine", 10, || {
        against_shrink(Memory::with_magazines(0), 1, |memory| {
            memory.circulation.claim_magazine(0).unwrap().release();
            memory.look();
        });
    });
}

/// A claim that is kept for something else keeps no segment.
#[test]
fn segment_goes_once_its_looker_has_stopped() {
    model("looking_stopped", 10, || {
        against_shrink(Memory::with_magazines(1), 1, |memory| {
            if let Some(claimed) = memory.look_and_stop() {
                claimed.release();
            }
        });
    });
}

#[test]
fn segment_stays_while_one_of_two_looks() {
    model("two_looking_against_shrink", 100, || {
        against_shrink(Memory::with_magazines(2), 2, |memory| _ = memory.look());
    });
}

//! Marks: for each slot a byte that says whether it may be in use, so that a scan passes over the others
//! without a look at them. A line has the marks of 64 slots, and of most slots not one.
//!
//! A mark is written by whoever owns the slot, by a plain store: set before the slot is used, taken off
//! before its index goes back into circulation. So of two writes to one mark the second comes after the
//! first, by way of whatever brought the slot from one owner to the next, and there is no
//! read-modify-write. That is why it is a byte: a bit would have neighbours. A slot without a mark holds
//! nobody whom a scan has to meet (invariant 19); one with a mark may hold nobody: its word decides.

use super::core::Core;
use crate::handle::Handle;
use crate::segment::{Index, Near};
use crate::sync::{AtomicU8, Ordering};

/// So many slots are looked up in the marks at a time.
pub(super) const WINDOW: usize = u64::BITS as usize;

/// One mark of so many is looked at to guess whether most are set.
const SAMPLE: usize = 8;

impl<T> Core<T> {
    /// Marks a slot, in which the caller is about to make an entity.
    #[inline(always)]
    pub(super) fn mark(&self, index: Index, place: Near) {
        // Relaxed: handed on with the entity, by the Release P1 of whoever shows it.
        self.table.mark(index.0.into(), place).store(1, Ordering::Relaxed);
    }

    /// Takes the mark off the slot of an entity that has ended, before the caller gives its index back.
    #[inline(always)]
    pub(super) fn unmark(&self, h: Handle) {
        // Relaxed: handed on with the index, by whatever Release it goes on its way with.
        self.table.mark(self.number(h), h.place()).store(0, Ordering::Relaxed);
    }
}

/// Which of some slots, a window at most, are marked: a bit for each.
#[inline(never)]
pub(super) fn marked(marks: &[AtomicU8]) -> u64 {
    debug_assert!(marks.len() <= WINDOW);
    // Relaxed: the mark of an entity that was shown before the scan began has come with it, by whatever
    // told the caller; those that come and go meanwhile may be left out.
    let bit = |(at, mark): (usize, &AtomicU8)| u64::from(mark.load(Ordering::Relaxed)) << at;
    match <&[AtomicU8; WINDOW]>::try_from(marks) {
        // So many are added up without a loop.
        Ok(all) => all.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit),
        Err(_) => marks.iter().enumerate().map(bit).fold(0, |bits, bit| bits | bit),
    }
}

/// How many slots, from the first one on, are marked so densely that it takes longer to ask which than to
/// look at all of them: by some of their marks, so many windows at most.
#[inline(never)]
pub(super) fn dense(marks: &[AtomicU8], windows: usize) -> usize {
    // Relaxed: a guess, and whoever follows it leaves nobody out.
    let is_set = |mark: &AtomicU8| mark.load(Ordering::Relaxed) != 0;
    let is_dense = |marks: &&[AtomicU8]| marks.iter().step_by(SAMPLE).all(is_set);
    marks.chunks(WINDOW).take(windows).take_while(is_dense).map(<[_]>::len).sum()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::thread;

    use crate::{Limits, Store};

    /// How many slots are marked.
    fn marks<T: Send + Sync>(store: &Store<T>) -> usize {
        let (core, mut at, mut count) = (store.core(), 0, 0);
        while at < core.made() {
            let run = core.table.marked_run(at, core.made()).unwrap();
            count += run
                .marks
                .chunks(super::WINDOW)
                .map(super::marked)
                .map(u64::count_ones)
                .sum::<u32>();
            at += run.marks.len() as u64;
        }
        count as usize
    }

    #[test]
    fn those_alive_are_marked_and_nobody_else() {
        let store = Store::new();
        let all = store.spawn_batch(0..1000).unwrap();
        assert_eq!(marks(&store), 1000);
        store.kill(all[0]).unwrap();
        assert_eq!(marks(&store), 1000, "the Dying may be scanned for");
        store.reap(all[0]).unwrap();
        store.despawn(all[1]).unwrap();
        assert_eq!(store.despawn_batch(&all[2..500]), 498);
        let (hold, other) = (store.hold(all[500]).unwrap(), store.kill_and_hold(all[501]).unwrap());
        store.despawn(all[500]).unwrap();
        store.reap(all[501]).unwrap();
        assert_eq!(marks(&store), 500, "Holds keep two");
        thread::scope(|scope| scope.spawn(|| drop(hold)).join().unwrap());
        drop(other);
        drop(store.spawn(7).unwrap());
        store.cancel(store.spawn(8).unwrap().detach()).unwrap();
        assert_eq!((marks(&store), store.len()), (498, 498));
        store.reclaim();
        store.spawn_batch(0..700).unwrap();
        assert_eq!((marks(&store), store.len()), (1198, 1198));
        store.clear();
        assert_eq!(marks(&store), 0);
    }

    #[test]
    fn those_who_are_overwritten_or_refused_leave_no_mark() {
        let store = Store::builder().limits(Limits::overwrite_oldest(10)).build().unwrap();
        (0..100).for_each(|payload| _ = store.spawn_active(payload).unwrap());
        assert_eq!(marks(&store), 10);
        let holds: Vec<_> = store.pin().iter().map(|(handle, _)| handle).collect();
        let holds: Vec<_> = holds.into_iter().map(|handle| store.hold(handle).unwrap()).collect();
        assert!(store.spawn_active(7).is_err(), "all are held");
        assert_eq!(marks(&store), 10);
        drop(holds);
    }

    #[test]
    fn payloads_that_are_retained_have_marks_like_others() {
        let store: Store<Vec<u8>> = Store::builder().retain(10).build().unwrap();
        for _ in 0..100 {
            let handle = store.spawn_recycled(|_| ()).unwrap().activate();
            assert_eq!(marks(&store), 1);
            store.despawn(handle).unwrap();
            assert_eq!(marks(&store), 0);
        }
    }
}

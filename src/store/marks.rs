//! Marks: a byte for each slot that says whether it may be in use, so that a scan can skip the
//! others without touching them: a cache line holds 64 marks, and seldom more than one slot.
//!
//! The owner of a slot writes its mark, by a plain store, and many marks at a time: they are
//! cleared when a batch of free slots goes into limbo, if many slots are free already, and set when
//! such a batch is put into a magazine. So entities that follow one another in the same slots write
//! no marks. Two writes to one mark are ordered by whatever hands the batch from one owner to the
//! next. That is why a mark is a byte: a bit shares its byte with marks of other owners, and would
//! need a read-modify-write. A slot without a mark has no entity that a scan must find (invariant
//! 19); one with a mark may have none either: its word decides.

use super::core::Core;
use crate::free::{Magazine, Owned};
use crate::reclaim::Session;
use crate::segment::Index;
use crate::sync::{AtomicU8, Ordering, planted};

/// How many marks a scan looks at together.
pub(super) const WINDOW: usize = u64::BITS as usize;

/// One mark of so many is looked at to guess whether most are set.
const SAMPLE: usize = 8;

/// How many free slots may keep their marks, so that a scan looks at them: a fixed number, and one
/// more for each so many entities alive.
const FEW_FREE: u64 = if cfg!(all(loom, test)) { 0 } else { 8192 };
const ALIVE_FOR_A_FREE_ONE: u64 = 256;

/// For how many batches a magazine relies on its last look at whether many slots are free.
const BELIEVED: u64 = 16;

impl<T> Core<T> {
    /// Writes the marks of slots that the caller owns; most batches lie in few segments.
    pub(super) fn write_marks(&self, indices: impl Iterator<Item = Index>, marked: bool) {
        let (mut begin, mut marks): (u32, &[AtomicU8]) = (0, &[]);
        for index in indices {
            let mut offset = index.0.wrapping_sub(begin);
            if offset as usize >= marks.len() {
                (begin, marks) = self.table.marks_around(index);
                offset = index.0 - begin;
            }
            // Relaxed: a set mark is published with the entity, by the Release P1; a cleared one is
            // handed on with the batch.
            marks[offset as usize].store(marked.into(), Ordering::Relaxed);
        }
    }

    /// Marks the slots of a batch that goes into a magazine, if they are not.
    pub(super) fn mark_all(&self, batch: &mut Owned) {
        if !batch.is_unmarked() || planted("marked after it is shown") {
            return;
        }
        self.write_marks((0..batch.len()).map(|position| batch.at(position)), true);
        batch.set_unmarked(false);
    }

    /// Clears the marks of a batch that goes into limbo, or back on the depot.
    pub(super) fn unmark_all(&self, batch: &mut Owned) {
        self.write_marks((0..batch.len()).map(|position| batch.at(position)), false);
        batch.set_unmarked(!planted("batch said to be marked"));
    }

    /// Whether so many slots are free that scans should skip them. What this thread knows of the
    /// others may be old, and writing the marks is costly: so it first looks at the others, once in
    /// [`BELIEVED`] batches.
    pub(super) fn many_lie_free(&self, session: &Session) -> bool {
        let Some(magazine) = self.magazine(session) else { return false };
        if !self.many_seem_free(&magazine) {
            return false;
        }
        if let Some(many) = magazine.many_free.recall() {
            return many;
        }
        self.look_up_others(&magazine);
        let many = self.many_seem_free(&magazine);
        magazine.many_free.keep(many, BELIEVED);
        many
    }

    /// As [`many_lie_free`](Core::many_lie_free), as far as a magazine knows.
    fn many_seem_free(&self, magazine: &Magazine) -> bool {
        let alive = magazine.peak.known();
        let free = self.growth.slots().saturating_sub(alive);
        free >= FEW_FREE + alive / ALIVE_FOR_A_FREE_ONE
    }
}

/// How many slots, from the first one on and for at most so many windows, are marked so densely
/// that finding out which takes longer than looking at all of them, judged by a sample of the
/// marks.
#[inline(never)]
pub(super) fn dense(marks: &[AtomicU8], windows: usize) -> usize {
    // Relaxed: a guess, and whoever follows it leaves nobody out.
    let is_set = |mark: &AtomicU8| mark.load(Ordering::Relaxed) != 0;
    let is_dense = |marks: &&[AtomicU8]| marks.iter().step_by(SAMPLE).all(is_set);
    marks.chunks(WINDOW).take(windows).take_while(is_dense).map(<[_]>::len).sum()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::mask::marked;
    use super::{ALIVE_FOR_A_FREE_ONE, FEW_FREE};
    use crate::Store;
    use crate::free::BATCH_CAPACITY;

    /// How many slots are marked.
    fn marks<T: Send + Sync>(store: &Store<T>) -> usize {
        let (core, mut at, mut count) = (store.core(), 0, 0);
        while at < core.made() {
            match core.table.marked_run(at, core.made()) {
                Ok(run) => {
                    let set = run.marks.chunks(super::WINDOW).map(marked);
                    count += set.map(u64::count_ones).sum::<u32>();
                    at += run.marks.len() as u64;
                }
                Err(missing) => at += missing,
            }
        }
        count as usize
    }

    /// As many as are alive, and no more beside them than may keep their marks, and what is on the
    /// way.
    #[track_caller]
    fn assert_marked<T: Send + Sync + 'static>(store: &Store<T>) {
        let (marks, alive) = (marks(store) as u64, store.len() as u64);
        let most = alive + FEW_FREE + alive / ALIVE_FOR_A_FREE_ONE + 3 * BATCH_CAPACITY as u64;
        assert!((alive..most).contains(&marks), "{alive} alive, {marks} marked");
    }

    #[test]
    fn those_alive_are_marked_and_not_many_others() {
        let store = Store::new();
        let mut all = store.spawn_batch(0..100_000).unwrap();
        assert_marked(&store);
        for left in [50_000, 10_000, 1000, 0] {
            let go = all.split_off(left);
            assert_eq!(store.despawn_batch(&go), go.len());
            assert_marked(&store);
        }
        all = store.spawn_batch(0..50_000).unwrap();
        assert_marked(&store);
        all.drain(5000..).for_each(|handle| _ = store.despawn(handle).unwrap());
        assert_marked(&store);
        store.shrink();
        assert_marked(&store);
        all.extend(store.spawn_batch(0..90_000).unwrap());
        assert_marked(&store);
        store.clear();
        assert_marked(&store);
    }

    #[test]
    fn lives_that_follow_one_another_write_no_marks() {
        let store = Store::new();
        let handles = store.spawn_batch(0..1000).unwrap();
        store.despawn_batch(&handles);
        let before = marks(&store);
        for _ in 0..50 {
            let handles = store.spawn_batch(0..1000).unwrap();
            store.despawn_batch(&handles);
        }
        assert!(marks(&store) >= before && store.slots() < FEW_FREE as usize);
    }
}

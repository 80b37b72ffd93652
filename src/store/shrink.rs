//! `shrink`: the memory of wholly free segments goes back to the system.
//!
//! A segment may go when one call owns all its slots, each None and in no list. So the call takes
//! the free slots out of circulation, counts them by segment, and puts back those that it cannot
//! give back. Spawns that need a slot meanwhile make new ones. No user code runs. The call waits
//! for no pin, and only a bounded time for calls that look an entity up without one.

use std::cmp::Reverse;
use std::mem::take;

use super::core::Core;
use super::refill::SHORT_PATIENCE;
use crate::free::{BATCH_CAPACITY, Magazine, Owned, TaggedStack};
use crate::memory::{reserve, reserve_one};
use crate::reclaim::Session;
use crate::segment::{Entered, Index, MAX_SLOTS, Segment};
use crate::slot::{Slot, in_destructor};
use crate::state::State;
use crate::sync::PATIENCE;

/// How often a call tries again to enter the attic while another call restores a segment there.
const LOOKS: u32 = 16;

/// How often it yields the processor to calls that look an entity up without a pin: often enough
/// for each of many more threads than cores to have had a turn.
const TURNS: u32 = 128;

impl<T> Core<T> {
    /// Gives back the memory that is not needed; returns how many bytes.
    pub(super) fn shrink(&self, session: &Session) -> usize {
        if in_destructor::now() {
            return 0;
        }
        self.reclaim(session, usize::MAX);
        let Some(attic) = self.enter_attic(session) else { return 0 };
        pause_point!("shrinking");
        let kept = self.attic.kept_bytes();
        let mut work = Shrink {
            core: self,
            session,
            attic,
            census: Vec::new(),
            gathered: TaggedStack::new(),
            loose: 0,
            emptied: Vec::new(),
            bytes: 0,
        };
        work.run();
        let bytes = work.bytes + self.circulation.strip(take(&mut work.emptied));
        drop(work);
        self.see_freed(session);
        bytes.saturating_sub(self.attic.kept_bytes().saturating_sub(kept))
    }

    fn enter_attic(&self, session: &Session) -> Option<Entered<'_>> {
        for round in 0..LOOKS.min(PATIENCE) {
            let entered = self.attic.enter();
            if entered.is_some() {
                return entered;
            }
            session.courtesy(round);
        }
        self.attic.enter()
    }

    /// Whether nobody looks an entity up without a pin any more, or begins to before the caller has
    /// left the attic. Such calls are short, but a thread may be off the processor in the middle of
    /// one.
    fn see_nobody_looking(&self, session: &Session) -> bool {
        let mut rounds = 0..TURNS.min(PATIENCE);
        self.circulation.see_nobody_looking(|| rounds.next().map(|round| session.courtesy(round)))
    }

    /// Advances until the memory is back, and what was put into limbo too, or a pin stops it.
    fn see_freed(&self, session: &Session) {
        let goal = session.handed_over(&self.circulation);
        let left = || (self.attic.waiting.get(), goal.saturating_sub(self.circulation.ripened()));
        let stuck = self.circulation.ripened() == self.stalled_at.get();
        let (mut before, mut idle_rounds) = (left(), 0);
        while before != (0, 0) && idle_rounds < SHORT_PATIENCE + self.patience(session, stuck) {
            session.advance();
            let now = left();
            if now == before {
                if idle_rounds >= SHORT_PATIENCE {
                    session.courtesy(idle_rounds - SHORT_PATIENCE);
                }
                idle_rounds += 1;
            } else {
                (before, idle_rounds) = (now, 0);
            }
        }
    }
}

/// What is known of a segment.
#[derive(Clone, Copy, Debug)]
struct Found {
    segment: Segment,
    fate: Fate,
    /// How many of its slots the call owns.
    owned: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// It is not there, or a slot of it is in use.
    Stays,
    /// All its slots looked free.
    MayGo,
    /// It is out of the table, and the indices of its slots are nobody's.
    Gone,
}

/// One call of `shrink`, in the attic.
struct Shrink<'c, T> {
    core: &'c Core<T>,
    session: &'c Session,
    attic: Entered<'c>,
    /// Every segment, in order.
    census: Vec<Found>,
    /// The batches that this call has taken out of circulation: a stack that nobody else sees.
    gathered: TaggedStack,
    /// How many slots are in them.
    loose: usize,
    /// Boxes that nothing is in.
    emptied: Vec<Owned>,
    bytes: usize,
}

impl<T> Shrink<'_, T> {
    fn run(&mut self) {
        let any = self.look();
        let free = self.core.growth.slots().saturating_sub(self.core.counted_alive() as u64);
        let goes = any && self.core.see_nobody_looking(self.session);
        if !goes && self.core.needed_beside(free).is_none() {
            return;
        }
        self.gather();
        if goes {
            self.give_back();
        }
        self.put_back();
        let segments = self.census.iter().map(|found| found.segment);
        let there = segments.filter(|&segment| self.core.table.slots_of(segment).is_some());
        let needed = self.core.needed_beside(self.loose as u64);
        self.core.ebb(needed, there.map(Segment::range));
    }

    /// Finds out which segments may go; returns whether there are any.
    fn look(&mut self) -> bool {
        let core = self.core;
        let mut any = false;
        let made = core.made();
        let mut at = 0;
        while at < MAX_SLOTS {
            let segment = Segment::of(Index(at as u32));
            let range = segment.range();
            // One that was made and of which nothing was given out may lie behind the last.
            if range.start >= made && core.table.slots_of(segment).is_none() {
                break;
            }
            if reserve_one(&mut self.census).is_err() {
                break;
            }
            let fate = if self.looks_free(segment) { Fate::MayGo } else { Fate::Stays };
            any |= fate == Fate::MayGo;
            self.census.push(Found { segment, fate, owned: 0 });
            at = range.end;
        }
        any
    }

    /// Whether every slot of a segment is None and can still be used: only a look, at words that
    /// change. As for the slots that were not given out yet, they are.
    fn looks_free(&self, segment: Segment) -> bool {
        let Some(slots) = self.core.table.slots_of(segment) else { return false };
        let given = self.core.made().saturating_sub(segment.range().start) as usize;
        slots.iter().take(given).all(|slot| self.is_free(slot))
    }

    fn is_free(&self, slot: &Slot<T>) -> bool {
        let word = slot.word.peek();
        word.state() == State::None && word.generation() < self.core.last.get()
    }

    /// Takes the free slots out of circulation: those of the depot, of this thread's magazine, and
    /// of those that nobody has claimed. The ripe stacks are empty, or hold what others have just
    /// put there, which may be Dead.
    fn gather(&mut self) {
        if let Some(batch) = self.core.magazine(self.session).and_then(|own| own.unload()) {
            self.count(batch);
        }
        while let Some(batch) = self.core.circulation.take_drained() {
            self.count(batch);
        }
        let magazines = self.core.circulation.magazines_from(self.session.home());
        for magazine in magazines.filter_map(Magazine::claim) {
            let batch = magazine.unload();
            magazine.clear_out(|empty| self.core.circulation.put_empty(empty));
            magazine.release();
            if let Some(batch) = batch {
                self.count(batch);
            }
        }
        pause_point!("slots gathered, segments not given back");
    }

    fn count(&mut self, batch: Owned) {
        for position in 0..batch.len() {
            let index = batch.at(position);
            let free = self.is_free(self.core.table.known(index));
            if let Some(found) = self.found(index).filter(|_| free) {
                found.owned += 1;
            }
        }
        self.loose += batch.len();
        self.gathered.push(batch);
    }

    fn found(&mut self, index: Index) -> Option<&mut Found> {
        self.census.get_mut(Segment::of(index).ordinal())
    }

    /// Gives the segments back whose every slot this call owns.
    fn give_back(&mut self) {
        for at in 0..self.census.len() {
            let Found { segment, fate, owned } = self.census[at];
            if fate == Fate::MayGo && self.give_back_segment(segment, owned) {
                self.census[at].fate = Fate::Gone;
                self.loose -= owned as usize;
            }
        }
    }

    /// Gives a segment back of which this call owns so many slots, if these are all that were given
    /// out; whether it did.
    fn give_back_segment(&mut self, segment: Segment, owned: u64) -> bool {
        let growth = &self.core.growth;
        let (made, again) = (growth.made(), growth.again());
        let range = segment.range();
        let in_again = !again.is_empty() && range.contains(&again.start);
        let rest_again = if in_again { again.end - again.start } else { 0 };
        let given = made.clamp(range.start, range.end) - range.start - rest_again;
        // Behind the border nothing may go: its indices are yet to be given out.
        if owned != given || made < range.start {
            return false;
        }
        // All that may be refused comes first.
        let Ok(Some(kept)) = self.core.table.keep(segment, &mut self.attic) else { return false };
        if !growth.take_rest(&range, made, &again) {
            return false;
        }
        pause_point!("segment owned, still in the table");
        let waiting = &self.core.attic.waiting;
        // SAFETY: this call owns the slots that were given out, in batches that only it sees and
        // where it forgets them, and has just taken the rest; nobody was looking before it began,
        // and it frees the segment by the deferred call below (invariant 11).
        let unlinked = unsafe { self.core.table.vacate(kept, &mut self.attic, waiting) };
        growth.count_back(&range, given, rest_again);
        self.bytes += unlinked.bytes();
        let waiting = std::sync::Arc::clone(waiting);
        // SAFETY: the call runs after every pin that could have seen the segment, and nobody looks
        // without one (invariant 11).
        let free = move || unsafe { unlinked.free(&waiting) };
        // SAFETY: it owns the segment, which has no payload, and the counter (invariant 11).
        unsafe { self.session.defer_free(free) };
        true
    }

    /// Puts what stays back into circulation, the lowest slots to be used first.
    ///
    /// They can be used at once, from the depot or from the magazine of this thread, which gets the
    /// lowest batch: if they went through limbo, other calls would have to make new ones meanwhile.
    /// So here the depot relies on its tag alone, and not on Rule L. Batches with Dead slots among
    /// them go through limbo.
    fn put_back(&mut self) {
        let mut indices = Vec::new();
        let sorted = reserve(&mut indices, self.loose).is_ok();
        while let Some(mut batch) = self.core.circulation.pop_own(&self.gathered) {
            self.forget_gone(&mut batch);
            let noted = reserve_one(&mut self.emptied).is_ok();
            if sorted && noted && self.is_drained(&batch) {
                indices.extend(std::iter::from_fn(|| batch.pop()));
            }
            match (batch.is_empty(), noted) {
                (true, true) => self.emptied.push(batch),
                (true, false) => self.core.circulation.put_empty(batch),
                (false, _) => self.core.hand_over(self.session, batch),
            }
        }
        indices.sort_unstable();
        // The lowest boxes serve, so that those that are left make whole crates.
        self.emptied.sort_unstable_by_key(|empty| Reverse(empty.number()));
        self.deal(&indices);
    }

    /// Whether no slot of a batch is left to be renewed.
    fn is_drained(&self, batch: &Owned) -> bool {
        let word = |position| self.core.table.known(batch.at(position)).word.peek();
        (0..batch.len()).all(|position| word(position).state() == State::None)
    }

    /// Removes the indices of slots that no longer exist from a batch.
    fn forget_gone(&mut self, batch: &mut Owned) {
        for position in (0..batch.len()).rev() {
            let found = self.found(batch.at(position));
            if found.is_some_and(|found| found.fate == Fate::Gone) {
                batch.swap_remove(position);
            }
        }
    }

    /// Deals indices, which are in ascending order, to the emptied boxes. The batch that is put on
    /// the depot last is taken first.
    fn deal(&mut self, indices: &[Index]) {
        let fewest = indices.len().div_ceil(self.emptied.len().max(1));
        let size = self.core.full_batch().max(fewest).clamp(1, BATCH_CAPACITY);
        let own = self.core.magazine(self.session).filter(|own| own.peek().is_none());
        for (number, dealt) in indices.chunks(size).enumerate().rev() {
            let Some(mut batch) = self.emptied.pop() else {
                unreachable!("the indices came out of so many boxes")
            };
            // The lowest on top.
            for &index in dealt.iter().rev() {
                batch.push(index);
            }
            // They came from different batches, with marks and without.
            batch.set_unmarked(false);
            self.core.unmark_all(&mut batch);
            match own.filter(|_| number == 0) {
                Some(own) => {
                    self.core.mark_all(&mut batch);
                    if let Some(empty) = own.load(batch) {
                        self.core.circulation.put_empty(empty);
                    }
                }
                None => self.core.circulation.put_drained(batch),
            }
        }
    }
}

//! The way of a Dead slot back into circulation, and `reclaim`, which walks it to the end.

use std::cmp::Reverse;

use super::core::Core;
use super::permits::Permits;
use super::refill::SHORT_PATIENCE;
use crate::free::{Claimed, Event, Magazine, Owned, Put};
use crate::reclaim::Session;
use crate::segment::Index;
use crate::slot::in_destructor;
use crate::state::State;
use crate::sync::{Ordering, planted};

/// So many batches in limbo are many: from there on only such of at least [`PARTIAL_BATCH`] slots
/// join them.
const LONG_LIMBO: u64 = 64;
pub(super) const PARTIAL_BATCH: usize = 16;

/// How often `reclaim` goes on after everything that was in limbo at its beginning is back. Dead
/// slots that it found then and kept back, because limbo was long, follow in these rounds; so do
/// those that others make Dead meanwhile, and must not keep it here for ever.
const EXTRA_ROUNDS: u32 = 1000;

impl<T> Core<T> {
    /// Buries a slot whose word this call has moved to Dead: counts it, gives its permit back and
    /// sends it on its way. In line also where it is called from many places: a call costs a reap
    /// more instructions than it saves.
    #[inline(always)]
    pub(super) fn bury(&self, session: &Session, index: Index, event: Event) {
        pause_point!("dead, not buried");
        self.bury_with(session, index, event, self.permits.as_ref());
    }

    /// `bury` for a slot whose permit goes straight to the caller.
    pub(super) fn bury_evicted(&self, session: &Session, index: Index) {
        pause_point!("evicted, not buried");
        self.count(session, Event::Overwritten);
        let permits = self.permits.as_ref().filter(|_| planted("evicted unit given back as well"));
        self.bury_with(session, index, Event::Reaped, permits);
    }

    #[inline(always)]
    fn bury_with(&self, session: &Session, index: Index, event: Event, permits: Option<&Permits>) {
        let Some(magazine) = session.at_hand(&self.circulation) else {
            return self.bury_without_magazine(session, index, event, permits);
        };
        magazine.tally.of(event).add_owned(1);
        magazine.peak.fall();
        if let Some(permits) = permits {
            permits.give(session.home());
        }
        self.put_into(session, magazine, index);
    }

    /// `bury_with` where the thread has no magazine at hand: it claims one, if there is memory for it.
    #[cold]
    #[inline(never)]
    fn bury_without_magazine(
        &self,
        session: &Session,
        index: Index,
        event: Event,
        permits: Option<&Permits>,
    ) {
        if self.magazine(session).is_some() {
            return self.bury_with(session, index, event, permits);
        }
        self.count_foreign(session.home(), event);
        if let Some(permits) = permits {
            permits.give(session.home());
        }
        self.put_dead(session.home(), index);
    }

    /// [`bury`](Self::bury) for many slots, in a store without a capacity.
    pub(super) fn bury_many(&self, session: &Session, mut indices: &[Index], event: Event) {
        debug_assert!(self.permits.is_none(), "nobody waits for what is given back late");
        if indices.is_empty() {
            return;
        }
        pause_point!("dead, not buried");
        let Some(magazine) = self.magazine(session) else {
            return indices.iter().for_each(|&index| self.bury(session, index, event));
        };
        magazine.tally.of(event).add_owned(indices.len() as u64);
        magazine.peak.fall_by(indices.len() as u64);
        while let Some(&first) = indices.first() {
            if planted("destructor before the grace period") {
                let _ = self.renew(session, self.table.known(first));
            }
            let (mut done, put) = magazine.put_many(indices, || self.full_batch());
            match put {
                Put::Kept => {}
                Put::Full(batch) => self.hand_over(session, batch),
                Put::NoBox => {
                    self.put_slot_slow(session, magazine, first);
                    done = 1;
                }
            }
            indices = &indices[done..];
        }
    }

    /// Takes a slot back that was reserved and not used: into the magazine, or else through limbo,
    /// never on a list (Rule L).
    pub(super) fn put_back(&self, session: &Session, index: Index) {
        let word = &self.table.known(index).word;
        word.set(word.peek().vacant());
        let kept = self.magazine(session).is_some_and(|magazine| magazine.untake(index));
        if !kept {
            self.put_slot(session, index);
        }
    }

    /// `bury` for a thread without a session: the slot goes on the dead stack, with one
    /// compare-and-swap, without pin or allocation.
    pub(super) fn bury_foreign(&self, home: usize, index: Index, event: Event) {
        self.count_foreign(home, event);
        // The slot before its permit: nothing is pinned here, so whoever takes the permit must find
        // the slot, or it would be told of readers that do not exist.
        self.put_dead(home, index);
        pause_point!("buried from outside, permit not given back");
        if let Some(permits) = &self.permits {
            permits.give(home);
        }
    }

    /// Puts a Dead slot into the magazine.
    fn put_slot(&self, session: &Session, index: Index) {
        match self.magazine(session) {
            Some(magazine) => self.put_into(session, magazine, index),
            None => self.put_dead(session.home(), index),
        }
    }

    #[inline(always)]
    fn put_into(&self, session: &Session, magazine: Claimed<'_>, index: Index) {
        if planted("destructor before the grace period") {
            let _ = self.renew(session, self.table.known(index));
        }
        match magazine.put(index, || self.full_batch()) {
            Put::Kept => {}
            Put::Full(batch) => self.hand_over(session, batch),
            Put::NoBox => self.put_slot_slow(session, magazine, index),
        }
    }

    #[cold]
    fn put_slot_slow(&self, session: &Session, magazine: Claimed<'_>, index: Index) {
        let Ok(empty) = self.circulation.empty_box() else {
            return self.put_dead(session.home(), index);
        };
        if let Some(surplus) = magazine.supply(empty) {
            self.circulation.put_empty(surplus);
        }
        self.put_into(session, magazine, index);
    }

    /// Puts a Dead slot on a dead stack.
    #[cold]
    fn put_dead(&self, home: usize, index: Index) {
        let mut shards = 0..self.circulation.shard_count();
        match shards.find_map(|step| self.circulation.shard(home + step)) {
            Some(shard) => shard.push_dead(index, self.table.link(index)),
            None => unreachable!("a store that has slots has a shard"),
        }
    }

    /// Sends a batch through limbo.
    pub(super) fn hand_over(&self, session: &Session, mut batch: Owned) {
        if !batch.is_unmarked() && self.many_lie_free(session) {
            self.unmark_all(&mut batch);
        }
        session.hand_over(&self.circulation, batch);
    }

    /// Sends the Dead slots of this thread's magazine through limbo, if they are worth a box.
    pub(super) fn hand_over_collected(&self, session: &Session) {
        let Some(magazine) = self.magazine(session) else { return };
        let Some(batch) = magazine.collect() else { return };
        if self.worth_a_box(session, &batch) {
            self.hand_over(session, batch);
        } else {
            magazine.put_aside(batch, self.full_batch());
        }
    }

    /// Whether a batch that is not full goes into limbo as it is. When limbo is long already it
    /// would only wait there, and boxes that hold one slot each take more memory than the slots.
    pub(super) fn worth_a_box(&self, session: &Session, batch: &Owned) -> bool {
        session.in_limbo(&self.circulation) < LONG_LIMBO || batch.len() >= PARTIAL_BATCH
    }

    /// Sends the Dead slots of a magazine that nobody had claimed through limbo, in their box or
    /// in this thread's.
    pub(super) fn hand_over_found(&self, session: &Session, mut batch: Owned) {
        if self.worth_a_box(session, &batch) {
            return self.hand_over(session, batch);
        }
        while let Some(index) = batch.pop() {
            self.put_slot(session, index);
        }
        self.circulation.put_empty(batch);
    }

    /// Hands over what this thread's magazine keeps, because somebody is short of slots.
    pub(super) fn hand_over_all(&self, session: &Session) {
        self.hand_over_collected(session);
        let Some(magazine) = self.magazine(session) else { return };
        // Unused slots go through limbo too: they may have come off a list inside this very pin
        // (Rule L).
        if let Some(batch) = magazine.unload() {
            self.hand_over(session, batch);
        }
    }

    /// Takes what lies on the dead stacks into this session's magazine, from where it goes through
    /// limbo a full batch at a time.
    pub(super) fn collect_dead(&self, session: &Session) {
        for step in 0..self.circulation.shard_count() {
            let Some(shard) = self.circulation.shard(session.home() + step) else { continue };
            let mut link = shard.take_dead();
            pause_point!("dead stack taken, not walked");
            while let Some(index) = link.checked_sub(1).map(Index) {
                // Relaxed: the Acquire D1 of `take_dead` received the links. Read before the slot
                // goes on, which may be back on a dead stack.
                link = self.table.link(index).load(Ordering::Relaxed);
                self.put_slot(session, index);
            }
        }
    }

    /// Brings Dead slots back until none is left, the budget of destructors is spent, or a pin
    /// stops it; how many came back.
    pub(super) fn reclaim(&self, session: &Session, budget: usize) -> usize {
        if in_destructor::now() {
            return 0;
        }
        let mut work = Reclaim { core: self, session, budget, at_once: None, back: 0 };
        work.run();
        work.back
    }

    /// `reclaim` for a caller that has no time: what a pin keeps just now stays Dead. In what order the
    /// others serve follows from the slots, and not from when each has ripened; nobody finds them before
    /// the end, so it is for stores whose payloads have nothing to drop by then.
    pub(super) fn reclaim_at_once(&self, session: &Session) -> usize {
        if in_destructor::now() {
            return 0;
        }
        let (budget, at_once) = (usize::MAX, Some(Vec::new()));
        let mut work = Reclaim { core: self, session, budget, at_once, back: 0 };
        work.run();
        let mut drained = work.at_once.unwrap_or_default();
        // The last one serves first.
        drained.sort_unstable_by_key(|batch| Reverse(batch.at(0)));
        drained.into_iter().for_each(|batch| self.circulation.put_drained(batch));
        work.back
    }
}

/// One call of `reclaim`.
struct Reclaim<'c, T> {
    core: &'c Core<T>,
    session: &'c Session,
    /// Destructors that may still run.
    budget: usize,
    /// What it has drained, where it does not leave the processor to whoever holds the epoch.
    at_once: Option<Vec<Owned>>,
    back: usize,
}

impl<T> Reclaim<'_, T> {
    fn run(&mut self) {
        let circulation = &self.core.circulation;
        let (mut idle_rounds, mut extra_rounds) = (0, 0);
        self.sort_magazines();
        let goal = self.session.handed_over(circulation);
        loop {
            let before = self.back;
            let ended = self.ended_here();
            if !self.drain_ripe() {
                return;
            }
            if self.ended_here() > ended {
                // A destructor has ended others: they are this call's to bring back.
                extra_rounds = 0;
            } else if self.session.in_limbo(circulation) == 0 {
                return;
            } else if circulation.ripened() >= goal {
                extra_rounds += 1;
                if extra_rounds > EXTRA_ROUNDS {
                    return;
                }
            }
            self.session.advance();
            if self.back > before || circulation.has_ripe() {
                idle_rounds = 0;
            } else if idle_rounds < self.patience() {
                if idle_rounds >= SHORT_PATIENCE {
                    self.session.courtesy(idle_rounds - SHORT_PATIENCE);
                }
                idle_rounds += 1;
            } else {
                self.core.stalled_at.set(circulation.ripened());
                return;
            }
            self.sort_magazines();
        }
    }

    /// How many entities this thread's magazine has counted out: destructors run by this call add
    /// to it. Not what was overwritten: a destructor that spawns into a full store ends another with
    /// each, whose destructor may do the same for ever.
    fn ended_here(&self) -> u64 {
        let Some(magazine) = self.core.magazine(self.session) else { return 0 };
        magazine.tally.ended().saturating_sub(magazine.tally.of(Event::Overwritten).get())
    }

    fn patience(&self) -> u32 {
        if self.at_once.is_some() {
            return SHORT_PATIENCE;
        }
        let stuck = self.core.circulation.ripened() == self.core.stalled_at.get();
        SHORT_PATIENCE + self.core.patience(self.session, stuck)
    }

    /// Hands over every Dead slot outside other sessions' magazines; and drops the payloads of
    /// those that are past their grace period and wait in magazines to be taken.
    fn sort_magazines(&mut self) {
        self.core.collect_dead(self.session);
        self.core.hand_over_collected(self.session);
        if let Some(magazine) = self.core.magazine(self.session)
            && let Some(batch) = magazine.unload()
        {
            self.drain_taken(magazine, batch);
        }
        let magazines = self.core.circulation.magazines_from(self.session.home());
        for magazine in magazines.filter_map(Magazine::claim) {
            let (take, give) = (magazine.unload(), magazine.collect());
            // Before user code runs.
            magazine.release();
            if let Some(batch) = give {
                self.core.hand_over_found(self.session, batch);
            }
            if let Some(batch) = take {
                // A batch that was taken from may not go back on a list at once (Rule L), so it
                // serves this thread's magazine, or goes through limbo.
                if let Some(own) = self.core.magazine(self.session) {
                    self.drain_taken(own, batch);
                }
            }
        }
    }

    /// Renews a batch that was in a magazine and puts it into `magazine`, if that has room.
    fn drain_taken(&mut self, magazine: Claimed<'_>, mut batch: Owned) {
        self.renew_batch(&mut batch);
        if batch.is_empty() {
            return self.core.circulation.put_empty(batch);
        }
        if magazine.peek().is_some() {
            return self.core.hand_over(self.session, batch);
        }
        if let Some(empty) = magazine.load(batch) {
            self.core.circulation.put_empty(empty);
        }
    }

    /// Drains every ripe stack, and what rests; whether the budget allowed all of it.
    fn drain_ripe(&mut self) -> bool {
        let circulation = &self.core.circulation;
        let shards = circulation.shard_count();
        for step in 0..=shards {
            // What rests comes last: a batch that goes there meanwhile is met here or there.
            let take = || match step < shards {
                true => circulation.take_ripe_of(self.session.home() + step),
                false => circulation.take_resting(),
            };
            while let Some(mut batch) = take() {
                let done = self.renew_batch(&mut batch);
                if batch.is_empty() {
                    self.core.circulation.put_empty(batch);
                } else if let (true, Some(drained)) = (done, &mut self.at_once) {
                    drained.push(batch);
                } else if done {
                    self.core.circulation.put_drained(batch);
                } else {
                    // Some are not renewed yet: not for the depot, and not for the stack that the
                    // batch came from (Rule L).
                    self.core.hand_over(self.session, batch);
                }
                if !done {
                    return false;
                }
            }
        }
        true
    }

    /// Renews the slots of a batch while the budget lasts; whether all are. User code may run: the
    /// batch is in no list meanwhile.
    fn renew_batch(&mut self, batch: &mut Owned) -> bool {
        for position in (0..batch.len()).rev() {
            let slot = self.core.table.known(batch.at(position));
            let word = slot.word.peek();
            if word.state() != State::Dead {
                continue;
            }
            let runs_user_code = std::mem::needs_drop::<T>() || self.core.reuse.is_some();
            if !word.emptied() && runs_user_code {
                if self.budget == 0 {
                    return false;
                }
                self.budget -= 1;
            }
            self.back += 1;
            match self.core.renew(self.session, slot) {
                Some(_) => slot.word.set(word.vacant()),
                None => batch.swap_remove(position),
            }
        }
        true
    }
}

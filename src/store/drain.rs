//! Draining: one call of `reclaim`. Round by round it hands over the Dead slots of magazines and
//! dead stacks, asks the collector to advance, and renews what has ripened, until nothing is left,
//! the budget of destructors is spent, or a pin stops it.

use std::cmp::Reverse;

use super::core::Core;
use super::refill::SHORT_PATIENCE;
use crate::free::{Claimed, Event, Magazine, Owned};
use crate::reclaim::Session;
use crate::slot::in_destructor;
use crate::state::State;

/// How often `reclaim` goes on after everything that was in limbo at its beginning is back. Dead
/// slots that it found then and kept back, because limbo was long, follow in these rounds; so do
/// those that others make Dead meanwhile, and must not keep it here for ever.
const EXTRA_ROUNDS: u32 = 1000;

impl<T> Core<T> {
    /// Brings Dead slots back until none is left, the budget of destructors is spent, or a pin
    /// stops it; how many came back.
    pub(super) fn reclaim(&self, session: &Session, budget: usize) -> usize {
        if in_destructor::now() {
            return 0;
        }
        let mut drain = Drain { core: self, session, budget, at_once: None, back: 0 };
        drain.run();
        drain.back
    }

    /// `reclaim` for a caller that has no time: what a pin keeps just now stays Dead. The batches
    /// that come back are sorted by their slots, whenever each has ripened. Nobody finds them
    /// before the end, so it is for stores whose payloads have nothing to drop by then.
    pub(super) fn reclaim_at_once(&self, session: &Session) -> usize {
        if in_destructor::now() {
            return 0;
        }
        let (budget, at_once) = (usize::MAX, Some(Vec::new()));
        let mut drain = Drain { core: self, session, budget, at_once, back: 0 };
        drain.run();
        let mut drained = drain.at_once.unwrap_or_default();
        // The last one serves first.
        drained.sort_unstable_by_key(|batch| Reverse(batch.at(0)));
        drained.into_iter().for_each(|batch| self.circulation.put_drained(batch));
        drain.back
    }
}

/// One call of `reclaim`.
struct Drain<'c, T> {
    core: &'c Core<T>,
    session: &'c Session,
    /// Destructors that may still run.
    budget: usize,
    /// What it has drained, where it does not leave the processor to whoever holds the epoch.
    at_once: Option<Vec<Owned>>,
    /// Slots that came back.
    back: usize,
}

impl<T> Drain<'_, T> {
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
            } else if self.session.in_limbo(circulation) == 0 && !circulation.has_ripe() {
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
    /// to it. Not what was overwritten: a destructor that spawns into a full store ends another
    /// with each, whose destructor may do the same for ever.
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
        // Once: the thread may move to another core, and each shard is to have its turn.
        let (home, shards) = (self.session.home(), circulation.shard_count());
        for step in 0..=shards {
            // What rests comes last: a batch that goes there meanwhile is met here or there.
            let take = || match step < shards {
                true => circulation.take_ripe_of(home + step),
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

//! Burial: how a Dead slot gets back into circulation. The call that ended the entity counts it,
//! gives its permit back, and puts the slot into its magazine, or on a dead stack where it has
//! none. Full batches go through limbo, and so does all that is gathered for a call that is short
//! of slots. What ripens there is renewed when a spawn takes it (`supply.rs`), or by `reclaim`
//! (`drain.rs`).

use super::core::Core;
use super::permits::Permits;
use crate::free::{Claimed, Event, Owned, Put};
use crate::reclaim::Session;
use crate::segment::Index;
use crate::sync::{Ordering, planted};

/// So many batches in limbo are many: from there on only such of at least [`PARTIAL_BATCH`] slots
/// join them.
const LONG_LIMBO: u64 = 64;
pub(super) const PARTIAL_BATCH: usize = 16;

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

    /// `bury_with` where the thread has no magazine at hand: it claims one, if there is memory for
    /// it.
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
        match self.circulation.nearest(home) {
            Some((_, shard)) => shard.push_dead(index, self.table.link(index)),
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
        // Once: the thread may move to another core, and each shard is to have its turn.
        let home = session.home();
        for step in 0..self.circulation.shard_count() {
            let Some(shard) = self.circulation.shard(home + step) else { continue };
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
}

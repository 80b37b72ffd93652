//! Statistics of a pool: read off the words, so that acquiring and releasing count nothing.
//!
//! A slot's generation is the number of its leases so far, and its state says whether it is leased
//! now. So one relaxed load per slot gives both, and the events that are left to count are rare.

use super::core::Core;
use super::rest::{self, Events};
use crate::state::State;
use crate::stats::Stats;
use crate::sync::Counter;

/// What the window counters stood at when the window began, and the most leases seen since.
#[derive(Debug, Default)]
pub(super) struct Window {
    base: Stats,
    peak: usize,
}

/// What a count has grown by; zero if it is lower, because of calls under way.
fn since(now: u64, base: u64) -> u64 {
    (now.wrapping_sub(base) as i64).max(0) as u64
}

/// What the words say.
#[derive(Debug, Default)]
struct Census {
    leases: u64,
    live: usize,
    idle: usize,
}

impl<T> Core<T> {
    fn sum(&self, event: impl Fn(&Events) -> &Counter) -> u64 {
        self.shards.iter().map(|shard| event(&shard.events).get()).sum()
    }

    /// Looks at every slot once.
    fn census(&self) -> Census {
        let mut census = Census::default();
        for word in self.every_slot().map(|(_, slot)| slot.word.peek()) {
            census.leases += u64::from(word.generation());
            census.live += usize::from(word.state() == State::Active);
            census.idle += usize::from(word.state() == State::Dead);
        }
        census
    }

    /// Objects at rest.
    pub(super) fn idle(&self) -> usize {
        self.census().idle
    }

    /// Totals since the pool was made, and the gauges. What is a difference of others may be a
    /// little below zero, as a wrapping number, while calls are under way: kept so, the windows
    /// that begin and end in between add up when all is quiet.
    fn sums(&self) -> Stats {
        let created = self.sum(|events| &events.created);
        let misses = created.wrapping_sub(self.sum(|events| &events.rebuilt));
        let overwritten = self.sum(|events| &events.overwritten);
        let revoked = self.sum(|events| &events.revoked);
        let census = self.census();
        let units = self.units.tally();
        let given_back = census.leases.wrapping_sub(census.live as u64);
        Stats {
            created,
            misses,
            overwritten,
            spawned: census.leases,
            hits: census.leases.wrapping_sub(misses).wrapping_sub(overwritten),
            released: given_back.wrapping_sub(revoked),
            rejected: self.sum(|events| &events.rejected),
            drop_panics: self.sum(|events| &events.drop_panics),
            retired_slots: units.retired,
            grown: self.grown(),
            live: census.live,
            active: census.live,
            idle: census.idle,
            free: (units.open() as usize).saturating_sub(census.live),
            slots: units.made as usize,
            capacity: self.capacity(),
            bytes: size_of::<Self>() + size_of_val(&*self.shards) + self.slots.bytes(),
            ..Stats::default()
        }
    }

    pub(super) fn stats(&self) -> Stats {
        // Before the sums: a window that another call began meanwhile would be ahead of them.
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.sums();
        window.peak = window.peak.max(now.live).max(self.most_out());
        let base = window.base;
        let spawned = since(now.spawned, base.spawned);
        let rejected = since(now.rejected, base.rejected);
        Stats {
            acquired: spawned + rejected,
            spawned,
            rejected,
            hits: since(now.hits, base.hits),
            misses: since(now.misses, base.misses),
            released: since(now.released, base.released),
            overwritten: since(now.overwritten, base.overwritten),
            grown: since(now.grown, base.grown),
            peak_live: window.peak,
            ..now
        }
    }

    /// The most leases at once since the window began, as the stacks saw it: exact while one thread
    /// does all the work. It takes from other shards' stacks, and opens units, only while its own
    /// is empty, so that all stacks were at their lowest at the same time.
    fn most_out(&self) -> usize {
        let low: u64 = self.shards.iter().map(|shard| shard.low.get()).sum();
        self.units.tally().open().saturating_sub(low) as usize
    }

    pub(super) fn reset_stats(&self) {
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for shard in &self.shards {
            shard.low.set(u64::from(rest::depth(&self.slots, shard.head.top())));
        }
        let now = self.sums();
        *window = Window { base: now, peak: now.live };
    }
}

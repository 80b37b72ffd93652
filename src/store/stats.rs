//! Statistics: sums over the tallies, and the window that `reset_stats` begins.
//!
//! Counting costs an operation a load and a store on a line that its thread has to itself. The sums
//! are expensive, and computed only by calls that ask for them.

use super::core::Core;
use super::permits::Permits;
use crate::free::{Event, Magazine};
use crate::stats::Stats;

/// What the window counters stood at when the window began, and its peak so far.
#[derive(Debug, Default)]
pub(super) struct Window {
    base: Stats,
    peak: usize,
}

/// How often a gauge is read again to find a moment in which nothing began.
const LOOKS: u32 = 3;

/// Payloads given back since the store was made: what was overwritten was not.
fn given_back(sums: &Stats) -> u64 {
    (sums.cancelled + sums.reaped).saturating_sub(sums.overwritten)
}

impl<T> Core<T> {
    /// The sum of one event. Complexity: one load a magazine.
    fn sum(&self, event: Event) -> u64 {
        self.circulation.tallies().map(|tally| tally.of(event).get()).sum()
    }

    /// What remains of beginnings after ends: exact when quiet. While both go on, beginnings are
    /// read before ends, so that it never says more than there were at some moment of the call: a
    /// thread that is taken off the processor between the two must not report thousands.
    fn remaining(&self, begun: &[Event], ended: &[Event]) -> usize {
        let sum = |events: &[Event]| events.iter().map(|&event| self.sum(event)).sum::<u64>();
        let mut before = sum(begun);
        for _ in 0..LOOKS {
            let less = sum(ended);
            let after = sum(begun);
            if after == before {
                return after.saturating_sub(less) as usize;
            }
            before = after;
        }
        before.saturating_sub(sum(ended)) as usize
    }

    /// Totals since the store was made, and the gauges, one after the other.
    fn sums(&self) -> Stats {
        use Event::{
            Activated, Cancelled, Created, Despawned, DropPanicked, Hit, HoldGiven, HoldTaken,
            Killed, Missed, Overwritten, Reaped, Rejected, Retired, Revived, Shown, Spawned,
        };
        Stats {
            created: self.sum(Created),
            retired_slots: self.sum(Retired),
            drop_panics: self.sum(DropPanicked),
            spawned: self.sum(Spawned) + self.sum(Shown),
            activated: self.sum(Activated) + self.sum(Shown),
            cancelled: self.sum(Cancelled),
            killed: self.sum(Killed) + self.sum(Despawned),
            revived: self.sum(Revived),
            reaped: self.sum(Reaped) + self.sum(Despawned),
            hits: self.sum(Hit),
            misses: self.sum(Missed),
            rejected: self.sum(Rejected),
            overwritten: self.sum(Overwritten),
            grown: self.permits.as_ref().map_or(0, |permits| u64::from(permits.grown())),
            live: self.len(),
            pending: self.remaining(&[Spawned], &[Activated, Cancelled]),
            active: self.remaining(&[Activated, Shown, Revived], &[Killed, Despawned]),
            dying: self.remaining(&[Killed], &[Revived, Reaped]),
            dead: self.dead(),
            idle: self.idle(),
            holds: self.remaining(&[HoldTaken], &[HoldGiven]),
            ..Stats::default()
        }
    }

    /// Entities alive: with a capacity, the permits that are out, which are never more than it.
    pub(super) fn len(&self) -> usize {
        match &self.permits {
            Some(permits) => permits.out(),
            None => self.counted_alive(),
        }
    }

    /// How many may be alive at once just now.
    fn capacity(&self) -> usize {
        self.permits.as_ref().map_or(usize::MAX, Permits::in_force)
    }

    /// Entities alive, from the tallies alone.
    pub(super) fn counted_alive(&self) -> usize {
        use Event::{Cancelled, Despawned, Reaped, Shown, Spawned};
        self.remaining(&[Spawned, Shown], &[Cancelled, Reaped, Despawned])
    }

    /// Slots that wait for readers, or for the spawn that drops their payload.
    pub(super) fn dead(&self) -> usize {
        use Event::{Cancelled, Despawned, Reaped, Renewed, Retired};
        self.remaining(&[Cancelled, Reaped, Despawned], &[Renewed, Retired])
    }

    pub(super) fn stats(&self) -> Stats {
        let slots = self.growth.slots() as usize;
        // Before the sums: a window that another call began meanwhile would be ahead of them.
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.sums();
        window.peak = window.peak.max(now.live).max(self.highest_peak());
        let base = window.base;
        let spawned = now.spawned - base.spawned;
        let rejected = now.rejected - base.rejected;
        Stats {
            spawned,
            activated: now.activated - base.activated,
            cancelled: now.cancelled - base.cancelled,
            killed: now.killed - base.killed,
            revived: now.revived - base.revived,
            reaped: now.reaped - base.reaped,
            hits: now.hits - base.hits,
            misses: now.misses - base.misses,
            rejected,
            acquired: spawned + rejected,
            overwritten: now.overwritten - base.overwritten,
            grown: now.grown - base.grown,
            released: given_back(&now).saturating_sub(given_back(&base)),
            peak_live: window.peak,
            free: slots.saturating_sub(now.live + now.dead + now.retired_slots as usize),
            slots,
            capacity: self.capacity(),
            bytes: self.bytes(),
            ..now
        }
    }

    pub(super) fn reset_stats(&self) {
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.sums();
        *window = Window { base: now, peak: now.live };
        for magazine in self.circulation.magazines_from(0) {
            magazine.peak.restart(now.live as u64);
        }
    }

    /// Memory of the store: slots, circulation, and the shared part itself.
    pub(super) fn bytes(&self) -> usize {
        let permits = self.permits.as_ref().map_or(0, |permits| permits.bytes());
        let stash = self.reuse.as_ref().map_or(0, |reuse| reuse.bytes());
        let given_back = self.attic.bytes();
        size_of::<Self>()
            + self.table.bytes()
            + given_back
            + self.circulation.bytes()
            + permits
            + stash
    }

    /// Tells a magazine what is alive. Complexity: a line or two of each other magazine.
    #[cold]
    pub(super) fn look_up_others(&self, magazine: &Magazine) {
        let begun: u64 = self.circulation.tallies().map(|tally| tally.begun()).sum();
        let ended: u64 = self.circulation.tallies().map(|tally| tally.ended()).sum();
        let tallies = self.circulation.tallies().count();
        magazine.peak.look_up(begun.saturating_sub(ended), tallies);
    }

    fn highest_peak(&self) -> usize {
        let peaks = self.circulation.magazines_from(0).map(|magazine| magazine.peak.highest());
        (peaks.max().unwrap_or(0) as usize).min(self.capacity())
    }
}

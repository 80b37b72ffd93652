//! Statistics: sums over the tallies, and the window that `reset_stats` begins.
//!
//! Counting costs an operation a load and a store on a line that its thread has to itself. What is
//! dear, the sums, is paid by whoever asks.

use super::core::Core;
use crate::free::{Event, Magazine};
use crate::stats::Stats;

/// What the window counters stood at when the window began, and its peak so far.
#[derive(Debug, Default)]
pub(super) struct Window {
    base: Stats,
    peak: usize,
}

impl<T> Core<T> {
    /// The sum of one event. Complexity: one load a magazine.
    fn sum(&self, event: Event) -> u64 {
        self.circulation.tallies().map(|tally| tally.of(event).get()).sum()
    }

    /// Totals since the store was made, and the gauges, one sum after the other.
    fn sums(&self) -> Stats {
        // Ends are read before beginnings, so that what happens meanwhile makes no gauge negative.
        let holds_given = self.sum(Event::HoldGiven);
        let renewed = self.sum(Event::Renewed);
        let retired = self.sum(Event::Retired);
        let (reaped, cancelled) = (self.sum(Event::Reaped), self.sum(Event::Cancelled));
        let (revived, killed) = (self.sum(Event::Revived), self.sum(Event::Killed));
        let (activated, spawned) = (self.sum(Event::Activated), self.sum(Event::Spawned));
        let gauge = |more: u64, less: u64| more.saturating_sub(less) as usize;
        Stats {
            retired_slots: retired,
            drop_panics: self.sum(Event::DropPanicked),
            spawned,
            activated,
            cancelled,
            killed,
            revived,
            reaped,
            rejected: self.sum(Event::Rejected),
            live: gauge(spawned, cancelled + reaped),
            pending: gauge(spawned, activated + cancelled),
            active: gauge(activated + revived, killed),
            dying: gauge(killed, revived + reaped),
            dead: gauge(cancelled + reaped, renewed + retired),
            holds: gauge(self.sum(Event::HoldTaken), holds_given),
            ..Stats::default()
        }
    }

    /// Entities alive.
    pub(super) fn len(&self) -> usize {
        let ended = self.sum(Event::Cancelled) + self.sum(Event::Reaped);
        self.sum(Event::Spawned).saturating_sub(ended) as usize
    }

    /// Slots that wait for readers, or for the spawn that drops their payload.
    pub(super) fn dead(&self) -> usize {
        let back = self.sum(Event::Renewed) + self.sum(Event::Retired);
        (self.sum(Event::Cancelled) + self.sum(Event::Reaped)).saturating_sub(back) as usize
    }

    pub(super) fn stats(&self) -> Stats {
        let slots = self.made() as usize;
        let now = self.sums();
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
            rejected,
            acquired: spawned + rejected,
            released: (now.cancelled + now.reaped) - (base.cancelled + base.reaped),
            peak_live: window.peak,
            free: slots.saturating_sub(now.live + now.dead + now.retired_slots as usize),
            slots,
            capacity: self.limits.capacity,
            bytes: self.bytes(),
            ..now
        }
    }

    pub(super) fn reset_stats(&self) {
        let mut window = self.window.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let now = self.sums();
        *window = Window { base: now, peak: now.live };
        self.window_number.add_shared(1);
        for magazine in self.circulation.magazines_from(0) {
            magazine.peak.restart();
        }
    }

    /// Memory of the store: slots, circulation, and the shared part itself.
    pub(super) fn bytes(&self) -> usize {
        let permits = self.permits.as_ref().map_or(0, |permits| permits.bytes());
        size_of::<Self>() + self.table.bytes() + self.circulation.bytes() + permits
    }

    /// Tells a magazine what is alive beyond its own tally, for its peak.
    #[cold]
    pub(super) fn look_up_others(&self, magazine: &Magazine) {
        let all: i64 = self.circulation.tallies().map(|tally| tally.live()).sum();
        magazine.peak.look_up(all - magazine.tally.live(), self.window_number.get());
    }

    fn highest_peak(&self) -> usize {
        let peaks = self.circulation.magazines_from(0).map(|magazine| magazine.peak.highest());
        peaks.max().unwrap_or(0) as usize
    }
}

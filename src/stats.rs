//! The statistics of a store or a pool.

/// A snapshot of a store's or a pool's counters.
///
/// There are three kinds of numbers. *Totals* count since the store was made. *Window counters*
/// count since `reset_stats`. *Gauges* say how it is now: exact when no operation is in progress,
/// and otherwise never negative and off by at most the operations that overlap the call.
///
/// For a pool, "entity" means lease: a spawn is an acquisition, and an Active entity a lease that
/// has not ended. What a pool has no equivalent of is 0.
///
/// With the feature `serde` the fields are in camel case, and an absent one reads as 0.
///
/// # Examples
///
/// ```
/// use hatchery::Stats;
///
/// let mut stats = Stats::default();
/// stats.acquired = 3;
/// stats.hits = 2;
/// assert_eq!(stats.hit_rate_permille(), 666);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "camelCase", default))]
#[non_exhaustive]
pub struct Stats {
    /// Total: payloads constructed anew by `spawn_recycled` or a pool.
    pub created: u64,
    /// Total: slots taken out of use because their generation is spent.
    pub retired_slots: u64,
    /// Total: payload destructors and callbacks that panicked.
    pub drop_panics: u64,

    /// Window: entities that became Pending; leases given out by a pool.
    pub spawned: u64,
    /// Window: entities that went from Pending to Active.
    pub activated: u64,
    /// Window: entities that went from Pending to Dead.
    pub cancelled: u64,
    /// Window: entities that went from Active to Dying.
    pub killed: u64,
    /// Window: entities that went from Dying to Active.
    pub revived: u64,
    /// Window: entities that went from Dying to Dead.
    pub reaped: u64,
    /// Window: spawn attempts, refused ones included: `spawned + rejected`.
    pub acquired: u64,
    /// Window: payloads given back, without those that were overwritten or revoked.
    pub released: u64,
    /// Window: spawns by `spawn_recycled` that a retained payload served.
    pub hits: u64,
    /// Window: spawns by `spawn_recycled` that had to construct a payload; a plain spawn is
    /// neither a hit nor a miss.
    pub misses: u64,
    /// Window: spawns that were refused, for whatever reason.
    pub rejected: u64,
    /// Window: spawns that ended the oldest entity for its place; neither a hit nor a miss.
    pub overwritten: u64,
    /// Window: units of capacity added above `capacity` of the limits.
    pub grown: u64,
    /// Window: the most entities alive at once, starting from those alive at the reset; exact
    /// while one thread does all the work.
    pub peak_live: usize,

    /// Gauge: entities alive, which is `pending + active + dying`.
    pub live: usize,
    /// Gauge: entities that are Pending.
    pub pending: usize,
    /// Gauge: entities that are Active.
    pub active: usize,
    /// Gauge: entities that are Dying.
    pub dying: usize,
    /// Gauge: slots that are Dead and wait for readers to leave.
    pub dead: usize,
    /// Gauge: slots that are None, ready to be given out.
    pub free: usize,
    /// Gauge: slots made and not given back, free ones included.
    pub slots: usize,
    /// Gauge: entities that may be alive at once, grown units included; `usize::MAX` is no limit.
    pub capacity: usize,
    /// Gauge: payloads retained for `spawn_recycled`; a pool's objects at rest.
    pub idle: usize,
    /// Gauge: `Hold`s that exist.
    pub holds: usize,
    /// Gauge: memory of the store itself, in bytes, without what payloads own on the heap.
    pub bytes: usize,
}

impl Stats {
    /// Returns the hit rate in units of 1/1000: `hits * 1000 / acquired` rounded down, and 0 if
    /// nothing was acquired.
    ///
    /// It does not overflow; a result above `u64::MAX`, which only contradictory counters can give,
    /// is `u64::MAX`.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Stats;
    ///
    /// assert_eq!(Stats::default().hit_rate_permille(), 0);
    /// ```
    #[must_use]
    pub fn hit_rate_permille(&self) -> u64 {
        if self.acquired == 0 {
            return 0;
        }
        let rate = u128::from(self.hits) * 1000 / u128::from(self.acquired);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn rate(hits: u64, acquired: u64) -> u64 {
        Stats { acquired, hits, ..Stats::default() }.hit_rate_permille()
    }

    #[test]
    fn hit_rate_with_nothing_acquired_is_zero() {
        assert_eq!(rate(0, 0), 0);
        assert_eq!(rate(7, 0), 0);
    }

    #[test]
    fn hit_rate_is_rounded_down() {
        assert_eq!(rate(2, 3), 666);
        assert_eq!(rate(1, 1001), 0);
        assert_eq!(rate(3, 3), 1000);
    }

    #[test]
    fn hit_rate_of_huge_counts_does_not_overflow() {
        assert_eq!(rate(u64::MAX, u64::MAX), 1000);
        assert_eq!(rate(u64::MAX - 1, u64::MAX), 999);
        assert_eq!(rate(u64::MAX, 1), u64::MAX);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn stats_in_json_round_trip_in_camel_case() {
        let stats = Stats { retired_slots: 1, peak_live: 2, bytes: 3, ..Stats::default() };
        let json = serde_json::to_string(&stats).expect("plain data");
        assert!(json.contains(r#""retiredSlots":1"#) && json.contains(r#""peakLive":2"#));
        assert_eq!(serde_json::from_str::<Stats>(&json).expect("its own text"), stats);
        let old = serde_json::from_str::<Stats>(r#"{"bytes":3,"later":4}"#).expect("partial");
        assert_eq!(old, Stats { bytes: 3, ..Stats::default() });
    }
}

//! What a pool promises, held against each frame: its own figures must agree with each other, with
//! the policy, and with what the hands have counted.

use hatchery::{Exhaustion, Limits, Stats};

use crate::hand::Tally;

/// A frame of one pool: what was asked for, what the hands saw, what the pool says.
#[derive(Debug)]
pub(crate) struct Account<'a> {
    pub(crate) limits: Limits,
    pub(crate) before: &'a Stats,
    pub(crate) after: &'a Stats,
    pub(crate) wishes: u64,
    /// What the hands did in this frame.
    pub(crate) did: Tally,
    /// Leases that the hands got and neither gave back nor lost, by their own count.
    pub(crate) held: u64,
    /// The most leases at once so far.
    pub(crate) most: usize,
    /// Threads that may use an object at once.
    pub(crate) hands: usize,
}

impl Account<'_> {
    /// Says the first claim that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.counts()?;
        self.bounds()?;
        self.reuse()?;
        self.policy()
    }

    /// What a counter rose by in this frame.
    fn rose(&self, counter: impl Fn(&Stats) -> u64) -> u64 {
        counter(self.after).wrapping_sub(counter(self.before))
    }

    fn counts(&self) -> Result<(), String> {
        let after = self.after;
        let sum = after.spawned + after.rejected;
        ensure("acquired == spawned + rejected", after.acquired, sum)?;
        ensure("a frame's acquired == its wishes", self.rose(|s| s.acquired), self.wishes)?;
        ensure("a frame's spawned == leases got", self.rose(|s| s.spawned), self.did.granted)?;
        ensure("a frame's rejected == refusals", self.rose(|s| s.rejected), self.did.refused)?;
        ensure("a frame's released == leases ended", self.rose(|s| s.released), self.did.released)?;
        let served = self.rose(|s| s.hits) + self.rose(|s| s.misses) + self.rose(|s| s.overwritten);
        ensure("spawned == hits + misses + overwritten", self.rose(|s| s.spawned), served)?;
        ensure("live == leases held", after.live as u64, self.held)
    }

    fn bounds(&self) -> Result<(), String> {
        let Stats { live, peak_live, capacity, .. } = *self.after;
        at_most("live <= capacity", live, capacity)?;
        at_most("peak <= capacity", peak_live, capacity)
    }

    /// A new object is made only while all that there are are on lease; so a pool that has made its
    /// capacity makes another only for a unit that it grows by.
    fn reuse(&self) -> Result<(), String> {
        let (before, after) = (self.before, self.after);
        at_most("created <= the most leases at once", after.created as usize, self.most)?;
        if before.created >= self.limits.capacity as u64 {
            let grown = self.rose(|s| s.grown);
            ensure("once warm, created only for grown units", self.rose(|s| s.created), grown)?;
        }
        let rate = (after.hits * 1000).checked_div(after.acquired).unwrap_or(0);
        ensure("hit rate == hits / acquired", after.hit_rate_permille(), rate)
    }

    fn policy(&self) -> Result<(), String> {
        let after = self.after;
        let fixed = || ensure("capacity stays", after.capacity as u64, self.limits.capacity as u64);
        match self.limits.policy {
            Exhaustion::Reject => {
                ensure("reject never overwrites", after.overwritten, 0)?;
                fixed()
            }
            Exhaustion::OverwriteOldest => {
                // An object in use is not overwritten, and each of the other hands uses one.
                if self.limits.capacity >= self.hands {
                    ensure("overwriteOldest never rejects", after.rejected, 0)?;
                }
                fixed()
            }
            Exhaustion::GrowToCap => {
                ensure("growToCap never overwrites", after.overwritten, 0)?;
                at_most("growToCap stops at the cap", after.capacity, self.limits.max_capacity)?;
                if self.did.refused > 0 {
                    let (capacity, cap) = (after.capacity as u64, self.limits.max_capacity as u64);
                    ensure("growToCap refuses at the cap alone", capacity, cap)?;
                }
                Ok(())
            }
            other => Err(format!("the policy {other} is none of this show")),
        }
    }
}

/// What is true of a pool when all leases have ended.
pub(crate) fn at_rest(stats: &Stats, tally: Tally) -> Result<(), String> {
    ensure("nothing is live at the end", stats.live as u64, 0)?;
    ensure("every object made is at rest", stats.idle as u64, stats.created)?;
    let ended = stats.released + stats.overwritten;
    ensure("every lease was released or overwritten", stats.spawned, ended)?;
    ensure("each overwriting was seen by one holder", tally.lost, stats.overwritten)
}

/// What the document claims of its load: objects are made in the first frame alone.
pub(crate) fn of_document(stats: &Stats, burst: u64, frames: u64) -> Result<(), String> {
    let hits = burst * (frames - 1);
    ensure("only the first frame creates", stats.created, burst)?;
    ensure("the other frames hit", stats.hits, hits)?;
    ensure("the hit rate is theirs", stats.hit_rate_permille(), hits * 1000 / (burst * frames))
}

fn ensure(claim: &str, found: u64, needed: u64) -> Result<(), String> {
    let fails = || format!("{claim}: {found} is not {needed}");
    if found == needed { Ok(()) } else { Err(fails()) }
}

fn at_most(claim: &str, found: usize, most: usize) -> Result<(), String> {
    let fails = || format!("{claim}: {found} is above {most}");
    if found <= most { Ok(()) } else { Err(fails()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame with 10 wishes in a full pool of 4, 2 of which go into objects that came back.
    fn frame(policy: Exhaustion) -> (Limits, Stats) {
        let mut stats = Stats::default();
        (stats.acquired, stats.created, stats.misses, stats.hits) = (14, 4, 4, 2);
        (stats.released, stats.live, stats.peak_live, stats.capacity) = (2, 4, 4, 4);
        match policy {
            Exhaustion::Reject => stats.rejected = 8,
            Exhaustion::OverwriteOldest => stats.overwritten = 8,
            _ => {
                (stats.grown, stats.created, stats.misses, stats.rejected) = (2, 6, 6, 6);
                (stats.live, stats.peak_live, stats.capacity) = (6, 6, 6);
            }
        }
        stats.spawned = stats.acquired - stats.rejected;
        let limits = match policy {
            Exhaustion::Reject => Limits::reject(4),
            Exhaustion::OverwriteOldest => Limits::overwrite_oldest(4),
            _ => Limits::grow_to_cap(4, 6),
        };
        (limits, stats)
    }

    fn check(policy: Exhaustion, change: impl Fn(&mut Stats, &mut Tally)) -> Result<(), String> {
        let (limits, mut after) = frame(policy);
        let mut before = Stats::default();
        (before.acquired, before.spawned, before.created, before.misses) = (4, 4, 4, 4);
        let (granted, refused) = (after.spawned - 4, after.rejected);
        let mut did = Tally { granted, refused, released: 2, lost: after.overwritten };
        let (held, most) = (after.live as u64, after.peak_live);
        change(&mut after, &mut did);
        let (before, after) = (&before, &after);
        Account { limits, before, after, wishes: 10, did, held, most, hands: 1 }.check()
    }

    #[test]
    fn frame_as_it_should_be_breaks_no_claim() {
        for policy in [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap] {
            assert_eq!(check(policy, |_, _| {}), Ok(()));
        }
    }

    #[test]
    fn figure_that_is_wrong_breaks_the_claim_about_it() {
        type Change = fn(&mut Stats, &mut Tally);
        let cases: [(Exhaustion, &str, Change); 12] = [
            (Exhaustion::Reject, "acquired == spawned", |stats, _| stats.acquired += 1),
            (Exhaustion::Reject, "a frame's acquired", |stats, _| {
                (stats.acquired, stats.rejected) = (stats.acquired + 1, stats.rejected + 1);
            }),
            (Exhaustion::Reject, "a frame's spawned", |_, did| did.granted += 1),
            (Exhaustion::Reject, "a frame's rejected", |_, did| did.refused -= 1),
            (Exhaustion::Reject, "a frame's released", |stats, _| stats.released += 1),
            (Exhaustion::Reject, "spawned == hits", |stats, _| stats.hits -= 1),
            (Exhaustion::Reject, "live == leases held", |stats, _| stats.live -= 1),
            (Exhaustion::Reject, "peak <= capacity", |stats, _| stats.peak_live = 5),
            (Exhaustion::Reject, "created <= the most", |stats, _| stats.created = 5),
            (Exhaustion::Reject, "reject never overwrites", |stats, _| {
                (stats.hits, stats.overwritten) = (stats.hits - 1, 1);
            }),
            (Exhaustion::OverwriteOldest, "overwriteOldest never rejects", |stats, did| {
                (stats.spawned, stats.rejected, stats.hits) = (13, 1, 1);
                (did.granted, did.refused) = (9, 1);
            }),
            (Exhaustion::GrowToCap, "growToCap stops at the cap", |stats, _| stats.capacity = 7),
        ];
        for (policy, claim, change) in cases {
            let broken = check(policy, change).expect_err(claim);
            assert!(broken.starts_with(claim), "{broken} is not about {claim}");
        }
    }
}

//! What was to be reached, beside what is.

use super::{Case, Report, Setting};
use crate::candidates::{
    BARE, Candidate, FOUR, IDR_EACH, MAP, OURS, PARKING_LOT, SEED, SLAB, STD, UNPINNED, held,
};
use crate::work::batches::{BATCHED, SINGLE};

/// One line: a ratio and its bound.
#[derive(Debug)]
pub struct Target {
    pub what: String,
    pub bound: Bound,
    pub measured: f64,
    /// Who was the best, where that is what it is compared with.
    pub best: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub enum Bound {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
}

impl Bound {
    pub fn met(self, measured: f64) -> bool {
        match self {
            Bound::AtMost(bound) => measured <= bound,
            Bound::Below(bound) => measured < bound,
            Bound::AtLeast(bound) => measured >= bound,
        }
    }

    pub fn says(self) -> String {
        match self {
            Bound::AtMost(bound) => format!("at most {bound:.2}"),
            Bound::Below(bound) => format!("below {bound:.2}"),
            Bound::AtLeast(bound) => format!("at least {bound:.2}"),
        }
    }
}

/// A ratio of two candidates in one case.
struct Ratio {
    what: &'static str,
    work: &'static str,
    setting: &'static str,
    threads: &'static [usize],
    ours: &'static str,
    other: &'static str,
    bound: Bound,
}

/// Those that are ratios of two candidates, in the order of the issue.
const RATIOS: &[Ratio] = &[
    two_steps(SLAB, Bound::AtMost(0.42)),
    two_steps(BARE, Bound::Below(1.0)),
    four_steps(SLAB, &[1, 2], 0.60),
    four_steps(SEED, &[1], 0.16),
    four_steps(SEED, &[2], 0.03),
    Ratio {
        what: "spawn_active + despawn without a held pin",
        ours: UNPINNED,
        ..two_steps(SLAB, Bound::AtMost(0.85))
    },
    lookup("1k live", &[1, 2], SLAB, 0.10),
    lookup("1k live", &[1, 2], MAP, 1.1),
    lookup("1M live", &[1, 2], BARE, 1.1),
    Ratio {
        what: "look-up without a held pin",
        ours: UNPINNED,
        ..lookup("1k live", &[1, 2], SLAB, 0.75)
    },
    lookup("one hot key", &[2], SLAB, 0.02),
    lookup("one hot key", &[2], IDR_EACH, 0.15),
    Ratio {
        what: "remote free",
        work: "remote",
        setting: "250 keys at a time",
        threads: &[2],
        ours: OURS,
        other: SLAB,
        bound: Bound::AtMost(0.6),
    },
    Ratio {
        what: "spawn_batch + despawn_batch",
        work: "batches",
        setting: "1000 lives",
        threads: &[1, 2],
        ours: BATCHED,
        other: SINGLE,
        bound: Bound::AtMost(0.6),
    },
    iteration("100 % live", 1.0),
    iteration("10 % live", 0.4),
];

const fn two_steps(other: &'static str, bound: Bound) -> Ratio {
    Ratio {
        what: "spawn_active + despawn",
        work: "churn",
        setting: "window 1024",
        threads: &[1, 2],
        ours: OURS,
        other,
        bound,
    }
}

const fn four_steps(other: &'static str, threads: &'static [usize], at_most: f64) -> Ratio {
    Ratio {
        what: "spawn, activate, kill, reap",
        ours: FOUR,
        threads,
        ..two_steps(other, Bound::AtMost(at_most))
    }
}

const fn lookup(
    setting: &'static str,
    threads: &'static [usize],
    other: &'static str,
    at_most: f64,
) -> Ratio {
    let (work, ours, bound) = ("lookup", OURS, Bound::AtMost(at_most));
    Ratio { what: "look-up", work, setting, threads, ours, other, bound }
}

const fn iteration(setting: &'static str, at_most: f64) -> Ratio {
    let (work, threads, bound) = ("iterate", &[1], Bound::AtMost(at_most));
    Ratio { what: "iteration", work, setting, threads, ours: OURS, other: MAP, bound }
}

impl Ratio {
    fn of(&self, report: &Report) -> Vec<Target> {
        let at = |&threads: &usize| {
            let case = report.case(self.work, self.setting, threads, 64)?;
            Some(Target {
                what: format!("{}, {} / {}", self.what, case.setting.title(), self.other),
                bound: self.bound,
                measured: case.ratio(self.ours, self.other)?,
                best: None,
            })
        };
        self.threads.iter().filter_map(at).collect()
    }

    fn is_of(&self, work: &str, setting: &Setting) -> bool {
        let Setting { name, threads, bytes } = setting;
        self.work == work && self.setting == name && self.threads.contains(threads) && *bytes == 64
    }
}

/// Whether a target is about a workload.
pub fn about(work: &str) -> bool {
    RATIOS.iter().any(|ratio| ratio.work == work) || ["mix", "latency", "scaling"].contains(&work)
}

/// Whether a target is about a workload in this setting.
pub fn about_case(work: &str, setting: &Setting) -> bool {
    let mix = work == "mix" && setting.threads <= 2;
    mix || work == "scaling" || RATIOS.iter().any(|ratio| ratio.is_of(work, setting))
}

/// The peer with the least median.
fn best_of(case: &Case) -> Option<&'static str> {
    let peers = held().into_iter().filter(Candidate::is_peer);
    let timed = peers.filter_map(|peer| Some((peer.name, case.time(peer.name)?)));
    timed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(name, _)| name)
}

impl Report {
    /// The mix: it is to be better than whoever is best.
    fn mix_targets(&self) -> Vec<Target> {
        let two = self.case("mix", "90/5/5", 2, 64).and_then(|case| {
            let best = best_of(case)?;
            let what = "90/5/5, 2 T / the best peer".to_owned();
            let measured = case.ratio(OURS, best)?;
            Some(Target { what, bound: Bound::AtMost(0.6), measured, best: Some(best) })
        });
        let one = |other: &'static str| {
            let measured = self.case("mix", "90/5/5", 1, 64)?.ratio(OURS, other)?;
            let what = format!("90/5/5, 1 T / {other}");
            Some(Target { what, bound: Bound::AtMost(1.0), measured, best: None })
        };
        let worst = self.latencies.iter().find(|row| row.name == OURS).and_then(|ours| {
            let peers = self.latencies.iter().filter(|row| row.is_peer);
            let best = peers.min_by(|a, b| a.worst().total_cmp(&b.worst()))?;
            let what = "90/5/5, 2 T, p99.9 / the best peer".to_owned();
            let measured = ours.worst() / best.worst();
            Some(Target { what, bound: Bound::AtMost(1.0), measured, best: Some(best.name) })
        });
        [two, one(PARKING_LOT), one(STD), worst].into_iter().flatten().collect()
    }

    fn scaling_target(&self) -> Option<Target> {
        let (_, _, measured) = *self.scaling.iter().find(|row| row.0 == OURS)?;
        let what = "throughput at 2 T over 1 T / that of the empty harness".to_owned();
        Some(Target { what, bound: Bound::AtLeast(0.95), measured, best: None })
    }

    /// The targets of what was measured, with what they came to.
    pub fn targets(&self) -> Vec<Target> {
        let mut targets: Vec<Target> = RATIOS.iter().flat_map(|ratio| ratio.of(self)).collect();
        targets.extend(self.mix_targets());
        targets.extend(self.scaling_target());
        targets
    }
}

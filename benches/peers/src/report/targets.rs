//! What was to be reached, beside what is.

use super::{Case, Report};
use crate::candidates::{
    BARE, Candidate, FOUR, IDR_EACH, MAP, OURS, PARKING_LOT, SEED, SLAB, STD, UNPINNED, held,
};
use crate::work::batches::{BATCHED, SINGLE};

/// One line: a ratio and its bound.
#[derive(Debug)]
struct Target {
    what: String,
    bound: Bound,
    measured: f64,
}

#[derive(Clone, Copy, Debug)]
enum Bound {
    AtMost(f64),
    Below(f64),
    AtLeast(f64),
}

impl Bound {
    fn met(self, measured: f64) -> bool {
        match self {
            Bound::AtMost(bound) => measured <= bound,
            Bound::Below(bound) => measured < bound,
            Bound::AtLeast(bound) => measured >= bound,
        }
    }

    fn says(self) -> String {
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
            })
        };
        self.threads.iter().filter_map(at).collect()
    }
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
            let measured = case.ratio(OURS, best)?;
            let what = format!("90/5/5, 2 T / the best peer, {best}");
            Some(Target { what, bound: Bound::AtMost(0.6), measured })
        });
        let one = |other: &'static str| {
            let measured = self.case("mix", "90/5/5", 1, 64)?.ratio(OURS, other)?;
            let what = format!("90/5/5, 1 T / {other}");
            Some(Target { what, bound: Bound::AtMost(1.0), measured })
        };
        let worst = self.latencies.iter().find(|row| row.name == OURS).and_then(|ours| {
            let peers = self.latencies.iter().filter(|row| row.is_peer);
            let best = peers.min_by(|a, b| a.worst().total_cmp(&b.worst()))?;
            let what = format!("90/5/5, 2 T, p99.9 / the best peer, {}", best.name);
            let measured = ours.worst() / best.worst();
            Some(Target { what, bound: Bound::AtMost(1.0), measured })
        });
        [two, one(PARKING_LOT), one(STD), worst].into_iter().flatten().collect()
    }

    fn scaling_target(&self) -> Option<Target> {
        let (_, _, measured) = *self.scaling.iter().find(|row| row.0 == OURS)?;
        let what = "throughput at 2 T over 1 T / that of the empty harness".to_owned();
        Some(Target { what, bound: Bound::AtLeast(0.95), measured })
    }

    /// The section of the targets, of what was measured.
    pub fn targets(&mut self) {
        let mut targets: Vec<Target> = RATIOS.iter().flat_map(|ratio| ratio.of(self)).collect();
        targets.extend(self.mix_targets());
        targets.extend(self.scaling_target());
        if targets.is_empty() {
            return;
        }
        self.say("\n### Targets\n");
        self.head(&["ratio", "target", "measured", ""]);
        for Target { what, bound, measured } in &targets {
            let met = if bound.met(*measured) { "met" } else { "**missed**" };
            self.row(&[what, &bound.says(), &format!("{measured:.3}"), met]);
        }
        let missed = targets.iter().filter(|target| !target.bound.met(target.measured)).count();
        self.say(&format!("\n{} of {} met.", targets.len() - missed, targets.len()));
    }
}

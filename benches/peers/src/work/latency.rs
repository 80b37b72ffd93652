//! How long single operations of the mix take at worst, where two threads work.

use std::sync::Mutex;
use std::time::Instant;

use hdrhistogram::Histogram;

use super::mix::{Act, Mix, Watch, Worker, live};
use crate::candidates::{held, wide};
use crate::measure::{Start, Timing, median, timed_with};
use crate::report::Report;
use crate::stores::Store;

/// The percentiles that are told.
const PERCENTILES: [f64; 3] = [50.0, 99.0, 99.9];
/// Get, insert, remove, and all of them.
const ACTS: usize = 4;

/// Nanoseconds: for each act each percentile.
pub type Percentiles = [[f64; PERCENTILES.len()]; ACTS];

/// What one measurement found.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    pub timing: Timing,
    pub percentiles: Percentiles,
}

/// What the rounds found of a candidate.
#[derive(Clone, Copy, Debug)]
pub struct Latencies {
    pub name: &'static str,
    pub is_peer: bool,
    pub percentiles: Percentiles,
}

impl Latencies {
    /// The 99.9th percentile of all operations.
    pub fn worst(&self) -> f64 {
        self.percentiles[ACTS - 1][PERCENTILES.len() - 1]
    }
}

/// A clock around each operation.
struct Clock([Histogram<u64>; ACTS]);

impl Watch for Clock {
    #[inline]
    fn watch(&mut self, act: Act, carry_out: impl FnOnce()) {
        let begun = Instant::now();
        carry_out();
        let nanoseconds = begun.elapsed().as_nanos() as u64;
        self.0[act as usize].saturating_record(nanoseconds);
    }
}

fn histograms() -> [Histogram<u64>; ACTS] {
    // Up to ten seconds, to three digits: the bounds are legal.
    std::array::from_fn(|_| Histogram::new_with_bounds(1, 10_000_000_000, 3).unwrap())
}

pub fn latency<S: Store<N>, const N: usize>(job: &Mix) -> Latency {
    let store = S::with_room(2 * job.live + 64 * job.threads);
    let all = Mutex::new(histograms());
    let work = |number, start: &Start| {
        let mut worker = Worker::new(&store, job, number);
        worker.warm_up(&store, job);
        let mut clock = Clock(histograms());
        start.wait();
        worker.work(&store, job.operations, &mut clock);
        clock.0
    };
    let add = |seen: [Histogram<u64>; ACTS]| {
        // Of the same bounds.
        all.lock().unwrap().iter_mut().zip(&seen).for_each(|(all, seen)| all.add(seen).unwrap());
    };
    let timing = timed_with(job.threads, job.operations, work, add);
    let mut all = all.into_inner().unwrap();
    let (each, sum) = all.split_at_mut(ACTS - 1);
    each.iter().for_each(|each| sum[0].add(each).unwrap());
    let percentiles = all.map(|one| PERCENTILES.map(|at| one.value_at_percentile(at) as f64));
    Latency { timing, percentiles }
}

pub fn run(report: &mut Report) {
    report.section(
        "latency",
        "How long an operation of the mix takes, 2 threads",
        "The mix of before with a clock around each operation: p50 / p99 / p99.9 in nanoseconds, \
         medians of the rounds. The clock takes what the empty harness shows. Two candidates are here \
         once more with keys that are as wide as hatchery's, which get into the caches half as often.",
    );
    let candidates = [held(), wide()].concat();
    let job =
        Mix { live: live(report), threads: 2, operations: report.plan.size(200_000, 100_000) };
    let mut rounds: Vec<Vec<Percentiles>> = vec![Vec::new(); candidates.len()];
    for round in 0..report.plan.rounds {
        for turn in 0..candidates.len() {
            let at = (round + turn) % candidates.len();
            let Latency { timing, percentiles } = (candidates[at].latency)(&job);
            rounds[at].push(percentiles);
            report.note_wait(timing);
        }
    }
    let mut rows = Vec::new();
    for (candidate, rounds) in candidates.iter().zip(rounds) {
        let of = |act: usize, at: usize| median(rounds.iter().map(|round| round[act][at]));
        let percentiles: Percentiles =
            std::array::from_fn(|act| std::array::from_fn(|at| of(act, at)));
        let is_peer = candidate.is_peer();
        rows.push(Latencies { name: candidate.name, is_peer, percentiles });
    }
    report.head(&["candidate", "get", "insert", "remove", "all"]);
    for row in &rows {
        let cells =
            row.percentiles.map(|[p50, p99, p999]| format!("{p50:.0} / {p99:.0} / {p999:.0}"));
        let mut cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        cells.insert(0, row.name);
        report.row(&cells);
    }
    report.latencies = rows;
    report.end();
}

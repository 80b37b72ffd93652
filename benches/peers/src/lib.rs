//! What the comparisons share: how a candidate is timed, how candidates take turns, and the table.
//!
//! Each bench of this package asks one question and runs all its candidates in one process, in
//! interleaved rounds: what disturbs the machine meanwhile disturbs them all. Ratios of a round are
//! what to quote; absolute times drift from day to day.
//!
//! Ratios do not help where the machine has other work and two threads are given one core by turns:
//! then they never contend, and what contends worst gains most. So the [`footer`] of a table tells
//! how long threads waited for a core.

use std::fmt::Display;
use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

/// Whether a short run was asked for, which shows that a bench works and measures little.
///
/// `cargo bench` also hands over filters and flags of the usual harness; they mean nothing here.
pub fn quick() -> bool {
    std::env::args().any(|argument| argument == "--quick" || argument == "--test")
}

/// The common start of the workers of one measurement.
#[derive(Debug)]
pub struct Start {
    barrier: Barrier,
    begun: OnceLock<Instant>,
}

impl Start {
    /// Waits until every worker is ready; the clock runs from here.
    pub fn wait(&self) {
        self.barrier.wait();
        self.begun.get_or_init(Instant::now);
    }
}

/// What one measurement found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Core time an operation.
    pub nanoseconds: f64,
    /// The part of its time, from 0 to 1, that a thread waited for a core, where the kernel tells.
    pub waited: Option<f64>,
}

/// Times `operations` on each thread.
///
/// Every thread runs `work`, which prepares, waits for the [`Start`], and does its operations. The
/// clock stops when the last `work` returns; what it returns is dropped after that. The workers read
/// the clock themselves: one that waits outside may not get a core to begin with.
///
/// # Panics
///
/// When a worker panics, and when `work` does not wait for the start.
pub fn timed<R>(threads: usize, operations: usize, work: impl Fn(&Start) -> R + Sync) -> Timing {
    let start = Start { barrier: Barrier::new(threads), begun: OnceLock::new() };
    let finish = || {
        let before = waited_so_far();
        let rest = work(&start);
        let ended = Instant::now();
        let waited = before.zip(waited_so_far()).map(|(before, after)| after - before);
        drop(rest);
        (ended, waited)
    };
    let workers: Vec<(Instant, Option<Duration>)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(finish)).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let begun = *start.begun.get().expect("the work waits for the start");
    let ended = workers.iter().map(|(ended, _)| *ended).max().expect("one thread at least");
    let elapsed = (ended - begun).as_nanos() as f64;
    let cores = thread::available_parallelism().map_or(1, usize::from).min(threads) as f64;
    let waited: Option<Duration> = workers.iter().map(|(_, waited)| *waited).sum();
    Timing {
        nanoseconds: elapsed * cores / (operations * threads) as f64,
        waited: waited.map(|waited| waited.as_nanos() as f64 / (elapsed * threads as f64)),
    }
}

/// How long this thread was ready to run and had no core.
fn waited_so_far() -> Option<Duration> {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedule.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// What the candidates took, round by round.
#[derive(Debug)]
pub struct Rounds(Vec<Vec<Timing>>);

/// Runs every candidate once to warm up and then once a round, in turns that begin with another one
/// in each round.
pub fn interleaved(rounds: usize, candidates: &[&dyn Fn() -> Timing]) -> Rounds {
    for candidate in candidates {
        candidate();
    }
    let round = |first: usize| {
        let mut times = vec![Timing::default(); candidates.len()];
        for turn in 0..candidates.len() {
            let at = (first + turn) % candidates.len();
            times[at] = candidates[at]();
        }
        times
    };
    Rounds((0..rounds).map(round).collect())
}

impl Rounds {
    /// What the candidate at this place took: the median of the rounds.
    pub fn time(&self, candidate: usize) -> f64 {
        median(self.0.iter().map(|times| times[candidate].nanoseconds))
    }

    /// How many times what `other` took `candidate` took: the median of the ratios of the rounds.
    pub fn ratio(&self, candidate: usize, other: usize) -> f64 {
        let ratio = |times: &Vec<Timing>| times[candidate].nanoseconds / times[other].nanoseconds;
        median(self.0.iter().map(ratio))
    }

    /// Of these candidates the one with the least median.
    ///
    /// # Panics
    ///
    /// When there is none.
    pub fn fastest(&self, candidates: impl IntoIterator<Item = usize>) -> usize {
        let by_time = |a: &usize, b: &usize| self.time(*a).total_cmp(&self.time(*b));
        candidates.into_iter().min_by(by_time).expect("one candidate at least")
    }
}

/// The value in the middle, the upper one of two.
///
/// # Panics
///
/// When there is no value.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Prints a row of a Markdown table.
pub fn row(cells: &[&dyn Display]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.to_string()).collect();
    println!("| {} |", cells.join(" | "));
}

/// Prints the head of a Markdown table.
pub fn head(columns: &[&str]) {
    println!("| {} |", columns.join(" | "));
    println!("| {} |", vec!["---"; columns.len()].join(" | "));
}

/// Prints what to think of the table above, which was made of these measurements.
pub fn footer(all: &[Rounds]) {
    let timings = all.iter().flat_map(|rounds| rounds.0.iter().flatten());
    let waited: Vec<f64> = timings.filter_map(|timing| timing.waited).collect();
    if waited.is_empty() {
        return;
    }
    let disturbed = waited.iter().filter(|waited| **waited > 0.05).count();
    println!(
        "\nIn {disturbed} of {} measurements threads waited for a core more than a twentieth of \
         their time.",
        waited.len()
    );
    if 10 * disturbed > waited.len() {
        println!("The machine had other work: do not quote what two threads took.");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn took(nanoseconds: f64) -> Timing {
        Timing { nanoseconds, waited: None }
    }

    #[test]
    fn median_is_the_value_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 3.0);
    }

    #[test]
    fn ratio_is_taken_round_by_round() {
        let round = |times: [f64; 2]| times.map(took).to_vec();
        let rounds = Rounds([[2.0, 1.0], [30.0, 10.0], [8.0, 2.0]].map(round).to_vec());
        assert_eq!((rounds.time(0), rounds.time(1)), (8.0, 2.0));
        assert_eq!(rounds.ratio(0, 1), 3.0);
        assert_eq!(rounds.fastest([0, 1]), 1);
    }

    #[test]
    fn candidates_take_turns_and_each_round_begins_with_another() {
        let turns = RefCell::new(String::new());
        let candidate = |name: char| {
            turns.borrow_mut().push(name);
            took(f64::from(u32::from(name)))
        };
        let rounds = interleaved(3, &[&|| candidate('a'), &|| candidate('b')]);
        assert_eq!(*turns.borrow(), "ab ab ba ab".replace(' ', ""));
        assert_eq!(rounds.time(1), f64::from(u32::from('b')));
    }

    #[test]
    fn timed_counts_from_the_start_and_not_what_is_dropped_after() {
        struct Slow;
        impl Drop for Slow {
            fn drop(&mut self) {
                thread::sleep(Duration::from_millis(400));
            }
        }
        let timing = timed(1, 1, |start| {
            thread::sleep(Duration::from_millis(400));
            start.wait();
            thread::sleep(Duration::from_millis(20));
            Slow
        });
        assert!((2e7..4e8).contains(&timing.nanoseconds), "{timing:?}");
    }
}

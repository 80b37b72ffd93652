//! How a candidate is timed, and how candidates take turns.

use std::sync::{Barrier, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use core_affinity::CoreId;

/// The common start of the workers of one measurement.
#[derive(Debug)]
pub struct Start {
    barrier: Barrier,
    begun: OnceLock<Instant>,
}

impl Start {
    /// Waits until every worker is ready; the clock runs from here, and whoever counts does.
    pub fn wait(&self) {
        self.barrier.wait();
        self.begun.get_or_init(Instant::now);
        hatchery_valgrind::begin();
    }
}

/// What one measurement found.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timing {
    /// Core time an operation.
    pub nanoseconds: f64,
    /// From the start to the end of the last worker.
    pub wall: Duration,
    /// The part of its time, from 0 to 1, that a thread waited for a core, where the kernel tells
    /// and there are no more threads than cores.
    pub waited: Option<f64>,
}

/// Cores that the process may use.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A core for each of so many threads that are to run at the same time; none where one thread is
/// alone, or where they are more than the cores.
///
/// Left to itself, a scheduler often lets two threads that were woken together begin on one core,
/// and takes some milliseconds to part them, which is a fair part of a measurement.
fn cores_apart(threads: usize) -> Vec<CoreId> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    if threads > 1 && threads <= cores.len() { cores } else { Vec::new() }
}

/// Times `operations` on each thread.
///
/// Every thread runs `work` with its number: it prepares, waits for the [`Start`], and does its
/// operations. The clock stops when the last `work` returns; what it returns is dropped after that.
/// The workers read the clock themselves: one that waits outside may not get a core to begin with.
///
/// # Panics
///
/// When a worker panics, and when `work` does not wait for the start.
pub fn timed<R>(
    threads: usize,
    operations: usize,
    work: impl Fn(usize, &Start) -> R + Sync,
) -> Timing {
    timed_with(threads, operations, work, drop)
}

/// [`timed`], and each thread hands what its `work` has returned to `afterwards`.
pub fn timed_with<R>(
    threads: usize,
    operations: usize,
    work: impl Fn(usize, &Start) -> R + Sync,
    afterwards: impl Fn(R) + Sync,
) -> Timing {
    let start = Start { barrier: Barrier::new(threads), begun: OnceLock::new() };
    let cores_apart = cores_apart(threads);
    let finish = |number: usize| {
        if let Some(&core) = cores_apart.get(number) {
            // Where the system does not let it, the table tells how long threads waited.
            core_affinity::set_for_current(core);
        }
        let before = waited_so_far();
        let rest = work(number, &start);
        hatchery_valgrind::end();
        let ended = Instant::now();
        let waited = before.zip(waited_so_far()).map(|(before, after)| after - before);
        afterwards(rest);
        (ended, waited)
    };
    let workers: Vec<(Instant, Option<Duration>)> = thread::scope(|scope| {
        let finish = &finish;
        let workers: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || finish(number))).collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let begun = *start.begun.get().expect("the work waits for the start");
    let ended = workers.iter().map(|(ended, _)| *ended).max().expect("one thread at least");
    let wall = ended - begun;
    let nanoseconds = wall.as_nanos() as f64;
    let busy = cores().min(threads) as f64;
    let waited: Option<Duration> = workers.iter().map(|(_, waited)| *waited).sum();
    Timing {
        nanoseconds: nanoseconds * busy / (operations * threads) as f64,
        wall,
        waited: waited
            .filter(|_| threads <= cores())
            .map(|waited| waited.as_nanos() as f64 / (nanoseconds * threads as f64)),
    }
}

/// How long this thread was ready to run and had no core.
fn waited_so_far() -> Option<Duration> {
    let schedule = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    schedule.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Whether a short run was asked for, which shows that all works and measures little.
    pub quick: bool,
    pub rounds: usize,
    /// How long one measurement of one candidate takes, about.
    pub span: Duration,
}

impl Plan {
    pub fn full() -> Plan {
        Plan { quick: false, rounds: 7, span: Duration::from_millis(25) }
    }

    pub fn quick() -> Plan {
        Plan { quick: true, rounds: 3, span: Duration::from_millis(15) }
    }

    /// A size: as it is in the full run, or a smaller one in the quick run.
    pub fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// How many operations each thread does.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// So many that a measurement takes the plan's span, found out for each candidate beforehand.
    Span,
    /// The work itself has a size.
    Fixed(usize),
}

/// What can be measured: given the operations of each thread.
pub type Run<'r> = Box<dyn Fn(usize) -> Timing + 'r>;

/// What the candidates took.
#[derive(Debug)]
pub struct Rounds {
    /// Round by round.
    times: Vec<Vec<Timing>>,
    /// In how many rounds each came to a standstill.
    standstills: Vec<usize>,
}

/// Runs every candidate once a round, in turns that begin with another one in each round. What is
/// of a fixed size warms itself up, or is large enough to do without.
pub fn interleaved(plan: &Plan, amount: Amount, candidates: &[Run<'_>]) -> Rounds {
    let mut operations: Vec<usize> = candidates
        .iter()
        .map(|run| match amount {
            Amount::Span => fitting(plan.span, run),
            Amount::Fixed(operations) => operations,
        })
        .collect();
    let mut standstills = vec![0; candidates.len()];
    let round = |first: usize| {
        let mut times = vec![Timing::default(); candidates.len()];
        for turn in 0..candidates.len() {
            let at = (first + turn) % candidates.len();
            times[at] = candidates[at](operations[at]);
            if matches!(amount, Amount::Span) && times[at].wall > STANDSTILL * plan.span {
                standstills[at] += 1;
                if standstills[at] == BORNE {
                    operations[at] = bearable(operations[at], times[at].wall, plan.span);
                }
            }
        }
        times
    };
    let times = (0..plan.rounds).map(round).collect();
    Rounds { times, standstills }
}

/// How many operations a candidate does in a span: extrapolated from two shorter runs, of which the
/// first is cold.
fn fitting(span: Duration, run: &Run<'_>) -> usize {
    let mut operations = 2000;
    for part in [8.0, 1.0] {
        let wall = run(operations).wall.as_secs_f64().max(1e-7);
        let more = span.as_secs_f64() / part / wall;
        // A multiple of 1000: sessions are of so many operations.
        operations = ((operations as f64 * more / 1000.0) as usize).clamp(1, 1 << 17) * 1000;
    }
    operations
}

/// Spans after which a candidate is said to have come to a standstill, as some do where the shorter
/// runs did not tell.
const STANDSTILL: u32 = 16;

/// Standstills until a candidate has to do less. The first may be the machine's, which stops for
/// all now and then.
const BORNE: usize = 2;

/// How many operations a candidate does after its standstills: the others wait for it.
fn bearable(operations: usize, wall: Duration, span: Duration) -> usize {
    let part = span.as_secs_f64() / wall.as_secs_f64();
    ((operations as f64 * part / 1000.0) as usize).max(1) * 1000
}

impl Rounds {
    /// What the candidate at this place took: the median of the rounds.
    pub fn time(&self, candidate: usize) -> f64 {
        median(self.times.iter().map(|times| times[candidate].nanoseconds))
    }

    /// How many times what `other` took `candidate` took: the median of the ratios of the rounds.
    pub fn ratio(&self, candidate: usize, other: usize) -> f64 {
        let ratio = |times: &Vec<Timing>| times[candidate].nanoseconds / times[other].nanoseconds;
        median(self.times.iter().map(ratio))
    }

    /// The median over the rounds of a figure that is computed from the times of all candidates.
    pub fn figure(&self, of: impl Fn(&[Timing]) -> f64) -> f64 {
        median(self.times.iter().map(|times| of(times)))
    }

    /// What a candidate that had to do less took in its worst round, which the median hides.
    pub fn standstill(&self, candidate: usize) -> Option<f64> {
        let times = || self.times.iter().map(|times| times[candidate].nanoseconds);
        (self.standstills[candidate] >= BORNE).then(|| times().fold(0.0, f64::max))
    }

    /// The parts of their time that threads waited for a core, one for each measurement.
    pub fn waits(&self) -> impl Iterator<Item = f64> {
        self.times.iter().flatten().filter_map(|timing| timing.waited)
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

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn took(nanoseconds: f64) -> Timing {
        Timing { nanoseconds, ..Timing::default() }
    }

    #[test]
    fn median_is_the_value_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 3.0);
    }

    #[test]
    fn ratio_is_taken_round_by_round() {
        let round = |times: [f64; 2]| times.map(took).to_vec();
        let times = [[2.0, 1.0], [30.0, 10.0], [8.0, 2.0]].map(round).to_vec();
        let rounds = Rounds { times, standstills: vec![1, 2] };
        assert_eq!((rounds.time(0), rounds.time(1)), (8.0, 2.0));
        assert_eq!(rounds.ratio(0, 1), 3.0);
        assert_eq!((rounds.standstill(0), rounds.standstill(1)), (None, Some(10.0)));
    }

    #[test]
    fn candidates_take_turns_and_each_round_begins_with_another() {
        let turns = RefCell::new(String::new());
        let candidate = |name: char| -> Run<'_> {
            let turns = &turns;
            Box::new(move |_| {
                turns.borrow_mut().push(name);
                took(f64::from(u32::from(name)))
            })
        };
        let plan = Plan { quick: false, rounds: 3, span: Duration::ZERO };
        let rounds = interleaved(&plan, Amount::Fixed(1), &[candidate('a'), candidate('b')]);
        assert_eq!(*turns.borrow(), "ab ba ab".replace(' ', ""));
        assert_eq!(rounds.time(1), f64::from(u32::from('b')));
    }

    #[test]
    fn fitting_extrapolates_to_the_span() {
        let run: Run<'_> = Box::new(|operations| Timing {
            wall: Duration::from_nanos(10 * operations as u64),
            ..Timing::default()
        });
        assert_eq!(fitting(Duration::from_millis(10), &run), 1_000_000);
    }

    #[test]
    fn who_comes_to_a_standstill_twice_does_less_in_the_next_round() {
        let plan = Plan { quick: false, rounds: 5, span: Duration::from_millis(10) };
        let asked = RefCell::new(Vec::new());
        let run: Run<'_> = Box::new(|operations| {
            asked.borrow_mut().push(operations);
            // Only a run of a million operations or more comes to a standstill.
            let each = if operations < 1_000_000 { 10 } else { 1000 };
            let wall = Duration::from_nanos((each * operations) as u64);
            Timing { wall, nanoseconds: each as f64, ..Timing::default() }
        });
        let rounds = interleaved(&plan, Amount::Span, &[run]);
        assert_eq!(asked.borrow()[2..], [1_000_000, 1_000_000, 10_000, 10_000, 10_000]);
        assert_eq!((rounds.time(0), rounds.standstill(0)), (10.0, Some(1000.0)));
    }

    #[test]
    fn timed_counts_from_the_start_and_not_what_is_dropped_after() {
        struct Slow;
        impl Drop for Slow {
            fn drop(&mut self) {
                thread::sleep(Duration::from_millis(400));
            }
        }
        let timing = timed(1, 1, |_, start| {
            thread::sleep(Duration::from_millis(400));
            start.wait();
            thread::sleep(Duration::from_millis(20));
            Slow
        });
        assert!((2e7..4e8).contains(&timing.nanoseconds), "{timing:?}");
    }
}

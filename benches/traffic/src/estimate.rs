//! From traffic to time, by what a transfer is assumed to take.

use crate::drive::Drive;
use crate::simulation::Outcome;

/// Instructions in a nanosecond while no line has to come. A life of 225 of them took 36 ns on the
/// Intel machine of `docs/performance.md`, its read-modify-writes on private lines included.
pub const INSTRUCTIONS: f64 = 6.0;

/// Nanoseconds until a line has come, or others have lost it, within a socket.
pub const TRANSFER: f64 = 60.0;

/// What one run says about an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Threads.
    pub threads: usize,
    /// Nanoseconds of an operation, if nobody waits for a line that somebody else waits for.
    pub alone: f64,
    /// Nanoseconds between two operations of any thread, for which the busiest line allows.
    pub queue: f64,
}

impl Estimate {
    /// Of what a run has shown.
    pub fn of(drive: Drive, outcome: &Outcome) -> Estimate {
        let each = |count: u64| count as f64 / drive.operations() as f64;
        Estimate {
            threads: drive.threads,
            alone: each(outcome.instructions) / INSTRUCTIONS + each(outcome.total.all()) * TRANSFER,
            queue: each(outcome.busiest.all()) * TRANSFER,
        }
    }

    /// Operations in a microsecond, of all threads together: those that the threads are ready for,
    /// and no more than the busiest line lets pass one after the other.
    pub fn throughput(self) -> f64 {
        let ready = 1000.0 * self.threads as f64 / self.alone;
        if self.queue > 0.0 { ready.min(1000.0 / self.queue) } else { ready }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Work;
    use crate::simulation::Count;

    fn estimate(threads: usize, total: u64, busiest: u64) -> Estimate {
        let drive = Drive { work: Work::Bare, threads, shards: 1, warm: 0, measured: 10 };
        let operations = drive.operations() as u64;
        let count = |each| Count { owned: each * operations, ..Count::default() };
        let outcome = Outcome {
            instructions: 60 * operations,
            total: count(total),
            busiest: count(busiest),
            ..Outcome::default()
        };
        Estimate::of(drive, &outcome)
    }

    #[test]
    fn without_traffic_threads_do_what_they_can() {
        assert_eq!(estimate(1, 0, 0).throughput(), 100.0);
        assert_eq!(estimate(8, 0, 0).throughput(), 800.0);
    }

    #[test]
    fn transfers_take_time() {
        assert_eq!(estimate(7, 1, 0).throughput(), 100.0);
    }

    #[test]
    fn one_line_for_all_lets_them_pass_one_by_one() {
        assert_eq!(estimate(700, 1, 1).throughput(), 1000.0 / TRANSFER);
    }
}

//! How long single operations take. One in 64 is timed, so that the clock (some 25 ns a reading)
//! measures the store and not itself.

use std::time::Instant;

use hdrhistogram::Histogram;

/// The latencies of one operation, in nanoseconds.
pub(crate) struct Meter {
    turn: u32,
    times: Histogram<u64>,
}

impl Meter {
    const ONE_IN: u32 = 64;

    fn new() -> Meter {
        // Fixed bounds, and every page touched now: memory must not grow during the run.
        let mut times = Histogram::new_with_bounds(1, 10_000_000_000, 2).expect("valid bounds");
        times.reset();
        Meter { turn: 0, times }
    }

    /// Carries out `operation`, and times one in 64.
    #[inline]
    pub(crate) fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        self.turn = self.turn.wrapping_add(1);
        if !self.turn.is_multiple_of(Self::ONE_IN) {
            return operation();
        }
        let start = Instant::now();
        let result = operation();
        self.times.saturating_record(start.elapsed().as_nanos() as u64);
        result
    }

    pub(crate) fn quantiles(&self) -> Quantiles {
        let at = |quantile| self.times.value_at_quantile(quantile);
        Quantiles {
            timed: self.times.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            max_ns: self.times.max(),
        }
    }

    fn add(&mut self, other: &Meter) {
        self.times.add(&other.times).expect("equal bounds");
    }
}

/// What is reported of a meter.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Quantiles {
    pub(crate) timed: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) p999_ns: u64,
    pub(crate) max_ns: u64,
}

/// The meters of one thread.
pub(crate) struct Meters {
    pub(crate) spawn: Meter,
    pub(crate) look_up: Meter,
    pub(crate) kill: Meter,
    pub(crate) reap: Meter,
    /// The last of the four Holds: it carries out the reap.
    pub(crate) last_hold: Meter,
}

impl Meters {
    pub(crate) fn new() -> Meters {
        Meters {
            spawn: Meter::new(),
            look_up: Meter::new(),
            kill: Meter::new(),
            reap: Meter::new(),
            last_hold: Meter::new(),
        }
    }

    /// Adds what another thread measured.
    pub(crate) fn add(&mut self, other: &Meters) {
        self.spawn.add(&other.spawn);
        self.look_up.add(&other.look_up);
        self.kill.add(&other.kill);
        self.reap.add(&other.reap);
        self.last_hold.add(&other.last_hold);
    }
}

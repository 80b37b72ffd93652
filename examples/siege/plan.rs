//! How fast, and how many copies: what follows from the options and from the recording.

use std::time::Duration;

use crate::cli::Options;
use crate::recording::{Game, Recording};

/// How game time follows wall time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Speed {
    /// As fast as it goes.
    Max,
    /// This many times as fast as it was played.
    Times(f64),
}

/// What is going to be run.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) time: Duration,
    pub(crate) speed: Speed,
    /// The recording is replayed as a whole: every game again when the longest is over.
    pub(crate) period_us: u64,
    /// Whether games and copies are spread over that, instead of all beginning at once.
    staggered: bool,
    /// Births in one replay of the whole recording.
    births_a_pass: u64,
    pub(crate) threads: usize,
    /// Copies of each game at the start, and at most.
    pub(crate) copies: usize,
    pub(crate) most_copies: usize,
    /// Whether the run goes on until every game was replayed once: not when the user has chosen a
    /// speed at which that may take hours.
    pub(crate) finish_first_pass: bool,
    pub(crate) capacity: Option<usize>,
    pub(crate) stall_reader: bool,
    pub(crate) soak: bool,
    pub(crate) record: bool,
}

/// Copies are raised up to so many units alive, which bounds memory and the time that a
/// checkpoint takes.
const MOST_ALIVE: usize = 1_000_000;
const MOST_COPIES: usize = 256;

impl Plan {
    pub(crate) fn new(options: &Options, recording: &Recording) -> Plan {
        let time = options.seconds;
        let period_us = period_us(recording);
        let derived = Speed::Times(speed_for(recording, period_us, time));
        let speed = options.speed.unwrap_or(derived);
        let most = (MOST_ALIVE / recording.peak().max(1)).min(MOST_COPIES);
        // With as many copies as workers, every worker writes to every store. At full speed there
        // are more, because a server has some population; otherwise they are raised as needed.
        let wanted = match speed {
            Speed::Max => (8 * options.threads).min(most).max(options.threads),
            Speed::Times(_) => options.threads,
        };
        let copies = options.copies.unwrap_or(wanted);
        let raised = options.copies.is_none() && speed != Speed::Max;
        Plan {
            time,
            speed,
            period_us,
            births_a_pass: recording.births(),
            staggered: options.speed.is_none(),
            threads: options.threads,
            copies,
            most_copies: if raised { most.max(copies) } else { copies },
            finish_first_pass: speed == Speed::Max || options.speed.is_none(),
            capacity: options.capacity,
            stall_reader: options.stall_reader,
            soak: options.soak,
            record: options.record.is_some(),
        }
    }

    /// When, in game time, a copy of a game begins.
    pub(crate) fn phase_us(&self, game: usize, copy: usize) -> u64 {
        if !self.staggered {
            return 0;
        }
        // The golden ratio and the root of two: neither games nor copies fall on each other.
        let turns = game as f64 * 0.618_033_988_749_895 + copy as f64 * 0.414_213_562_373_095;
        (turns.fract() * self.period_us as f64) as u64
    }

    /// The copies with which the workers would be busy, given what a life has cost them so far
    /// and how many copies there are.
    pub(crate) fn copies_for(&self, copies: usize, busy_ns: u64, births: u64) -> usize {
        const ENOUGH: f64 = 0.85;
        let Speed::Times(speed) = self.speed else {
            return copies;
        };
        let ns_a_life = busy_ns as f64 / births as f64;
        let pass_ns = self.period_us as f64 * 1_000.0 / speed;
        let ns_a_copy = ns_a_life * self.births_a_pass as f64;
        let wanted = ENOUGH * self.threads as f64 * pass_ns / ns_a_copy;
        // In steps: few copies make short visits, in which a life costs more.
        let wanted = wanted.min(copies as f64 * 4.0);
        if wanted.is_nan() { copies } else { (wanted as usize).clamp(copies, self.most_copies) }
    }
}

/// The longest game, and a second in which the last skills land.
fn period_us(recording: &Recording) -> u64 {
    let longest_us = recording.games.iter().map(Game::duration_us).max().unwrap_or(0);
    longest_us.saturating_add(1_000_000)
}

/// All the play there is in nine tenths of the time, beginning when the last copy begins. A tenth
/// is left for being late. Never slower than it was played: a recording of a second would stand
/// still.
fn speed_for(recording: &Recording, period_us: u64, time: Duration) -> f64 {
    let played_us: f64 = recording.games.iter().map(|game| game.duration_us() as f64).sum();
    let all_us = played_us.max(period_us as f64) + period_us as f64;
    (all_us / 1e6 / (0.9 * time.as_secs_f64())).max(1.0)
}

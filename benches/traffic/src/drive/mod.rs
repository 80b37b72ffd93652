//! The program that is traced: it does one operation over and over, on threads that take turns.

mod bare;
mod churn;
mod holds;
mod lookup;
mod pool;
mod remote;

use std::fmt;
use std::io::{self, BufRead, Write};

use clap::{Args, ValueEnum};
use hatchery::{Limits, Store, StoreBuilder};

use crate::baton::Turns;
use crate::marks::{operation, page, speak};

/// What an entity carries: 64 bytes.
type Payload = [u64; 8];

/// Lives between two repins of a session.
pub const REPIN: usize = 64;

/// Indices in a batch, where nothing makes batches smaller.
pub const BATCH: usize = 256;

/// What is done over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Work {
    /// `get` under a pin, of 64 entities that the thread has to itself.
    GetOwn,
    /// `get` under a pin, of one entity that all threads look up.
    GetHot,
    /// `spawn_active` and `despawn` under a session, 64 alive a thread.
    Churn64,
    /// The same with 1024 alive a thread.
    Churn1024,
    /// As `churn64` with a capacity of 2048 a thread.
    Bounded,
    /// As `churn64` with a capacity so small that batches are of 32: 32 alive a thread.
    Small,
    /// `spawn_active` and `despawn` under a session, where each thread ends what its neighbour has
    /// spawned.
    Remote,
    /// `Store::spawn_active` and `Store::despawn`, which pin for themselves, 64 alive a thread.
    Unpinned,
    /// `spawn_active`, `kill_and_hold`, `reap`, and the drop of the hold that ends it.
    Holds,
    /// `Pool::acquire`, a use, `Pool::release`, 8 held a thread.
    Pool,
    /// Taking from one Treiber stack over an array and giving back, 64 places out a thread.
    Bare,
}

/// One run of the driver.
#[derive(Args, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drive {
    /// What is done.
    #[arg(long)]
    pub work: Work,
    /// On how many threads.
    #[arg(long)]
    pub threads: usize,
    /// With how many shards.
    #[arg(long)]
    pub shards: usize,
    /// Turns of each thread before it is measured.
    #[arg(long)]
    pub warm: usize,
    /// Turns of each thread that are measured.
    #[arg(long)]
    pub measured: usize,
}

impl Work {
    /// How often the operation is done in a turn: once where all threads write the same lines, so
    /// that these change hands at every operation, and more often where a turn would take longer
    /// than what is done in it.
    pub fn each_turn(self) -> usize {
        match self {
            Work::GetOwn | Work::GetHot => 16,
            Work::Churn64 | Work::Churn1024 | Work::Small | Work::Remote | Work::Unpinned => 8,
            Work::Bounded | Work::Holds | Work::Pool | Work::Bare => 1,
        }
    }

    /// On how many threads it is looked at in a full run: less far where more threads add time and
    /// nothing that the others do not show.
    pub fn most_threads(self) -> usize {
        match self {
            Work::Churn1024 | Work::Small | Work::Unpinned | Work::Holds => 16,
            _ => 64,
        }
    }

    /// Whether batches of Dead slots travel, so that it takes many operations to see some.
    pub fn has_batches(self) -> bool {
        !matches!(self, Work::GetOwn | Work::GetHot | Work::Pool | Work::Bare)
    }
}

impl Drive {
    /// Of so many turns that batches come round, in as little time as that takes.
    pub fn new(work: Work, threads: usize, shards: usize) -> Drive {
        // Until a first batch has come back, and then a batch of each thread or half of one.
        let (warm, measured) = match work {
            _ if work.has_batches() => (2 * BATCH, (2048 / threads).clamp(BATCH / 2, 1024)),
            _ => (128, 128),
        };
        let turn = work.each_turn();
        Drive { work, threads, shards, warm: warm / turn, measured: measured / turn }
    }

    /// Says where the page of marks is, waits until somebody has taken note, and does the work.
    ///
    /// # Errors
    ///
    /// When nobody listens, or the work is refused.
    pub fn run(self) -> Result<(), String> {
        println!("{}", page());
        io::stdout().flush().map_err(|error| error.to_string())?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map_err(|error| error.to_string())?;
        speak(true);
        match self.work {
            Work::GetOwn => lookup::own(self),
            Work::GetHot => lookup::hot(self),
            Work::Churn64 => churn::session(self, Limits::UNBOUNDED, None, 64, REPIN),
            Work::Churn1024 => churn::session(self, Limits::UNBOUNDED, None, 1024, REPIN),
            Work::Bounded => {
                churn::session(self, Limits::reject(2048 * self.threads), None, 64, REPIN)
            }
            Work::Small => {
                // A batch is an eighth of a shard's part of capacity and backlog.
                let limits = Limits::reject(64 * self.threads);
                churn::session(self, limits, Some(192 * self.threads), 32, 32)
            }
            Work::Remote => remote::run(self),
            Work::Unpinned => churn::unpinned(self),
            Work::Holds => holds::run(self),
            Work::Pool => pool::run(self),
            Work::Bare => bare::run(self),
        }
    }

    /// How many operations are measured, on all threads together.
    pub fn operations(self) -> usize {
        self.threads * self.measured * self.work.each_turn()
    }

    /// Lets every thread `begin`, and do `work` as often as is asked for.
    fn take_turns<S>(self, begin: impl Fn(usize) -> S + Sync, work: impl Fn(&mut S) + Sync) {
        let turns = Turns { threads: self.threads, warm: self.warm, measured: self.measured };
        turns.take(begin, |state| (0..self.work.each_turn()).for_each(|_| work(state)));
    }

    fn builder(self) -> StoreBuilder<Payload> {
        Store::builder().shards(self.shards)
    }

    /// Lives that a thread has in advance, so that not all of them come to the end of a batch at
    /// the same time.
    fn lead(self, number: usize) -> usize {
        number * BATCH / self.threads
    }
}

impl fmt::Display for Drive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.work.to_possible_value();
        let name = name.as_ref().map_or("", |value| value.get_name());
        write!(f, "{name}, {} threads, {} shards", self.threads, self.shards)
    }
}

/// Makes what is shared, which threads have to fetch before they use it.
fn made<S, E: std::fmt::Display>(make: impl FnOnce() -> Result<S, E>) -> Result<S, String> {
    operation(make).map_err(|error| error.to_string())
}

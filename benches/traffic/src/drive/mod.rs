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

/// Lives between two repins of a session, and a thread's turns between two calls of `repin`.
pub const REPIN: usize = 256;

/// Indices in a batch, where nothing makes batches smaller.
pub const BATCH: usize = 256;

/// What is done over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
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
    /// `Pool::acquire`, a use, `Lease::release`.
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
    /// How often the operation is done in a turn.
    pub fn each_turn(self) -> usize {
        match self {
            Work::GetOwn | Work::GetHot => lookup::EACH_TURN,
            _ => 1,
        }
    }

    /// Whether batches of Dead slots travel, and turns enough are needed to see some.
    pub fn has_batches(self) -> bool {
        !matches!(self, Work::GetOwn | Work::GetHot | Work::Pool | Work::Bare)
    }
}

impl Drive {
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

    fn turns(self) -> Turns {
        Turns { threads: self.threads, warm: self.warm, measured: self.measured }
    }

    fn builder(self) -> StoreBuilder<Payload> {
        Store::builder().shards(self.shards)
    }

    /// Lives that a thread has in advance, so that not all of them come to the end of a batch at the
    /// same time.
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

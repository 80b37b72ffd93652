//! What is counted. Each worker has a tally of its own, plain numbers, added up at the end.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;

macro_rules! tally {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// How often each thing happened.
        #[derive(Clone, Copy, Debug, Default, serde::Serialize)]
        pub(crate) struct Tally {
            $($(#[$doc])* pub(crate) $name: u64,)*
        }

        impl Tally {
            /// Adds what another thread counted.
            pub(crate) fn add(&mut self, other: &Tally) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

tally! {
    /// Lives: births that a store accepted.
    births,
    activations,
    /// Kills of units that were still Pending.
    cancels,
    kills,
    /// Units that a game's end ended.
    survivors,
    /// Games replayed to their end.
    passes,
    /// Births that a store refused, for whatever reason.
    refused,
    refused_exhausted,
    refused_reclaiming,
    refused_out_of_memory,
    /// Later rows of a refused birth.
    skipped_rows,
    /// Keys that a row names and that were never born, once for each replay of their game.
    unknown_keys,
    /// The rows that name them.
    unknown_rows,
    /// Births of keys that are alive.
    births_of_living,
    /// Activations of keys that are active.
    repeated_activations,
    /// Activations and kills of keys that are dead already.
    rows_after_death,
    /// Reaps that wait for settlement, and those that did not have to.
    deferred,
    reaped_at_once,
    /// Settlement steps done, each four times a kill when all is settled.
    settled_steps,
    /// Skills aimed, and landed.
    casts,
    landings,
    hits,
    /// Landed on the right target while it was being settled.
    dying,
    stale,
    not_found,
    /// Landings on a dead target whose slot belonged to somebody else by then.
    strangers_avoided,
    /// Landings that were given somebody else. Must be 0.
    strangers_hit,
    /// Look-ups by readers, those that found their unit, and those of ended ones.
    look_ups,
    look_ups_found,
    look_ups_gone,
    /// Whole scans, and the units they saw.
    scans,
    scanned,
}

/// What may never happen, counted, and the first few told.
#[derive(Default)]
pub(crate) struct Violations {
    count: AtomicU64,
    told: Mutex<Vec<String>>,
}

impl Violations {
    const TOLD: usize = 20;

    /// Counts one violation; `tell` is only called while there is room to tell.
    #[cold]
    pub(crate) fn add(&self, tell: impl FnOnce() -> String) {
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().expect("nobody panics while telling");
        if told.len() < Self::TOLD {
            told.push(tell());
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    pub(crate) fn told(&self) -> Vec<String> {
        self.told.lock().expect("nobody panics while telling").clone()
    }
}

/// What a worker shows of itself while it runs: for the progress bar, the plot, and whoever
/// decides how many copies are enough.
#[derive(Default)]
pub(crate) struct Pulse {
    pub(crate) births: AtomicU64,
    pub(crate) landings: AtomicU64,
    pub(crate) slept_ns: AtomicU64,
}

impl Pulse {
    pub(crate) fn show(&self, tally: &Tally) {
        self.births.store(tally.births, Ordering::Relaxed);
        self.landings.store(tally.landings, Ordering::Relaxed);
    }
}

/// One pulse a worker, on lines of their own.
pub(crate) type Pulses = Vec<CachePadded<Pulse>>;

/// The sum of one of the numbers over all workers.
pub(crate) fn sum(pulses: &Pulses, of: impl Fn(&Pulse) -> &AtomicU64) -> u64 {
    pulses.iter().map(|pulse| of(pulse).load(Ordering::Relaxed)).sum()
}

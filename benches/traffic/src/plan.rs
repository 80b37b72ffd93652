//! Which runs there are, and carrying them out.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

use clap::ValueEnum;

use crate::drive::{Drive, Work};
use crate::run::traced;
use crate::simulation::Outcome;

/// How many threads, and what else is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The numbers of threads, from 1 upward.
    pub threads: Vec<usize>,
    /// How many threads there are where the number of shards differs.
    pub sharded: usize,
}

/// What has come of the runs.
#[derive(Debug, Default)]
pub struct Outcomes(BTreeMap<(Work, usize, usize), (Drive, Outcome)>);

impl Plan {
    /// All that the document shows.
    pub fn full() -> Plan {
        Plan { threads: vec![1, 2, 4, 8, 16, 32, 64], sharded: 16 }
    }

    /// Little, to show that all works.
    pub fn quick() -> Plan {
        Plan { threads: vec![1, 2], sharded: 2 }
    }

    /// The numbers of shards that are compared.
    pub fn shards(&self) -> Vec<usize> {
        let mut shards = vec![1, (self.sharded / 4).max(1), self.sharded, 2 * self.sharded];
        shards.dedup();
        shards
    }

    /// What is compared with other numbers of shards.
    pub fn sharded_works() -> [Work; 4] {
        [Work::Churn64, Work::Bounded, Work::Remote, Work::Pool]
    }

    /// Every run, those that take longest first, so that none is left alone at the end.
    fn drives(&self) -> Vec<Drive> {
        let mut all = BTreeMap::new();
        let mut add = |work, threads, shards| {
            all.insert((work, threads, shards), Drive::new(work, threads, shards));
        };
        for work in Work::value_variants() {
            let threads = self.threads.iter().filter(|threads| **threads <= work.most_threads());
            threads.for_each(|threads| add(*work, *threads, *threads));
        }
        for work in Plan::sharded_works() {
            self.shards().into_iter().for_each(|shards| add(work, self.sharded, shards));
        }
        let mut drives: Vec<Drive> = all.into_values().collect();
        drives
            .sort_by_key(|drive| std::cmp::Reverse(drive.threads * (drive.warm + drive.measured)));
        drives
    }

    /// Carries out all runs, so many at a time.
    ///
    /// # Errors
    ///
    /// What the first run that fails says.
    pub fn run(&self, program: &str, jobs: usize) -> Result<Outcomes, String> {
        let drives = self.drives();
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Ok(Outcomes::default())));
        scope(|scope| {
            for _ in 0..jobs.max(1) {
                // Relaxed: every run is taken once, and that is all.
                let take = || drives.get(next.fetch_add(1, Ordering::Relaxed)).copied();
                let done = &done;
                scope.spawn(move || {
                    while let Some(drive) = take() {
                        let outcome = traced(program, drive);
                        let mut done = done.lock().unwrap_or_else(|broken| broken.into_inner());
                        let Ok(outcomes) = &mut *done else { return };
                        match outcome {
                            Ok(outcome) => outcomes.insert(drive, outcome),
                            Err(error) => *done = Err(error),
                        }
                    }
                });
            }
        });
        done.into_inner().unwrap_or_else(|broken| broken.into_inner())
    }
}

impl Outcomes {
    /// Takes note of a run.
    pub fn insert(&mut self, drive: Drive, outcome: Outcome) {
        self.0.insert((drive.work, drive.threads, drive.shards), (drive, outcome));
    }

    /// What has come of a run, if there was one.
    pub fn of(&self, work: Work, threads: usize, shards: usize) -> Option<(Drive, &Outcome)> {
        self.0.get(&(work, threads, shards)).map(|(drive, outcome)| (*drive, outcome))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_is_in_a_plan_at_every_number_of_threads() {
        for plan in [Plan::full(), Plan::quick()] {
            let drives = plan.drives();
            for work in Work::value_variants() {
                for threads in plan.threads.iter().filter(|threads| **threads <= 16) {
                    let there = |drive: &&Drive| (drive.work, drive.threads) == (*work, *threads);
                    assert!(drives.iter().find(there).is_some_and(|drive| drive.measured > 0));
                }
            }
        }
    }

    #[test]
    fn shards_are_not_compared_with_themselves() {
        assert_eq!(Plan::full().shards(), [1, 4, 16, 32]);
        assert_eq!(Plan::quick().shards(), [1, 2, 4]);
    }
}

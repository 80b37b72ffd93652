//! Iteration over a million slots, all of them taken or a tenth.

use std::hint::black_box;
use std::sync::Mutex;

use super::{Random, SESSION, sessions};
use crate::candidates::held;
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

/// Scans that are timed together.
const SCANS: usize = 3;

/// How many slots, and how many of a hundred are taken.
#[derive(Clone, Copy, Debug)]
pub struct Iteration {
    pub slots: usize,
    pub percent: usize,
}

impl Iteration {
    fn live(self) -> usize {
        self.slots * self.percent / 100
    }

    /// Entities that are seen in what is timed.
    pub fn operations(self) -> usize {
        SCANS * self.live()
    }
}

/// Scans of a store that is filled once.
pub type Scans = Box<dyn Fn() -> Timing>;

/// Time for each that is alive.
pub fn iterate<S: Store<N>, const N: usize>(job: Iteration) -> Scans {
    let store = S::with_room(job.slots);
    let mut session = store.session();
    let mut keys = Vec::with_capacity(job.slots);
    for part in sessions(job.slots, SESSION) {
        keys.extend((0..part).map(|_| store.insert(&mut session, payload(1))));
        session = store.repin(session);
    }
    Random::new(job.slots).shuffle(&mut keys);
    for keys in keys[job.live()..].chunks(SESSION) {
        for key in keys {
            assert!(store.remove(&mut session, *key));
        }
        session = store.repin(session);
    }
    drop(session);
    let store = Mutex::new(store);
    Box::new(move || {
        timed(1, job.operations(), |_, start| {
            let mut store = store.lock().unwrap();
            assert_eq!(store.sum(), job.live() as u64);
            start.wait();
            for _ in 0..SCANS {
                black_box(store.sum());
            }
        })
    })
}

pub fn run(report: &mut Report) {
    let slots = report.plan.size(1_000_000, 50_000);
    report.section(
        "iterate",
        "Iteration",
        "A scan over 1M slots, all of them taken or a tenth, those in no order: nanoseconds for \
             each entity that is alive. sharded-slab iterates only with `&mut`.",
    );
    for percent in [100, 10] {
        let job = Iteration { slots, percent };
        let runs = held()
            .iter()
            .filter_map(|candidate| {
                let scans = candidate.iterate?(job);
                let run: Run<'_> = Box::new(move |_| scans());
                Some((candidate.name, run))
            })
            .collect();
        let setting = Setting::of(format!("{percent} % live"), 1);
        report.measure("iterate", setting, Amount::Fixed(1), runs);
    }
    report.table("iterate", "an entity that is alive, 64 bytes");
}

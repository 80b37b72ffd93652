//! The mix of a server: 90 % look-ups, 5 % insertions, 5 % removals, with a pin for every 64.

use std::hint::black_box;

use super::{Random, sessions};
use crate::candidates::held;
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

/// Operations of one pin.
const SESSION: usize = 64;

/// How much, and by how many.
#[derive(Clone, Copy, Debug)]
pub struct Mix {
    /// Entities that are alive, all threads' together.
    pub live: usize,
    pub threads: usize,
    pub operations: usize,
}

/// What an operation was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Get,
    Insert,
    Remove,
}

/// Who looks on while a thread works.
pub trait Watch {
    fn watch(&mut self, act: Act, carry_out: impl FnOnce());
}

/// Nobody: the operations are timed together.
struct Nobody;

impl Watch for Nobody {
    #[inline]
    fn watch(&mut self, _act: Act, carry_out: impl FnOnce()) {
        carry_out();
    }
}

/// A thread's part of the entities.
#[derive(Debug)]
pub struct Worker<K> {
    keys: Vec<K>,
    random: Random,
    seen: u64,
}

impl<K: Copy> Worker<K> {
    pub fn new<S: Store<N, Key = K>, const N: usize>(
        store: &S,
        job: &Mix,
        number: usize,
    ) -> Worker<K> {
        let mut session = store.session();
        let own = (job.live / job.threads) as u64;
        let mut keys = Vec::with_capacity(2 * own as usize);
        keys.extend((0..own).map(|n| store.insert(&mut session, payload(n))));
        Worker { keys, random: Random::new(number), seen: 0 }
    }

    /// Does the operations that are not measured.
    pub fn warm_up<S: Store<N, Key = K>, const N: usize>(&mut self, store: &S, job: &Mix) {
        self.work(store, job.operations / 8, &mut Nobody);
    }

    /// So many operations.
    #[inline]
    pub fn work<S: Store<N, Key = K>, const N: usize>(
        &mut self,
        store: &S,
        operations: usize,
        watch: &mut impl Watch,
    ) {
        let Worker { keys, random, seen } = self;
        let mut session = store.session();
        for part in sessions(operations, SESSION) {
            for _ in 0..part {
                let dice = random.next() % 100;
                let at = random.below(keys.len());
                match dice {
                    0..5 => watch.watch(Act::Insert, || {
                        keys.push(store.insert(&mut session, payload(dice)));
                    }),
                    // Never all of them.
                    5..10 if keys.len() > 1 => watch.watch(Act::Remove, || {
                        assert!(store.remove(&mut session, keys.swap_remove(at)));
                    }),
                    _ => watch.watch(Act::Get, || {
                        let first = store.get(&session, keys[at]).expect("it is there");
                        *seen = seen.wrapping_add(first);
                    }),
                }
            }
            session = store.reopen(session);
        }
        black_box(*seen);
    }
}

pub fn mix<S: Store<N>, const N: usize>(job: &Mix) -> Timing {
    let store = S::with_room(2 * job.live + 64 * job.threads);
    timed(job.threads, job.operations, |number, start| {
        let mut worker = Worker::new(&store, job, number);
        worker.warm_up(&store, job);
        start.wait();
        worker.work(&store, job.operations, &mut Nobody);
    })
}

pub fn run(report: &mut Report) {
    report.section(
        "mix",
        "90 % look-ups, 5 % insertions, 5 % removals",
        "100k alive, dealt out to the threads; every operation on an entity at random; a pin or \
         guard, where there is one, for every 64 operations.",
    );
    let live = live(report);
    for threads in [1, 2, 8] {
        let runs = held()
            .iter()
            .map(|candidate| {
                let mix = candidate.mix;
                let run: Run<'_> =
                    Box::new(move |operations| mix(&Mix { live, threads, operations }));
                (candidate.name, run)
            })
            .collect();
        report.measure("mix", Setting::of("90/5/5", threads), Amount::Span, runs);
    }
    report.table("mix", "an operation of the mix, 64 bytes");
}

/// How many are alive.
pub fn live(report: &Report) -> usize {
    report.plan.size(100_000, 20_000)
}

//! Look-ups: of a small window, of a million at random, and of one key that everybody asks for.

use std::hint::black_box;

use super::{Random, SESSION, sessions};
use crate::candidates::{Candidate, Kind, Prepared, all};
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

/// Which keys, by how many.
#[derive(Clone, Copy, Debug)]
pub struct Lookup {
    /// Keys that a thread asks for, over and over, in an order that is none; a power of two.
    pub keys: usize,
    /// Whether all threads ask for the same ones.
    pub shared: bool,
    pub threads: usize,
    pub operations: usize,
}

/// A store with so many entities alive.
pub fn prepare<S: Store<N>, const N: usize>(live: usize) -> Prepared {
    let store = S::with_room(live);
    let mut session = store.session();
    let mut keys = Vec::with_capacity(live);
    for part in sessions(live, SESSION) {
        keys.extend((0..part).map(|n| store.insert(&mut session, payload(n as u64))));
        session = store.repin(session);
    }
    drop(session);
    Random::new(live).shuffle(&mut keys);
    Box::new(move |job| look_up(&store, &keys, job))
}

fn look_up<S: Store<N>, const N: usize>(store: &S, keys: &[S::Key], job: &Lookup) -> Timing {
    assert!(job.keys.is_power_of_two());
    timed(job.threads, job.operations, |number, start| {
        let first = if job.shared { 0 } else { number * job.keys };
        let keys = &keys[first..first + job.keys];
        let read = |operations| {
            // In registers: copied, not borrowed.
            let (keys, last) = (keys, keys.len() - 1);
            let mut session = store.session();
            let (mut sum, mut n) = (0_u64, 0_usize);
            for part in sessions(operations, SESSION) {
                for _ in 0..part {
                    let first = store.get(&session, keys[n & last]);
                    sum = sum.wrapping_add(first.expect("it is there"));
                    n += 1;
                }
                session = store.repin(session);
            }
            black_box(sum);
        };
        read(job.operations / 8);
        start.wait();
        read(job.operations);
    })
}

pub fn run(report: &mut Report) {
    report.section(
        "lookup",
        "Look-ups",
        "1k: every thread looks up 1024 entities of its own, in no order. 1M: a million alive, \
         independent look-ups all over them. One hot key: all threads look up the same entity. Where \
         a candidate has pins, it holds one and moves it on every 1000 look-ups, unless the row says \
         otherwise.",
    );
    let few = 1024;
    measure(report, "1k live", 8 * few, Asked::Own(few), &[1, 2, 8]);
    let many = report.plan.size(1 << 20, 1 << 16);
    measure(report, "1M live", many, Asked::All, &[1, 2]);
    measure(report, "one hot key", few, Asked::Hot, &[1, 2]);
    report.table("lookup", "get, 64 bytes");
}

/// What a thread asks for.
#[derive(Clone, Copy, Debug)]
enum Asked {
    /// So many entities of its own.
    Own(usize),
    /// Its part of all.
    All,
    /// The one that everybody asks for.
    Hot,
}

fn measure(report: &mut Report, name: &str, live: usize, asked: Asked, threads: &[usize]) {
    let reads_apart = |candidate: &Candidate| candidate.kind != Kind::OursAgain;
    let prepared: Vec<(&'static str, Prepared)> = all()
        .into_iter()
        .filter(reads_apart)
        .map(|candidate| (candidate.name, (candidate.lookup)(live)))
        .collect();
    for &threads in threads {
        let (keys, shared) = match asked {
            Asked::Own(keys) => (keys, false),
            Asked::All => (live / threads, false),
            Asked::Hot => (1, true),
        };
        let runs = prepared
            .iter()
            .map(|(name, look_up)| {
                let run: Run<'_> = Box::new(move |operations| {
                    look_up(&Lookup { keys, shared, threads, operations })
                });
                (*name, run)
            })
            .collect();
        report.measure("lookup", Setting::of(name, threads), Amount::Span, runs);
    }
}

//! Churn: every thread keeps a window of its own alive; an operation removes the oldest and inserts
//! another.

use super::{SESSION, WORDS, sessions};
use crate::candidates::{Kind, Visitor, each};
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

/// How much, and by how many.
#[derive(Clone, Copy, Debug)]
pub struct Churn {
    pub window: usize,
    pub threads: usize,
    pub operations: usize,
}

pub fn churn<S: Store<N>, const N: usize>(job: &Churn) -> Timing {
    let Churn { window, threads, operations } = *job;
    assert!(window.is_power_of_two());
    let store = S::with_room(threads * window);
    timed(threads, operations, |_, start| {
        let mut session = store.session();
        let mut ring: Vec<S::Key> =
            (0..window).map(|n| store.insert(&mut session, payload(n as u64))).collect();
        session = turn(&store, session, &mut ring, operations / 8);
        // Nobody holds a pin while others prepare.
        drop(session);
        start.wait();
        turn(&store, store.session(), &mut ring, operations);
        ring
    })
}

/// So many operations on a ring, the oldest first.
fn turn<'s, S: Store<N>, const N: usize>(
    store: &'s S,
    mut session: S::Session<'s>,
    ring: &mut [S::Key],
    operations: usize,
) -> S::Session<'s> {
    let last = ring.len() - 1;
    let mut n = 0;
    for part in sessions(operations, SESSION) {
        for _ in 0..part {
            let place = &mut ring[n & last];
            assert!(store.remove(&mut session, *place));
            *place = store.insert(&mut session, payload(n as u64));
            n += 1;
        }
        session = store.repin(session);
    }
    session
}

pub fn run(report: &mut Report) {
    report.section(
        "churn",
        "Insert and remove",
        "Every thread keeps a window of entities alive; an operation removes its oldest and inserts \
         another. One session repinned every 1000 operations, or what comes nearest to it.",
    );
    for window in [1, 1024] {
        for threads in [1, 2, 8] {
            measure::<WORDS>(report, window, threads);
        }
    }
    report.table("churn", "insert + remove, 64 bytes");
    for threads in [1, 2] {
        measure::<1>(report, 1024, threads);
        measure::<32>(report, 1024, threads);
    }
    report.table("churn", "insert + remove, 8 and 256 bytes");
}

/// A candidate's name, and how it churns.
type Named = (&'static str, fn(&Churn) -> Timing);

/// What churns, for payloads of `N` words.
struct Churns<const N: usize>(Vec<Named>);

impl<const N: usize> Visitor<N> for Churns<N> {
    fn visit<S: Store<N>>(&mut self, name: &'static str, kind: Kind) {
        // The ways of pinning are compared at one size.
        if N == WORDS || kind != Kind::Each {
            self.0.push((name, churn::<S, N>));
        }
    }
}

fn measure<const N: usize>(report: &mut Report, window: usize, threads: usize) {
    let mut candidates = Churns::<N>(Vec::new());
    each(&mut candidates);
    let runs = candidates
        .0
        .into_iter()
        .map(|(name, churn)| {
            let run: Run<'_> =
                Box::new(move |operations| churn(&Churn { window, threads, operations }));
            (name, run)
        })
        .collect();
    let setting = Setting { bytes: 8 * N, ..Setting::of(format!("window {window}"), threads) };
    report.measure("churn", setting, Amount::Span, runs);
}

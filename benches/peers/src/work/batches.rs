//! hatchery's batches of a thousand beside a thousand single operations: its own, and those of the
//! floor and of the empty harness. Nobody else has batches.

use super::WORDS;
use crate::candidates::{BARE, EMPTY};
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Bare, Empty, Payload, Store, TwoSteps, Unpinned, payload};

const BATCH: usize = 1000;

type Entities = hatchery::Store<Payload<WORDS>>;

pub const SINGLE: &str = "single operations, a session";
pub const BATCHED: &str = "batches, a session";

/// Brings so many to life on each of so many threads, a thousand at a time, and ends them.
pub type Way = fn(usize, usize) -> Timing;

/// Every way, by its name.
pub const WAYS: [(&str, Way); 6] = [
    (BATCHED, batched),
    (SINGLE, single::<TwoSteps<WORDS>>),
    ("batches, no held pin", batched_unpinned),
    ("single operations, no held pin", single::<Unpinned<WORDS>>),
    (BARE, single::<Bare<WORDS>>),
    (EMPTY, single::<Empty<WORDS>>),
];

fn single<S: Store<WORDS>>(threads: usize, operations: usize) -> Timing {
    let store = S::with_room(threads * BATCH);
    timed(threads, operations, |_, start| {
        one_by_one(&store, &mut store.session());
        start.wait();
        let mut session = store.session();
        for _ in 0..operations / BATCH {
            one_by_one(&store, &mut session);
            session = store.repin(session);
        }
    })
}

fn one_by_one<S: Store<WORDS>>(store: &S, session: &mut S::Session<'_>) {
    let mut keys = Vec::with_capacity(BATCH);
    keys.extend((0..BATCH as u64).map(|n| store.insert(session, payload(n))));
    let mut ended = |&key: &S::Key| store.remove(session, key);
    assert!(keys.iter().all(&mut ended));
}

fn batched(threads: usize, operations: usize) -> Timing {
    let store = Entities::new();
    let way = |session: &mut hatchery::Pinned<'_, Payload<WORDS>>| {
        let handles = session.spawn_batch((0..BATCH as u64).map(payload)).unwrap();
        assert_eq!(session.despawn_batch(&handles), BATCH);
        session.repin();
    };
    timed(threads, operations, |_, start| {
        way(&mut store.pin());
        start.wait();
        let mut session = store.pin();
        (0..operations / BATCH).for_each(|_| way(&mut session));
    })
}

fn batched_unpinned(threads: usize, operations: usize) -> Timing {
    let store = Entities::new();
    let way = || {
        let handles = store.spawn_batch((0..BATCH as u64).map(payload)).unwrap();
        assert_eq!(store.despawn_batch(&handles), BATCH);
    };
    timed(threads, operations, |_, start| {
        way();
        start.wait();
        (0..operations / BATCH).for_each(|_| way());
    })
}

pub fn run(report: &mut Report) {
    report.section(
        "batches",
        "Batches",
        "hatchery's `spawn_batch` and `despawn_batch` of 1000 beside 1000 single calls each; both \
         collect the handles in a vector. An operation is one life.",
    );
    for threads in [1, 2] {
        let runs = WAYS
            .into_iter()
            .map(|(name, way)| {
                let run: Run<'_> = Box::new(move |operations| way(threads, operations));
                (name, run)
            })
            .collect();
        report.measure("batches", Setting::of("1000 lives", threads), Amount::Span, runs);
    }
    report.table("batches", "a life, 64 bytes");
}

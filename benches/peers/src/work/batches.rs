//! Batches of a thousand beside a thousand single operations; hatchery alone.

use hatchery::{Handle, Pinned, Store};

use super::WORDS;
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Payload, payload};

const BATCH: usize = 1000;

type Entities = Store<Payload<WORDS>>;

pub const SINGLE: &str = "single operations, a session";
pub const BATCHED: &str = "batches, a session";
const SINGLE_UNPINNED: &str = "single operations, no held pin";
const BATCHED_UNPINNED: &str = "batches, no held pin";

/// A way to bring a thousand to life and to end them.
type Way = fn(&Entities, &mut Pinned<'_, Payload<WORDS>>);

fn single(_: &Entities, session: &mut Pinned<'_, Payload<WORDS>>) {
    let mut handles = Vec::with_capacity(BATCH);
    handles.extend((0..BATCH as u64).map(|n| session.spawn_active(payload(n)).unwrap()));
    let ended = |&handle: &Handle| session.despawn(handle).is_ok();
    assert!(handles.iter().all(ended));
    session.repin();
}

fn batched(_: &Entities, session: &mut Pinned<'_, Payload<WORDS>>) {
    let handles = session.spawn_batch((0..BATCH as u64).map(payload)).unwrap();
    assert_eq!(session.despawn_batch(&handles), BATCH);
    session.repin();
}

fn single_unpinned(store: &Entities) {
    let mut handles = Vec::with_capacity(BATCH);
    handles.extend((0..BATCH as u64).map(|n| store.spawn_active(payload(n)).unwrap()));
    let ended = |&handle: &Handle| store.despawn(handle).is_ok();
    assert!(handles.iter().all(ended));
}

fn batched_unpinned(store: &Entities) {
    let handles = store.spawn_batch((0..BATCH as u64).map(payload)).unwrap();
    assert_eq!(store.despawn_batch(&handles), BATCH);
}

fn under_a_session(threads: usize, operations: usize, way: Way) -> Timing {
    let store = Entities::new();
    timed(threads, operations, |_, start| {
        way(&store, &mut store.pin());
        start.wait();
        let mut session = store.pin();
        (0..operations / BATCH).for_each(|_| way(&store, &mut session));
    })
}

fn without(threads: usize, operations: usize, way: fn(&Entities)) -> Timing {
    let store = Entities::new();
    timed(threads, operations, |_, start| {
        way(&store);
        start.wait();
        (0..operations / BATCH).for_each(|_| way(&store));
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
        let runs: Vec<(&'static str, Run<'_>)> = vec![
            (BATCHED, Box::new(move |n| under_a_session(threads, n, batched))),
            (SINGLE, Box::new(move |n| under_a_session(threads, n, single))),
            (BATCHED_UNPINNED, Box::new(move |n| without(threads, n, batched_unpinned))),
            (SINGLE_UNPINNED, Box::new(move |n| without(threads, n, single_unpinned))),
        ];
        report.measure("batches", Setting::of("1000 lives", threads), Amount::Span, runs);
    }
    report.table("batches", "a life, 64 bytes");
}

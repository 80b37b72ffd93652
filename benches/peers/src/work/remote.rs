//! Remote free: two threads, and each removes what the other has inserted. Keys travel in batches,
//! so that the harness takes little.

use std::hint::spin_loop;
use std::thread::yield_now;

use crossbeam_queue::ArrayQueue;

use crate::candidates::held;
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

/// Keys that travel together; a session moves on after four batches.
const BATCH: usize = 250;
/// Batches under way to a thread.
const UNDER_WAY: usize = 8;

pub fn remote<S: Store<N>, const N: usize>(operations: usize) -> Timing {
    let batches = operations.div_ceil(BATCH);
    let store = S::with_room(2 * (UNDER_WAY + 4) * BATCH);
    let mailboxes: [ArrayQueue<Vec<S::Key>>; 2] =
        std::array::from_fn(|_| ArrayQueue::new(UNDER_WAY));
    timed(2, batches * BATCH, |number, start| {
        let (own, others) = (&mailboxes[number], &mailboxes[1 - number]);
        start.wait();
        let mut session = store.session();
        let (mut sent, mut received) = (0, 0);
        let mut emptied: Vec<Vec<S::Key>> = Vec::new();
        let mut full: Option<Vec<S::Key>> = None;
        let mut idle = 0;
        while sent < batches || received < batches {
            idle += 1;
            if sent < batches {
                let batch = full.take().unwrap_or_else(|| {
                    let mut batch = emptied.pop().unwrap_or_else(|| Vec::with_capacity(BATCH));
                    let fill = (0..BATCH).map(|n| store.insert(&mut session, payload(n as u64)));
                    batch.extend(fill);
                    batch
                });
                match others.push(batch) {
                    Ok(()) => (sent, idle) = (sent + 1, 0),
                    Err(batch) => full = Some(batch),
                }
            }
            if let Some(mut batch) = own.pop() {
                for key in batch.drain(..) {
                    assert!(store.remove(&mut session, key));
                }
                emptied.push(batch);
                (received, idle) = (received + 1, 0);
            }
            if idle == 0 && received % 4 == 0 {
                session = store.repin(session);
            } else if idle > 100 {
                // The other thread may be off its core: nothing of it is held back meanwhile.
                session = store.reopen(session);
                yield_now();
            } else if idle > 0 {
                spin_loop();
            }
        }
    })
}

pub fn run(report: &mut Report) {
    report.section(
        "remote",
        "Remote free",
        "Two threads; each removes what the other has inserted, in batches of 250 keys that travel \
         through a queue. An operation is an insertion and a removal.",
    );
    let runs = held()
        .iter()
        .map(|candidate| (candidate.name, Box::new(candidate.remote) as Run<'_>))
        .collect();
    report.measure("remote", Setting::of("250 keys at a time", 2), Amount::Span, runs);
    report.table("remote", "insert here, remove there, 64 bytes");
}

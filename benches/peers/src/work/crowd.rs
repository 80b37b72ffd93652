//! More threads than cores: throughput, and the slots that it takes; hatchery alone.

use std::time::Duration;

use hatchery::{Handle, Store};

use super::{SESSION, WORDS, sessions};
use crate::measure::{Timing, median, timed};
use crate::report::Report;
use crate::stores::{Payload, payload};

/// Entities that a thread keeps alive.
const WINDOW: usize = 64;

/// Sessions of 1000 operations each, and the slots that there are in the end.
fn crowd(threads: usize, operations: usize) -> (Timing, usize) {
    let store = Store::<Payload<WORDS>>::new();
    let timing = timed(threads, operations, |_, start| {
        let mut ring: Vec<Handle> =
            (0..WINDOW as u64).map(|n| store.spawn_active(payload(n)).unwrap()).collect();
        start.wait();
        let mut n = 0;
        for part in sessions(operations, SESSION) {
            let session = store.pin();
            for _ in 0..part {
                let place = &mut ring[n % WINDOW];
                session.despawn(*place).unwrap();
                *place = session.spawn_active(payload(n as u64)).unwrap();
                n += 1;
            }
        }
    });
    (timing, store.stats().slots)
}

pub fn run(report: &mut Report) {
    report.section(
        "crowd",
        "More threads than cores",
        "hatchery alone, 64 live a thread, a new session for every 1000 lives. A thread that loses \
         its core inside a session holds the epoch, and what the others end meanwhile waits: slots \
         are what the store has made in the end.",
    );
    let lives = report.plan.size(16_000_000, 3_200_000);
    let counts = [2, 8, 32, 64];
    let mut found: [Vec<(f64, f64)>; 4] = Default::default();
    for round in 0..report.plan.rounds {
        for turn in 0..counts.len() {
            let at = (round + turn) % counts.len();
            report.note_distance(counts[at]);
            let (timing, slots) = crowd(counts[at], lives / counts[at]);
            let seconds = timing.wall.max(Duration::from_nanos(1)).as_secs_f64();
            found[at].push((lives as f64 / seconds / 1e6, slots as f64));
        }
    }
    report.head(&["threads", "million lives a second", "slots made", "the most in a round"]);
    for (threads, found) in counts.iter().zip(found) {
        let lives = median(found.iter().map(|round| round.0));
        let slots = median(found.iter().map(|round| round.1));
        let most = found.iter().map(|round| round.1).fold(0.0, f64::max);
        let [threads, slots, most] = [*threads as f64, slots, most].map(|n| format!("{n:.0}"));
        report.row(&[&threads, &format!("{lives:.1}"), &slots, &most]);
    }
    report.end();
}

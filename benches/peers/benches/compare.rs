//! The first comparison: a whole life and a look-up beside sharded-slab's, in one process.
//!
//! `cargo bench -p hatchery-peers --bench compare` prints the table of the README: nanoseconds of
//! core time an operation, medians of interleaved rounds, and the ratio of each round's pair. Ratios
//! are what to quote: both candidates run in the same process, one after the other, in every round.

use std::collections::VecDeque;
use std::hint::black_box;

use hatchery::{Handle, Store};
use hatchery_peers::{Rounds, Timing, footer, head, interleaved, quick, row, timed};

/// What an entity carries: 64 bytes.
type Payload = [u64; 8];

/// Entities alive during the churn and the look-ups, for each thread.
const LIVE: usize = 1024;
/// Operations between two repins.
const SESSION: usize = 1000;
const ROUNDS: usize = 9;

fn main() {
    let operations = if quick() { 100_000 } else { 4_000_000 };
    println!(
        "64-byte payload, {LIVE} live a thread, one session repinned every {SESSION} operations;"
    );
    println!("medians of {ROUNDS} interleaved rounds, {operations} operations a thread\n");
    head(&["work", "threads", "hatchery ns", "sharded-slab ns", "ratio"]);
    let mut measured = Vec::new();
    for threads in [1, 2] {
        for (work, pair) in WORKS {
            measured.push(compare(work, threads, operations, pair));
        }
    }
    footer(&measured);
}

/// Ours and theirs, given the threads and the operations of each.
type Pair = [fn(usize, usize) -> Timing; 2];

const WORKS: [(&str, Pair); 3] = [
    ("spawn, activate, kill, reap / insert + remove", [four_steps, slab_churn]),
    ("spawn_active, despawn / insert + remove", [two_steps, slab_churn]),
    ("look-up / get", [lookup, slab_lookup]),
];

fn compare(work: &str, threads: usize, operations: usize, [ours, theirs]: Pair) -> Rounds {
    let rounds =
        interleaved(ROUNDS, &[&|| ours(threads, operations), &|| theirs(threads, operations)]);
    let nanoseconds = |candidate| format!("{:.1}", rounds.time(candidate));
    let ratio = format!("{:.2}", rounds.ratio(0, 1));
    row(&[&work, &threads, &nanoseconds(0), &nanoseconds(1), &ratio]);
    rounds
}

/// Four calls a life.
fn four_steps(threads: usize, operations: usize) -> Timing {
    let store = Store::<Payload>::new();
    timed(threads, operations, |start| {
        let mut pinned = store.pin();
        let mut live: VecDeque<Handle> =
            (0..LIVE).map(|n| pinned.spawn_active([n as u64; 8]).unwrap()).collect();
        start.wait();
        for n in 0..operations {
            let oldest = live.pop_front().unwrap();
            pinned.kill(oldest).unwrap();
            pinned.reap(oldest).unwrap();
            live.push_back(pinned.spawn([n as u64; 8]).unwrap().activate());
            if n % SESSION == 0 {
                pinned.repin();
            }
        }
    })
}

/// Two calls a life.
fn two_steps(threads: usize, operations: usize) -> Timing {
    let store = Store::<Payload>::new();
    timed(threads, operations, |start| {
        let mut pinned = store.pin();
        let mut live: VecDeque<Handle> =
            (0..LIVE).map(|n| pinned.spawn_active([n as u64; 8]).unwrap()).collect();
        start.wait();
        for n in 0..operations {
            pinned.despawn(live.pop_front().unwrap()).unwrap();
            live.push_back(pinned.spawn_active([n as u64; 8]).unwrap());
            if n % SESSION == 0 {
                pinned.repin();
            }
        }
    })
}

fn slab_churn(threads: usize, operations: usize) -> Timing {
    let slab = sharded_slab::Slab::<Payload>::new();
    timed(threads, operations, |start| {
        let mut live: VecDeque<usize> =
            (0..LIVE).map(|n| slab.insert([n as u64; 8]).unwrap()).collect();
        start.wait();
        for n in 0..operations {
            assert!(slab.remove(live.pop_front().unwrap()));
            live.push_back(slab.insert([n as u64; 8]).unwrap());
        }
    })
}

/// The order in which a window of entities is looked up: every one, not in a row.
fn shuffled(n: usize) -> usize {
    n.wrapping_mul(7) % LIVE
}

fn lookup(threads: usize, operations: usize) -> Timing {
    let store = Store::<Payload>::new();
    timed(threads, operations, |start| {
        let mut pinned = store.pin();
        let live: Vec<Handle> =
            (0..LIVE).map(|n| pinned.spawn_active([n as u64; 8]).unwrap()).collect();
        start.wait();
        let mut sum = 0;
        for n in 0..operations {
            sum += pinned.get(live[shuffled(n)]).unwrap()[0];
            if n % SESSION == 0 {
                pinned.repin();
            }
        }
        black_box(sum);
    })
}

fn slab_lookup(threads: usize, operations: usize) -> Timing {
    let slab = sharded_slab::Slab::<Payload>::new();
    timed(threads, operations, |start| {
        let live: Vec<usize> = (0..LIVE).map(|n| slab.insert([n as u64; 8]).unwrap()).collect();
        start.wait();
        let mut sum = 0;
        for n in 0..operations {
            sum += slab.get(live[shuffled(n)]).unwrap()[0];
        }
        black_box(sum);
    })
}

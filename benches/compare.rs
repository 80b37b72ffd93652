//! The first comparison: a whole life and a look-up beside sharded-slab's, in one process.
//!
//! `cargo bench --bench compare` prints the table of the README: nanoseconds of core time an
//! operation, medians of interleaved rounds, and the ratio of each round's pair. Ratios are what to
//! quote: both candidates run in the same process, one after the other, in every round.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use hatchery::{Handle, Store};

/// What an entity carries: 64 bytes.
type Payload = [u64; 8];

/// Entities alive during the churn and the look-ups, for each thread.
const LIVE: usize = 1024;
/// Operations between two repins.
const SESSION: usize = 1000;
const ROUNDS: usize = 9;

fn main() {
    // `cargo bench` hands over filters and flags of the usual harness; `--quick` is ours.
    let quick = std::env::args().any(|argument| argument == "--quick" || argument == "--test");
    let operations = if quick { 100_000 } else { 4_000_000 };
    println!(
        "64-byte payload, {LIVE} live a thread, one session repinned every {SESSION} operations;"
    );
    println!("medians of {ROUNDS} interleaved rounds, {operations} operations a thread\n");
    println!("| work | threads | hatchery ns | sharded-slab ns | ratio |");
    println!("| --- | --- | --- | --- | --- |");
    for threads in [1, 2] {
        row("spawn, activate, kill, reap / insert + remove", threads, || {
            (four_steps(threads, operations), slab_churn(threads, operations))
        });
        row("spawn_active, despawn / insert + remove", threads, || {
            (two_steps(threads, operations), slab_churn(threads, operations))
        });
        row("look-up / get", threads, || {
            (lookup(threads, operations), slab_lookup(threads, operations))
        });
    }
}

/// Runs a pair for every round and prints the medians.
fn row(work: &str, threads: usize, mut pair: impl FnMut() -> (f64, f64)) {
    pair(); // warm-up
    let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| pair()).collect();
    let ours = median(rounds.iter().map(|round| round.0));
    let theirs = median(rounds.iter().map(|round| round.1));
    let ratio = median(rounds.iter().map(|round| round.0 / round.1));
    println!("| {work} | {threads} | {ours:.1} | {theirs:.1} | {ratio:.2} |");
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Nanoseconds of core time an operation: `work` runs on every thread, after a common start.
fn timed(threads: usize, operations: usize, work: impl Fn(&Barrier) + Sync) -> f64 {
    let start = Barrier::new(threads + 1);
    let elapsed = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| work(&start))).collect();
        start.wait();
        let begun = Instant::now();
        for worker in workers {
            worker.join().unwrap();
        }
        begun.elapsed()
    });
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let core_time = elapsed.as_nanos() as f64 * threads.min(cores) as f64;
    core_time / (operations * threads) as f64
}

/// Four calls a life.
fn four_steps(threads: usize, operations: usize) -> f64 {
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
fn two_steps(threads: usize, operations: usize) -> f64 {
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

fn slab_churn(threads: usize, operations: usize) -> f64 {
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

fn lookup(threads: usize, operations: usize) -> f64 {
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

fn slab_lookup(threads: usize, operations: usize) -> f64 {
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

//! What each operation costs, one at a time: `cargo bench --bench operations`.

use std::cell::UnsafeCell;
use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::thread;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use hatchery::{Handle, Store};

type Payload = [u64; 8];

/// Entities beside the one that is measured.
const LIVE: usize = 1024;

/// A store with a population, and its handles.
fn warm() -> (Store<Payload>, Vec<Handle>) {
    let store = Store::new();
    let handles = (0..LIVE).map(|n| store.spawn_active([n as u64; 8]).unwrap()).collect();
    (store, handles)
}

fn lookups(criterion: &mut Criterion) {
    let (store, handles) = warm();
    let mut at = handles.iter().cycle();
    criterion.bench_function("get under a held pin", |bencher| {
        let pinned = store.pin();
        bencher.iter(|| pinned.get(*at.next().unwrap()).unwrap()[0]);
    });
    criterion.bench_function("pin and get", |bencher| {
        bencher.iter(|| store.pin().get(*at.next().unwrap()).unwrap()[0]);
    });
    criterion.bench_function("hold and drop", |bencher| {
        bencher.iter(|| store.hold(*at.next().unwrap()).unwrap()[0]);
    });
}

fn lives(criterion: &mut Criterion) {
    let (store, _handles) = warm();
    criterion.bench_function("a life of two calls, a pin each", |bencher| {
        bencher.iter(|| {
            let handle = store.spawn_active([1; 8]).unwrap();
            store.despawn(handle).unwrap()
        });
    });
    criterion.bench_function("a life of four calls, a pin each", |bencher| {
        bencher.iter(|| {
            let handle = store.spawn([1; 8]).unwrap().activate();
            store.kill(handle).unwrap();
            store.reap(handle).unwrap()
        });
    });
    criterion.bench_function("a thousand in a batch, and back", |bencher| {
        bencher.iter_batched(
            || vec![[1; 8]; 1000],
            |values| store.despawn_batch(&store.spawn_batch(values).unwrap()),
            BatchSize::SmallInput,
        );
    });
}

fn scans(criterion: &mut Criterion) {
    let (store, handles) = warm();
    store.despawn_batch(&handles[LIVE / 10..]);
    criterion.bench_function("scan of 1024 slots, a tenth Active", |bencher| {
        let pinned = store.pin();
        bencher.iter(|| pinned.iter().map(|(_, payload)| payload[0]).sum::<u64>());
    });
}

/// What the processor takes for that of which an operation has few: on a line that is there
/// already, with nobody else who wants it, one after the other.
fn atomics(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("atomics");
    let word = AtomicU64::new(0);
    group.bench_function("a compare-and-swap", |bencher| {
        let mut at = word.load(Ordering::Relaxed);
        bencher.iter(|| {
            let next = at.wrapping_add(1);
            let swapped = word.compare_exchange(at, next, Ordering::AcqRel, Ordering::Relaxed);
            at = next;
            swapped.unwrap()
        });
    });
    group.bench_function("a store and a full fence", |bencher| {
        bencher.iter(|| {
            word.store(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        });
    });
    group.bench_function("a store", |bencher| {
        bencher.iter(|| word.store(1, Ordering::Release));
    });
    group.finish();
}

/// What a thousand slots of a word and a payload take by themselves: no batch takes less.
fn a_thousand_slots(criterion: &mut Criterion) {
    const SLOTS: u64 = 1000;
    let mut group = criterion.benchmark_group("a thousand slots");
    group.throughput(Throughput::Elements(SLOTS));
    let slots: Vec<(AtomicU64, UnsafeCell<Payload>)> =
        (0..SLOTS).map(|_| Default::default()).collect();
    group.bench_function("payload and word written", |bencher| {
        bencher.iter(|| {
            for (word, payload) in &slots {
                // SAFETY: nobody else has the slots.
                unsafe { payload.get().write(black_box([1; 8])) };
                word.store(1, Ordering::Release);
            }
        });
    });
    group.bench_function("word changed by compare-and-swap", |bencher| {
        let mut at = slots[0].0.load(Ordering::Relaxed);
        bencher.iter(|| {
            for (word, _) in &slots {
                word.compare_exchange(at, at + 1, Ordering::AcqRel, Ordering::Relaxed).unwrap();
            }
            at += 1;
        });
    });
    group.finish();
}

/// What the pins of another thread cost one that has nothing else to do with it: each 128th looks
/// at the epochs of all.
fn beside(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("a life of two calls, a pin each, beside a thread");
    let mut beside = |name: &str, other: fn(&Store<Payload>)| {
        let (store, _handles) = warm();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    other(&store);
                }
            });
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    let handle = store.spawn_active([1; 8]).unwrap();
                    store.despawn(handle).unwrap()
                });
            });
            stop.store(true, Ordering::Relaxed);
        });
    };
    beside("that spins", |_| spin_loop());
    beside("that pins, and that is all", |store| drop(store.pin()));
    group.finish();
}

criterion_group!(benches, lookups, lives, scans, atomics, a_thousand_slots, beside);
criterion_main!(benches);

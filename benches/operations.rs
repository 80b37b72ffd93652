//! What each operation costs, one at a time: `cargo bench --bench operations`.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
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

/// What the processor takes for that of which an operation has few: on a line that is there already, with
/// nobody else who wants it, one after the other.
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

criterion_group!(benches, lookups, lives, scans, atomics);
criterion_main!(benches);

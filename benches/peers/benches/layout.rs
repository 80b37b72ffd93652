//! Where should the words lie? Beside their payloads, or in an array of their own?
//!
//! Beside them, a look-up touches one line more often than two. Apart, payloads of 64 bytes keep
//! whole lines, and a scan passes what is not Active at 8 bytes a slot. Both layouts are tried here
//! bare, without a library around them: one word of 64 bits and a payload of 64 bytes a slot.
//!
//! `cargo bench -p hatchery-peers --bench layout` prints the table of `docs/design.md`: medians of
//! interleaved rounds, and the ratio beside : apart of each round.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use hatchery_peers::{Random, median};

type Payload = [u64; 8];

/// The state in the low bits, the generation in the high half.
const ACTIVE: u64 = 2;
const DEAD: u64 = 4;
const STATE: u64 = 7;

/// A slot of either layout: its word and its payload, wherever they lie.
trait Layout: Sync {
    fn new(slots: usize) -> Self;
    fn word(&self, slot: usize) -> &AtomicU64;
    fn payload(&self, slot: usize) -> *mut Payload;
}

#[repr(C)]
struct Slot {
    word: AtomicU64,
    payload: UnsafeCell<Payload>,
}

struct Beside(Vec<Slot>);

// SAFETY: a payload is written by the one thread that owns the slot, and read after an Acquire load
// of a word that the owner stored with Release.
unsafe impl Sync for Beside {}

impl Layout for Beside {
    fn new(slots: usize) -> Beside {
        let slot = |n| Slot { word: AtomicU64::new(0), payload: UnsafeCell::new([n as u64; 8]) };
        Beside((0..slots).map(slot).collect())
    }

    #[inline]
    fn word(&self, slot: usize) -> &AtomicU64 {
        &self.0[slot].word
    }

    #[inline]
    fn payload(&self, slot: usize) -> *mut Payload {
        self.0[slot].payload.get()
    }
}

#[repr(align(64))]
struct Line(UnsafeCell<Payload>);

struct Apart {
    words: Vec<AtomicU64>,
    payloads: Vec<Line>,
}

// SAFETY: as for `Beside`.
unsafe impl Sync for Apart {}

impl Layout for Apart {
    fn new(slots: usize) -> Apart {
        Apart {
            words: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            payloads: (0..slots).map(|n| Line(UnsafeCell::new([n as u64; 8]))).collect(),
        }
    }

    #[inline]
    fn word(&self, slot: usize) -> &AtomicU64 {
        &self.words[slot]
    }

    #[inline]
    fn payload(&self, slot: usize) -> *mut Payload {
        self.payloads[slot].0.get()
    }
}

/// Nanoseconds an operation of each thread: `work` runs on every one, from a common start.
fn timed<R>(threads: usize, operations: usize, work: impl Fn(usize) -> R + Sync) -> f64 {
    let timing = hatchery_peers::timed(threads, operations, |number, start| {
        start.wait();
        black_box(work(number))
    });
    timing.nanoseconds
}

fn read<L: Layout>(slots: &L, slot: usize, generation: u64) -> u64 {
    let word = slots.word(slot).load(Ordering::Acquire);
    if word != generation << 32 | ACTIVE {
        return 0;
    }
    // SAFETY: the word says Active, and nobody writes the payload of an Active slot here.
    unsafe { (*slots.payload(slot))[3] }
}

fn show<L: Layout>(slots: &L, slot: usize, generation: u64, value: u64) {
    // SAFETY: the caller owns the slot, which is not Active.
    unsafe { *slots.payload(slot) = [value; 8] };
    slots.word(slot).store(generation << 32 | ACTIVE, Ordering::Release);
}

fn end<L: Layout>(slots: &L, slot: usize) {
    let word = slots.word(slot).load(Ordering::Relaxed);
    let dead = word & !STATE | DEAD;
    let won =
        slots.word(slot).compare_exchange(word, dead, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    assert!(won, "one owner a slot");
}

fn filled<L: Layout>(slots: usize) -> L {
    let filled = L::new(slots);
    (0..slots).for_each(|slot| show(&filled, slot, 1, slot as u64));
    filled
}

/// Slots in an order that no prefetcher knows.
fn scattered(slots: usize) -> impl Iterator<Item = usize> {
    let mut random = Random::new(slots);
    std::iter::repeat_with(move || random.below(slots))
}

fn lookup<L: Layout>(slots: usize, operations: usize) -> f64 {
    let filled: L = filled(slots);
    let order: Vec<usize> = scattered(slots).take(operations).collect();
    timed(1, operations, |_| {
        order.iter().map(|&slot| read(&filled, slot, 1)).fold(0, u64::wrapping_add)
    })
}

fn churn<L: Layout>(slots: usize, operations: usize) -> f64 {
    let filled: L = filled(slots);
    timed(1, operations, |_| {
        for n in 0..operations {
            let slot = n % slots;
            end(&filled, slot);
            show(&filled, slot, 2 + (n / slots) as u64, n as u64);
        }
    })
}

/// A scan, a live slot in `every`; per live slot.
fn scan<L: Layout>(slots: usize, every: usize, rounds: usize) -> f64 {
    let filled: L = filled(slots);
    (0..slots).filter(|slot| slot % every != 0).for_each(|slot| end(&filled, slot));
    timed(1, slots / every * rounds, |_| {
        for _ in 0..rounds {
            let live = (0..slots).map(|slot| read(&filled, slot, 1));
            black_box(live.fold(0, u64::wrapping_add));
        }
    })
}

/// One thread ends and shows every other slot, one reads those between.
fn neighbours<L: Layout>(slots: usize, operations: usize) -> f64 {
    let filled: L = filled(slots);
    timed(2, operations, |number| {
        let reader = number == 0;
        for n in 0..operations {
            let slot = 2 * n % slots;
            if reader {
                black_box(read(&filled, slot + 1, 1));
            } else {
                end(&filled, slot);
                show(&filled, slot, 1, n as u64);
            }
        }
    })
}

fn main() {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if asked("--counts") {
        // Nothing is timed: that is for the other bench of this package.
        return;
    }
    let quick = asked("--quick") || asked("--test");
    let (rounds, n) = if quick { (3, 200_000) } else { (9, 4_000_000) };
    println!("| work | beside ns | apart ns | beside : apart |");
    println!("| --- | --- | --- | --- |");
    type Work<'w> = (&'w str, &'w dyn Fn() -> f64, &'w dyn Fn() -> f64);
    let works: [Work; 7] = [
        ("look-up, 1k", &|| lookup::<Beside>(1 << 10, n), &|| lookup::<Apart>(1 << 10, n)),
        ("look-up, 1M, random", &|| lookup::<Beside>(1 << 20, n), &|| lookup::<Apart>(1 << 20, n)),
        ("end and show, 1k", &|| churn::<Beside>(1 << 10, n), &|| churn::<Apart>(1 << 10, n)),
        ("end and show, 1M", &|| churn::<Beside>(1 << 20, n), &|| churn::<Apart>(1 << 20, n)),
        ("scan of 1M, all live", &|| scan::<Beside>(1 << 20, 1, 4), &|| {
            scan::<Apart>(1 << 20, 1, 4)
        }),
        ("scan of 1M, a tenth live", &|| scan::<Beside>(1 << 20, 10, 4), &|| {
            scan::<Apart>(1 << 20, 10, 4)
        }),
        ("reader beside a writer, 2 threads", &|| neighbours::<Beside>(1 << 10, n), &|| {
            neighbours::<Apart>(1 << 10, n)
        }),
    ];
    for (work, beside, apart) in works {
        let round = |_| (beside(), apart());
        let taken: Vec<(f64, f64)> = (0..rounds).map(round).collect();
        let ratio = median(taken.iter().map(|taken| taken.0 / taken.1));
        let beside = median(taken.iter().map(|taken| taken.0));
        let apart = median(taken.iter().map(|taken| taken.1));
        println!("| {work} | {beside:.1} | {apart:.1} | {ratio:.2} |");
    }
}

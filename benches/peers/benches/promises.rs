//! What do the promises of a look-up take, beside an array that trusts its keys?
//!
//! A million entities of 64 bytes, looked up at random. The first row is an array of words and
//! payloads with a key of a place and a generation, which is all that a look-up can do without.
//! Each row after it adds what the next promise asks for, in the way in which hatchery does it; the
//! last but one is hatchery. The last is the first with eight instructions more that wait for
//! nothing: as many look-ups are under way as the processor has room for their instructions, and
//! those take room.
//!
//! `cargo bench -p hatchery-peers --bench promises` prints a table: medians of interleaved rounds,
//! and in parentheses the median of the ratios to the first row.

use std::hint::black_box;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use hatchery::{Handle, Store};
use hatchery_peers::{Random, median, timed};

type Payload = [u64; 8];

/// A slot as hatchery has it: the generation in the high half of the word, the state below.
#[repr(C)]
struct Slot {
    word: AtomicU64,
    payload: Payload,
}

/// The word of an entity that is Active, and of a key.
const ACTIVE: u64 = 2;
const fn word(generation: u64) -> u64 {
    generation << 32 | ACTIVE
}

/// What a look-up compares of a word: the generation, and the state without its lowest bit.
const COMPARED: u64 = 0xffff_ffff_0000_0006;

/// A key of two words: the word and, in its second byte, the place of the segment; and the id.
#[derive(Clone, Copy)]
struct Key {
    rest: u64,
    id: u64,
}

/// The id of the store in a key.
const STORE: u64 = 1 << 48;

/// Slots that a table of segments points to.
const NEAR_SLOTS: u64 = 233 << 16;

/// A store that only looks up.
struct Bare {
    slots: Vec<Slot>,
    /// Of whom keys are. Read at each look-up, as out of a store.
    id: AtomicU64,
    /// Where slot 0 would lie, for each place. All segments lie in a row here, which nobody can
    /// tell.
    origins: Box<[AtomicPtr<Slot>; 256]>,
}

/// The place of a slot's segment.
fn place(slot: u64) -> u64 {
    u64::from((slot | 63).ilog2()) + (slot >> 16)
}

impl Bare {
    fn new(slots: u64) -> Bare {
        let slot = |n| Slot { word: AtomicU64::new(word(1)), payload: [n; 8] };
        let slots: Vec<Slot> = (0..slots).map(slot).collect();
        let first = ptr::from_ref(slots.as_slice()).cast::<Slot>().cast_mut();
        let origins = Box::new(std::array::from_fn(|_| AtomicPtr::new(first)));
        Bare { slots, id: AtomicU64::new(STORE), origins }
    }

    #[inline]
    fn read(slot: &Slot, expected: u64) -> u64 {
        let word = slot.word.load(Ordering::Acquire);
        assert!((word ^ expected) & COMPARED == 0, "it is there");
        slot.payload[0]
    }

    #[inline]
    fn by_place(&self, (slot, generation): (u32, u32)) -> u64 {
        Bare::read(&self.slots[slot as usize], word(generation.into()))
    }

    #[inline]
    fn by_place_and_eight_more(&self, key: (u32, u32)) -> u64 {
        eight_more();
        self.by_place(key)
    }

    /// The number of the slot, if the key is of this store.
    #[inline]
    fn slot_of(&self, key: Key) -> u64 {
        let slot = key.id.wrapping_sub(self.id.load(Ordering::Relaxed));
        assert!(slot < NEAR_SLOTS, "it is of this store");
        slot
    }

    #[inline]
    fn of_this_store(&self, key: Key) -> u64 {
        let first = self.slots.as_ptr();
        // SAFETY: keys are of slots that there are.
        let slot = unsafe { first.add(self.slot_of(key) as usize) };
        // SAFETY: as above.
        Bare::read(unsafe { &*slot }, key.rest)
    }

    #[inline]
    fn in_a_segment(&self, key: Key) -> u64 {
        let slot = self.slot_of(key);
        let origin = self.origins[usize::from((key.rest >> 8) as u8)].load(Ordering::Acquire);
        // SAFETY: keys are of slots that there are.
        let slot = unsafe { origin.add(slot as usize) };
        // SAFETY: as above.
        Bare::read(unsafe { &*slot }, key.rest)
    }

    #[inline]
    fn in_a_segment_that_is_there(&self, key: Key) -> u64 {
        let slot = self.slot_of(key);
        let origin = self.origins[usize::from((key.rest >> 8) as u8)].load(Ordering::Acquire);
        assert!(origin.addr() > 1, "the segment is there");
        // SAFETY: keys are of slots that there are.
        let slot = unsafe { origin.add(slot as usize) };
        // SAFETY: as above.
        Bare::read(unsafe { &*slot }, key.rest)
    }
}

/// Eight instructions that wait for nothing and that nothing waits for.
#[inline(always)]
fn eight_more() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: nothing is written but flags.
    unsafe {
        std::arch::asm!(
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            "test rsp, rsp",
            options(nomem, nostack),
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    for _ in 0..8 {
        black_box(());
    }
}

/// Nanoseconds an operation of each thread: `work` runs on every one with its part of the keys,
/// twice, and the second time is measured.
fn look_up<K: Sync>(threads: usize, keys: &[K], work: impl Fn(&[K]) -> u64 + Sync) -> f64 {
    let part = keys.len() / threads;
    let timing = timed(threads, part, |number, start| {
        let keys = &keys[number * part..(number + 1) * part];
        black_box(work(keys));
        start.wait();
        black_box(work(keys));
    });
    timing.nanoseconds
}

fn sum<K: Copy>(keys: &[K], look_up: impl Fn(K) -> u64) -> u64 {
    keys.iter().map(|&key| look_up(key)).fold(0, u64::wrapping_add)
}

fn main() {
    let asked = |flag: &str| std::env::args().any(|argument| argument == flag);
    if asked("--counts") {
        // Nothing is timed: that is for another bench of this package.
        return;
    }
    let quick = asked("--quick") || asked("--test");
    let (rounds, slots) = if quick { (3, 1 << 16) } else { (15, 1 << 20) };

    let bare = Bare::new(slots);
    let mut places: Vec<(u32, u32)> = (0..slots as u32).map(|slot| (slot, 1)).collect();
    let key = |slot| Key { rest: word(1) | place(slot) << 8, id: STORE + slot };
    let mut keys: Vec<Key> = (0..slots).map(key).collect();
    let store: Store<Payload> = Store::new();
    let mut handles: Vec<Handle> = store.spawn_batch((0..slots).map(|n| [n; 8])).unwrap();
    let mut random = Random::new(1);
    random.shuffle(&mut places);
    random.shuffle(&mut keys);
    random.shuffle(&mut handles);

    type Look<'l> = (&'l str, &'l dyn Fn(usize) -> f64);
    let looks: [Look; 6] = [
        ("an array, by place and generation", &|threads| {
            look_up(threads, &places, |keys| sum(keys, |key| bare.by_place(key)))
        }),
        ("and keys of other stores are refused", &|threads| {
            look_up(threads, &keys, |keys| sum(keys, |key| bare.of_this_store(key)))
        }),
        ("and slots never move as the store grows", &|threads| {
            look_up(threads, &keys, |keys| sum(keys, |key| bare.in_a_segment(key)))
        }),
        ("and memory is given back", &|threads| {
            look_up(threads, &keys, |keys| sum(keys, |key| bare.in_a_segment_that_is_there(key)))
        }),
        ("hatchery", &|threads| {
            look_up(threads, &handles, |keys| {
                let pinned = store.pin();
                sum(keys, |key| pinned.get(key).unwrap()[0])
            })
        }),
        ("(the first, with eight instructions more)", &|threads| {
            look_up(threads, &places, |keys| sum(keys, |key| bare.by_place_and_eight_more(key)))
        }),
    ];
    println!("| a look-up, 1M live, at random | 1 T ns | 2 T ns |");
    println!("| --- | --- | --- |");
    let taken: Vec<Vec<[f64; 2]>> =
        (0..rounds).map(|_| looks.iter().map(|(_, look)| [look(1), look(2)]).collect()).collect();
    for (at, (name, _)) in looks.iter().enumerate() {
        let cell = |threads: usize| {
            let time = median(taken.iter().map(|round| round[at][threads]));
            let ratio = median(taken.iter().map(|round| round[at][threads] / round[0][threads]));
            format!("{time:.1} ({ratio:.2})")
        };
        println!("| {name} | {} | {} |", cell(0), cell(1));
    }
}

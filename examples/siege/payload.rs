//! What the stores of the siege keep: a unit, which knows its own handle several times over.
//!
//! The handle, and everything else that is fixed at birth, is sealed into further words. Whoever
//! reads a unit checks them, so that a reader who was given somebody else's payload, or one that
//! is being written or was dropped already, says so.

use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use hatchery::Handle;

/// Who a unit is in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) copy: u32,
    pub(crate) key: u32,
    pub(crate) kind: u32,
}

const BORN: u32 = 0xB0B0_1E57;
const DROPPED: u32 = 0xDEAD_1E57;
/// Every settlement step has its bit; with all of them the unit is settled.
pub(crate) const ALL_STEPS: u8 = 0b1111;

/// One unit of a game.
pub(crate) struct Unit {
    id: u64,
    seal: u64,
    generation: u32,
    mark: u32,
    origin: Origin,
    player: u32,
    /// Struck by skills while others read it: what changes after activation is atomic.
    hp: AtomicI32,
    settled: AtomicU8,
    doomed: AtomicU8,
    tail: u64,
}

impl Unit {
    pub(crate) fn new(handle: Handle, origin: Origin) -> Unit {
        shard(&CONSTRUCTED).fetch_add(1, Ordering::Relaxed);
        let id = handle.id().to_bits();
        let generation = handle.generation().get();
        let seal = mix(id ^ u64::from(generation));
        let mut unit = Unit {
            id,
            seal,
            generation,
            mark: BORN,
            origin,
            player: 0,
            hp: AtomicI32::new(0),
            settled: AtomicU8::new(0),
            doomed: AtomicU8::new(0),
            tail: 0,
        };
        unit.tail = unit.expected_tail();
        unit
    }

    /// Gives it to a player: possible only while nobody else can see it.
    pub(crate) fn enlist(&mut self, player: u32, hp: i32) {
        self.player = player;
        *self.hp.get_mut() = hp;
        self.tail = self.expected_tail();
    }

    /// Whether this is, in every word, the unit that was born under `handle`.
    pub(crate) fn is(&self, handle: Handle) -> bool {
        self.id == handle.id().to_bits()
            && self.generation == handle.generation().get()
            && self.mark == BORN
            && self.seal == mix(self.id ^ u64::from(self.generation))
            && self.tail == self.expected_tail()
    }

    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    pub(crate) fn strike(&self, damage: i32) {
        self.hp.fetch_sub(damage, Ordering::Relaxed);
    }

    /// Said by the winner of the kill, before anyone settles.
    pub(crate) fn doom(&self) {
        self.doomed.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether its killer has said so.
    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Relaxed) > 0
    }

    /// How many settlement steps are still to be done, each with a Hold: none when it was not
    /// killed, or killed more than once.
    pub(crate) fn steps_left(&self) -> u32 {
        let doomed = self.doomed.load(Ordering::Relaxed) == 1;
        if doomed { (ALL_STEPS & !self.settled.load(Ordering::Relaxed)).count_ones() } else { 0 }
    }

    /// Whether it was killed once and is not yet settled by all.
    pub(crate) fn is_in_settlement(&self) -> bool {
        self.steps_left() > 0
    }

    /// One settlement step: the steps done before it.
    pub(crate) fn settle(&self, step: u8) -> u8 {
        self.settled.fetch_or(step, Ordering::AcqRel)
    }

    fn expected_tail(&self) -> u64 {
        let Origin { copy, key, kind } = self.origin;
        let who = (u64::from(copy) << 32 | u64::from(key)) ^ u64::from(kind).rotate_left(20);
        self.seal ^ mix(who ^ u64::from(self.player).rotate_left(40))
    }
}

impl Drop for Unit {
    fn drop(&mut self) {
        if self.mark != BORN {
            DROPPED_TWICE.fetch_add(1, Ordering::Relaxed);
        }
        self.mark = DROPPED;
        shard(&DROPPED_UNITS).fetch_add(1, Ordering::Relaxed);
    }
}

/// SplitMix64's finaliser: every bit of the input moves every bit of the output.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

/// Random numbers, the same ones for the same seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    /// A number from 0 to `bound`, which is not 0 and not reached.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        (mix(self.0) % bound as u64) as usize
    }
}

/// Counting must not make the threads wait for each other: they would then be measured.
const SHARDS: usize = 32;
type Sharded = [CachePadded<AtomicU64>; SHARDS];
static CONSTRUCTED: Sharded = [const { CachePadded::new(AtomicU64::new(0)) }; SHARDS];
static DROPPED_UNITS: Sharded = [const { CachePadded::new(AtomicU64::new(0)) }; SHARDS];
static DROPPED_TWICE: AtomicU64 = AtomicU64::new(0);
static NEXT_SHARD: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static SHARD: usize = NEXT_SHARD.fetch_add(1, Ordering::Relaxed) as usize % SHARDS;
}

fn shard(counters: &'static Sharded) -> &'static AtomicU64 {
    // A payload may be dropped while its thread is being taken down.
    &counters[SHARD.try_with(|shard| *shard).unwrap_or(0)]
}

/// Units made, dropped, and dropped a second time, in this process.
pub(crate) struct Ledger {
    pub(crate) constructed: u64,
    pub(crate) dropped: u64,
    pub(crate) dropped_twice: u64,
}

/// Exact once the threads that make and drop units are gone.
pub(crate) fn ledger() -> Ledger {
    let sum = |counters: &Sharded| counters.iter().map(|one| one.load(Ordering::Relaxed)).sum();
    Ledger {
        constructed: sum(&CONSTRUCTED),
        dropped: sum(&DROPPED_UNITS),
        dropped_twice: DROPPED_TWICE.load(Ordering::Relaxed),
    }
}

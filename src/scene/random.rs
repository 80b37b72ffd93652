//! Random numbers that follow the seed, and who asks for them: never a thread or a handle.

use std::cell::Cell;

/// Who draws: each has a stream of its own.
#[derive(Clone, Copy, Debug)]
#[repr(u64)]
pub(super) enum Drawer {
    /// An actor in the actor phase, by its creation number.
    Tick = 1,
    /// The created hooks of an actor.
    Created = 2,
    /// The pending-destroy hooks of an actor.
    PendingDestroy = 3,
    /// A system in its phase, by its place in the order of registration.
    System = 4,
}

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood 2014), begun from a hash of who
/// draws and when, which is taken at the first: most hooks draw nothing.
#[derive(Debug)]
pub(super) struct Dice {
    seed: u64,
    parts: [u64; 3],
    state: Cell<Option<u64>>,
}

impl Dice {
    #[inline]
    pub(super) fn new(seed: u64, drawer: Drawer, number: u64, frame: u64) -> Dice {
        Dice { seed, parts: [drawer as u64, number, frame], state: Cell::new(None) }
    }

    #[inline]
    pub(super) fn roll(&self) -> u64 {
        let state = self.state.get().unwrap_or_else(|| self.begin());
        let next = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.state.set(Some(next));
        mixed(next)
    }

    fn begin(&self) -> u64 {
        self.parts.into_iter().fold(self.seed, |hash, part| mixed(hash ^ mixed(part)))
    }
}

#[inline]
const fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

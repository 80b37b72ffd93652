//! Random numbers that depend on the seed and on who draws, never on a thread or a handle.

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

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood 2014). Its initial state is a hash
/// of who draws and when, computed for the first number only, since most hooks draw none.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn stream(seed: u64, drawer: Drawer, number: u64, frame: u64) -> [u64; 4] {
        let dice = Dice::new(seed, drawer, number, frame);
        std::array::from_fn(|_| dice.roll())
    }

    const DRAWERS: [Drawer; 4] =
        [Drawer::Tick, Drawer::Created, Drawer::PendingDestroy, Drawer::System];

    #[test]
    fn same_drawer_draws_the_same_numbers() {
        for drawer in DRAWERS {
            assert_eq!(stream(7, drawer, 3, 9), stream(7, drawer, 3, 9));
        }
    }

    /// Whoever has recorded a world by its seed would get another one.
    #[test]
    fn numbers_do_not_change_with_a_version() {
        let numbers = [
            12_604_426_816_859_978_952,
            13_504_141_207_488_529_184,
            4_649_651_787_326_114_957,
            5_128_091_103_943_354_900,
        ];
        assert_eq!(stream(7, Drawer::Tick, 3, 9), numbers);
    }

    #[test]
    fn neighbours_in_any_respect_draw_other_numbers() {
        let mut first = HashSet::new();
        for seed in 0..4 {
            for drawer in DRAWERS {
                for number in 0..32 {
                    for frame in 0..32 {
                        first.extend(stream(seed, drawer, number, frame));
                    }
                }
            }
        }
        assert_eq!(first.len(), 4 * 4 * 32 * 32 * 4, "no number twice");
    }

    /// Each bit is set half of the time, in the first numbers of neighbouring streams and within
    /// one: 6 standard deviations would be 192 of 4096 draws.
    #[test]
    fn every_bit_is_fair() {
        const DRAWS: usize = 4096;
        let one = Dice::new(1, Drawer::System, 0, 0);
        let within: Vec<u64> = (0..DRAWS).map(|_| one.roll()).collect();
        let first: Vec<u64> =
            (0..DRAWS as u64).map(|number| Dice::new(1, Drawer::Tick, number, 5).roll()).collect();
        for numbers in [within, first] {
            for bit in 0..64 {
                let set = numbers.iter().filter(|number| **number >> bit & 1 == 1).count();
                assert!(set.abs_diff(DRAWS / 2) < 192, "bit {bit}: {set}");
            }
        }
    }
}

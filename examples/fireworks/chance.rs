//! The only source of chance: a number mixed from the seed and from what is asked about.
//!
//! Nothing is drawn in turn, so two threads that ask in either order get the same answers.

/// A seed, narrowed down step by step to the thing that is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed).of(0)
    }

    /// The chance of one thing among many: of a frame, of a spark in it.
    pub(crate) fn of(self, number: u64) -> Chance {
        // The finalizer of SplitMix64: every bit of the number moves half of the bits.
        let mut z = self.0.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Chance(z ^ (z >> 31))
    }

    /// A whole number below `bound`.
    pub(crate) fn below(self, bound: u64) -> u64 {
        self.0 % bound.max(1)
    }

    /// A number from `from` up to, not including, `to`.
    pub(crate) fn within(self, from: f32, to: f32) -> f32 {
        // 24 bits are what an f32 can tell apart between 0 and 1.
        let unit = (self.0 >> 40) as f32 / (1_u64 << 24) as f32;
        from + unit * (to - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chance_of_equal_things_is_equal_and_of_others_differs() {
        let draw = |seed, thing| Chance::new(seed).of(thing).below(u64::MAX);
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
    }

    #[test]
    fn chance_within_stays_within() {
        let all = (0..10_000).map(|thing| Chance::new(7).of(thing).within(-2.0, 3.0));
        let (low, high) = all.fold((f32::MAX, f32::MIN), |(l, h), x| (l.min(x), h.max(x)));
        assert!((-2.0..-1.9).contains(&low) && (2.9..3.0).contains(&high), "{low} to {high}");
    }
}

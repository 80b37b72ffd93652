//! The workloads: what they do is generic over the candidate, and `run` of each measures them all.

pub mod batches;
pub mod churn;
pub mod crowd;
pub mod growth;
pub mod iterate;
pub mod latency;
pub mod lookup;
pub mod mix;
pub mod pools;
pub mod remote;
pub mod scaling;

use crate::report::Report;

/// Operations between two moves of a session's pin, where nothing else is said.
pub const SESSION: usize = 1000;

/// Words of the payload, where nothing else is said: 64 bytes.
pub const WORDS: usize = 8;

/// A workload, by the name by which it is asked for.
pub type Work = (&'static str, fn(&mut Report));

/// Every workload.
pub const ALL: [Work; 11] = [
    ("churn", churn::run),
    ("remote", remote::run),
    ("lookup", lookup::run),
    ("mix", mix::run),
    ("latency", latency::run),
    ("growth", growth::run),
    ("iterate", iterate::run),
    ("batches", batches::run),
    ("pools", pools::run),
    ("scaling", scaling::run),
    ("crowd", crowd::run),
];

/// The parts of so many operations between which a session moves on.
pub fn sessions(operations: usize, session: usize) -> impl Iterator<Item = usize> {
    let rest = operations % session;
    let whole = std::iter::repeat_n(session, operations / session);
    whole.chain((rest > 0).then_some(rest))
}

/// Numbers in no order, one after the other: xorshift.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers that belong to a seed.
    pub fn new(seed: usize) -> Random {
        Random((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    #[inline]
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    #[inline]
    pub fn below(&mut self, end: usize) -> usize {
        (((self.next() >> 32) * end as u64) >> 32) as usize
    }

    /// Puts values in an order that is none.
    pub fn shuffle<V>(&mut self, values: &mut [V]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_add_up_to_the_operations() {
        for operations in [0, 1, 999, 1000, 1001, 12_345] {
            assert_eq!(sessions(operations, 1000).sum::<usize>(), operations);
        }
        assert_eq!(sessions(2001, 1000).collect::<Vec<_>>(), [1000, 1000, 1]);
    }

    #[test]
    fn shuffle_keeps_every_value() {
        let mut values: Vec<usize> = (0..1000).collect();
        Random::new(7).shuffle(&mut values);
        assert!(!values.is_sorted());
        values.sort_unstable();
        assert!(values.into_iter().eq(0..1000));
    }
}

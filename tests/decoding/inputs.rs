//! Inputs that are made up: right ones, nearly right ones, and anything.

use std::num::NonZeroU32;

use hatchery::{EntityId, Handle};
use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

/// The same inputs in every run, unless the environment asks for others. What fails is kept.
pub fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x6861_7463_6865_7279),
        fixed => fixed,
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases };
    let kept = FileFailurePersistence::Direct("tests/corpus/decoding.seeds");
    ProptestConfig { cases, rng_seed, failure_persistence: Some(Box::new(kept)), ..asked }
}

/// Any handle, those at the edges of their fields more often.
pub fn handle() -> impl Strategy<Value = Handle> {
    let edge = |most: u64| {
        (prop_oneof![0..3u64, any::<u64>()], any::<bool>()).prop_map(move |(distance, low)| {
            if low { distance & most } else { most - (distance & most) }
        })
    };
    (edge(0xffff), edge((1 << 48) - 1), edge(0xffff_ffff)).prop_map(|(scene, seq, generation)| {
        let generation = NonZeroU32::new(generation as u32).unwrap_or(NonZeroU32::MIN);
        Handle::new(EntityId::from_bits(scene << 48 | seq), generation)
    })
}

/// What texts are made of that are nearly right.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::sample::select(vec![
            ":", "/", "/gen", "gen", "0", "1", "00", "+", "-", " ", "\n", "\u{0}", "e", "_", ".",
            "٤", "１", "65535", "65536", "281474976710655", "281474976710656", "4294967295",
            "4294967296", "18446744073709551615", "18446744073709551616",
        ]).prop_map(str::to_owned),
        2 => any::<u64>().prop_map(|number| number.to_string()),
        1 => any::<char>().prop_map(String::from),
    ]
}

/// A text with one place changed.
fn damaged(text: String) -> impl Strategy<Value = String> {
    (any::<prop::sample::Index>(), 0..3usize, piece()).prop_map(move |(at, cut, piece)| {
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len() + 1);
        let rest = chars.iter().skip(at + cut);
        chars[..at].iter().copied().chain(piece.chars()).chain(rest.copied()).collect()
    })
}

fn texts(right: impl Strategy<Value = String> + Clone + 'static) -> impl Strategy<Value = String> {
    prop_oneof![
        2 => right.clone(),
        4 => right.prop_flat_map(damaged),
        2 => prop::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
    ]
}

pub fn handle_text() -> impl Strategy<Value = String> {
    texts(handle().prop_map(|handle| handle.to_string()).boxed())
}

pub fn id_text() -> impl Strategy<Value = String> {
    texts(handle().prop_map(|handle| handle.id().to_string()).boxed())
}

/// Bytes that agree with those of a handle in all fields but some.
#[derive(Clone, Debug)]
pub struct Guess {
    noise: [u8; 12],
    kept: [bool; 3],
    nudge: Option<(usize, u8)>,
}

impl Guess {
    pub fn around(&self, handle: Handle) -> [u8; 12] {
        let mut bytes = handle.to_bytes();
        for (kept, field) in self.kept.iter().zip([0..2, 2..8, 8..12]) {
            if !kept {
                bytes[field.clone()].copy_from_slice(&self.noise[field]);
            }
        }
        if let Some((at, by)) = self.nudge {
            bytes[at] = bytes[at].wrapping_add(by);
        }
        bytes
    }
}

pub fn near_handle() -> impl Strategy<Value = Guess> {
    let kept = prop::array::uniform3(prop::bool::weighted(0.8));
    let nudge = prop::option::of((0..12usize, prop_oneof![Just(1u8), Just(255), any::<u8>()]));
    (any::<[u8; 12]>(), kept, nudge).prop_map(|(noise, kept, nudge)| Guess { noise, kept, nudge })
}

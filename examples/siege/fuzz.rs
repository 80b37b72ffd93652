//! The two files that the siege reads, made up: right ones, damaged ones, and anything. Whatever
//! is in a file, it is read as it stands or refused in one plain line, never a panic.
//!
//! The same inputs in every run: `PROPTEST_RNG_SEED` gives others, `PROPTEST_CASES` more. A
//! failure is made small and its seed is kept. `corpus/` has inputs with what must come of each.

mod corpus;
mod recordings;
mod scenarios;

use proptest::prelude::*;
use proptest::test_runner::{FileFailurePersistence, RngSeed};

use crate::input::BadInput;
use crate::record;
use crate::recording::Recording;

/// The name under which made-up files are read.
const FILE: &str = "made/up.file";

fn config(cases: u32) -> ProptestConfig {
    let asked = ProptestConfig::default();
    let rng_seed = match asked.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x6861_7463_6865_7279),
        fixed => fixed,
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { asked.cases } else { cases };
    let kept = FileFailurePersistence::Direct("examples/siege/corpus/fuzz.seeds");
    ProptestConfig { cases, rng_seed, failure_persistence: Some(Box::new(kept)), ..asked }
}

/// The refusal is one line of a length that can be read; its place and its value, if it has one.
#[track_caller]
fn plain(bad: &BadInput, file: &str) -> Option<(String, String)> {
    let line = bad.to_string();
    assert!(line.chars().all(|char| !char.is_control()), "{line:?}");
    assert!(line.chars().count() < 1_000, "{line}");
    assert!(line.starts_with(&format!("{file}: ")), "{line}");
    match bad {
        BadInput::Value { place, value, allowed, .. } => {
            assert!(!place.is_empty() && !allowed.is_empty(), "{line}");
            Some((place.clone(), value.clone()))
        }
        BadInput::Empty { allowed, .. } => {
            assert!(!allowed.is_empty(), "{line}");
            None
        }
        BadInput::Unusable { .. } => panic!("nothing was to be opened: {line}"),
    }
}

/// What `--record` writes when every row was carried out.
fn recorded(recording: &Recording) -> Vec<u8> {
    let all = |game: &crate::recording::Game| (0..game.rows.len() as u32).collect();
    let logs: Vec<Vec<u32>> = recording.games.iter().map(all).collect();
    let mut out = Vec::new();
    record::write(&mut out, recording, &logs).expect("memory takes what is written");
    out
}

/// A value as an error shows it.
fn shown(value: &str) -> String {
    let short: String = value.chars().take(60).collect();
    if short == value { short } else { short + "..." }
}

/// Anything, and what is nearly something: pieces of the format in any order.
fn soup(pieces: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        8 => prop::sample::select(pieces).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => any::<u64>().prop_map(|number| number.to_string().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..300),
        3 => prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
    ]
}

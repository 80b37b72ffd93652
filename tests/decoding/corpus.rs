//! The inputs that are kept, see `tests/corpus/README.md`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

pub const HANDLE_TEXT: &str = include_str!("../corpus/handle_text.json");
pub const ENTITY_ID_TEXT: &str = include_str!("../corpus/entity_id_text.json");
pub const HANDLE_BYTES: &str = include_str!("../corpus/handle_bytes.json");
#[cfg(feature = "serde")]
pub const HANDLE_JSON: &str = include_str!("../corpus/handle_json.json");
#[cfg(feature = "serde")]
pub const LIMITS_JSON: &str = include_str!("../corpus/limits_json.json");
#[cfg(feature = "serde")]
pub const POSTCARD: &str = include_str!("../corpus/postcard.json");

#[derive(Deserialize)]
struct Verdicts {
    accepted: Vec<String>,
    /// By what is special about each.
    refused: BTreeMap<String, String>,
}

fn read<T: DeserializeOwned>(file: &str) -> T {
    serde_json::from_str(file).expect("a file of the corpus is right")
}

/// Every text, and whether it is to be accepted.
pub fn verdicts(file: &str) -> Vec<(String, bool)> {
    let Verdicts { accepted, refused } = read(file);
    assert!(!accepted.is_empty() && !refused.is_empty(), "the corpus is empty");
    let accepted = accepted.into_iter().map(|text| (text, true));
    accepted.chain(refused.into_values().map(|text| (text, false))).collect()
}

/// Every input, and what it is.
pub fn pairs<V: DeserializeOwned>(file: &str) -> Vec<(String, V)> {
    read(file)
}

#[cfg(feature = "serde")]
pub fn list(file: &str) -> Vec<String> {
    read(file)
}

pub fn bytes(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2) && hex.is_ascii(), "{hex} is no list of bytes");
    let byte = |at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hexadecimal digits");
    (0..hex.len()).step_by(2).map(byte).collect()
}

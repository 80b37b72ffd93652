//! What is said about a file that cannot be used: always the file, the place, the value, and
//! what would have been allowed there.

use std::fmt;
use std::path::Path;

/// A file that cannot be used. The program ends with status 2.
#[derive(Debug)]
pub(crate) enum BadInput {
    /// The system refused to read or write it.
    Unusable { file: String, doing: &'static str, error: std::io::Error },
    /// One value in it is not allowed.
    Value { file: String, place: String, value: String, allowed: String },
    /// It was read, and there is nothing in it to do.
    Empty { file: String, allowed: String },
}

impl BadInput {
    pub(crate) fn value(file: &str, place: String, value: &str, allowed: String) -> BadInput {
        BadInput::Value { file: file.to_owned(), place, value: shortened(value), allowed }
    }

    pub(crate) fn unusable(file: &Path, doing: &'static str, error: std::io::Error) -> BadInput {
        BadInput::Unusable { file: file.display().to_string(), doing, error }
    }
}

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadInput::Unusable { file, doing, error } => {
                write!(f, "{file}: cannot {doing}: {error}")
            }
            BadInput::Value { file, place, value, allowed } => {
                write!(f, "{file}: {place}: {value:?} is not allowed; allowed: {allowed}")
            }
            BadInput::Empty { file, allowed } => write!(f, "{file}: nothing to replay: {allowed}"),
        }
    }
}

impl std::error::Error for BadInput {}

/// A value is shown as it stands in the file, but a whole binary file is not.
pub(crate) fn shortened(value: &str) -> String {
    const SHOWN: usize = 60;
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value.to_owned(),
    }
}

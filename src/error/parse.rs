//! A text that is not a handle or an entity id.

use std::error::Error;
use std::fmt;

/// Says which piece of a text is not what a handle or an entity id has there.
///
/// # Examples
///
/// ```
/// use hatchery::Handle;
///
/// let error = "1:042/gen3".parse::<Handle>().expect_err("a leading zero");
/// assert_eq!(error.piece(), "042");
/// assert!(error.to_string().starts_with("\"042\" is not a sequence number"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParseHandleError {
    part: Part,
    piece: String,
}

/// What the piece was read as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Handle,
    Id,
    Scene,
    Seq,
    Generation,
}

impl ParseHandleError {
    /// How many characters of the piece are kept; every piece of a right text has fewer.
    const PIECE_CHARS: usize = 48;

    #[cold]
    pub(crate) fn new(part: Part, piece: &str) -> ParseHandleError {
        let mut kept: String = piece.chars().take(Self::PIECE_CHARS).collect();
        if kept.len() < piece.len() {
            kept.push('…');
        }
        ParseHandleError { part, piece: kept }
    }

    /// Returns the offending piece of the text; of a long one the beginning, and an ellipsis.
    #[must_use]
    pub fn piece(&self) -> &str {
        &self.piece
    }
}

impl fmt::Display for ParseHandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, allowed) = match self.part {
            Part::Handle => ("a handle", "scene:seq/gen and the generation, such as 1:42/gen3"),
            Part::Id => ("an entity id", "scene:seq, such as 1:42"),
            Part::Scene => ("a scene id", "0 to 65535 in digits, without leading zeros"),
            Part::Seq => {
                ("a sequence number", "0 to 281474976710655 in digits, without leading zeros")
            }
            Part::Generation => {
                ("a generation", "gen1 to gen4294967295 in digits, without leading zeros")
            }
        };
        write!(f, "{:?} is not {what}: allowed is {allowed}", self.piece)
    }
}

impl Error for ParseHandleError {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::error::sample::assert_message;

    #[test]
    fn parse_message_of_every_part_says_what_is_allowed() {
        for (part, message) in [
            (
                Part::Handle,
                "\"x\" is not a handle: allowed is scene:seq/gen and the generation, \
                 such as 1:42/gen3",
            ),
            (Part::Id, r#""x" is not an entity id: allowed is scene:seq, such as 1:42"#),
            (
                Part::Scene,
                r#""x" is not a scene id: allowed is 0 to 65535 in digits, without leading zeros"#,
            ),
            (
                Part::Seq,
                "\"x\" is not a sequence number: allowed is 0 to 281474976710655 in digits, \
                 without leading zeros",
            ),
            (
                Part::Generation,
                "\"x\" is not a generation: allowed is gen1 to gen4294967295 in digits, \
                 without leading zeros",
            ),
        ] {
            assert_message(&ParseHandleError::new(part, "x"), message);
        }
    }

    #[test]
    fn parse_piece_with_control_characters_stays_one_line() {
        let error = ParseHandleError::new(Part::Id, "a\nb\"\u{1b}[2J");
        assert_message(
            &error,
            r#""a\nb\"\u{1b}[2J" is not an entity id: allowed is scene:seq, such as 1:42"#,
        );
    }

    #[test]
    fn parse_piece_of_any_length_is_kept_short() {
        let exact = "é".repeat(ParseHandleError::PIECE_CHARS);
        assert_eq!(ParseHandleError::new(Part::Id, &exact).piece(), exact);
        let long = "é".repeat(1_000_000);
        assert_eq!(ParseHandleError::new(Part::Id, &long).piece(), format!("{exact}…"));
    }
}

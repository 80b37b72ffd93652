//! Names of scenes and of the places in them.
//!
//! A server runs many scenes, each with its own store, and their entities meet in logs, messages
//! and databases. So a name says which scene it belongs to: 16 bits of scene above 48 bits of
//! sequence number, in one `u64`. A sequence number is a slot's index and serves one entity after
//! the other; what tells those apart is the generation in a [`Handle`](crate::handle::Handle).

use std::fmt;
use std::str::FromStr;

use crate::error::{ParseHandleError, Part};

/// Names one scene, and so one store, of this process.
///
/// Any number is a valid scene id. No two live stores share one, and a store under the id of a
/// dropped store starts above that store's generations, so neither resolves handles of the other.
///
/// # Examples
///
/// ```
/// use hatchery::SceneId;
///
/// let scene = SceneId::from(7);
/// assert_eq!(scene, SceneId(7));
/// assert_eq!(scene.to_string(), "7");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SceneId(pub u16);

impl From<u16> for SceneId {
    fn from(scene: u16) -> SceneId {
        SceneId(scene)
    }
}

impl From<SceneId> for u16 {
    fn from(scene: SceneId) -> u16 {
        scene.0
    }
}

impl fmt::Display for SceneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Names one place in one scene: the scene in bits 63 to 48, the sequence number in bits 47 to 0.
///
/// An `EntityId` alone is reused, by one entity after the other. A
/// [`Handle`](crate::handle::Handle), which adds the generation, is not, for the life of the
/// process. Every `u64` is an entity id, and ids order by scene first.
///
/// The text form is `scene:seq`. Reading is strict: what [`Display`](fmt::Display) prints, and
/// nothing else, so that an id has one spelling.
///
/// # Examples
///
/// ```
/// use hatchery::{EntityId, SceneId};
///
/// let id = EntityId::new(SceneId(1), 42).expect("42 fits 48 bits");
/// assert_eq!((id.scene(), id.seq()), (SceneId(1), 42));
/// assert_eq!(id.to_string(), "1:42");
/// assert_eq!("1:42".parse(), Ok(id));
/// assert!("1:042".parse::<EntityId>().is_err());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(u64);

impl EntityId {
    /// The number of bits of the sequence number.
    pub const SEQ_BITS: u32 = 48;

    /// The largest sequence number, and the mask of its bits.
    const SEQ_MAX: u64 = (1 << Self::SEQ_BITS) - 1;

    /// Makes the id of place `seq` in `scene`, or `None` when `seq` does not fit
    /// [`SEQ_BITS`](Self::SEQ_BITS) bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{EntityId, SceneId};
    ///
    /// assert!(EntityId::new(SceneId(1), (1 << 48) - 1).is_some());
    /// assert!(EntityId::new(SceneId(1), 1 << 48).is_none());
    /// ```
    #[inline]
    #[must_use]
    pub const fn new(scene: SceneId, seq: u64) -> Option<EntityId> {
        if seq > Self::SEQ_MAX {
            return None;
        }
        Some(EntityId(((scene.0 as u64) << Self::SEQ_BITS) | seq))
    }

    /// Returns the scene this place is in.
    #[inline]
    #[must_use]
    pub const fn scene(self) -> SceneId {
        // Exactly 16 bits are left above the sequence number, so the cast loses nothing.
        SceneId((self.0 >> Self::SEQ_BITS) as u16)
    }

    /// Returns the sequence number within the scene, below 2^48.
    #[inline]
    #[must_use]
    pub const fn seq(self) -> u64 {
        self.0 & Self::SEQ_MAX
    }

    /// Returns both fields in one number, to be read back by [`from_bits`](Self::from_bits).
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{EntityId, SceneId};
    ///
    /// let id = EntityId::new(SceneId(1), 42).expect("42 fits 48 bits");
    /// assert_eq!(id.to_bits(), 0x0001_0000_0000_002a);
    /// assert_eq!(EntityId::from_bits(id.to_bits()), id);
    /// ```
    #[inline]
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        self.0
    }

    /// Makes an id from what [`to_bits`](Self::to_bits) returned, or from any other number.
    #[inline]
    #[must_use]
    pub const fn from_bits(bits: u64) -> EntityId {
        EntityId(bits)
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scene(), self.seq())
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EntityId({self})")
    }
}

impl FromStr for EntityId {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<EntityId, ParseHandleError> {
        let refuse = ParseHandleError::new;
        let (scene, seq) = text.split_once(':').ok_or_else(|| refuse(Part::Id, text))?;
        let scene_number = parse_number(scene)
            .and_then(|number| u16::try_from(number).ok())
            .ok_or_else(|| refuse(Part::Scene, scene))?;
        parse_number(seq)
            .and_then(|number| EntityId::new(SceneId(scene_number), number))
            .ok_or_else(|| refuse(Part::Seq, seq))
    }
}

/// Reads a number as `Display` writes it: digits alone, no leading zero.
///
/// `u64::from_str` is not enough: it takes "+7" and "007" as well, and a handle would have many
/// spellings.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    let canonical = match text.as_bytes() {
        [b'0', _, ..] => false,
        digits => digits.iter().all(u8::is_ascii_digit),
    };
    if canonical { text.parse().ok() } else { None }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn id(scene: u16, seq: u64) -> EntityId {
        EntityId::new(SceneId(scene), seq).expect("the seq fits")
    }

    #[test]
    fn scene_id_display_prints_the_number() {
        assert_eq!(SceneId(7).to_string(), "7");
        assert_eq!(format!("{:>4}", SceneId(7)), "   7");
        assert_eq!(u16::from(SceneId::from(65_535)), 65_535);
    }

    #[test]
    fn entity_id_new_with_seq_at_the_edge_answers_exactly() {
        assert_eq!(id(3, EntityId::SEQ_MAX).seq(), EntityId::SEQ_MAX);
        assert_eq!(id(3, EntityId::SEQ_MAX).scene(), SceneId(3));
        assert_eq!(EntityId::new(SceneId(3), EntityId::SEQ_MAX + 1), None);
        assert_eq!(EntityId::new(SceneId(3), u64::MAX), None);
    }

    #[test]
    fn entity_id_bits_of_any_pattern_round_trip() {
        for bits in [0, 1, EntityId::SEQ_MAX, 1 << 48, 0x8000_0000_0000_0000, u64::MAX] {
            let any = EntityId::from_bits(bits);
            assert_eq!(any.to_bits(), bits);
            assert_eq!(EntityId::new(any.scene(), any.seq()), Some(any));
            assert_eq!(any.to_string().parse(), Ok(any));
        }
    }

    #[test]
    fn entity_id_layout_puts_the_scene_above_the_seq() {
        assert_eq!(id(1, 42).to_bits(), 0x0001_0000_0000_002a);
        assert!(id(1, EntityId::SEQ_MAX) < id(2, 0));
    }

    #[test]
    fn entity_id_debug_shows_the_text_form() {
        assert_eq!(format!("{:?}", id(1, 42)), "EntityId(1:42)");
    }

    #[test]
    fn entity_id_parse_of_another_spelling_is_refused() {
        for text in [
            "",
            ":",
            "1",
            "1:",
            ":42",
            "1:42:",
            "1:4:2",
            "1 :42",
            "1: 42",
            " 1:42",
            "1:42 ",
            "+1:42",
            "1:+42",
            "-1:42",
            "01:42",
            "1:042",
            "00:0",
            "0x1:42",
            "1:4_2",
            "1:4\u{0662}",
            "65536:1",
            "1:281474976710656",
            "1:18446744073709551616",
            "1:42/gen3",
        ] {
            assert!(text.parse::<EntityId>().is_err(), "{text:?} was accepted");
        }
        assert_eq!("0:0".parse(), Ok(id(0, 0)));
        assert_eq!("65535:281474976710655".parse(), Ok(EntityId::from_bits(u64::MAX)));
    }

    #[test]
    fn entity_id_parse_error_names_the_offending_piece() {
        let piece = |text: &str| {
            text.parse::<EntityId>().expect_err("the text is not an id").piece().to_owned()
        };
        assert_eq!(piece("142"), "142");
        assert_eq!(piece("x:42"), "x");
        assert_eq!(piece("1:+42"), "+42");
    }
}

//! A reference to one entity that outlives it.
//!
//! The problem: a skill lands 300 ms after its target died and the target's slot was given to
//! somebody else. An [`EntityId`] names the slot, so it would hit the newcomer. A [`Handle`] adds
//! the slot's generation, which is counted up whenever the slot is given out and never wraps, so
//! an old handle gets an error.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::str::FromStr;

use crate::error::{ParseHandleError, Part};
use crate::id::{EntityId, SceneId, parse_number};
use crate::segment::Near;
use crate::word::{GENERATION_SHIFT, READABLE, READABLE_MASK};

/// Refers to one entity, for ever: an [`EntityId`] and the generation of its slot.
///
/// A handle owns nothing and may be copied, sent, stored and even forged: a look-up of any bit
/// pattern is safe. It finds exactly the entity that the handle was issued for, or returns an
/// error: it never panics, and never finds another entity.
///
/// There is no null handle: use `Option<Handle>`, which takes 16 bytes like a handle itself.
/// Handles are ordered by scene, then sequence number, then generation.
///
/// The text form is `{scene}:{seq}/gen{generation}`. Parsing is strict: it accepts what
/// [`Display`](fmt::Display) prints, and nothing else. With the feature `serde` a handle is that
/// text in readable formats such as JSON, and the bytes of [`to_bytes`](Self::to_bytes) in binary
/// ones.
///
/// # Examples
///
/// ```
/// use std::num::NonZeroU32;
/// use hatchery::{EntityId, Handle, SceneId};
///
/// let id = EntityId::new(SceneId(1), 42).expect("42 fits 48 bits");
/// let handle = Handle::new(id, NonZeroU32::MIN.saturating_add(2));
/// assert_eq!(handle.to_string(), "1:42/gen3");
/// assert_eq!("1:42/gen3".parse(), Ok(handle));
/// assert_eq!(size_of::<Option<Handle>>(), 16);
///
/// let refusal = "1:42/gen0".parse::<Handle>().expect_err("generations start at 1");
/// assert_eq!(refusal.piece(), "gen0");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Handle {
    id: EntityId,
    /// What a look-up needs beside the id: the generation as it is in the word of a slot,
    /// [`READABLE`] below it, and between them the place of the slot's segment, which follows from
    /// the id.
    rest: NonZeroU64,
}

/// Where the place of the segment is: clear of the bits that a look-up compares.
const PLACE_SHIFT: u32 = 8;
const _: () =
    assert!(READABLE_MASK >> PLACE_SHIFT == 0 && PLACE_SHIFT + u8::BITS <= GENERATION_SHIFT);

// Users keep handles by the million, in fields that are often empty.
const _: () = assert!(size_of::<Handle>() == 16);
const _: () = assert!(size_of::<Option<Handle>>() == 16);

impl Handle {
    /// Makes the handle of the entity that had place `id` in its generation `generation`.
    #[inline]
    #[must_use]
    pub const fn new(id: EntityId, generation: NonZeroU32) -> Handle {
        Handle::placed(id, generation, Near::of(id.seq()))
    }

    /// As [`new`](Handle::new), where the place of the slot's segment is known.
    #[inline]
    pub(crate) const fn placed(id: EntityId, generation: NonZeroU32, place: Near) -> Handle {
        debug_assert!(place.0 == Near::of(id.seq()).0);
        let generation = (generation.get() as u64) << GENERATION_SHIFT;
        match NonZeroU64::new(generation | (place.0 as u64) << PLACE_SHIFT | READABLE) {
            Some(rest) => Handle { id, rest },
            None => unreachable!(),
        }
    }

    /// Returns the place without the generation; other entities have or will have the same.
    #[inline]
    #[must_use]
    pub const fn id(self) -> EntityId {
        self.id
    }

    /// Returns the scene whose store answers for this handle.
    #[inline]
    #[must_use]
    pub const fn scene(self) -> SceneId {
        self.id.scene()
    }

    /// Returns the sequence number within the scene, below 2^48.
    #[inline]
    #[must_use]
    pub const fn seq(self) -> u64 {
        self.id.seq()
    }

    /// Returns the generation of the slot; the first one is 1.
    #[inline]
    #[must_use]
    pub const fn generation(self) -> NonZeroU32 {
        match NonZeroU32::new(self.generation_bits()) {
            Some(generation) => generation,
            None => unreachable!(),
        }
    }

    /// Returns the generation as a number, without asking whether it is 0.
    #[inline]
    pub(crate) const fn generation_bits(self) -> u32 {
        (self.rest.get() >> GENERATION_SHIFT) as u32
    }

    /// Returns the place of the slot's segment.
    #[inline]
    pub(crate) const fn place(self) -> Near {
        Near((self.rest.get() >> PLACE_SHIFT) as u8)
    }

    /// Returns what the word of the entity's slot has under the mask of a look-up, if it may be
    /// read; what is elsewhere means nothing.
    #[inline]
    pub(crate) const fn readable_bits(self) -> u64 {
        self.rest.get()
    }

    /// Returns the 12 bytes of the handle: the id, then the generation, both big-endian.
    ///
    /// The bytes of two handles compare as the handles do, so they can be the key of an ordered
    /// database.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Handle;
    ///
    /// let handle: Handle = "1:42/gen3".parse()?;
    /// assert_eq!(handle.to_bytes(), [0, 1, 0, 0, 0, 0, 0, 42, 0, 0, 0, 3]);
    /// assert_eq!(Handle::from_bytes(handle.to_bytes()), Some(handle));
    /// # Ok::<(), hatchery::ParseHandleError>(())
    /// ```
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 12] {
        let i = self.id.to_bits().to_be_bytes();
        let g = self.generation_bits().to_be_bytes();
        [i[0], i[1], i[2], i[3], i[4], i[5], i[6], i[7], g[0], g[1], g[2], g[3]]
    }

    /// Makes a handle from the bytes of [`to_bytes`](Self::to_bytes), or `None` when they say
    /// generation 0, which no entity has.
    ///
    /// Never panics, whatever the bytes are.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Handle;
    ///
    /// assert!(Handle::from_bytes([0xff; 12]).is_some());
    /// assert!(Handle::from_bytes([0; 12]).is_none());
    /// ```
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 12]) -> Option<Handle> {
        let [i0, i1, i2, i3, i4, i5, i6, i7, g0, g1, g2, g3] = bytes;
        let id = EntityId::from_bits(u64::from_be_bytes([i0, i1, i2, i3, i4, i5, i6, i7]));
        match NonZeroU32::new(u32::from_be_bytes([g0, g1, g2, g3])) {
            Some(generation) => Some(Handle::new(id, generation)),
            None => None,
        }
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/gen{}", self.id, self.generation_bits())
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Handle({self})")
    }
}

impl FromStr for Handle {
    type Err = ParseHandleError;

    fn from_str(text: &str) -> Result<Handle, ParseHandleError> {
        let refuse = ParseHandleError::new;
        let (id, last) = text.split_once('/').ok_or_else(|| refuse(Part::Handle, text))?;
        let id = id.parse()?;
        let generation = last
            .strip_prefix("gen")
            .and_then(parse_number)
            .and_then(|number| u32::try_from(number).ok())
            .and_then(NonZeroU32::new)
            .ok_or_else(|| refuse(Part::Generation, last))?;
        Ok(Handle::new(id, generation))
    }
}

#[cfg(feature = "serde")]
mod wire {
    //! Text where a person may read it, twelve bytes without a length where nobody will.

    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::Handle;

    impl Serialize for Handle {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            if serializer.is_human_readable() {
                serializer.collect_str(self)
            } else {
                self.to_bytes().serialize(serializer)
            }
        }
    }

    impl<'de> Deserialize<'de> for Handle {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Handle, D::Error> {
            if deserializer.is_human_readable() {
                return deserializer.deserialize_str(Text);
            }
            Handle::from_bytes(<[u8; 12]>::deserialize(deserializer)?).ok_or_else(|| {
                D::Error::custom("generation of a handle is 0, allowed are 1 to 4294967295")
            })
        }
    }

    struct Text;

    impl Visitor<'_> for Text {
        type Value = Handle;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the text of a handle, such as \"1:42/gen3\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Handle, E> {
            text.parse().map_err(E::custom)
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn handle(scene: u16, seq: u64, generation: u32) -> Handle {
        let id = EntityId::new(SceneId(scene), seq).expect("the seq fits");
        Handle::new(id, NonZeroU32::new(generation).expect("not generation 0"))
    }

    fn boundary_handles() -> impl Iterator<Item = Handle> {
        let ids = [0, 1, (1 << 48) - 1, 1 << 48, 1 << 63, u64::MAX].map(EntityId::from_bits);
        let generations = [1, 2, 1 << 31, u32::MAX].map(|g| NonZeroU32::new(g).expect("not 0"));
        ids.into_iter()
            .flat_map(move |id| generations.map(|generation| Handle::new(id, generation)))
    }

    #[test]
    fn handle_accessors_return_what_new_took() {
        let h = handle(1, 42, 3);
        assert_eq!(h.id(), EntityId::from_bits(0x0001_0000_0000_002a));
        assert_eq!((h.scene(), h.seq(), h.generation().get()), (SceneId(1), 42, 3));
    }

    #[test]
    fn handle_order_is_scene_seq_generation() {
        assert!(handle(1, 9, 9) < handle(2, 0, 1));
        assert!(handle(1, 1, 9) < handle(1, 2, 1));
        assert!(handle(1, 1, 1) < handle(1, 1, 2));
    }

    #[test]
    fn handle_bytes_round_trip_and_keep_the_order() {
        for a in boundary_handles() {
            assert_eq!(Handle::from_bytes(a.to_bytes()), Some(a));
            for b in boundary_handles() {
                assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
            }
        }
    }

    #[test]
    fn from_bytes_of_generation_zero_is_none() {
        assert_eq!(Handle::from_bytes([0; 12]), None);
        assert_eq!(Handle::from_bytes([9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0]), None);
    }

    #[test]
    fn handle_text_of_any_handle_round_trips() {
        for h in boundary_handles() {
            assert_eq!(h.to_string().parse(), Ok(h));
        }
        assert_eq!(format!("{:?}", handle(1, 42, 3)), "Handle(1:42/gen3)");
    }

    #[test]
    fn handle_parse_of_another_spelling_is_refused() {
        for text in [
            "",
            "/",
            "1:42",
            "1:42/",
            "1:42/gen",
            "1:42/3",
            "1:42/g3",
            "1:42/Gen3",
            "1:42/gen 3",
            "1:42/gen+3",
            "1:42/gen-3",
            "1:42/gen03",
            "1:42/gen0",
            "1:42/gen4294967296",
            "1:42/gen3 ",
            "1:42/gen3\n",
            " 1:42/gen3",
            "1:42 /gen3",
            "1:42/gen3/gen3",
            "1/gen3",
            "+1:42/gen3",
            "01:42/gen3",
            "1:042/gen3",
            "65536:42/gen3",
            "1:281474976710656/gen3",
        ] {
            assert!(text.parse::<Handle>().is_err(), "{text:?} was accepted");
        }
    }

    #[test]
    fn handle_parse_error_names_the_offending_piece() {
        let piece = |text: &str| {
            text.parse::<Handle>().expect_err("the text is not a handle").piece().to_owned()
        };
        assert_eq!(piece("1:42"), "1:42");
        assert_eq!(piece("142/gen3"), "142");
        assert_eq!(piece("x:42/gen3"), "x");
        assert_eq!(piece("1:-1/gen3"), "-1");
        assert_eq!(piece("1:42/g3"), "g3");
    }

    #[cfg(feature = "serde")]
    #[test]
    fn handle_in_json_is_its_text() {
        for h in boundary_handles() {
            let json = serde_json::to_string(&h).expect("a handle is a string");
            assert_eq!(json, format!("\"{h}\""));
            assert_eq!(serde_json::from_str::<Handle>(&json).expect("its own text"), h);
        }
        let by_handle = std::collections::BTreeMap::from([(handle(1, 42, 3), 7)]);
        let json = serde_json::to_string(&by_handle).expect("a handle can be a key");
        assert_eq!(json, r#"{"1:42/gen3":7}"#);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn handle_in_json_when_wrong_is_refused_with_the_reason() {
        let refusal = |json: &str| {
            serde_json::from_str::<Handle>(json).expect_err("not a handle").to_string()
        };
        assert!(refusal(r#""1:42/gen0""#).starts_with("\"gen0\" is not a generation"));
        assert!(refusal("42").contains("expected the text of a handle, such as \"1:42/gen3\""));
    }

    #[cfg(feature = "serde")]
    #[test]
    fn handle_in_postcard_is_its_twelve_bytes() {
        for h in boundary_handles() {
            let bytes = postcard::to_allocvec(&h).expect("a handle is 12 bytes");
            assert_eq!(bytes, h.to_bytes());
            assert_eq!(postcard::from_bytes::<Handle>(&bytes).expect("its own bytes"), h);
        }
        assert!(postcard::from_bytes::<Handle>(&[0; 12]).is_err());
        assert!(postcard::from_bytes::<Handle>(&[1; 11]).is_err());
    }
}

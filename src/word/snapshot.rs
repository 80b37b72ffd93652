//! A slot word as it was at one moment: a value, with names for its fields.

use std::fmt;

use super::layout::*;
use crate::handle::Handle;
use crate::state::{State, StateSet};

/// Generation, holds, marks and state of a slot, as one value.
///
/// All zeroes is a slot that was never used: generation 0, `None`. Segments rely on it.
///
/// Aligned as an atomic of its size is on every target: on some a `u64` is not, and its atomic
/// would be a lock.
#[repr(C, align(8))]
#[derive(Clone, Copy, PartialEq, Eq, bytemuck::NoUninit)]
pub(crate) struct SlotWord(u64);

impl SlotWord {
    /// A word without holds or marks.
    #[inline]
    pub(crate) const fn new(generation: u32, state: State) -> SlotWord {
        SlotWord(((generation as u64) << GENERATION_SHIFT) | state as u64)
    }

    #[inline]
    pub(crate) const fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT) as u32
    }

    #[inline]
    pub(crate) const fn state(self) -> State {
        State::from_low_bits((self.0 & STATE_MASK) as u8)
    }

    #[inline]
    pub(crate) const fn holds(self) -> u32 {
        ((self.0 & HOLDS_MASK) >> HOLDS_SHIFT) as u32
    }

    #[inline]
    pub(crate) const fn reap_requested(self) -> bool {
        self.0 & REAP_REQUESTED != 0
    }

    #[inline]
    pub(crate) const fn guarded(self) -> bool {
        self.0 & GUARDED != 0
    }

    #[inline]
    pub(crate) const fn emptied(self) -> bool {
        self.0 & EMPTIED != 0
    }

    #[inline]
    pub(crate) const fn closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    /// Whether an entity of this generation may be read: Active or Dying, in one comparison.
    #[inline]
    pub(crate) const fn readable_as(self, generation: u32) -> bool {
        self.reads_as(((generation as u64) << GENERATION_SHIFT) | READABLE)
    }

    /// [`readable_as`](SlotWord::readable_as) the generation of a handle, which has its part of the
    /// comparison ready.
    #[inline]
    pub(crate) const fn readable_by(self, handle: Handle) -> bool {
        self.reads_as(handle.readable_bits())
    }

    /// Whether the generation, and the bits that tell whether it may be read, are those.
    #[inline]
    const fn reads_as(self, bits: u64) -> bool {
        (self.0 ^ bits) & ((u32::MAX as u64) << GENERATION_SHIFT | READABLE_MASK) == 0
    }

    /// Whether there is an entity of this generation, in whatever state.
    #[inline]
    pub(crate) const fn alive_under(self, generation: u32) -> bool {
        self.generation() == generation && !matches!(self.state(), State::None | State::Dead)
    }

    /// Whether an entity of this generation is Active, and nothing else is said of it.
    #[inline]
    pub(crate) const fn plainly_active_as(self, generation: u32) -> bool {
        self.0 == SlotWord::new(generation, State::Active).0
    }

    /// Whether a lease of this generation has the object, in use or not.
    #[inline]
    pub(crate) const fn leased_as(self, generation: u32) -> bool {
        self.without(GUARDED).0 == SlotWord::new(generation, State::Active).0
    }

    /// The same word in another state; marks and holds stay.
    #[inline]
    pub(super) const fn in_state(self, state: State) -> SlotWord {
        SlotWord((self.0 & !STATE_MASK) | state as u64)
    }

    #[inline]
    pub(super) const fn with(self, mark: u64) -> SlotWord {
        SlotWord(self.0 | mark)
    }

    #[inline]
    pub(super) const fn without(self, mark: u64) -> SlotWord {
        SlotWord(self.0 & !mark)
    }

    /// One hold more; the caller has checked the limit, so nothing carries.
    #[inline]
    pub(super) const fn plus_hold(self) -> SlotWord {
        debug_assert!(self.holds() < MAX_HOLDS);
        SlotWord(self.0 + ONE_HOLD)
    }

    /// One hold less; the caller owns one.
    #[inline]
    pub(super) const fn minus_hold(self) -> SlotWord {
        debug_assert!(self.holds() > 0);
        SlotWord(self.0 - ONE_HOLD)
    }
}

/// Which readable states a scan wants, as one comparison: Active and Dying differ in one bit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Filter {
    mask: u64,
    bits: u64,
}

impl Filter {
    /// Those of Active and Dying that are in `states`.
    pub(crate) fn readable(states: StateSet) -> Filter {
        match (states.contains(State::Active), states.contains(State::Dying)) {
            (true, true) => Filter { mask: READABLE_MASK, bits: READABLE },
            (true, false) => Filter { mask: STATE_MASK, bits: State::Active as u64 },
            (false, true) => Filter { mask: STATE_MASK, bits: State::Dying as u64 },
            // No word passes: nothing of it is looked at, and that is not 1.
            (false, false) => Filter { mask: 0, bits: 1 },
        }
    }
}

impl SlotWord {
    /// Whether the word is in a state that a scan wants.
    #[inline]
    pub(crate) const fn passes(self, filter: Filter) -> bool {
        self.0 & filter.mask == filter.bits
    }
}

impl From<u64> for SlotWord {
    fn from(bits: u64) -> SlotWord {
        SlotWord(bits)
    }
}

impl From<SlotWord> for u64 {
    fn from(word: SlotWord) -> u64 {
        word.0
    }
}

impl fmt::Debug for SlotWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gen{} {} holds {}", self.generation(), self.state(), self.holds())?;
        let marks = [
            (self.reap_requested(), " reap-requested"),
            (self.guarded(), " guarded"),
            (self.emptied(), " emptied"),
            (self.closed(), " closed"),
        ];
        marks.into_iter().filter(|mark| mark.0).try_for_each(|mark| f.write_str(mark.1))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::id::EntityId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn word_fields_round_trip(
            generation: u32, state in 0u8..5, holds in 0..=MAX_HOLDS, marks in 0u64..16,
        ) {
            let state = State::try_from(state).unwrap();
            let marks = marks << 3;
            let word = SlotWord::new(generation, state).with(marks);
            let word = SlotWord(word.0 | u64::from(holds) << HOLDS_SHIFT);
            prop_assert_eq!(word.generation(), generation);
            prop_assert_eq!(word.state(), state);
            prop_assert_eq!(word.holds(), holds);
            prop_assert_eq!(word.reap_requested(), marks & REAP_REQUESTED != 0);
            prop_assert_eq!(word.guarded(), marks & GUARDED != 0);
            prop_assert_eq!(word.emptied(), marks & EMPTIED != 0);
            prop_assert_eq!(word.closed(), marks & CLOSED != 0);
            let readable = matches!(state, State::Active | State::Dying);
            prop_assert_eq!(word.readable_as(generation), readable);
            prop_assert!(!word.readable_as(generation.wrapping_add(1)));
            if let Some(generation) = NonZeroU32::new(generation) {
                let handle = Handle::new(EntityId::from_bits(!0), generation);
                prop_assert_eq!(word.readable_by(handle), readable);
                let later = generation.checked_add(1).unwrap_or(NonZeroU32::MIN);
                prop_assert!(!word.readable_by(Handle::new(handle.id(), later)));
            }
        }
    }

    #[test]
    fn word_passes_a_filter_in_the_states_that_it_names_and_can_be_read_in() {
        for wanted in 0..1u32 << State::ALL.len() {
            let among: Vec<State> =
                State::ALL.into_iter().filter(|state| wanted >> *state as u32 & 1 == 1).collect();
            let filter = Filter::readable(StateSet::of(&among));
            for state in State::ALL {
                let readable = matches!(state, State::Active | State::Dying);
                let word = SlotWord::new(7, state).with(REAP_REQUESTED);
                assert_eq!(word.passes(filter), readable && among.contains(&state), "{state}");
            }
        }
    }

    #[test]
    fn zeroed_word_is_an_unused_slot() {
        let word = SlotWord(0);
        assert_eq!((word.generation(), word.state(), word.holds()), (0, State::None, 0));
    }
}

//! The five states of an entity and the edges between them.
//!
//! Neither creation nor destruction is instantaneous: an entity is registered with several systems
//! before anyone may see it, and settled by several systems before its slot may be reused. Hence
//! there is a state between "not there" and "there" on the way in, and another on the way out:
//!
//! ```text
//! None ──spawn──► Pending ──activate──► Active ──kill──► Dying ──reap──► Dead ──► None
//!                    │                     ▲               │               ▲
//!                    │                     └────revive─────┘               │
//!                    └───────────────────────cancel────────────────────────┘
//! ```
//!
//! The edges are data, the table `SUCCESSORS`; there are no others. The only way from Active to
//! Dead is through Dying, so nothing is recycled without its settlement; and Dying can go back to
//! Active, so a death can be undone.

use std::error::Error;
use std::fmt;

use self::State::{Active, Dead, Dying, Pending};

/// The state of an entity in its life cycle.
///
/// The numbers are part of the public interface and do not change.
///
/// # Examples
///
/// ```
/// use hatchery::State;
///
/// assert!(State::Active.can_become(State::Dying));
/// assert!(!State::Active.can_become(State::Dead));
/// assert_eq!(State::Active.to_string(), "active");
/// assert_eq!(State::try_from(2), Ok(State::Active));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// The slot has no entity.
    None = 0,
    /// Reserved: it has a handle, and only the owner of the reservation may touch the payload.
    Pending = 1,
    /// In play: anyone may read it.
    Active = 2,
    /// Out of play and being settled: still readable, so that loot and experience can be given.
    Dying = 3,
    /// Ended: new readers are refused, and the slot waits for the last earlier reader to leave.
    Dead = 4,
}

/// The legal edges, and no others: the entry of a state says what it can become.
#[rustfmt::skip]
const SUCCESSORS: [StateSet; 5] = [
    StateSet::of(&[Pending]),      // None: spawned
    StateSet::of(&[Active, Dead]), // Pending: activated, cancelled
    StateSet::of(&[Dying]),        // Active: killed
    StateSet::of(&[Active, Dead]), // Dying: revived, reaped
    StateSet::of(&[State::None]),  // Dead: its slot is free again
];

impl State {
    /// Every state, in the order of a life.
    pub const ALL: [State; 5] = [State::None, Pending, Active, Dying, Dead];

    /// Returns whether the table has the edge from this state to `to`.
    ///
    /// # Complexity
    ///
    /// One table entry and one bit; no allocation.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::State;
    ///
    /// assert!(State::Dying.can_become(State::Active), "a death can be undone");
    /// assert!(!State::Dying.can_become(State::Dying), "one caller alone can kill");
    /// ```
    #[inline]
    #[must_use]
    pub const fn can_become(self, to: State) -> bool {
        self.successors().contains(to)
    }

    /// Returns every state that this one can become.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{State, StateSet};
    ///
    /// assert_eq!(State::Pending.successors(), StateSet::of(&[State::Active, State::Dead]));
    /// ```
    #[inline]
    #[must_use]
    pub const fn successors(self) -> StateSet {
        SUCCESSORS[self as usize]
    }

    /// Returns `to` if the table has the edge from this state to `to`.
    ///
    /// # Errors
    ///
    /// [`IllegalTransition`], with both states, if the table does not have that edge.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::State;
    ///
    /// assert_eq!(State::Active.advance(State::Dying), Ok(State::Dying));
    ///
    /// let refusal = State::Active.advance(State::Dead).expect_err("dying comes first");
    /// assert_eq!(refusal.to_string(), "illegal transition active -> dead");
    /// ```
    #[inline]
    pub const fn advance(self, to: State) -> Result<State, IllegalTransition> {
        if self.can_become(to) { Ok(to) } else { Err(IllegalTransition { from: self, to }) }
    }

    /// Makes a state from the three bits that a slot's word keeps for it.
    ///
    /// Total over `0..=7`, higher bits ignored, so that reading a word needs neither a panic nor
    /// unsafe code. The word's invariant leaves 5 to 7 out of reach; they read as Dead, the state
    /// that lets nobody in.
    #[inline]
    pub(crate) const fn from_low_bits(bits: u8) -> State {
        match bits & 0b111 {
            0 => State::None,
            1 => Pending,
            2 => Active,
            3 => Dying,
            _ => Dead,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            State::None => "none",
            Pending => "pending",
            Active => "active",
            Dying => "dying",
            Dead => "dead",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl From<State> for u8 {
    fn from(state: State) -> u8 {
        state as u8
    }
}

impl TryFrom<u8> for State {
    type Error = InvalidState;

    fn try_from(value: u8) -> Result<State, InvalidState> {
        State::ALL.get(usize::from(value)).copied().ok_or(InvalidState { value })
    }
}

/// A set of states, in one byte.
///
/// # Examples
///
/// ```
/// use hatchery::{State, StateSet};
///
/// let set = StateSet::of(&[State::Dying]).insert(State::Active);
/// assert_eq!(set, StateSet::READABLE);
/// assert!(!set.contains(State::Pending));
/// assert!(set.iter().eq([State::Active, State::Dying]));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StateSet(u8);

impl StateSet {
    /// The states of an entity whose handle can be used: Pending, Active and Dying.
    pub const ALIVE: StateSet = StateSet::of(&[Pending, Active, Dying]);

    /// The states of an entity whose payload can be read: Active and Dying.
    pub const READABLE: StateSet = StateSet::of(&[Active, Dying]);

    /// Makes the set of the given states; naming one twice changes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{State, StateSet};
    ///
    /// const SETTLED: StateSet = StateSet::of(&[State::Dying, State::Dead]);
    /// assert!(SETTLED.contains(State::Dead));
    /// ```
    #[must_use]
    pub const fn of(states: &[State]) -> StateSet {
        let mut set = StateSet(0);
        let mut i = 0;
        // `for` is not const.
        while i < states.len() {
            set = set.insert(states[i]);
            i += 1;
        }
        set
    }

    /// Returns whether `state` is in the set.
    #[inline]
    #[must_use]
    pub const fn contains(self, state: State) -> bool {
        self.0 & (1 << state as u8) != 0
    }

    /// Returns the set with `state` in it.
    #[inline]
    #[must_use]
    pub const fn insert(self, state: State) -> StateSet {
        StateSet(self.0 | (1 << state as u8))
    }

    /// Yields the states in the set, in the order of [`State::ALL`].
    pub fn iter(self) -> impl Iterator<Item = State> {
        State::ALL.into_iter().filter(move |&state| self.contains(state))
    }
}

impl fmt::Debug for StateSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// Says that the table of legal edges has none from `from` to `to`.
///
/// # Examples
///
/// ```
/// use hatchery::State;
///
/// let refusal = State::Dead.advance(State::Active).expect_err("nothing comes back from dead");
/// assert_eq!((refusal.from, refusal.to), (State::Dead, State::Active));
/// assert_eq!(refusal.to_string(), "illegal transition dead -> active");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct IllegalTransition {
    /// The state that was found.
    pub from: State,
    /// The state that was asked for.
    pub to: State,
}

impl fmt::Display for IllegalTransition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "illegal transition {} -> {}", self.from, self.to)
    }
}

impl Error for IllegalTransition {}

/// Says that a number is not that of a [`State`].
///
/// # Examples
///
/// ```
/// use hatchery::State;
///
/// let refusal = State::try_from(5).expect_err("there are five states, from 0");
/// assert_eq!(refusal.value, 5);
/// assert_eq!(refusal.to_string(), "state is 5, allowed are 0 to 4");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct InvalidState {
    /// The number that was given.
    pub value: u8,
}

impl fmt::Display for InvalidState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "state is {}, allowed are 0 to 4", self.value)
    }
}

impl Error for InvalidState {}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The diagram of the seed, row by row; written by hand, not from `SUCCESSORS`.
    #[rustfmt::skip]
    const SEED: [(State, [bool; 5]); 5] = [
        //               none   pending active dying  dead
        (State::None,    [false, true,  false, false, false]),
        (State::Pending, [false, false, true,  false, true]),
        (State::Active,  [false, false, false, true,  false]),
        (State::Dying,   [false, false, true,  false, true]),
        (State::Dead,    [true,  false, false, false, false]),
    ];

    #[test]
    fn edges_of_every_pair_are_those_of_the_seed() {
        for (from, row) in SEED {
            for (to, legal) in State::ALL.into_iter().zip(row) {
                assert_eq!(from.can_become(to), legal, "{from} -> {to}");
                assert_eq!(from.successors().contains(to), legal, "{from} -> {to}");
                let expected = if legal { Ok(to) } else { Err(IllegalTransition { from, to }) };
                assert_eq!(from.advance(to), expected);
            }
        }
    }

    #[test]
    fn edges_counted_are_seven() {
        let edges: usize = State::ALL.iter().map(|state| state.successors().iter().count()).sum();
        assert_eq!(edges, 7);
    }

    #[test]
    fn state_numbers_are_fixed() {
        assert_eq!(State::ALL.map(u8::from), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn state_display_is_lower_case_and_pads() {
        let names = State::ALL.map(|state| state.to_string());
        assert_eq!(names, ["none", "pending", "active", "dying", "dead"]);
        assert_eq!(format!("{:>8}|{:<6}|", State::Dying, State::Dead), "   dying|dead  |");
    }

    #[test]
    fn state_try_from_every_byte_takes_only_zero_to_four() {
        for value in 0..=u8::MAX {
            match State::try_from(value) {
                Ok(state) => assert_eq!(u8::from(state), value),
                Err(refusal) => assert!(value > 4 && refusal.value == value),
            }
        }
        assert_eq!(State::try_from(4), Ok(State::Dead));
    }

    #[test]
    fn state_from_low_bits_is_total_and_falls_back_to_dead() {
        for bits in 0..=u8::MAX {
            let expected = State::try_from(bits & 7).unwrap_or(State::Dead);
            assert_eq!(State::from_low_bits(bits), expected);
        }
    }

    #[test]
    fn state_set_of_every_subset_contains_and_yields_exactly_its_members() {
        for mask in 0..32_u8 {
            let members: Vec<State> = State::ALL
                .into_iter()
                .filter(|&state| mask & (1 << u8::from(state)) != 0)
                .collect();
            let set = StateSet::of(&members);
            assert!(set.iter().eq(members.iter().copied()));
            for state in State::ALL {
                assert_eq!(set.contains(state), members.contains(&state));
                assert!(set.insert(state).contains(state));
                assert_eq!(set.insert(state) == set, members.contains(&state));
            }
        }
        assert_eq!(StateSet::of(&[]), StateSet::default());
    }

    #[test]
    fn state_set_constants_hold_the_named_states() {
        assert_eq!(format!("{:?}", StateSet::ALIVE), "{Pending, Active, Dying}");
        assert_eq!(format!("{:?}", StateSet::READABLE), "{Active, Dying}");
        assert_eq!(format!("{:?}", StateSet::default()), "{}");
    }

    #[test]
    fn illegal_transition_message_names_both_states() {
        let refusal = IllegalTransition { from: State::Active, to: State::Dead };
        assert_eq!(refusal.to_string(), "illegal transition active -> dead");
    }

    #[test]
    fn invalid_state_message_names_the_value_and_the_range() {
        assert_eq!(InvalidState { value: 255 }.to_string(), "state is 255, allowed are 0 to 4");
    }
}

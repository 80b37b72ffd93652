//! The bit fields of a slot word.
//!
//! ```text
//!  63                    32 31 30                    7   6      5       4       3    2   0
//! +------------------------+--+-----------------------+------+-------+-------+------+-----+
//! |     generation (32)    | -|       holds (24)      |closed|emptied|guarded| reap |state|
//! +------------------------+--+-----------------------+------+-------+-------+------+-----+
//! ```
//!
//! The generation takes the high half, where a handle keeps it too: a look-up compares both under
//! one mask, without a shift. The state takes the low bits, so that the same mask tells "readable"
//! (Active = 2, Dying = 3). The holds lie between them, with a spare bit above that their count,
//! which is kept below its limit, never reaches.

use crate::state::State;

/// Bits of the state.
pub(super) const STATE_MASK: u64 = 0b111;
/// A reap was asked for: no revive, no second reap and no new hold from here on.
pub(super) const REAP_REQUESTED: u64 = 1 << 3;
/// A single writer has the entity to itself: a `Pending` guard.
pub(super) const GUARDED: u64 = 1 << 4;
/// The payload is gone already: the refill must not drop it again.
pub(super) const EMPTIED: u64 = 1 << 5;
/// The store is gone and only Holds remain: the last one drops the payload itself.
pub(super) const CLOSED: u64 = 1 << 6;
/// Where the count of holds begins, and one hold.
pub(super) const HOLDS_SHIFT: u32 = 7;
pub(super) const ONE_HOLD: u64 = 1 << HOLDS_SHIFT;
/// Holds of one entity at once, at most.
pub(crate) const MAX_HOLDS: u32 = (1 << 24) - 1;
pub(super) const HOLDS_MASK: u64 = (MAX_HOLDS as u64) << HOLDS_SHIFT;
/// Where the generation begins.
pub(crate) const GENERATION_SHIFT: u32 = 32;

/// State bits that Active and Dying share and no other state has: `state & MASK == READABLE`.
pub(crate) const READABLE_MASK: u64 = 0b110;
pub(crate) const READABLE: u64 = 0b010;

const _: () = {
    let mut state = 0;
    while state < State::ALL.len() {
        let bits = State::ALL[state] as u64;
        assert!(bits & !STATE_MASK == 0, "a state fits its field");
        let readable = matches!(State::ALL[state], State::Active | State::Dying);
        assert!((bits & READABLE_MASK == READABLE) == readable, "one mask tells the readable");
        state += 1;
    }
    let marks = REAP_REQUESTED | GUARDED | EMPTIED | CLOSED;
    assert!(STATE_MASK & marks == 0 && (STATE_MASK | marks) & HOLDS_MASK == 0);
    assert!(HOLDS_MASK >> GENERATION_SHIFT == 0 && HOLDS_MASK.leading_zeros() == 33);
};

//! Asking for memory ahead of the turn that uses it.
//!
//! An actor is reached by way of its cell, and its components by way of the actor: three lines far
//! apart, each at an address that the one before tells. Where there are more actors than a cache
//! holds, a turn would wait for all three. So those of the actors that come next are asked for, one
//! step at a time, while others have their turn.

use super::actor::Core;
use super::registry::Entry;

/// How many actors ahead each step is taken.
const CELL: usize = 12;
const HEADER: usize = 8;
const REST: usize = 4;

/// Asks for what the turns of those who come next are about.
///
/// # Safety
/// * The caller was dealt the entries, and lends none of their actors to anybody.
#[inline]
pub(super) unsafe fn ask_for<C: Core>(coming: &[Entry<C>]) {
    // One question for all three, at the price that the last of a part go without.
    let Some(coming) = coming.get(..=CELL) else { return };
    coming[CELL].cell.prefetch();
    // SAFETY: the caller's duty (invariant 16).
    match unsafe { coming[HEADER].cell.get() } {
        Some(actor) if actor.ticks => actor.components.prefetch_header(),
        _ => {}
    }
    // SAFETY: the caller's duty (invariant 16).
    match unsafe { coming[REST].cell.get() } {
        Some(actor) if actor.ticks => actor.components.prefetch_rest(),
        _ => {}
    }
}

//! Prefetching actors before they tick.
//!
//! An actor is reached through its cell, and its components through the actor: three lines far
//! apart, each at an address that is read from the one before. If the actors do not fit in the
//! cache, a tick would wait for all three. So the lines of the next actors are prefetched, one step
//! at a time, while others tick.

use super::actor::Core;
use super::registry::Entry;

/// How many actors ahead each line is prefetched.
const CELL: usize = 12;
const HEADER: usize = 8;
const REST: usize = 4;

/// Prefetches what the ticks of the next actors need.
///
/// # Safety
/// * The caller was dealt the entries, and lends none of their actors to anybody.
#[inline]
pub(super) unsafe fn ask_for<C: Core>(coming: &[Entry<C>]) {
    // One bounds check for all three; so the last actors of a part are not prefetched.
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

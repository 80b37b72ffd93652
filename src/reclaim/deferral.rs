//! Deferred calls, and how they get from a thread to the collector's queue, where any thread may
//! run them.

use crossbeam_epoch::Guard;

use super::local::Entry;
use crate::sync::planted;

/// Defers the call that takes the batches of the thread's outbox out of limbo. Then moves what the
/// thread has deferred to the collector's queue, and asks the collector to advance: in crossbeam
/// both are one operation.
///
/// The grace period begins here, under the caller's pin, and not with each hand-over.
pub(super) fn flush(entry: &Entry, guard: &Guard) {
    if let Some((circulation, chain)) = entry.outbox.take() {
        entry.follow_core(&circulation);
        let shard = circulation.count_hand_over(entry.home.get(), chain.batches());
        pause_point!("hand-over counted, not deferred");
        let ripen = move || circulation.ripen(chain, shard);
        if planted("push without a grace period") {
            ripen();
        } else {
            // SAFETY: the call owns the circulation and, by the hand-over, the chain; neither
            // belongs to a thread, so any may run it, at any time (invariant 5, 7).
            unsafe { defer_in_place(guard, ripen) };
        }
    }
    guard.flush();
}

/// [`flush`] before the pin is moved or ended, if there is something in the outbox.
#[inline]
pub(super) fn hand_on(entry: &Entry, guard: &Guard) {
    if !entry.outbox.is_empty() {
        flush(entry, guard);
    }
}

/// Defers a call that fits in the three words that crossbeam has room for: nothing is allocated for
/// it.
///
/// # Safety
/// * The call owns what it touches, and runs no user code: any thread may run it, at any time,
///   after the store is gone as well.
pub(super) unsafe fn defer_in_place<F: FnOnce()>(guard: &Guard, call: F) {
    // Not checked where a word has 32 bits, of which a chain takes three, nor in the models, whose
    // counted references are larger: there crossbeam allocates.
    const CHECKED: bool = usize::BITS == 64 && !cfg!(all(loom, test));
    const { assert!(!CHECKED || size_of::<F>() <= 3 * size_of::<usize>(), "it would be allocated") };
    // SAFETY: the caller's duty (invariant 7, 11).
    unsafe { guard.defer_unchecked(call) };
}

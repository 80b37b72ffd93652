//! What a thread has deferred, and how it gets to where others reach it.

use crossbeam_epoch::Guard;

use super::local::Entry;
use crate::sync::planted;

/// Defers the way out of limbo of what is in the thread's outbox; moves what the thread has deferred to
/// where others reach it, and asks the collector to advance: crossbeam has no other way to do either.
///
/// The grace period begins here, under the pin of whoever calls, and not with each hand-over.
pub(super) fn flush(entry: &Entry, guard: &Guard) {
    if let Some((circulation, chain)) = entry.outbox.take() {
        // The low bits tell the shard, and the call has three words.
        let home = entry.home as u32;
        circulation.count_hand_over(chain.batches());
        pause_point!("hand-over counted, not deferred");
        let ripen = move || circulation.ripen(chain, home as usize);
        if planted("push without a grace period") {
            ripen();
        } else {
            // SAFETY: the call owns the circulation and, by the hand-over, the chain; neither belongs
            // to a thread, so any may run it, at any time (invariant 5, 7).
            unsafe { defer_in_place(guard, ripen) };
        }
    }
    guard.flush();
}

/// [`flush`] for whoever is about to move or end the pin, if there is something in the outbox.
#[inline]
pub(super) fn hand_on(entry: &Entry, guard: &Guard) {
    if !entry.outbox.is_empty() {
        flush(entry, guard);
    }
}

/// Defers a call that fits in the three words that crossbeam has room for: nothing is allocated for it.
///
/// # Safety
/// * The call owns what it touches, and runs no user code: any thread may run it, at any time, after
///   the store is gone as well.
pub(super) unsafe fn defer_in_place<F: FnOnce()>(guard: &Guard, call: F) {
    // Not asked where a word has 32 bits, of which a chain takes three, nor in the models, whose
    // counted references are longer: there crossbeam allocates.
    const ASKED: bool = usize::BITS == 64 && !cfg!(all(loom, test));
    const { assert!(!ASKED || size_of::<F>() <= 3 * size_of::<usize>(), "it would be allocated") };
    // SAFETY: the caller's duty (invariant 7, 11).
    unsafe { guard.defer_unchecked(call) };
}

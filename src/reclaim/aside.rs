//! Politeness: whoever makes garbage steps aside while too much of it waits.
//!
//! With more threads than cores, a session that is off the processor holds the epoch for whole time
//! slices, and the others would fill the memory meanwhile. A thread that has handed garbage over
//! *owes* the others a look when its next session begins or moves its pin; if there is too much, it
//! sleeps a moment, unpinned, and so leaves the processor to those who hold the epoch.

use super::Session;
use super::deferral::{flush, hand_on};
use super::local::Entry;
use crate::free::Circulation;
use crate::sync::step_aside;

/// How often, at most, a session steps aside before it goes on.
const STEPS: u32 = 64;

/// The same once nothing has ripened while it did so [`OFTEN`] times in a row: a reader may stay for
/// ever.
const STEPS_IN_VAIN: u32 = 4;
const OFTEN: u32 = 8;

impl Session {
    /// Whether the thread owes the others a look, as
    /// [`Registration::owes`](super::Registration::owes) tells it.
    #[inline]
    pub(crate) fn owes(&self) -> bool {
        self.entry.owes.get()
    }

    /// Steps aside, unpinned, while the shard of the core on which the thread is then is crowded,
    /// which `crowded` tells. Only so often: progress never depends on it. The owner lends nothing
    /// out.
    #[cold]
    pub(crate) fn step_aside(
        &mut self,
        circulation: &Circulation,
        crowded: impl Fn(usize) -> bool,
    ) {
        let Session { guard, entry, .. } = self;
        entry.owes.set(false);
        if entry.sessions.get() > 1 {
            return;
        }
        let guard = guard.get_mut();
        // First, or what this thread has handed over would not be counted. The pin moves now
        // anyway.
        if let Some(pinned) = guard {
            hand_on(entry, pinned);
        }
        entry.follow_core(circulation);
        if !crowded(entry.home.get()) {
            return;
        }
        for _ in 0..entry.steps_to_take(circulation) {
            if let Some(pinned) = guard.take() {
                flush(entry, &pinned);
            }
            circulation.while_aside(step_aside);
            entry.follow_core(circulation);
            *guard = Some(entry.participant.pin());
            if !crowded(entry.home.get()) {
                return;
            }
        }
        entry.remember_steps(circulation);
    }
}

impl Entry {
    fn steps_to_take(&self, circulation: &Circulation) -> u32 {
        let (times, ripened) = self.in_vain.get();
        if times >= OFTEN && ripened == circulation.ripened() { STEPS_IN_VAIN } else { STEPS }
    }

    /// Counts how often in a row all steps were taken and nothing had ripened.
    fn remember_steps(&self, circulation: &Circulation) {
        let (times, before) = self.in_vain.get();
        let ripened = circulation.ripened();
        let times = if ripened == before { times.saturating_add(1) } else { 0 };
        self.in_vain.set((times, ripened));
    }
}

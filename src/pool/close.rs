//! Who keeps the shared part of a pool, and how it ends.
//!
//! A lease must not cost a counted reference, so the count is one of exceptions:
//!
//! * While a `Pool` is open, [`OPEN`] is in the count, and it never comes near zero.
//! * Each lease that was revoked owns one reference. The revoker, who borrows a `Pool`, adds it;
//!   the lease gives it back when it is dropped and finds itself revoked. The one may come after
//!   the other: [`OPEN`] is there meanwhile.
//! * When the last `Pool` is dropped, each unit that is not at rest, a lease's or that of a release
//!   in progress, becomes one reference.
//!
//! The drop of the last `Pool` closes each stack with one swap, which takes all that lies there. No
//! acquisition and no `reset` is under way: they borrow a `Pool`. So a unit is either found on a
//! stack, and its object dropped by the closer, or its release comes to a closed stack, drops the
//! object itself, and gives the unit's reference back. A release on an open stack ends with its
//! push and touches nothing afterwards: the closer may free the core right behind it. Whoever
//! brings the count to zero frees the core.
//!
//! So when the drop of the last `Pool` returns, every object that no lease keeps is gone; a lease
//! is good for as long as it lives; the last one frees everything; one that was forgotten keeps
//! the memory for ever, like a forgotten `Arc`.

use std::ptr::NonNull;

use super::core::Core;
use super::rest::{self, Slot};
use crate::recycle::Recycle;
use crate::segment::Index;
use crate::slot::in_destructor;
use crate::state::State;
use crate::sync::Ordering;

/// What the count of references begins with: more than leases can ever be revoked.
pub(super) const OPEN: u64 = 1 << 62;

impl<T> Core<T> {
    /// A reference for a lease that the caller, who borrows a `Pool`, has revoked.
    pub(super) fn keep_for_revoked(&self) {
        // Relaxed: the closing comes after, through the gate, and nothing is read behind the count
        // before that.
        self.references.fetch_add(1, Ordering::Relaxed);
    }
}

/// Brings the object of a lease that has ended back to rest: recycles it and puts the slot on a
/// stack. Inside a destructor that waits until the outermost one has returned, so that a chain of
/// any length needs no stack.
///
/// # Safety
/// * The caller owns the slot, with an object in it, and gives it away.
/// * The core is alive, and the unit of the slot keeps it so.
#[inline]
pub(super) unsafe fn send_home<T: Recycle>(
    core: NonNull<Core<T>>,
    slot: NonNull<Slot<T>>,
    index: Index,
) {
    if in_destructor::now() {
        // SAFETY: the caller's duty, which the task takes over (invariant 15).
        let task = move || unsafe { go_to_rest(core, slot, index) };
        // SAFETY: a destructor runs on this thread; what the task needs stays, because the unit
        // keeps the core, and the objects of a pool borrow nothing (invariant 8, 15).
        unsafe { in_destructor::run_outermost(task) };
    } else {
        // SAFETY: the caller's duty (invariant 15).
        unsafe { go_to_rest(core, slot, index) };
    }
}

/// # Safety
/// As for [`send_home`].
#[inline]
unsafe fn go_to_rest<T: Recycle>(core: NonNull<Core<T>>, slot: NonNull<Slot<T>>, index: Index) {
    // SAFETY: the unit keeps the core until the push below (invariant 15).
    let shared = unsafe { core.as_ref() };
    // SAFETY: a slot stays as long as the core (invariant 11).
    let place = unsafe { slot.as_ref() };
    shared.recycle(place);
    pause_point!("recycled, not at rest");
    // The last touch: from here on the slot is anybody's, and the core as well, whose end nothing
    // holds up. So nothing goes into the call by reference but what lies in cells.
    let slots = NonNull::from(&shared.slots);
    // SAFETY: the unit keeps the core, with its table, until the slot is on the stack (invariant
    // 15).
    if !unsafe { rest::push(&shared.home().head, slots, &place.header, index) } {
        // SAFETY: the stack was closed, so the caller owns the slot still (invariant 15).
        unsafe { end_closed(core, slot) };
    }
}

/// Drops what came back to a closed pool, and gives the reference of its unit back.
///
/// # Safety
/// As for [`send_home`], but for the object, which may be gone.
#[cold]
unsafe fn end_closed<T: Recycle>(core: NonNull<Core<T>>, slot: NonNull<Slot<T>>) {
    {
        // SAFETY: the unit keeps the core until it gives the reference back below (invariant 15).
        let shared = unsafe { core.as_ref() };
        // SAFETY: a slot stays as long as the core (invariant 11).
        let slot = unsafe { slot.as_ref() };
        if slot.word.peek().state() == State::Dead {
            shared.drop_object(slot);
        }
    }
    // SAFETY: the unit owned one (invariant 15).
    unsafe { give_back(core, 1) };
}

/// Ends what is at rest, after the last `Pool` has left the gate; the rest is left to the leases.
///
/// # Safety
/// * The caller was the last to leave the gate, and gives the core away.
pub(super) unsafe fn close<T: Recycle>(core: NonNull<Core<T>>) {
    let away = {
        // SAFETY: `OPEN` is in the count until it is given back below (invariant 15).
        let shared = unsafe { core.as_ref() };
        let at_rest: u64 = shared.shards.iter().map(|shard| shared.end(shard.head.close())).sum();
        if in_destructor::now() {
            in_destructor::run_waiting();
        }
        shared.units.tally().open() - at_rest
    };
    // SAFETY: the open pool's, less one for each unit that is not at rest (invariant 15).
    unsafe { give_back(core, OPEN - away) };
}

impl<T: Recycle> Core<T> {
    /// Drops the objects of the slots that a link leads to, off a closed stack; how many slots.
    fn end(&self, mut link: u32) -> u64 {
        let mut slots = 0;
        while let Some(index) = link.checked_sub(1) {
            let slot = self.slots.known(Index(index));
            link = slot.header.below();
            if slot.word.peek().state() == State::Dead {
                self.drop_object(slot);
            }
            slots += 1;
        }
        slots
    }
}

/// Gives references back; the last one frees the core.
///
/// # Safety
/// * The caller owns so many, and touches the core no more.
pub(super) unsafe fn give_back<T>(core: NonNull<Core<T>>, references: u64) {
    // SAFETY: the references that the caller owns keep the core (invariant 15).
    let count = unsafe { &(*core.as_ptr()).references };
    // AcqRel K2: what was done with the core comes before its end; whoever ends it receives what
    // all others did.
    if count.fetch_sub(references, ord!(AcqRel: K2)) == references {
        // SAFETY: the last reference is gone, and `Pool::new` made it as a box (invariant 15).
        drop(unsafe { Box::from_raw(core.as_ptr()) });
    }
}

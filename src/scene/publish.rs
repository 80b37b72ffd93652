//! What actors let others see during the actor phase: stored apart from the actors, so that readers
//! and the actors that tick do not contend for cache lines.

use std::any::{Any, TypeId};
use std::fmt;

use super::actor::Core;
use super::registry::Entry;
use crate::handle::Handle;
use crate::sync::UnsafeCell;

/// What each Active actor has published, by the index of its slot. Other slots may have old values,
/// which nobody reads.
pub(super) struct Published<C: Core> {
    slots: Vec<Shared<C::Public>>,
}

/// One actor's: written by the worker that it is dealt to, and read when all are done.
struct Shared<P>(UnsafeCell<Option<P>>);

// SAFETY: one worker writes it while nobody reads, and all read while nobody writes: publishing and
// ticking are two steps, one after the other (invariant 16). What is in it is Send and Sync.
unsafe impl<P: Send + Sync> Sync for Shared<P> {}

impl<C: Core> Published<C> {
    pub(super) fn new() -> Published<C> {
        Published { slots: Vec::new() }
    }

    /// Whether there is anything to store, that is, whether the public type is not `()`.
    #[inline]
    fn is_kept() -> bool {
        TypeId::of::<C::Public>() != TypeId::of::<()>()
    }

    /// Makes room for the slots that there are.
    pub(super) fn grow_to(&mut self, slots: usize) {
        if Self::is_kept() && slots > self.slots.len() {
            self.slots.resize_with(slots, || Shared(UnsafeCell::new(None)));
        }
    }

    /// Publishes an actor, unless it was killed.
    ///
    /// # Safety
    /// * The caller was dealt the entry, or has the scene.
    /// * Nobody reads what is published meanwhile.
    #[inline]
    pub(super) unsafe fn publish(&self, entry: &Entry<C>) {
        // SAFETY: the caller was dealt the entry, and nobody writes the actor (invariant 16).
        let Some(actor) = (unsafe { entry.cell.active() }) else { return };
        let public = C::publish(actor);
        if !Self::is_kept() {
            return;
        }
        let Some(slot) = self.slots.get(entry.index as usize) else { return };
        // SAFETY: an actor has one entry, whose worker alone writes what is published of it
        // (invariant 16). What was there is dropped last.
        let old = slot.0.with_mut(|slot| unsafe { (*slot).replace(public) });
        drop(old);
    }

    /// What was published of the slot of a handle, for whoever knows that its entity was published.
    #[inline]
    pub(super) fn get(&self, h: Handle) -> Option<&C::Public> {
        if !Self::is_kept() {
            return (&() as &dyn Any).downcast_ref();
        }
        let slot = self.slots.get(usize::try_from(h.seq()).ok()?)?;
        // SAFETY: whoever asks does so between two steps of publishing (invariant 16).
        slot.0.with(|slot| unsafe { (*slot).as_ref() })
    }

    /// Frees the memory, when everybody is gone.
    pub(super) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// Drops what was published of an actor that is gone.
    #[inline]
    pub(super) fn forget(&mut self, gone: &Entry<C>) {
        if !Self::is_kept() {
            return;
        }
        if let Some(slot) = self.slots.get_mut(gone.index as usize) {
            // SAFETY: the caller has everything that is published to itself (invariant 16).
            let old = slot.0.with_mut(|slot| unsafe { (*slot).take() });
            drop(old);
        }
    }
}

impl<C: Core> fmt::Debug for Published<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published").field("slots", &self.slots.len()).finish()
    }
}

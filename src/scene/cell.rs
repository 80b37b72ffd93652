//! Where an actor is stored: in a slot of the store, accessed by nobody but the scene.

use std::fmt;

use super::actor::{Actor, Core};
use super::components::Components;
use crate::error::SpawnFailure;
use crate::handle::Handle;
use crate::memory::prefetch;
use crate::slot::contained;
use crate::store::{Nursery, Pending, Place, Store};
use crate::sync::UnsafeCell;

/// The payload of the scene's store. Empty once its actor has been destroyed.
pub(super) struct ActorCell<C: Core>(UnsafeCell<Inside<C>>);

struct Inside<C: Core> {
    /// The creation number, 0 until the scene has taken note of it; and [`DYING`].
    birth: u64,
    actor: Option<Actor<C>>,
}

/// Killed: the actor no longer ticks. It is a bit that no creation number reaches, and not a field
/// of its own, so that the cell of a small actor fits in one cache line.
const DYING: u64 = 1 << 63;

impl<C: Core> Inside<C> {
    fn is_dying(&self) -> bool {
        self.birth & DYING != 0
    }
}

// SAFETY: a cell is reached by one thread at a time: who makes it, then the thread that has the
// scene, and in the actor phase the worker that it is dealt to. The store, tickets and pins never
// look inside (invariant 16). What is in it is Send.
unsafe impl<C: Core> Sync for ActorCell<C> {}

/// A reference to a cell. It gives no access by itself: whoever looks inside guarantees exclusive
/// access.
pub(super) struct CellRef<C: Core>(Place<ActorCell<C>>);

impl<C: Core> Clone for CellRef<C> {
    fn clone(&self) -> CellRef<C> {
        *self
    }
}

impl<C: Core> Copy for CellRef<C> {}

impl<C: Core> PartialEq for CellRef<C> {
    fn eq(&self, other: &CellRef<C>) -> bool {
        self.0 == other.0
    }
}

/// An actor that was constructed and is Pending until its created hooks are done. The owner of this
/// value has the guard of the slot, and must [show](Newborn::show) or [cancel](Newborn::cancel) the
/// actor.
pub(super) struct Newborn<C: Core> {
    pub(super) handle: Handle,
    pub(super) cell: CellRef<C>,
}

impl<C: Core> Newborn<C> {
    /// Reserves a slot and constructs an actor there, whose components begin with what `block`
    /// gives. Only the thread that has the scene has a nursery. User code runs here; if it panics,
    /// the reservation is cancelled.
    ///
    /// # Safety
    /// * The nursery is used with no other store.
    #[inline]
    pub(super) unsafe fn make(
        store: &Store<ActorCell<C>>,
        mut nursery: Option<&mut Nursery<ActorCell<C>>>,
        block: impl FnOnce() -> Components<C>,
        position: C::Position,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Newborn<C>, SpawnFailure> {
        let construct = |handle| {
            let actor = Some(Actor::construct(handle, block(), position));
            ActorCell(UnsafeCell::new(Inside { birth: 0, actor }))
        };
        let mut pending = match &mut nursery {
            // SAFETY: the caller's duty (invariant 16).
            Some(nursery) => unsafe { store.spawn_from(nursery, construct) }?,
            None => store.spawn_with(construct)?,
        };
        // In place: an actor is not moved after it was constructed.
        let counting = nursery.as_deref().map(|nursery| store.unfinished(nursery));
        let unfinished = Unfinished(pending.actor_mut());
        if let Some(actor) = unfinished.0 {
            actor.complete(definition, configure);
        }
        std::mem::forget(unfinished);
        std::mem::forget(counting);
        let (handle, place) = pending.lay_aside();
        Ok(Newborn { handle, cell: CellRef(place) })
    }

    /// Publishes the actor: Pending → Active.
    #[inline]
    pub(super) fn show(self) {
        // SAFETY: a newborn has the guard of its slot, and comes with what its maker wrote: in
        // hand, by the queue, or by the inbox (invariant 16).
        unsafe { self.cell.0.show(self.handle.generation()) };
    }

    /// Ends the actor, Pending → Dead, and drops what is left in the cell.
    pub(super) fn cancel(self, store: &Store<ActorCell<C>>) {
        // SAFETY: as in `show` (invariant 16).
        drop(unsafe { Pending::take_up(store, self.handle, self.cell.0) });
    }
}

/// An actor whose `init` or `configure` may panic: then it is dropped before its slot is cancelled.
struct Unfinished<'c, C: Core>(&'c mut Option<Actor<C>>);

impl<C: Core> Drop for Unfinished<'_, C> {
    /// A panic is unwinding, so further ones are contained.
    fn drop(&mut self) {
        let left = self.0.as_mut().map(|actor| std::mem::take(&mut actor.components));
        contained(|| *self.0 = None);
        contained(|| drop(left));
    }
}

impl<C: Core> ActorCell<C> {
    fn actor_mut(&mut self) -> &mut Option<Actor<C>> {
        // SAFETY: whoever borrows the cell to write has it to itself (invariant 16).
        self.0.with_mut(|inside| unsafe { &mut (*inside).actor })
    }
}

impl<C: Core> CellRef<C> {
    pub(super) fn at(place: Place<ActorCell<C>>) -> CellRef<C> {
        CellRef(place)
    }

    /// Where it lies.
    pub(super) fn place(self) -> Place<ActorCell<C>> {
        self.0
    }

    /// # Safety
    /// * The slot of the cell is not Dead as long as the borrow lasts, and its store is there.
    #[inline]
    unsafe fn cell<'a>(self) -> &'a ActorCell<C> {
        // SAFETY: the caller's duty (invariant 16).
        unsafe { self.0.payload() }
    }

    /// The actor, unless it has been destroyed.
    ///
    /// # Safety
    /// * The slot of the cell is not Dead as long as the borrow lasts, and its store is there.
    /// * The caller's thread has the scene, or was dealt the cell, and nobody writes the actor.
    #[inline]
    pub(super) unsafe fn get<'a>(self) -> Option<&'a Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with(|inside| unsafe { (*inside).actor.as_ref() })
    }

    /// As [`get`](CellRef::get), to write it.
    ///
    /// # Safety
    /// * As for [`get`](CellRef::get), and nobody else reads the actor.
    #[inline]
    pub(super) unsafe fn get_mut<'a>(self) -> Option<&'a mut Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with_mut(|inside| unsafe { (*inside).actor.as_mut() })
    }

    /// Where the actor is, unless it has been destroyed.
    ///
    /// # Safety
    /// * As for [`get_mut`](CellRef::get_mut).
    #[inline]
    pub(super) unsafe fn actor_mut<'a>(self) -> &'a mut Option<Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with_mut(|inside| unsafe { &mut (*inside).actor })
    }

    /// As [`get`](CellRef::get), unless the actor was killed.
    ///
    /// # Safety
    /// * As for [`get`](CellRef::get).
    #[inline]
    pub(super) unsafe fn active<'a>(self) -> Option<&'a Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        let inside = cell.0.with(|inside| unsafe { &*inside });
        if inside.is_dying() { None } else { inside.actor.as_ref() }
    }

    /// As [`get_mut`](CellRef::get_mut), unless the actor was killed.
    ///
    /// # Safety
    /// * As for [`get_mut`](CellRef::get_mut).
    #[inline]
    pub(super) unsafe fn active_mut<'a>(self) -> Option<&'a mut Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        let inside = cell.0.with_mut(|inside| unsafe { &mut *inside });
        if inside.is_dying() { None } else { inside.actor.as_mut() }
    }

    /// Records the kill.
    ///
    /// # Safety
    /// * As for [`get_mut`](CellRef::get_mut).
    pub(super) unsafe fn set_dying(self) {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with_mut(|inside| unsafe { (*inside).birth |= DYING });
    }

    /// Prefetches the cell, which will be accessed soon.
    #[inline]
    pub(super) fn prefetch(self) {
        prefetch(self.0.address().as_ptr());
    }

    /// Takes the actor out: the cell is empty from here on.
    ///
    /// # Safety
    /// * As for [`get_mut`](CellRef::get_mut).
    pub(super) unsafe fn take(self) -> Option<Actor<C>> {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with_mut(|inside| unsafe { (*inside).actor.take() })
    }

    /// The creation number.
    ///
    /// # Safety
    /// * As for [`get`](CellRef::get).
    pub(super) unsafe fn birth(self) -> u64 {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with(|inside| unsafe { (*inside).birth & !DYING })
    }

    /// Records the creation number.
    ///
    /// # Safety
    /// * As for [`get_mut`](CellRef::get_mut).
    pub(super) unsafe fn set_birth(self, birth: u64) {
        // SAFETY: the caller's duty (invariant 16).
        let cell = unsafe { self.cell() };
        // SAFETY: as above (invariant 16).
        cell.0.with_mut(|inside| unsafe { (*inside).birth = birth });
    }
}

impl<C: Core> fmt::Debug for CellRef<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CellRef").field(&self.0).finish()
    }
}

//! The registry of a scene: the store of its actors, and a list of those alive in order of
//! creation.

use std::cell::Cell;
use std::fmt;
use std::num::NonZeroU32;

use super::actor::{Actor, Core};
use super::cell::{ActorCell, CellRef, Newborn};
use super::remote::Link;
use super::spares::Spares;
use super::trace;
use crate::error::{LookupError, SpawnFailure, TransitionError};
use crate::handle::Handle;
use crate::id::EntityId;
use crate::state::State;
use crate::store::{Ending, Nursery, Sealing, Store};
use crate::sync::Arc;

/// An actor that is Active or Dying.
pub(super) struct Entry<C: Core> {
    pub(super) cell: CellRef<C>,
    /// The creation number: entries are in its order.
    pub(super) birth: u64,
    pub(super) index: u32,
    generation: NonZeroU32,
}

/// Events that the store has not counted yet.
#[derive(Clone, Copy, Default)]
struct Uncounted {
    activated: u64,
    killed: u64,
}

/// Identity, look-up and sweep.
pub(super) struct Registry<C: Core> {
    pub(super) store: Store<ActorCell<C>>,
    /// Tells whether there are remotes.
    link: Arc<Link<C>>,
    /// Slots for the next actors.
    nursery: Nursery<ActorCell<C>>,
    alive: Vec<Entry<C>>,
    /// Killed actors that were not swept yet, in order of killing.
    doomed: Vec<Entry<C>>,
    /// Creation numbers given out.
    births: u64,
    /// Activations and kills that the store has not counted yet.
    uncounted: Cell<Uncounted>,
    /// Empty blocks of components of destroyed actors.
    pub(super) spares: Spares<C>,
}

impl<C: Core> Registry<C> {
    pub(super) fn new(store: Store<ActorCell<C>>, link: Arc<Link<C>>) -> Registry<C> {
        Registry {
            store,
            link,
            nursery: Nursery::new(),
            alive: Vec::new(),
            doomed: Vec::new(),
            births: 0,
            uncounted: Cell::default(),
            spares: Spares::new(),
        }
    }

    /// The cell of an actor that is Active or Dying and not on its way out.
    pub(super) fn cell(&self, h: Handle) -> Result<CellRef<C>, LookupError> {
        self.cell_with_state(h).map(|(cell, _)| cell)
    }

    fn cell_with_state(&self, h: Handle) -> Result<(CellRef<C>, State), LookupError> {
        // SAFETY: nobody but the thread that has the scene ends an actor of this store, and it does
        // so with the registry to itself; nobody shrinks it (invariant 16).
        let (place, state) = unsafe { self.store.peek(h) }?;
        Ok((CellRef::at(place), state))
    }

    pub(super) fn get(&self, h: Handle) -> Result<&Actor<C>, LookupError> {
        let cell = self.cell(h)?;
        // SAFETY: this thread has the scene, and borrows the registry, through which alone actors
        // are lent to be written (invariant 16).
        unsafe { cell.get() }.ok_or(LookupError::NotFound { handle: h })
    }

    pub(super) fn get_mut(&mut self, h: Handle) -> Result<&mut Actor<C>, LookupError> {
        let cell = self.cell(h)?;
        // SAFETY: this thread has the scene, and the registry to itself (invariant 16).
        unsafe { cell.get_mut() }.ok_or(LookupError::NotFound { handle: h })
    }

    /// Every actor that is Active or Dying, in order of creation.
    pub(super) fn entries(&self) -> &[Entry<C>] {
        &self.alive
    }

    pub(super) fn actors(&self) -> impl Iterator<Item = &Actor<C>> {
        // SAFETY: as in `get` (invariant 16).
        self.alive.iter().filter_map(|entry| unsafe { entry.cell.get() })
    }

    pub(super) fn actors_mut(&mut self) -> impl Iterator<Item = &mut Actor<C>> {
        // SAFETY: as in `get_mut`; every actor has one entry (invariant 16).
        self.alive.iter_mut().filter_map(|entry| unsafe { entry.cell.get_mut() })
    }

    /// Makes an actor, which stays Pending until it is [activated](Registry::activate).
    #[inline]
    pub(super) fn make(
        &mut self,
        position: C::Position,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Newborn<C>, SpawnFailure> {
        let Registry { store, nursery, spares, .. } = self;
        let (nursery, block) = (Some(nursery), || spares.take());
        // SAFETY: the nursery is the registry's, as the store is (invariant 16).
        let newborn =
            unsafe { Newborn::make(store, nursery, block, position, definition, configure) }?;
        // SAFETY: the actor is Pending, and this thread has made it (invariant 16).
        if let Some(actor) = unsafe { newborn.cell.get_mut() }
            && actor.components.is_spare()
        {
            // It has no components.
            spares.keep(std::mem::take(&mut actor.components));
        }
        Ok(newborn)
    }

    /// Gives an actor that is Pending its creation number.
    #[inline]
    pub(super) fn number(&mut self, newborn: &Newborn<C>) -> u64 {
        self.births += 1;
        // SAFETY: the actor is Pending and was handed to this thread, which has the scene
        // (invariant 16).
        unsafe { newborn.cell.set_birth(self.births) };
        self.births
    }

    /// Pending → Active: from here on it is found.
    #[inline]
    pub(super) fn activate(&mut self, newborn: Newborn<C>, birth: u64) {
        self.alive.push(Entry::of(newborn.handle, newborn.cell, birth));
        newborn.show();
        self.uncounted.get_mut().activated += 1;
    }

    /// Active → Dying: the actor no longer ticks, and waits for the sweep. The caller must call its
    /// pending-destroy hooks.
    #[inline(always)]
    pub(super) fn kill(&mut self, h: Handle) -> Result<CellRef<C>, TransitionError> {
        // SAFETY: as in `cell_with_state`. Without a remote nobody else can take a ticket, or do
        // anything else to an actor without one (invariant 16).
        let cell = CellRef::at(unsafe { self.store.kill_unpinned(h, self.is_alone()) }?);
        self.uncounted.get_mut().killed += 1;
        trace::killed(h);
        // SAFETY: this thread has the scene, and the registry to itself (invariant 16).
        unsafe { cell.set_dying() };
        // SAFETY: as above (invariant 16).
        let birth = unsafe { cell.birth() };
        self.doomed.push(Entry::of(h, cell, birth));
        Ok(cell)
    }

    /// Lets the store count what it has not counted yet. Called before actors end, so that
    /// beginnings are counted before ends.
    pub(super) fn count(&self) {
        self.store.count_spawned(&self.nursery);
        let Uncounted { activated, killed } = self.uncounted.take();
        if activated > 0 || killed > 0 {
            self.store.count(activated, killed);
        }
    }

    /// Takes out every actor that was killed, in order of killing, by exchange for an empty list.
    /// The caller owes each of them [`seal`](Registry::seal).
    pub(super) fn take_doomed(&mut self, taken: &mut Vec<Entry<C>>) {
        std::mem::swap(&mut self.doomed, taken);
    }

    /// Whether no other thread can do anything to an actor.
    pub(super) fn is_alone(&self) -> bool {
        self.link.is_alone()
    }

    /// Seals a killed actor, and returns whether that succeeded: then the caller must end it, and
    /// then [`bury`](Registry::bury) it. An actor with a ticket waits for the next sweep.
    #[inline]
    pub(super) fn seal(&mut self, doomed: &Entry<C>, is_alone: bool) -> bool {
        // SAFETY: nobody else ends an actor, so the slot of one that was killed is in use until it
        // is buried; alone as in `kill` (invariant 16).
        let sealing = unsafe { doomed.cell.place().seal(doomed.generation, is_alone) };
        if matches!(sealing, Sealing::Held) {
            self.doomed.push(*doomed);
        }
        // It is never refused otherwise, since nobody else ends an actor.
        matches!(sealing, Sealing::Sealed)
    }

    /// Ends what was [sealed](Registry::seal), once its actor is taken out and everybody who was
    /// shown is [counted](Registry::count).
    #[inline]
    pub(super) fn bury(&mut self, ending: &mut Ending<'_, ActorCell<C>>, doomed: &Entry<C>) {
        let &Entry { cell, index, generation, .. } = doomed;
        // SAFETY: the caller has sealed it, and buries it once; the nursery is the registry's, as
        // the store is. Remotes and tickets touch words alone, and change none that is sealed
        // (invariant 16).
        unsafe { ending.finish_empty(&mut self.nursery, cell.place(), index, generation) };
    }

    /// Gives up some of the blocks and slots that have been idle since the last sweep.
    pub(super) fn trim(&mut self) {
        self.spares.trim();
        self.store.trim(&mut self.nursery);
    }

    /// Removes the actors that a sweep has ended, which may be in any order, from the list of the
    /// living.
    pub(super) fn close_gaps(&mut self, gone: &mut [Entry<C>]) {
        gone.sort_unstable_by_key(|entry| entry.birth);
        let mut gone = gone.iter().map(|entry| entry.birth).peekable();
        let Some(&first) = gone.peek() else { return };
        let begin = self.alive.partition_point(|entry| entry.birth < first);
        let mut to = begin;
        for from in begin..self.alive.len() {
            if gone.peek() == Some(&self.alive[from].birth) {
                gone.next();
            } else {
                self.alive.swap(to, from);
                to += 1;
            }
        }
        self.alive.truncate(to);
    }

    /// Kills every Active actor, for the shutdown, and returns all that exist, in order of
    /// creation.
    pub(super) fn doom_all(&mut self) -> Vec<Entry<C>> {
        self.doomed.clear();
        let all = std::mem::take(&mut self.alive);
        for entry in &all {
            // Dying already, if it was killed.
            let _ = self.store.kill(self.handle(entry));
        }
        all
    }

    /// The handle of an actor.
    #[inline]
    pub(super) fn handle(&self, entry: &Entry<C>) -> Handle {
        let bits = u64::from(self.store.scene().0) << EntityId::SEQ_BITS | u64::from(entry.index);
        Handle::new(EntityId::from_bits(bits), entry.generation)
    }
}

impl<C: Core> Entry<C> {
    #[inline]
    fn of(h: Handle, cell: CellRef<C>, birth: u64) -> Entry<C> {
        Entry { cell, birth, index: h.seq() as u32, generation: h.generation() }
    }
}

impl<C: Core> Clone for Entry<C> {
    fn clone(&self) -> Entry<C> {
        *self
    }
}

impl<C: Core> Copy for Entry<C> {}

impl<C: Core> fmt::Debug for Registry<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("store", &self.store)
            .field("alive", &self.alive.len())
            .field("doomed", &self.doomed.len())
            .finish()
    }
}

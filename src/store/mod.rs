//! The store and the references to it.

#[macro_use]
mod operations;

mod ahead;
mod batch;
mod builder;
mod burial;
mod core;
mod drain;
mod ending;
mod evict;
mod growth;
mod hold;
mod iter;
mod lifecycle;
mod marks;
mod mask;
mod nursery;
mod pending;
mod permits;
mod pinned;
mod place;
mod refill;
mod reuse;
mod scenes;
mod settling;
mod shrink;
mod stash;
mod stats;
mod supply;
mod tide;
mod weak;
mod windows;

use std::fmt;
use std::ptr::NonNull;

pub use builder::StoreBuilder;
pub(crate) use ending::Ending;
pub use hold::Hold;
pub use lifecycle::Reaped;
pub(crate) use nursery::Nursery;
pub use pending::Pending;
pub use pinned::Pinned;
pub(crate) use place::Place;
pub(crate) use settling::Sealing;
pub use weak::WeakStore;
#[cfg(all(loom, test))]
pub(crate) use {
    growth::Growth, permits::Ceiling, permits::Permits, reuse::Reuse,
    scenes::forget_all as forget_scenes, stash::Stash,
};

use self::core::Core;
use crate::error::{BatchError, HoldError, LookupError, SpawnError, SpawnFailure, TransitionError};
use crate::handle::Handle;
use crate::id::SceneId;
use crate::limits::Limits;
use crate::reason::EndReason;
use crate::reclaim::{Registration, Session};
use crate::slot::in_destructor;
use crate::state::State;
use crate::stats::Stats;
use crate::sync::Arc;

/// A concurrent store of entities with a life cycle.
///
/// A `Store` is a counted reference: a clone refers to the same store. Every method may be called
/// from any thread at any time, also from destructors and callbacks, and no operation on an entity
/// takes a lock. Dropping the last `Store` closes the store: when that drop returns, everything
/// that no [`Hold`] keeps has been dropped.
///
/// Each method of `Store` protects what it looks at by itself, with an epoch pin or something
/// cheaper. A thread that performs many operations in a row should pin once, with
/// [`pin`](Store::pin), and call the same methods on [`Pinned`].
///
/// # Examples
///
/// ```
/// use hatchery::{LookupError, State, Store};
///
/// let store = Store::new();
///
/// // Reserved: registered everywhere before anybody sees it.
/// let mut orc = store.spawn(String::from("orc"))?;
/// orc.push_str(" warrior");
/// let orc = orc.activate();
/// assert_eq!(store.pin().get(orc)?, "orc warrior");
///
/// // Killed: still readable while it is settled, gone when it is reaped.
/// store.kill(orc)?;
/// assert_eq!(store.state(orc)?, State::Dying);
/// store.reap(orc)?;
/// assert_eq!(store.pin().get(orc), Err(LookupError::NotFound { handle: orc }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Store<T> {
    /// From `Arc::into_raw`: the open `Store`s own one reference together, counted by the gate.
    core: NonNull<Core<T>>,
}

// SAFETY: a store hands out `&T` on every thread and drops `T` on any, which `T: Send + Sync`
// allows; everything else in it is shared by atomics (invariant 13).
unsafe impl<T: Send + Sync> Send for Store<T> {}
// SAFETY: as above (invariant 13).
unsafe impl<T: Send + Sync> Sync for Store<T> {}

impl<T> Store<T> {
    #[inline]
    fn core(&self) -> &Core<T> {
        // SAFETY: the open stores own a reference together, and this is one of them (invariant 6).
        unsafe { self.core.as_ref() }
    }

    /// A store from the reference that all `Store`s share.
    fn from_shared(core: Arc<Core<T>>) -> Store<T> {
        let core = Arc::into_raw(core).cast_mut();
        // SAFETY: `Arc::into_raw` is never null (invariant 6).
        Store { core: unsafe { NonNull::new_unchecked(core) } }
    }

    /// One more counted reference, for a Hold.
    fn share(&self) -> Arc<Core<T>> {
        // SAFETY: the pointer is from `Arc::into_raw`, and the stores' reference is alive
        // (invariant 6).
        unsafe { Arc::increment_strong_count(self.core.as_ptr()) };
        // SAFETY: as above, and the count was raised for this one (invariant 6).
        unsafe { Arc::from_raw(self.core.as_ptr()) }
    }

    #[inline]
    fn session(&self) -> Session {
        let registration = Registration::of(&self.core().domain);
        if registration.owes() { self.session_aside(registration) } else { registration.own() }
    }

    /// [`session`](Store::session) on a thread that owes the others a look around.
    #[cold]
    fn session_aside(&self, registration: Registration) -> Session {
        let mut session = registration.own();
        self.core().look_around(&mut session);
        session
    }

    /// A session for a spawn: it pins only where the magazine is empty.
    #[inline]
    fn light_session(&self) -> Session {
        Session::unpinned(&self.core().domain)
    }

    /// A session for a call that changes one entity, without a pin where that will do.
    #[inline]
    fn changing_session(&self) -> Session {
        let core = self.core();
        if core.may_look_unpinned()
            && let Some(session) = Session::looking(&core.domain, &core.attic)
        {
            return session;
        }
        self.session()
    }
}

impl<T: Send + Sync + 'static> Store<T> {
    /// Creates a store without limits, under the scene id that has been unused for longest.
    ///
    /// Ids that were never used are taken first, from 65 535 downwards, to keep clear of the small
    /// ones that programs choose. An empty store is cheap: slots are allocated on first use.
    ///
    /// # Panics
    /// If each of the 65 536 scene ids is live or spent. A [`builder`](Store::builder) returns an
    /// error instead.
    #[must_use]
    pub fn new() -> Store<T> {
        match Store::builder().build() {
            Ok(store) => store,
            Err(refused) => panic!("a store without settings was refused: {refused}"),
        }
    }

    /// Returns a builder, for a store with limits or other settings.
    pub fn builder() -> StoreBuilder<T> {
        StoreBuilder::new()
    }

    /// Pins the calling thread on the store, to read payloads and perform many operations cheaply.
    ///
    /// No payload that could be seen when the pin began is dropped before the pin ends or is moved.
    /// So keep a pin short, or [`repin`](Pinned::repin) every few hundred operations.
    ///
    /// # Complexity
    /// One full fence, no allocation. A thread's first pin on a store registers the thread, which
    /// allocates less than 8 KiB.
    #[inline]
    pub fn pin(&self) -> Pinned<'_, T> {
        Pinned::new(self)
    }

    /// Reserves a slot and puts `value` into it: a Pending entity, which only the guard can reach.
    ///
    /// Nobody sees the entity before the guard activates it; a look-up of its handle answers
    /// [`LookupError::Pending`]. Dropping the guard cancels the entity.
    ///
    /// # Errors
    /// The error gives the payload back. [`SpawnFailure::Exhausted`]: at some moment of the call
    /// every unit of the capacity belonged to an alive entity or to another call in progress.
    /// [`SpawnFailure::Reclaiming`]: the slots that could be used still wait for readers.
    /// [`SpawnFailure::OutOfMemory`]: the system refused memory.
    ///
    /// # Complexity
    /// Constant and lock-free; allocates only when the store grows by a segment. At most one
    /// destructor of an earlier payload runs in the call.
    pub fn spawn(&self, value: T) -> Result<Pending<'_, T>, SpawnError<T>> {
        let session = self.light_session();
        let reserved = self.core().spawn(&session, value)?;
        Ok(Pending::new(self, reserved))
    }

    /// Reserves a slot and then calls `make` for its payload, for payloads that carry their handle.
    ///
    /// `make` may call the store. If it panics, the reservation is cancelled; the panic propagates.
    ///
    /// # Errors
    /// As for [`spawn`](Store::spawn); `make` is not called then.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::{Handle, Store};
    ///
    /// let store = Store::<Handle>::new();
    /// let entity = store.spawn_with(|handle| handle)?.activate();
    /// assert_eq!(*store.pin().get(entity)?, entity);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn spawn_with(
        &self,
        make: impl FnOnce(Handle) -> T,
    ) -> Result<Pending<'_, T>, SpawnFailure> {
        let session = self.light_session();
        let reserved = self.core().spawn_empty(&session)?;
        drop(session);
        Ok(Pending::made(self, reserved, make))
    }

    shared_operations!(self, self, {
        session: &self.session(),
        changing: &self.changing_session(),
        spawning: self.light_session(),
    });

    /// Returns a reference that does not keep the store open, for payloads that refer to it.
    ///
    /// A payload that owns a `Store` which refers to its own store keeps that store open for ever.
    #[must_use]
    pub fn downgrade(&self) -> WeakStore<T> {
        WeakStore::new(&self.core().domain.gate, self.core)
    }

    /// Returns the scene id that every handle of this store carries.
    #[must_use]
    pub fn scene(&self) -> SceneId {
        self.core().scene
    }

    /// Returns how many entities are alive: Pending, Active and Dying.
    ///
    /// Exact when no operation is in progress, and otherwise off by at most the operations that
    /// overlap the call.
    ///
    /// # Complexity
    /// A few loads for each of the sessions that were ever open at the same time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.core().len()
    }

    /// Returns whether nothing is alive, as precisely as [`len`](Store::len) does.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns how many slots were allocated and not given back, free ones included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.core().growth.slots() as usize
    }

    /// Returns the limits that the store was built with.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.core().limits
    }

    /// Returns a snapshot of the statistics.
    ///
    /// # Complexity
    /// A few loads for each of the sessions that were ever open at the same time, and a lock that
    /// only `stats` and [`reset_stats`](Store::reset_stats) take.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }

    /// Begins a new window of statistics: its counters go to zero, and the peak to what is alive.
    pub fn reset_stats(&self) {
        self.core().reset_stats();
    }

    /// Frees the Dead slots that no reader and no other session holds, drops their payloads, and
    /// returns how many slots that were.
    ///
    /// With no pin and no other session open anywhere, no Dead slot remains. A pin that is held
    /// meanwhile, the caller's own included, may keep what died after it and shortly before it.
    /// Inside a payload's destructor the call does nothing, since destructors do not nest.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store = Store::new();
    /// let orc = store.spawn_active("orc")?;
    /// store.despawn(orc)?;
    /// assert_eq!(store.stats().dead, 1);
    /// assert_eq!(store.reclaim(), 1);
    /// assert_eq!(store.stats().dead, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reclaim(&self) -> usize {
        self.reclaim_up_to(usize::MAX)
    }

    /// Frees Dead slots as [`reclaim`](Store::reclaim) does, but drops at most `budget` payloads.
    pub fn reclaim_up_to(&self, budget: usize) -> usize {
        self.core().reclaim(&self.session(), budget)
    }

    /// Gives memory that is not needed back to the system, and returns how many bytes that were.
    ///
    /// It first [reclaims](Store::reclaim), and then frees each segment of slots that is wholly
    /// free: a slot that is in use, held, in another session's hands or retired keeps its segment.
    /// A segment that somebody may be looking at under a pin is freed when that pin ends or is
    /// moved. In a store without capacity and backlog, a call that is preempted for long in the
    /// middle of changing an entity keeps all segments from this `shrink`; a later one gives them
    /// back. Old handles stay dead for ever, because the generations of the slots are kept: at one
    /// byte a slot where they differ a little, and at none where they are equal. When the store
    /// grows again, it first restores what was given back, low slots before high ones.
    ///
    /// One call works at a time: beside another one, and inside a payload's destructor, it does
    /// nothing and returns 0. While it works, a spawn into a full store with limits may be refused,
    /// and others make new slots, whose generations are kept too: it is not for every frame.
    ///
    /// # Complexity
    /// That of [`reclaim`](Store::reclaim), and one pass over the slots of each segment up to the
    /// first that is in use.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store = Store::new();
    /// let boss = store.spawn_active([0; 64])?;
    /// let wave = store.spawn_batch((0..10_000).map(|_| [1; 64]))?;
    /// let most = store.stats().bytes;
    /// store.despawn_batch(&wave);
    ///
    /// let given_back = store.shrink();
    /// assert!(given_back > most / 2 && store.stats().bytes < most / 2);
    /// assert!(store.slots() < 1000);
    ///
    /// store.spawn_batch((0..10_000).map(|_| [2; 64]))?;
    /// assert!(wave.iter().all(|&old| store.state(old).is_err()));
    /// assert!(store.state(boss).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shrink(&self) -> usize {
        self.core().shrink(&self.session())
    }

    /// Despawns everything that is alive now, reclaims, and returns how many entities it ended.
    ///
    /// What is spawned meanwhile may survive. An entity with a [`Hold`] ends with its last `Hold`,
    /// and counts; one with a [`Pending`] guard stays Pending, and does not. Old handles stay dead.
    ///
    /// # Complexity
    /// Looks at every slot.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store = Store::new();
    /// let orcs = store.spawn_batch(["grunt", "peon", "shaman"])?;
    /// assert_eq!(store.clear(), 3);
    /// assert!(orcs.iter().all(|&orc| store.state(orc).is_err()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) -> usize {
        let (core, session) = (self.core(), self.session());
        let mut ended = 0;
        for handle in (0..core.made()).filter_map(|index| core.alive_at(index)) {
            ended += usize::from(core.despawn(&session, handle, EndReason::Cleared).is_ok());
        }
        core.reclaim(&session, usize::MAX);
        ended
    }
}

impl<T: Send + Sync + 'static> Default for Store<T> {
    fn default() -> Store<T> {
        Store::new()
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Store<T> {
        self.core().domain.gate.enter_again();
        Store { core: self.core }
    }
}

impl<T> Drop for Store<T> {
    fn drop(&mut self) {
        if !self.core().domain.gate.leave() {
            return;
        }
        pause_point!("closed, payloads still there");
        self.core().close();
        if in_destructor::now() {
            in_destructor::run_waiting();
        }
        // SAFETY: this was the last of the stores, and so gives back the reference that they own
        // together; Holds own theirs (invariant 6).
        drop(unsafe { Arc::from_raw(self.core.as_ptr()) });
    }
}

impl<T> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let core = self.core();
        f.debug_struct("Store").field("scene", &core.scene).field("len", &core.len()).finish()
    }
}

//! The store and the references to it.

#[macro_use]
mod operations;

mod batch;
mod builder;
mod burial;
mod core;
mod ending;
mod evict;
mod growth;
mod hold;
mod iter;
mod lifecycle;
mod marks;
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
/// A `Store` is a reference: a clone is one more to the same store. Every method may be called
/// from any thread at any time, from destructors and callbacks as well; none takes a lock on the
/// way of an entity. The drop of the last `Store` closes it: everything that no [`Hold`] keeps has
/// been dropped when that drop returns.
///
/// Methods on `Store` protect for themselves what they look at, by a pin of the epoch or by less. A thread
/// that does many things at once pins once, with [`pin`](Store::pin), and uses the same methods on
/// [`Pinned`].
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

    /// A reference of one's own, for a Hold.
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
    /// Makes a store without limits, under the longest-unused scene id.
    ///
    /// Ids that were never used come first, from 65 535 down, clear of the small ones that
    /// programs choose. An empty store costs next to nothing: memory is made at first use.
    ///
    /// # Panics
    /// When all 65 536 scene ids are live. [`builder`](Store::builder) answers an error instead.
    #[must_use]
    pub fn new() -> Store<T> {
        match Store::builder().build() {
            Ok(store) => store,
            Err(refused) => panic!("a store without settings was refused: {refused}"),
        }
    }

    /// Begins a store with settings.
    pub fn builder() -> StoreBuilder<T> {
        StoreBuilder::new()
    }

    /// Pins this thread on the store, to read and to do many operations cheaply.
    ///
    /// Nothing that anybody could see when the pin began is dropped before it ends or moves on.
    /// So a pin should be short, or [`repin`](Pinned::repin) every few hundred operations.
    ///
    /// # Complexity
    /// One full fence, no allocation; a thread's first pin on a store registers it (less than 8 KiB).
    #[inline]
    pub fn pin(&self) -> Pinned<'_, T> {
        Pinned::new(self)
    }

    /// Reserves a slot and puts `value` into it: Pending, and the guard's alone.
    ///
    /// Nobody sees the entity before the guard activates it; whoever asks for its handle is told
    /// [`LookupError::Pending`]. Dropping the guard cancels it.
    ///
    /// # Errors
    /// The payload comes back: [`SpawnFailure::Exhausted`] when the capacity was alive at some
    /// moment of the call, [`SpawnFailure::Reclaiming`] when readers keep the slots that would
    /// serve, [`SpawnFailure::OutOfMemory`] when the system refused memory.
    ///
    /// # Complexity
    /// Constant and lock-free; no allocation but for a segment when the store grows. At most one
    /// destructor of an earlier payload runs here.
    pub fn spawn(&self, value: T) -> Result<Pending<'_, T>, SpawnError<T>> {
        let session = self.light_session();
        let reserved = self.core().spawn(&session, value)?;
        Ok(Pending::new(self, reserved))
    }

    /// Reserves a slot and makes its payload there, for payloads that carry their handle.
    ///
    /// `make` may call the store. If it panics, the reservation is cancelled and the panic goes
    /// on.
    ///
    /// # Errors
    /// As for [`spawn`](Store::spawn); `make` is not called then.
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

    /// A reference that does not keep the store open, for payloads that want to know their store.
    ///
    /// A payload that owns a `Store` of its own store keeps it open for ever.
    #[must_use]
    pub fn downgrade(&self) -> WeakStore<T> {
        WeakStore::new(&self.core().domain.gate, self.core)
    }

    /// The scene that every handle of this store carries.
    #[must_use]
    pub fn scene(&self) -> SceneId {
        self.core().scene
    }

    /// How many entities are alive: Pending, Active and Dying.
    ///
    /// Exact when nothing is under way, else off by no more than the operations that overlap.
    ///
    /// # Complexity
    /// A few loads for each session that was ever open at the same time.
    #[must_use]
    pub fn len(&self) -> usize {
        self.core().len()
    }

    /// Whether nothing is alive, as [`len`](Store::len) tells it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many slots were made and not given back, free ones included.
    #[must_use]
    pub fn slots(&self) -> usize {
        self.core().growth.slots() as usize
    }

    /// The limits that the store was built with.
    #[must_use]
    pub fn limits(&self) -> Limits {
        self.core().limits
    }

    /// A snapshot of the statistics.
    ///
    /// # Complexity
    /// A few loads for each session that was ever open at the same time, and a lock that only
    /// `stats` and [`reset_stats`](Store::reset_stats) take.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.core().stats()
    }

    /// Begins a new window of statistics: the window counters are zero, the peak is what is alive.
    pub fn reset_stats(&self) {
        self.core().reset_stats();
    }

    /// Brings every Dead slot back that is not in another session's magazine, until a pin stops
    /// it; how many came back.
    ///
    /// Drops their payloads. With no pin held anywhere, no Dead slot remains. A pin held
    /// meanwhile, the caller's own included, may keep what died after it and shortly before it.
    /// Called inside a payload's destructor it does nothing, since destructors do not nest.
    pub fn reclaim(&self) -> usize {
        self.reclaim_up_to(usize::MAX)
    }

    /// Like [`reclaim`](Store::reclaim), with at most `budget` payloads dropped.
    pub fn reclaim_up_to(&self, budget: usize) -> usize {
        self.core().reclaim(&self.session(), budget)
    }

    /// Gives the memory that nothing needs back to the system; how many bytes.
    ///
    /// It [reclaims](Store::reclaim) first. Then segments of slots go that are wholly free: a slot that
    /// is in use, held, in another session's hands or taken out of use keeps its segment. What somebody
    /// may be looking at under a pin goes when that pin ends or moves on. A call on a `Store` without
    /// capacity and backlog that is in the middle of a change, and stays there because its thread is
    /// off the processor for long, keeps all of them; a later `shrink` gives them back. Old handles
    /// stay dead for ever, because the generations of the slots are kept, one byte a slot where they
    /// differ a little and none where they are equal. When the store grows again, what was given back
    /// is made again before anything else, low slots before high ones.
    ///
    /// One call works at a time: beside another one, and inside a payload's destructor, it does
    /// nothing and answers 0. Free slots that it has looked at and cannot give back serve again when it
    /// returns; a spawn into a full store with limits may meanwhile be told so.
    ///
    /// # Complexity
    /// That of [`reclaim`](Store::reclaim), and a look at the slots of each segment as far as the
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

    /// Despawns everything that is alive now, and reclaims; how many entities it ended.
    ///
    /// What is spawned meanwhile may survive. What a [`Hold`] keeps ends with its last `Hold` and
    /// counts; what a [`Pending`] guard keeps stays Pending and does not. Old handles stay dead.
    ///
    /// # Complexity
    /// Looks at every slot.
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

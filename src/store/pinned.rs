//! A thread's session on a store: readers, and the operations without a pin of their own.

use std::fmt;

use super::core::Core;
use super::{Hold, Pending, Reaped, Store};
use crate::error::{BatchError, HoldError, LookupError, SpawnError, SpawnFailure, TransitionError};
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::reclaim::{Registration, Session};
use crate::recycle::Recycle;
use crate::state::{State, StateSet};

/// A pin of this thread on a store: what it borrows stays readable until it ends or moves on.
///
/// A look-up is one load with Acquire and a comparison; readers write nothing that is shared.
/// Neither Send nor Sync: with rayon, `for_each_init(|| store.pin(), ..)`.
///
/// Nothing that died after the pin is reused before it ends or [`repin`](Pinned::repin)s, the
/// session's own dead included. So a loop repins every few hundred operations.
///
/// # Examples
///
/// ```
/// use hatchery::Store;
///
/// let store = Store::new();
/// let mut pinned = store.pin();
/// for round in 0..1000 {
///     let arrow = pinned.spawn_active(round)?;
///     assert_eq!(*pinned.get(arrow)?, round);
///     pinned.despawn(arrow)?;
///     if round % 256 == 0 {
///         pinned.repin();
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Pinned<'s, T> {
    store: &'s Store<T>,
    /// The store's, one load nearer.
    core: &'s Core<T>,
    session: Session,
}

impl<'s, T: Send + Sync + 'static> Pinned<'s, T> {
    #[inline]
    pub(super) fn new(store: &'s Store<T>) -> Pinned<'s, T> {
        let core = store.core();
        let registration = Registration::of(&core.domain);
        if registration.owes() {
            return Pinned::new_aside(store, registration);
        }
        Pinned { store, core, session: registration.lending() }
    }

    /// [`new`](Pinned::new) on a thread that owes the others a look around.
    #[cold]
    fn new_aside(store: &'s Store<T>, registration: Registration) -> Pinned<'s, T> {
        let core = store.core();
        let mut session = registration.lending();
        core.look_around(&mut session);
        Pinned { store, core, session }
    }

    /// Returns the payload of an Active or Dying entity.
    ///
    /// The payload stays readable while the borrow lasts, whatever becomes of the entity meanwhile.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is no payload to read; never another entity's payload.
    ///
    /// # Complexity
    /// One load with Acquire of the slot's word, after that of the pointer to its segment. Nothing
    /// is written.
    #[inline]
    pub fn get(&self, h: Handle) -> Result<&T, LookupError> {
        self.get_with_state(h).map(|(payload, _)| payload)
    }

    /// Returns the payload of an Active entity.
    ///
    /// The entity may be killed while the payload is borrowed.
    ///
    /// # Errors
    /// As for [`get`](Pinned::get), and [`LookupError::Dying`].
    #[inline]
    pub fn get_active(&self, h: Handle) -> Result<&T, LookupError> {
        match self.get_with_state(h)? {
            (payload, State::Active) => Ok(payload),
            _ => Err(LookupError::Dying { handle: h }),
        }
    }

    /// Returns the payload of an Active or Dying entity, and which of the two it was.
    ///
    /// # Errors
    /// As for [`get`](Pinned::get).
    #[inline]
    pub fn get_with_state(&self, h: Handle) -> Result<(&T, State), LookupError> {
        let slot = self.core.find(h)?;
        let word = slot.word.read();
        if !word.readable_by(h) {
            return Err(Core::<T>::missing(h, word));
        }
        // SAFETY: an Acquire load saw the entity readable, under this pin, which lasts as long as
        // the borrow (invariant 2, 4).
        Ok((unsafe { slot.payload.get() }, word.state()))
    }

    /// Returns whether [`get`](Pinned::get) finds a payload.
    #[inline]
    #[must_use]
    pub fn contains(&self, h: Handle) -> bool {
        self.get(h).is_ok()
    }

    /// Returns how many [`Hold`]s an Active or Dying entity has.
    ///
    /// The number may have changed by the time the call returns.
    ///
    /// # Errors
    /// As for [`get`](Pinned::get).
    pub fn holds(&self, h: Handle) -> Result<u32, LookupError> {
        // As in `Core::alive`: the caller is told that the entity is there.
        let word = self.core.find(h)?.word.read();
        if word.readable_by(h) {
            return Ok(word.holds());
        }
        Err(Core::<T>::missing(h, word))
    }

    /// Returns the store that is pinned.
    #[must_use]
    pub fn store(&self) -> &'s Store<T> {
        self.store
    }

    /// Moves the pin to the present, so that what died before may be reclaimed.
    ///
    /// While this thread has another `Pinned` of the same store, the pin stays where it is.
    ///
    /// # Complexity
    /// A few loads and stores. A thread that has ended entities also hands their slots on to the
    /// collector; and if more than 16 384 Dead slots wait for readers, and more than entities are
    /// alive, it sleeps, for some milliseconds at most, so that those readers can move on.
    #[inline]
    pub fn repin(&mut self) {
        let core = self.core;
        if core.starving.get() > 0 {
            core.hand_over_all(&self.session);
        }
        core.look_around(&mut self.session);
        self.session.repin();
    }

    /// Returns an iterator over every Active entity, in the order of slots.
    ///
    /// An entity that is Active for the whole scan is yielded exactly once, and no handle twice;
    /// one that becomes Active or ceases to be so meanwhile may be yielded or not. The body of the
    /// loop may spawn, kill, reap and iterate on the same store.
    ///
    /// # Complexity
    /// Looks at a byte for every slot that was ever used, and at the slots that may be in use;
    /// where most are, at all of them. Adaptors that are built on `fold`, such as `for_each` and
    /// `sum`, are somewhat faster than a loop.
    pub fn iter(&self) -> impl Iterator<Item = (Handle, &T)> {
        let active = StateSet::of(&[State::Active]);
        self.core.scan(active).map(|(handle, _, payload)| (handle, payload))
    }

    /// Returns an iterator over every entity in one of `states`, with the state that it was seen
    /// in.
    ///
    /// See [`iter`](Pinned::iter). Only Active and Dying entities can be read: the other states
    /// yield nothing.
    pub fn iter_in(&self, states: StateSet) -> impl Iterator<Item = (Handle, State, &T)> {
        self.core.scan(states)
    }

    /// Returns [`iter`](Pinned::iter) as a parallel iterator, for rayon's threads.
    ///
    /// See [`par_iter_in`](Pinned::par_iter_in).
    #[cfg(feature = "rayon")]
    pub fn par_iter(&self) -> impl rayon::iter::ParallelIterator<Item = (Handle, &T)> {
        use rayon::iter::ParallelIterator as _;

        let active = StateSet::of(&[State::Active]);
        self.par_iter_in(active).map(|(handle, _, payload)| (handle, payload))
    }

    /// Returns [`iter_in`](Pinned::iter_in) as a parallel iterator, for rayon's threads.
    ///
    /// This pin protects every read, on whatever thread, until the borrow ends. A job that pins and
    /// repins on this thread while it waits does not move it: a nested repin does nothing.
    #[cfg(feature = "rayon")]
    pub fn par_iter_in(
        &self,
        states: StateSet,
    ) -> impl rayon::iter::ParallelIterator<Item = (Handle, State, &T)> {
        self.core.par_scan(states)
    }

    /// Reserves a slot and puts `value` into it, under this pin. See [`Store::spawn`].
    ///
    /// The guard may outlive this pin.
    ///
    /// # Errors
    /// As for [`Store::spawn`]. [`SpawnFailure::Reclaiming`] may be due to this very pin: slots
    /// whose entities died after it began can be reused only after it repins.
    #[inline(always)]
    pub fn spawn(&self, value: T) -> Result<Pending<'s, T>, SpawnError<T>> {
        let reserved = self.core.spawn(&self.session, value)?;
        Ok(Pending::new(self.store, reserved))
    }

    /// Reserves a slot and then calls `make` for its payload, under this pin. See
    /// [`Store::spawn_with`].
    ///
    /// # Errors
    /// As for [`spawn`](Pinned::spawn); `make` is not called then.
    ///
    /// # Panics
    /// If `make` does, as [`Store::spawn_with`].
    pub fn spawn_with(
        &self,
        make: impl FnOnce(Handle) -> T,
    ) -> Result<Pending<'s, T>, SpawnFailure> {
        let reserved = self.core.spawn_empty(&self.session)?;
        Ok(Pending::made(self.store, reserved, make))
    }

    /// Reserves a slot with a cleared payload or a new one, and runs `init` on it, under this pin.
    /// See [`Store::spawn_recycled`].
    ///
    /// Payloads that died after the pin serve only after it repins. The guard may outlive this pin.
    ///
    /// # Errors
    /// As for [`spawn`](Pinned::spawn); `init` is not called then.
    ///
    /// # Panics
    /// As for [`Store::spawn_recycled`].
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store: Store<String> = Store::builder().retain(10).build()?;
    /// let pinned = store.pin();
    /// let orc = pinned.spawn_recycled(|name| name.push_str("orc"))?;
    /// drop(pinned);
    /// assert_eq!(*orc, "orc");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn spawn_recycled(&self, init: impl FnOnce(&mut T)) -> Result<Pending<'s, T>, SpawnFailure>
    where
        T: Recycle,
    {
        let furnished = self.core.spawn_furnished(&self.session)?;
        Ok(Pending::furnished(self.store, furnished, init))
    }

    shared_operations!(self, self.store, {
        session: &self.session,
        changing: &self.session,
        spawning: &self.session,
    });
}

impl<T> fmt::Debug for Pinned<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pinned").field("store", self.store).finish_non_exhaustive()
    }
}

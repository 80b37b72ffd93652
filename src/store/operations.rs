//! The operations that `Store` and `Pinned` have in common, with their docs, once.

/// Defines them on a type: `$this` is `self`, `$store` its store, `$session` a session, `$changing`
/// one for a change of one entity, and `$spawning` one for a spawn: these two may have no pin.
macro_rules! shared_operations {
    (
        $this:ident, $store:expr,
        { session: $session:expr, changing: $changing:expr, spawning: $spawning:expr, }
    ) => {
        /// Spawns an entity that is Active at once, and returns its handle.
        ///
        /// Nobody sees it Pending. A thread that sees it Active sees its whole payload.
        ///
        /// # Errors
        /// As for [`spawn`](Self::spawn): the payload comes back.
        ///
        /// # Complexity
        /// As for [`spawn`](Self::spawn); one store with Release publishes the entity.
        #[inline(always)]
        pub fn spawn_active(&$this, value: T) -> Result<Handle, SpawnError<T>> {
            $store.core().spawn_active(|| $spawning, value)
        }

        /// Activates an entity whose guard was [detached](Pending::detach): Pending → Active.
        ///
        /// Of several calls that activate or cancel an entity exactly one succeeds. A thread that
        /// sees the entity Active sees everything that its guard has written to the payload.
        ///
        /// # Errors
        /// [`TransitionError::Guarded`] while a `Pending` guard has it or, in a store that
        /// overwrites the oldest, while another call activates it. Otherwise the error names the
        /// state that was found, or what is wrong with the handle.
        pub fn activate(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().activate($changing, h)
        }

        /// Cancels an entity whose guard was [detached](Pending::detach): Pending → Dead.
        ///
        /// Of several calls that activate or cancel an entity exactly one succeeds. The payload is
        /// dropped in the call or, inside a payload's destructor, when the outermost one has
        /// returned. A store that [retains](crate::StoreBuilder::retain) payloads may keep it
        /// instead.
        ///
        /// # Errors
        /// [`TransitionError::Guarded`] while a `Pending` guard has it. Otherwise the error names
        /// the state that was found, or what is wrong with the handle.
        pub fn cancel(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().cancel($changing, h)
        }

        /// Kills an entity: Active → Dying.
        ///
        /// Exactly one caller succeeds, and must see to the settlement. The entity stays readable
        /// until it is reaped.
        ///
        /// # Errors
        /// [`TransitionError::Illegal`] `{ dying -> dying }` while the entity is Dying already, and
        /// [`TransitionError::Lookup`] once it is reaped.
        ///
        /// # Complexity
        /// One compare-and-swap, repeated when other calls change the word at the same time.
        #[inline(always)]
        pub fn kill(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().kill($changing, h)
        }

        /// Kills an entity and takes a [`Hold`] of it in the same step.
        ///
        /// So the winner can settle whatever others do: a reap that is requested meanwhile is
        /// carried out when the last `Hold` drops.
        ///
        /// # Errors
        /// As for [`kill`](Self::kill), and [`TransitionError::TooManyHolds`] at the limit of
        /// 2^24 - 1 holds.
        ///
        /// # Complexity
        /// As for [`hold`](Self::hold).
        pub fn kill_and_hold(&$this, h: Handle) -> Result<Hold<T>, TransitionError> {
            Hold::of_killed($store, $changing, h)
        }

        /// Takes a kill back: Dying → Active.
        ///
        /// The handle and every [`Hold`] of the entity stay valid, and it may be killed again.
        ///
        /// # Errors
        /// [`TransitionError::ReapRequested`] once a reap was requested. Otherwise the error names
        /// the state that was found, or what is wrong with the handle.
        ///
        /// # Complexity
        /// As for [`kill`](Self::kill).
        pub fn revive(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().revive($changing, h)
        }

        /// Reaps an entity that was killed, Dying → Dead, at once or when its last [`Hold`] drops.
        ///
        /// Once the call has returned, `revive`, a second `reap` and a new `hold` are refused. The
        /// payload is dropped, and the slot reused, after every pin under which the entity could be
        /// seen has ended or moved.
        ///
        /// # Errors
        /// [`TransitionError::ReapRequested`] for every later call while the entity is held.
        /// Otherwise the error names the state that was found, or what is wrong with the handle.
        ///
        /// # Complexity
        /// As for [`kill`](Self::kill), and 2 KiB are allocated for each batch of up to 256 Dead
        /// slots.
        #[inline(always)]
        pub fn reap(&$this, h: Handle) -> Result<Reaped, TransitionError> {
            $store.core().reap($changing, h)
        }

        /// Ends an entity in any alive state: cancels it if it is Pending, or else kills and reaps
        /// it.
        ///
        /// It requests the reap in its first step, so that nobody revives the entity in between.
        ///
        /// # Errors
        /// [`TransitionError::Guarded`] while a `Pending` guard has it,
        /// [`TransitionError::ReapRequested`] while it ends with its last [`Hold`], and
        /// [`TransitionError::Lookup`] once it has ended.
        ///
        /// # Complexity
        /// One compare-and-swap for an Active entity that nobody holds, and a store more in a store
        /// with an [`on_dying`](crate::StoreBuilder::on_dying) callback. Dead slots cost as for
        /// [`reap`](Self::reap).
        #[inline(always)]
        pub fn despawn(&$this, h: Handle) -> Result<Reaped, TransitionError> {
            $store.core().despawn($changing, h, EndReason::Killed)
        }

        /// Returns the state of an entity that is alive: Pending, Active or Dying.
        ///
        /// It may have changed by the time the call returns.
        ///
        /// # Errors
        /// A [`LookupError`] that says why there is no such entity.
        pub fn state(&$this, h: Handle) -> Result<State, LookupError> {
            $store.core().state($session, h)
        }

        /// Takes a [`Hold`] of an Active or Dying entity, which keeps it readable without a pin.
        ///
        /// # Errors
        /// [`HoldError::ReapRequested`] once a reap was requested, [`HoldError::TooManyHolds`] at
        /// the limit of 2^24 - 1 holds, and [`HoldError::Lookup`] for an entity that is Pending or
        /// has ended.
        ///
        /// # Complexity
        /// One compare-and-swap on the entity's word, as for [`kill`](Self::kill), and an increment
        /// of a count that all holds of the store share.
        pub fn hold(&$this, h: Handle) -> Result<Hold<T>, HoldError> {
            Hold::of_alive($store, $changing, h)
        }

        /// Spawns an entity for each value, Active at once, and returns their handles in order.
        ///
        /// Each is visible as soon as it is spawned, while the call goes on. The iterator may use
        /// the store.
        ///
        /// # Errors
        /// What was spawned before the first refusal, and every value that was not, in order: so
        /// the iterator must not be endless.
        ///
        /// # Panics
        /// If the iterator does: what was spawned before is alive, and no slot is lost.
        pub fn spawn_batch(
            &$this,
            values: impl IntoIterator<Item = T>,
        ) -> Result<Vec<Handle>, BatchError<T>> {
            $store.core().spawn_batch($session, values)
        }

        /// Despawns every entity of the list that is alive, and returns how many this call ended.
        ///
        /// Duplicates, and handles that are stale, foreign or guarded, do not count. What is held
        /// counts, and ends with its last [`Hold`].
        pub fn despawn_batch(&$this, handles: &[Handle]) -> usize {
            $store.core().despawn_batch($session, handles)
        }
    };
}

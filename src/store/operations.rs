//! The operations that `Store` and `Pinned` have in common, with their docs, once.

/// Defines them on a type: `$this` is `self`, `$store` its store, `$session` a session, `$changing` one
/// for a change of one entity, and `$spawning` one for a spawn: these two may have no pin.
macro_rules! shared_operations {
    (
        $this:ident, $store:expr,
        { session: $session:expr, changing: $changing:expr, spawning: $spawning:expr, }
    ) => {
        /// Spawns and activates in one step: the entity is Active before anybody sees it.
        ///
        /// # Errors
        /// As for `spawn`: the payload comes back.
        ///
        /// # Complexity
        /// As for `spawn`; the word is stored once, with Release.
        #[inline(always)]
        pub fn spawn_active(&$this, value: T) -> Result<Handle, SpawnError<T>> {
            $store.core().spawn_active(|| $spawning, value)
        }

        /// Pending → Active, for an entity whose guard was [detached](Pending::detach).
        ///
        /// # Errors
        /// [`TransitionError::Guarded`] while a `Pending` guard has it, and where the oldest is
        /// overwritten, while another call activates it; what is wrong with the handle or the
        /// state otherwise. Nothing is changed.
        pub fn activate(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().activate($changing, h)
        }

        /// Pending → Dead, for an entity whose guard was [detached](Pending::detach). The payload
        /// is dropped here or, inside a payload's destructor, when the outermost one has returned.
        ///
        /// # Errors
        /// [`TransitionError::Guarded`] while a `Pending` guard has it, and what is wrong with
        /// the handle or the state otherwise; nothing is changed.
        pub fn cancel(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().cancel($changing, h)
        }

        /// Active → Dying: exactly one caller wins, and must see to the settlement.
        ///
        /// # Errors
        /// [`TransitionError::Illegal`] `{ dying -> dying }` for whoever comes second, a
        /// [`TransitionError::Lookup`] once the entity is reaped.
        ///
        /// # Complexity
        /// One compare-and-swap, tried again when holds change the word at the same time.
        #[inline(always)]
        pub fn kill(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().kill($changing, h)
        }

        /// Active → Dying with a [`Hold`] in the same step: who wins can settle, whatever others
        /// despawn meanwhile.
        ///
        /// # Errors
        /// As for `kill`, and [`TransitionError::TooManyHolds`]; nothing is changed.
        pub fn kill_and_hold(&$this, h: Handle) -> Result<Hold<T>, TransitionError> {
            Hold::of_killed($store, $changing, h)
        }

        /// Dying → Active: the settlement is taken back.
        ///
        /// # Errors
        /// [`TransitionError::ReapRequested`] once a reap was asked for, and what is wrong with
        /// the handle or the state otherwise.
        pub fn revive(&$this, h: Handle) -> Result<(), TransitionError> {
            $store.core().revive($changing, h)
        }

        /// Dying → Dead, at once or by the last [`Hold`] to drop.
        ///
        /// From the moment this answers, `revive`, a second `reap` and new holds are refused. The
        /// slot is reused after every reader that could see the entity has moved on.
        ///
        /// # Errors
        /// [`TransitionError::ReapRequested`] the second time, and what is wrong with the handle
        /// or the state otherwise.
        ///
        /// # Complexity
        /// One compare-and-swap; one allocation of 2 KiB for each batch of Dead slots.
        #[inline(always)]
        pub fn reap(&$this, h: Handle) -> Result<Reaped, TransitionError> {
            $store.core().reap($changing, h)
        }

        /// Ends an entity from any alive state: cancels what is Pending, kills and reaps the rest.
        ///
        /// It asks for the reap in its first step, so that nobody revives the entity in between.
        ///
        /// # Errors
        /// [`TransitionError::Guarded`], [`TransitionError::ReapRequested`], or a
        /// [`TransitionError::Lookup`] for an entity that has ended.
        ///
        /// # Complexity
        /// One compare-and-swap for an Active entity that nobody holds, and a store more where `on_dying` is told.
        #[inline(always)]
        pub fn despawn(&$this, h: Handle) -> Result<Reaped, TransitionError> {
            $store.core().despawn($changing, h, EndReason::Killed)
        }

        /// The state of an entity that is alive.
        ///
        /// # Errors
        /// A [`LookupError`] once it has ended.
        pub fn state(&$this, h: Handle) -> Result<State, LookupError> {
            $store.core().state($session, h)
        }

        /// Takes a [`Hold`] of an Active or Dying entity.
        ///
        /// # Errors
        /// [`HoldError::ReapRequested`] once a reap was asked for, [`HoldError::TooManyHolds`] at
        /// the limit of 2^24 - 1, or what is wrong with the handle.
        pub fn hold(&$this, h: Handle) -> Result<Hold<T>, HoldError> {
            Hold::of_alive($store, $changing, h)
        }

        /// Spawns every value, all Active, in order.
        ///
        /// # Errors
        /// What was spawned until the first refusal, and every value that was not, in order: so an
        /// endless iterator is not for a batch.
        ///
        /// # Panics
        /// When the iterator does: what it gave before is alive, and no slot is lost.
        pub fn spawn_batch(
            &$this,
            values: impl IntoIterator<Item = T>,
        ) -> Result<Vec<Handle>, BatchError<T>> {
            $store.core().spawn_batch($session, values)
        }

        /// Despawns every entity of the list that is alive; how many this call ended.
        ///
        /// Duplicates, and handles that are stale, foreign or guarded, do not count. What is held
        /// counts, and ends with its last [`Hold`].
        pub fn despawn_batch(&$this, handles: &[Handle]) -> usize {
            $store.core().despawn_batch($session, handles)
        }
    };
}

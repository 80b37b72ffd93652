//! A reference that does not keep its store open.

use std::fmt;
use std::ptr::NonNull;

use super::Store;
use super::core::Core;
use crate::reclaim::Gate;
use crate::sync::Arc;

/// A weak reference to a store: it keeps neither the store open nor its memory allocated.
///
/// # Examples
///
/// ```
/// use hatchery::{Store, WeakStore};
///
/// struct Turret {
///     world: WeakStore<Turret>,
/// }
///
/// let store = Store::new();
/// let turret = store.spawn_active(Turret { world: store.downgrade() })?;
/// let pinned = store.pin();
/// assert!(pinned.get(turret)?.world.upgrade().is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct WeakStore<T> {
    gate: Arc<Gate>,
    /// Good only while the gate is entered.
    core: NonNull<Core<T>>,
}

// SAFETY: it gives nothing but a `Store`, which is Send and Sync on the same terms (invariant 13).
unsafe impl<T: Send + Sync> Send for WeakStore<T> {}
// SAFETY: as above (invariant 13).
unsafe impl<T: Send + Sync> Sync for WeakStore<T> {}

impl<T> WeakStore<T> {
    pub(super) fn new(gate: &Arc<Gate>, core: NonNull<Core<T>>) -> WeakStore<T> {
        WeakStore { gate: Arc::clone(gate), core }
    }

    /// Returns a reference to the store, or `None` if its last `Store` is gone.
    ///
    /// From the moment the last `Store` begins to drop, it returns `None` for ever.
    #[must_use]
    pub fn upgrade(&self) -> Option<Store<T>> {
        // The open stores own the memory together; whoever enters the gate is one of them.
        self.gate.try_enter().then(|| Store { core: self.core })
    }
}

impl<T> Clone for WeakStore<T> {
    fn clone(&self) -> WeakStore<T> {
        WeakStore { gate: Arc::clone(&self.gate), core: self.core }
    }
}

impl<T> fmt::Debug for WeakStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakStore").field("closed", &self.gate.closed()).finish()
    }
}

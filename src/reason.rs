//! Why an entity ended.

/// Why an entity was ended: what a callback or a hook needs to know to settle it.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use hatchery::{EndReason, Store};
///
/// let killed = Arc::new(AtomicUsize::new(0));
/// let counter = Arc::clone(&killed);
/// let store = Store::<u32>::builder()
///     .on_dying(move |_, _, reason| {
///         assert_eq!(reason, EndReason::Killed);
///         counter.fetch_add(1, Ordering::Relaxed);
///     })
///     .build()?;
/// let monster = store.spawn_active(7)?;
/// store.despawn(monster)?;
/// assert_eq!(killed.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EndReason {
    /// By `kill`, `despawn` or `despawn_batch`, or an actor by its scene's `kill_actor`.
    Killed,
    /// By `clear`.
    Cleared,
    /// To make room for a newer entity.
    Overwritten,
    /// By the shutdown of its scene.
    Shutdown,
    /// An actor whose creation failed after its first created hook had begun.
    Cancelled,
}

//! The settings of a store, checked once.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::Mutex;

use crossbeam_utils::CachePadded;

use super::Store;
use super::core::{Core, OnDying};
use super::growth::Growth;
use super::permits::{Ceiling, Permits};
use super::reuse::{Retain, Reuse};
use super::scenes;
use super::stats::Window;
use super::tide::HIGH;
use crate::error::ConfigError;
use crate::free::Circulation;
use crate::handle::Handle;
use crate::id::{EntityId, SceneId};
use crate::limits::{Exhaustion, Limits};
use crate::reason::EndReason;
use crate::reclaim::Domain;
use crate::recycle::Recycle;
use crate::segment::{Attic, MAX_SLOTS, Sides, Table};
use crate::seniority::Seniority;
use crate::shards;
use crate::sync::{Arc, Counter};

/// Shards that a store may have at most.
const MAX_SHARDS: usize = 256;

/// Builds a [`Store`]: its settings, checked once by [`build`](StoreBuilder::build).
///
/// # Examples
///
/// ```
/// use hatchery::{Limits, SceneId, SpawnFailure, Store};
///
/// let store = Store::builder().scene(SceneId(7)).limits(Limits::reject(1)).build()?;
/// let only = store.spawn_active("only")?;
/// assert_eq!(only.scene(), SceneId(7));
///
/// let refused = store.spawn_active("one too many").unwrap_err();
/// assert_eq!(refused.failure, SpawnFailure::Exhausted { capacity: 1 });
/// assert_eq!(refused.value, "one too many"); // nothing is lost
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct StoreBuilder<T> {
    scene: Option<SceneId>,
    limits: Limits,
    shards: Option<usize>,
    last: NonZeroU32,
    backlog: Option<usize>,
    on_dying: Option<OnDying<T>>,
    retain: Option<Retain<T>>,
}

impl<T: Send + Sync + 'static> StoreBuilder<T> {
    pub(super) fn new() -> StoreBuilder<T> {
        StoreBuilder {
            scene: None,
            limits: Limits::UNBOUNDED,
            shards: None,
            last: NonZeroU32::MAX,
            backlog: None,
            on_dying: None,
            retain: None,
        }
    }

    /// Sets the scene id that every handle of the store carries; by default the one that has been
    /// unused for longest.
    ///
    /// An id is free again when the drop of the last `Store` under it returns, whether `Hold`s
    /// remain or not.
    pub fn scene(self, scene: SceneId) -> Self {
        StoreBuilder { scene: Some(scene), ..self }
    }

    /// Sets how many entities may be alive, and what a spawn beyond that does; by default no limit.
    pub fn limits(self, limits: Limits) -> Self {
        StoreBuilder { limits, ..self }
    }

    /// Sets over how many shards the traffic of free slots is spread, 1 to 256, rounded up to a
    /// power of two; by default the number of cores, and no more than 64.
    ///
    /// A thread uses the shard of the core on which it is, where the system tells (Linux), and
    /// elsewhere one that it keeps.
    pub fn shards(self, shards: usize) -> Self {
        StoreBuilder { shards: Some(shards), ..self }
    }

    /// Sets the generation after which a slot is retired instead of reused; by default `u32::MAX`.
    ///
    /// Small values make the retirement of slots testable.
    pub fn last_generation(self, last: NonZeroU32) -> Self {
        StoreBuilder { last, ..self }
    }

    /// Sets how many Dead slots may wait for readers, beyond the capacity; by default as many as
    /// the capacity (the maximal one, under `GrowToCap`), and without a capacity no limit.
    ///
    /// Under `OverwriteOldest` it is at least 1: a spawn takes its slot before it ends another
    /// entity.
    pub fn backlog(self, dead: usize) -> Self {
        StoreBuilder { backlog: Some(dead), ..self }
    }

    /// Sets a callback for Active → Dying, which the thread that wins that edge runs.
    ///
    /// It is given the payload and the reason: Killed for `kill`, `despawn` and batches, Cleared
    /// for `clear`, Overwritten for an entity that was ended to make room. It is not called when
    /// the store is dropped, nor for an entity that was Dying already when it was overwritten.
    ///
    /// The callback may call the store; where it ends further entities, their callbacks run inside
    /// it, on the same stack. A spawn inside a callback for an overwritten entity that would have to
    /// overwrite another one is refused as exhausted, so that overwriting cannot go on without end.
    /// A panic is contained and counted in
    /// [`Stats::drop_panics`](crate::Stats::drop_panics). [`EndReason`] has an example.
    pub fn on_dying(self, f: impl Fn(Handle, &T, EndReason) + Send + Sync + 'static) -> Self {
        StoreBuilder { on_dying: Some(Box::new(f)), ..self }
    }

    /// Sets how many cleared payloads are kept for [`Store::spawn_recycled`]; by default none, and
    /// `usize::MAX` is no limit.
    ///
    /// While fewer than that are kept, a payload that would be dropped is cleared and kept instead;
    /// there are never more, not for an instant ([`Stats::idle`](crate::Stats::idle)). Payloads of
    /// ended entities that still wait in their slots do not count. Kept payloads are dropped with
    /// the last `Store`.
    ///
    /// # Examples
    ///
    /// ```
    /// use hatchery::Store;
    ///
    /// let store: Store<String> = Store::builder().retain(2).build()?;
    /// for _ in 0..5 {
    ///     store.spawn_recycled(|name| name.push_str("orc"))?.activate();
    /// }
    /// store.clear();
    /// assert_eq!(store.stats().idle, 2, "three were dropped");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn retain(self, payloads: usize) -> Self
    where
        T: Recycle,
    {
        StoreBuilder { retain: Some(Retain::new(payloads)), ..self }
    }

    /// Creates the store.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the field, its value and what is allowed, for a scene id that a
    /// live store has or whose generations are spent, a capacity of 0 or beyond what can be
    /// counted, a `max_capacity` below the capacity, a backlog too small for the policy, or a
    /// number of shards out of range.
    pub fn build(self) -> Result<Store<T>, ConfigError> {
        let shards = self.checked_shards()?;
        let ceiling = self.checked_ceiling()?;
        let backlog = self.checked_backlog()?;
        let lease = scenes::take(self.scene, self.last)?;
        let evicts = ceiling.is_some() && self.limits.policy == Exhaustion::OverwriteOldest;
        let domain = Domain::new();
        let reuse = Reuse::asked(self.retain, &domain.gate);
        let core = Core {
            table: Table::new(Sides { marks: true, stamps: evicts, links: true }),
            circulation: Arc::new(Circulation::new(shards)),
            domain,
            scene: lease.scene,
            first_id: u64::from(lease.scene.0) << EntityId::SEQ_BITS,
            floor: lease.floor,
            last: self.last,
            limits: self.limits,
            most: ceiling.map_or(usize::MAX, Ceiling::most),
            backlog,
            permits: ceiling.map(|ceiling| Permits::new(ceiling, shards)),
            seniority: evicts.then(|| Seniority::new(self.limits.capacity)),
            on_dying: self.on_dying,
            reuse,
            growth: CachePadded::new(Growth::new()),
            attic: Attic::new(),
            retired: Counter::new(0),
            starving: Counter::new(0),
            tide: Counter::new(HIGH),
            stalled_at: Counter::new(u64::MAX),
            window: Mutex::new(Window::default()),
        };
        Ok(Store::from_shared(Arc::new(core)))
    }

    fn checked_shards(&self) -> Result<usize, ConfigError> {
        match self.shards {
            None => Ok(shards::default_count()),
            Some(value @ 1..=MAX_SHARDS) => Ok(value.next_power_of_two()),
            Some(value) => Err(ConfigError::Shards { value, max: MAX_SHARDS }),
        }
    }

    /// The capacity to enforce, if there is one.
    fn checked_ceiling(&self) -> Result<Option<Ceiling>, ConfigError> {
        let max = usize::try_from(MAX_SLOTS).unwrap_or(usize::MAX - 1);
        let (capacity, most) = (self.limits.capacity, self.limits.checked(max)?);
        if capacity == usize::MAX {
            return Ok(None);
        }
        // Both are far below 2^32: `MAX_SLOTS` is.
        Ok(Some(Ceiling { capacity: capacity as u32, growth: (most.min(max) - capacity) as u32 }))
    }

    /// How many Dead slots may wait. A spawn that ends the oldest takes its slot before it does so,
    /// and so needs one more than the capacity.
    fn checked_backlog(&self) -> Result<usize, ConfigError> {
        let policy = self.limits.policy;
        match self.backlog {
            Some(0) if policy == Exhaustion::OverwriteOldest => {
                Err(ConfigError::Backlog { value: 0, min: 1, policy })
            }
            Some(backlog) => Ok(backlog),
            None if policy == Exhaustion::GrowToCap => Ok(self.limits.max_capacity),
            None => Ok(self.limits.capacity),
        }
    }
}

impl<T> fmt::Debug for StoreBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreBuilder")
            .field("scene", &self.scene)
            .field("limits", &self.limits)
            .field("shards", &self.shards)
            .field("last_generation", &self.last)
            .field("backlog", &self.backlog)
            .field("on_dying", &self.on_dying.is_some())
            .field("retain", &self.retain.as_ref().map(|retain| retain.payloads))
            .finish()
    }
}

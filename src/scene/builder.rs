//! The builder of a scene: everything is registered here, and then frozen.

use std::any::{Any, type_name};
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use super::Scene;
use super::actor::Core;
use super::hub::Hub;
use super::panics::Panics;
use super::publish::Published;
use super::registry::Registry;
use super::remote::Link;
use super::services::Services;
use super::system::{System, TickSystem};
use super::time::{FrameReport, SceneTime};
use super::workers::Workers;
use crate::error::ConfigError;
use crate::id::SceneId;
use crate::limits::{Exhaustion, Limits};
use crate::store::Store;
use crate::sync::Arc;

/// Builds a [`Scene`]: its systems, services and settings.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, TickContext};
/// use hatchery::scene::{CreateError, Scene};
/// use hatchery::{Limits, SceneId, SpawnFailure};
///
/// # struct Unit;
/// # impl Core for Unit {
/// #     type Definition = ();
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Unit { Unit }
/// #     fn init(_: &mut Actor<Unit>, _: &()) {}
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
/// # }
/// let mut scene =
///     Scene::<Unit>::builder().scene(SceneId(3)).limits(Limits::reject(1)).seed(7).build()?;
/// let unit = scene.create_actor((), &(), |_| ())?;
/// assert_eq!(unit.scene(), SceneId(3));
/// let full = CreateError::Spawn(SpawnFailure::Exhausted { capacity: 1 });
/// assert_eq!(scene.create_actor((), &(), |_| ()), Err(full));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing before `build`"]
pub struct SceneBuilder<C: Core> {
    scene: Option<SceneId>,
    limits: Limits,
    hub: Hub<C>,
    services: Services,
    /// The type of a service that was given twice.
    twice: Option<&'static str>,
    seed: u64,
    threads: Option<usize>,
}

impl<C: Core> SceneBuilder<C> {
    pub(super) fn new() -> SceneBuilder<C> {
        SceneBuilder {
            scene: None,
            limits: Limits::UNBOUNDED,
            hub: Hub::new(),
            services: Services::default(),
            twice: None,
            seed: 0,
            threads: None,
        }
    }

    /// Sets the scene id that every handle carries; by default the one that has been unused for
    /// longest.
    pub fn scene(self, scene: SceneId) -> Self {
        SceneBuilder { scene: Some(scene), ..self }
    }

    /// Sets how many actors may exist; by default no limit. The policy `OverwriteOldest` is
    /// refused: actors are destroyed by sweeps only.
    pub fn limits(self, limits: Limits) -> Self {
        SceneBuilder { limits, ..self }
    }

    /// Registers a system that is told of actors.
    pub fn system(mut self, system: impl System<C>) -> Self {
        self.hub.add(system);
        self
    }

    /// Registers a system that is told of actors and ticks in its phase.
    pub fn tick_system(mut self, system: impl TickSystem<C>) -> Self {
        self.hub.add_ticking(system);
        self
    }

    /// Registers a service: one value of its type, which every hook and tick may read.
    pub fn service<S: Any + Send + Sync>(mut self, service: S) -> Self {
        if !self.services.add(service) {
            self.twice.get_or_insert(type_name::<S>());
        }
        self
    }

    /// Sets the seed of the random numbers; by default 0.
    ///
    /// Two scenes with equal seeds and equal calls also have equal handles, except for the scene
    /// id. To compare handles set [`scene`](SceneBuilder::scene), or compare seq and generation
    /// only.
    pub fn seed(self, seed: u64) -> Self {
        SceneBuilder { seed, ..self }
    }

    /// Sets how many threads tick the actors, 1 to 1024; by default rayon's global pool does. The
    /// outcome of a frame does not depend on it. Without the feature `rayon` it is always one.
    ///
    /// # Complexity
    /// A warm frame in which no actor is created or destroyed allocates nothing. The exception is
    /// rayon's queue, if there are several threads and more than 64 actors: one block in about 31
    /// frames.
    pub fn threads(self, threads: usize) -> Self {
        SceneBuilder { threads: Some(threads), ..self }
    }

    /// Creates the scene.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the field, its value and what is allowed: as for
    /// [`StoreBuilder::build`](crate::StoreBuilder::build), and for a policy that a scene cannot
    /// have, a number of threads that is out of range or that the system refuses, or a second
    /// service of a type.
    pub fn build(self) -> Result<Scene<C>, ConfigError> {
        if self.limits.policy == Exhaustion::OverwriteOldest {
            return Err(ConfigError::ScenePolicy { value: self.limits.policy });
        }
        if let Some(service) = self.twice {
            return Err(ConfigError::ServiceTwice { service });
        }
        let workers = Workers::new(self.threads)?;
        // One shard, so that which slot is used next does not depend on threads.
        let store = Store::builder().limits(self.limits).shards(1);
        let store = match self.scene {
            Some(scene) => store.scene(scene),
            None => store,
        };
        let mut hub = self.hub;
        hub.freeze();
        let link = Arc::new(Link::new());
        Ok(Scene {
            registry: Registry::new(store.build()?, Arc::clone(&link)),
            services: self.services,
            hub,
            time: SceneTime::new(),
            report: FrameReport::default(),
            queue: VecDeque::new(),
            panics: Panics::default(),
            published: Published::new(),
            workers,
            parts: Vec::new(),
            swept: Vec::new(),
            link,
            seed: self.seed,
            shutdown_asked: false,
            is_shutdown: false,
            _not_sync: PhantomData,
        })
    }
}

impl<C: Core> fmt::Debug for SceneBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SceneBuilder")
            .field("scene", &self.scene)
            .field("limits", &self.limits)
            .field("hub", &self.hub)
            .field("services", &self.services)
            .field("seed", &self.seed)
            .field("threads", &self.threads)
            .finish()
    }
}

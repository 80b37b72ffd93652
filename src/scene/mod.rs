//! A scene: actors with hooks and components, driven by one loop in fixed phases.
//!
//! A scene is a thin composition root on a [`Store`](crate::Store). It owns a registry (who
//! exists), services (what everybody may read) and a hub (the systems), and implements only three
//! things: assembly, the order of a frame, and shutdown. Actors are passive data: their code runs
//! only when the frame calls it.
//!
//! # Existence is not business
//!
//! The scene knows whether an actor exists: Pending while its created hooks run, Active, Dying from
//! its kill to the next frame's sweep, then Dead. Whether it is *dead* in the game is a tag
//! ([`TagSet`]) and changes nothing about existence; a revival is the tag coming off.
//!
//! # A frame
//!
//! ```text
//! shutdown, if asked for
//! sweep          of actors killed before: destroyed hooks, cleanup, then the slot is freed
//! admission      what other threads asked for (SceneRemote)
//! (paused: the frame counts, and ends here)
//! Pre            systems
//! publish        what others may see of each actor
//! actors         core, then components, of every Active actor, in parallel
//! Main, Post, Presentation
//! shutdown, if asked for
//! ```
//!
//! Data flows one way: what a phase produces is used by later phases only. What hooks and actors
//! ask for (create, kill, shutdown) is carried out after the hooks of their event, or after the
//! actor phase, in an order that does not depend on threads. So the same seed and the same input
//! give the same world, bit for bit and handle for handle, with any number of threads, as long as
//! no [`SceneRemote`] acts.
//!
//! # Hooks
//!
//! | event | when | who, in order | may |
//! | --- | --- | --- | --- |
//! | created | after `configure`, before it is Active | core, components, systems | change the actor, read others and services, ask for things |
//! | pending destroy | at the kill, in the same frame | core, components, systems | read the whole old state, ask for things |
//! | destroyed | in the next frame's sweep, or the shutdown | components, systems, the core's `cleanup` | release resources |
//!
//! The pending-destroy hooks run at a normal death and never at a shutdown, so they may settle:
//! loot, scores. A panic in a hook does not keep the others from being called, with one exception:
//! if a created hook panics, the creation is cancelled, and those who were told of it are told of
//! its end. The panic is propagated to the caller when its phase is over and the scene is
//! consistent again.
//!
//! # Tracing
//!
//! With the feature `tracing` a scene tells what it does, under the target `hatchery::scene`:
//!
//! | what | level | with |
//! | --- | --- | --- |
//! | spans `frame`, and in it `sweep` (and admission), `pre`, `actors`, `main`, `post`, `presentation` | debug | scene, number |
//! | span `shutdown` | debug | scene |
//! | `actor created`, `actor killed`, `actor destroyed` | trace | actor, reason |
//! | `kill refused`: it was not Active | debug | actor, reason |
//! | `creation refused`: there was no room | warn | scene, reason |
//! | `creation cancelled`: a created hook has panicked, or the scene ended before the actor was admitted | warn | actor, reason |
//! | `panic contained`: it reaches the caller later, unless it is not the first | error | panic |
//!
//! Events come from the thread that drives the scene, except for panics of actors that tick on
//! others.
//!
//! # Examples
//!
//! ```
//! use hatchery::scene::{Actor, Commands, Core, Scene, TickContext};
//!
//! struct Monster { health: i32 }
//!
//! impl Core for Monster {
//!     type Definition = i32;
//!     type Position = [f32; 2];
//!     type Public = i32;
//!
//!     fn construct(_: [f32; 2]) -> Monster {
//!         Monster { health: 0 }
//!     }
//!     fn init(actor: &mut Actor<Monster>, health: &i32) {
//!         actor.core.health = *health;
//!     }
//!     fn publish(actor: &Actor<Monster>) -> i32 {
//!         actor.core.health
//!     }
//!     fn tick(actor: &mut Actor<Monster>, _: &TickContext<'_, Monster>, _: f32) {
//!         actor.core.health -= 1;
//!         if actor.core.health == 0 {
//!             actor.tags.insert("Actor.Life.Dead"); // and it exists still
//!         }
//!     }
//! }
//!
//! let mut scene = Scene::<Monster>::builder().build()?;
//! let monster = scene.create_actor([0.0, 0.0], &2, |_| ())?;
//! scene.tick(0.1);
//! scene.tick(0.1);
//! assert!(scene.actor(monster)?.tags.contains("Actor.Life"));
//!
//! scene.kill_actor(monster)?; // now it goes
//! scene.tick(0.1);
//! assert!(scene.actor(monster).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod actor;
mod block;
mod builder;
mod cell;
mod commands;
mod component;
mod components;
mod context;
mod error;
mod frame;
mod hooks;
mod hub;
mod inbox;
mod panics;
mod phase;
mod prefetch;
mod publish;
mod random;
mod registry;
mod remote;
mod services;
mod settlement;
mod shutdown;
mod spares;
mod sweep;
mod system;
mod tags;
mod teardown;
mod ticking;
mod time;
mod trace;
mod work;
mod workers;

/// What the models reach into.
#[cfg(all(loom, test))]
pub(crate) mod testing {
    pub(crate) use super::inbox::Inbox;
    pub(crate) use super::remote::Link;
}

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

pub use actor::{Actor, Core};
pub use builder::SceneBuilder;
pub use commands::Commands;
pub use component::{Component, TickComponent};
pub use context::TickContext;
pub use error::CreateError;
pub use frame::Frame;
pub use phase::Phase;
pub use remote::SceneRemote;
pub use settlement::Settlement;
pub use system::{System, TickSystem};
pub use tags::TagSet;
pub use teardown::Teardown;
pub use time::{FrameReport, SceneTime};

use self::hub::Hub;
use self::panics::Panics;
use self::publish::Published;
use self::registry::{Entry, Registry};
use self::remote::Link;
use self::services::Services;
use self::ticking::Part;
use self::work::Queue;
use self::workers::Workers;
use crate::error::{HoldError, LookupError, TransitionError};
use crate::handle::Handle;
use crate::state::State;
use crate::stats::Stats;
use crate::sync::Arc;

/// Actors, systems and services, and the loop that drives them.
///
/// One thread at a time drives a scene: a scene is Send, and not Sync. All other threads use a
/// [`SceneRemote`].
///
/// # Examples
///
/// The [module](self) has a longer one.
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// # struct Unit;
/// # impl Core for Unit {
/// #     type Definition = ();
/// #     type Position = [f32; 2];
/// #     type Public = ();
/// #     fn construct(_: [f32; 2]) -> Unit { Unit }
/// #     fn init(_: &mut Actor<Unit>, _: &()) {}
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(actor: &mut Actor<Unit>, _: &TickContext<'_, Unit>, dt: f32) {
/// #         actor.position[0] += dt;
/// #     }
/// # }
/// let mut scene = Scene::<Unit>::builder().build()?; // its actors move to the right
/// let unit = scene.create_actor([0.0, 0.0], &(), |_| ())?;
/// scene.set_time_scale(2.0);
/// scene.tick(0.5);
/// assert_eq!(scene.actor(unit)?.position, [1.0, 0.0]);
///
/// scene.shutdown();
/// assert!(scene.state(unit).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Scene<C: Core> {
    registry: Registry<C>,
    services: Services,
    hub: Hub<C>,
    time: SceneTime,
    report: FrameReport,
    queue: Queue<C>,
    panics: Panics,
    published: Published<C>,
    workers: Workers,
    /// What the parts of the actor phase have asked for; kept for its memory.
    parts: Vec<Part<C>>,
    /// Whom a sweep ends; kept for its memory.
    swept: Vec<Entry<C>>,
    link: Arc<Link<C>>,
    seed: u64,
    shutdown_asked: bool,
    is_shutdown: bool,
    /// Actors are not Sync, and are lent out under `&Scene`.
    _not_sync: PhantomData<Cell<()>>,
}

impl<C: Core> Scene<C> {
    /// Returns a builder: systems, services and settings.
    pub fn builder() -> SceneBuilder<C> {
        SceneBuilder::new()
    }

    /// Creates an actor: construct, init, `configure`, the created hooks; then it is Active. It
    /// first ticks in the next actor phase.
    ///
    /// # Errors
    /// [`CreateError::Spawn`] if there is no room, [`CreateError::Shutdown`] after the shutdown;
    /// then none of the user's code was called.
    ///
    /// # Panics
    /// If the user's code does. Nothing is left behind: those who were told of the actor are told
    /// of its end.
    pub fn create_actor(
        &mut self,
        position: C::Position,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Handle, CreateError> {
        let created = self.create(position, definition, configure);
        self.come_to_rest();
        created
    }

    /// Kills an actor, Active → Dying, and calls the pending-destroy hooks, which find its state
    /// intact. The actor no longer ticks, and can be looked up until the next frame's sweep.
    ///
    /// # Errors
    /// A [`TransitionError`] if the handle does not lead to an Active actor, also if the actor was
    /// killed before.
    ///
    /// # Panics
    /// If a hook does, after all have been called.
    pub fn kill_actor(&mut self, h: Handle) -> Result<(), TransitionError> {
        // Nothing waits: the last call has come to rest.
        self.kill(h)?;
        self.come_to_rest();
        Ok(())
    }

    /// Does what the hooks of an outer call have asked for, the shutdown last; then a panic may go
    /// on.
    #[inline]
    fn come_to_rest(&mut self) {
        self.drain();
        // What a remote asks for waits for the next frame.
        if self.shutdown_asked {
            self.end_if_asked();
        }
        self.panics.go_on();
    }

    /// Returns an actor that is Active or Dying.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is none.
    pub fn actor(&self, h: Handle) -> Result<&Actor<C>, LookupError> {
        self.registry.get(h)
    }

    /// Returns an actor that is Active or Dying, to be changed.
    ///
    /// # Errors
    /// As for [`actor`](Scene::actor).
    pub fn actor_mut(&mut self, h: Handle) -> Result<&mut Actor<C>, LookupError> {
        self.registry.get_mut(h)
    }

    /// Returns the state of an actor that exists.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is none; `NotFound` for all after the shutdown.
    pub fn state(&self, h: Handle) -> Result<State, LookupError> {
        if self.is_shutdown {
            return Err(LookupError::NotFound { handle: h });
        }
        self.registry.store.existence(h)
    }

    /// Iterates over the actors that are Active or Dying, in order of creation.
    pub fn alive_actors(&self) -> impl Iterator<Item = &Actor<C>> {
        self.registry.actors()
    }

    /// Takes a ticket: once the actor is killed, its destroyed hooks wait until the last ticket
    /// drops.
    ///
    /// # Errors
    /// A [`HoldError`] if the handle does not lead to an Active or Dying actor, or the actor has as
    /// many tickets as can be counted.
    pub fn settle(&self, h: Handle) -> Result<Settlement, HoldError> {
        if self.is_shutdown {
            return Err(HoldError::Lookup(LookupError::NotFound { handle: h }));
        }
        self.registry.store.hold(h).map(Settlement::new)
    }

    /// Runs one frame of `dt` seconds, which are multiplied by the time scale. After the shutdown
    /// it does nothing.
    ///
    /// # Panics
    /// If `dt` is negative or not finite, before anything has changed; if a hook or a tick panics,
    /// after its phase: then the later phases of this frame do not run.
    #[track_caller]
    pub fn tick(&mut self, dt: f32) {
        assert_reasonable("dt", dt);
        let scaled = dt * self.time.time_scale;
        assert_reasonable("dt × time scale", scaled);
        if self.is_shutdown {
            return;
        }
        self.run_frame(scaled);
        self.panics.go_on();
    }

    /// Ends the scene in two phases: tells the systems, and then destroys every actor, with the
    /// reason Shutdown and without its pending-destroy hooks. A second call does nothing.
    ///
    /// It does not wait for any [`Settlement`].
    ///
    /// # Panics
    /// If a hook does, after everything has ended.
    pub fn shutdown(&mut self) {
        self.shutdown_asked = true;
        self.come_to_rest();
    }

    /// Returns whether the scene is shut down.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.is_shutdown
    }

    /// Returns the scene's clock.
    #[must_use]
    pub fn time(&self) -> &SceneTime {
        &self.time
    }

    /// Returns what has happened since the last frame began.
    #[must_use]
    pub fn last_frame(&self) -> &FrameReport {
        &self.report
    }

    /// Pauses the game, or resumes it: a paused frame only sweeps, admits and is counted.
    pub fn set_paused(&mut self, paused: bool) {
        self.time.paused = paused;
    }

    /// Sets how fast the scene's time passes: the factor for the `dt` of [`tick`](Scene::tick).
    ///
    /// # Panics
    /// If `scale` is negative or not finite.
    #[track_caller]
    pub fn set_time_scale(&mut self, scale: f32) {
        assert_reasonable("the time scale", scale);
        self.time.time_scale = scale;
    }

    /// Returns a reference for other threads.
    #[must_use]
    pub fn remote(&self) -> SceneRemote<C> {
        SceneRemote::new(&self.registry.store, &self.link)
    }

    /// Returns the statistics of the store that the actors live in.
    #[must_use]
    pub fn store_stats(&self) -> Stats {
        self.registry.count();
        self.registry.store.stats()
    }
}

#[track_caller]
fn assert_reasonable(name: &str, value: f32) {
    assert!(
        value.is_finite() && value >= 0.0,
        "{name} is {value}, allowed is a finite number that is not negative",
    );
}

impl<C: Core> Drop for Scene<C> {
    /// Shuts the scene down, if nobody has. A panic of a hook goes on, unless there is one already.
    fn drop(&mut self) {
        if !self.is_shutdown {
            self.end();
        }
        if std::thread::panicking() {
            self.panics.forget();
        } else {
            self.panics.go_on();
        }
    }
}

impl<C: Core> fmt::Debug for Scene<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scene")
            .field("registry", &self.registry)
            .field("hub", &self.hub)
            .field("time", &self.time)
            .field("is_shutdown", &self.is_shutdown)
            .finish_non_exhaustive()
    }
}

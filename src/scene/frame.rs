//! What a system may use in its tick.

use std::any::Any;
use std::fmt;

use super::actor::{Actor, Core};
use super::error::CreateError;
use super::random::Dice;
use super::registry::Registry;
use super::services::Services;
use super::time::{FrameReport, SceneTime};
use super::work::{Queue, Work};
use crate::error::{LookupError, TransitionError};
use crate::handle::Handle;
use crate::state::State;

/// The scene, as a system sees it in its tick. What the system creates or kills becomes Pending or
/// Dying at once; the hooks run when the tick returns.
///
/// # Examples
///
/// ```
/// use hatchery::scene::{Actor, Core, Frame, Phase, Scene, System, TickContext, TickSystem};
///
/// # struct Unit { health: i32 }
/// # impl Core for Unit {
/// #     type Definition = i32;
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Unit { Unit { health: 0 } }
/// #     fn init(actor: &mut Actor<Unit>, health: &i32) { actor.core.health = *health; }
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
/// # }
/// /// Removes who has no health left.
/// struct Reaper;
/// impl System<Unit> for Reaper {}
/// impl TickSystem<Unit> for Reaper {
///     fn phase(&self) -> Phase {
///         Phase::Post
///     }
///     fn tick(&mut self, frame: &mut Frame<'_, Unit>, _: f32) {
///         let spent = |actor: &&Actor<Unit>| actor.core.health <= 0;
///         let spent: Vec<_> = frame.actors().filter(spent).map(Actor::handle).collect();
///         for actor in spent {
///             // Refused for those that are Dying already.
///             let _ = frame.kill_actor(actor);
///         }
///     }
/// }
///
/// let mut scene = Scene::<Unit>::builder().tick_system(Reaper).build()?;
/// scene.create_actor((), &0, |_| ())?;
/// scene.create_actor((), &10, |_| ())?;
/// scene.tick(0.1);
/// assert_eq!(scene.last_frame().killed, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Frame<'f, C: Core> {
    pub(super) registry: &'f mut Registry<C>,
    pub(super) services: &'f Services,
    pub(super) time: &'f SceneTime,
    pub(super) report: &'f mut FrameReport,
    pub(super) queue: &'f mut Queue<C>,
    pub(super) dice: Dice,
}

impl<'f, C: Core> Frame<'f, C> {
    /// Returns the service of a type, if the builder was given one.
    #[must_use]
    pub fn service<S: Any + Send + Sync>(&self) -> Option<&'f S> {
        self.services.get()
    }

    /// Returns the scene's clock.
    #[must_use]
    pub fn time(&self) -> &'f SceneTime {
        self.time
    }

    /// Returns a random number, which follows from the scene's seed, the system's place in the
    /// order of registration, the frame, and how many numbers the system has drawn in it before.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.dice.roll()
    }

    /// Iterates over the actors that are Active or Dying, in order of creation.
    pub fn actors(&self) -> impl Iterator<Item = &Actor<C>> {
        self.registry.actors()
    }

    /// Iterates over the actors, to change them. See [`actors`](Frame::actors).
    pub fn actors_mut(&mut self) -> impl Iterator<Item = &mut Actor<C>> {
        self.registry.actors_mut()
    }

    /// Returns an actor that is Active or Dying.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is none.
    pub fn actor(&self, h: Handle) -> Result<&Actor<C>, LookupError> {
        self.registry.get(h)
    }

    /// Returns an actor, to be changed. See [`actor`](Frame::actor).
    ///
    /// # Errors
    /// As for [`actor`](Frame::actor).
    pub fn actor_mut(&mut self, h: Handle) -> Result<&mut Actor<C>, LookupError> {
        self.registry.get_mut(h)
    }

    /// Returns the state of an actor that exists: Pending if this tick has created it, Dying if it
    /// was killed and waits for its sweep or for its tickets.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is none.
    pub fn state(&self, h: Handle) -> Result<State, LookupError> {
        self.registry.store.existence(h)
    }

    /// Creates an actor, which is Pending until this tick returns; then its created hooks run.
    ///
    /// # Errors
    /// [`CreateError::Spawn`] if there is no room, which counts in
    /// [`FrameReport::refused`](super::FrameReport::refused).
    pub fn create_actor(
        &mut self,
        position: C::Position,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Handle, CreateError> {
        match self.registry.make(position, definition, configure) {
            Ok(newborn) => {
                let handle = newborn.handle;
                self.queue.push_back(Work::Introduce(newborn));
                Ok(handle)
            }
            Err(failure) => {
                self.report.refuse_creation(self.registry.store.scene(), failure);
                Err(failure.into())
            }
        }
    }

    /// Kills an actor, Active → Dying, at once; the pending-destroy hooks run when this tick
    /// returns.
    ///
    /// # Errors
    /// A [`TransitionError`] if the handle does not lead to an Active actor, which counts in
    /// [`FrameReport::refused`](super::FrameReport::refused).
    pub fn kill_actor(&mut self, h: Handle) -> Result<(), TransitionError> {
        match self.registry.kill(h) {
            Ok(cell) => {
                self.queue.push_back(Work::Mourn(cell));
                Ok(())
            }
            Err(refused) => {
                self.report.refuse_kill(refused);
                Err(refused)
            }
        }
    }

    /// Asks for the shutdown of the scene at the end of this frame.
    pub fn shutdown(&mut self) {
        self.queue.push_back(Work::Shutdown);
    }
}

impl<C: Core> fmt::Debug for Frame<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frame").field("time", self.time).finish_non_exhaustive()
    }
}

//! What a created or pending-destroy hook may use.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::actor::{Actor, Core};
use super::cell::CellRef;
use super::random::Dice;
use super::registry::Registry;
use super::services::Services;
use super::time::SceneTime;
use super::work::{Queue, Work};
use crate::handle::Handle;

/// What a hook may read and ask for. Requests are carried out in order, after all hooks of the
/// event, so no hook runs inside another.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use hatchery::scene::{Actor, Commands, Core, Scene, TickContext};
///
/// struct Barrel { explosive: bool }
///
/// impl Core for Barrel {
///     type Definition = bool;
/// #     type Position = [f32; 2];
/// #     type Public = ();
/// #     fn construct(_: [f32; 2]) -> Barrel { Barrel { explosive: false } }
/// #     fn init(actor: &mut Actor<Barrel>, explosive: &bool) {
/// #         actor.core.explosive = *explosive;
/// #     }
/// #     fn publish(_: &Actor<Barrel>) {}
/// #     fn tick(_: &mut Actor<Barrel>, _: &TickContext<'_, Barrel>, _: f32) {}
///     fn on_pending_destroy(actor: &Actor<Barrel>, cx: &mut Commands<'_, Barrel>) {
///         if actor.core.explosive {
///             cx.create_actor(actor.position, Arc::new(false), |_| ()); // debris
///         }
///     }
/// }
///
/// let mut scene = Scene::<Barrel>::builder().build()?;
/// let barrel = scene.create_actor([1.0, 2.0], &true, |_| ())?;
/// scene.kill_actor(barrel)?;
/// scene.tick(0.1); // the sweep
/// let debris: Vec<_> = scene.alive_actors().map(|actor| actor.position).collect();
/// assert_eq!(debris, [[1.0, 2.0]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Commands<'a, C: Core> {
    pub(super) registry: &'a Registry<C>,
    pub(super) services: &'a Services,
    pub(super) time: &'a SceneTime,
    /// The actor whose hook this is: it is lent to the hook.
    pub(super) owner: CellRef<C>,
    pub(super) dice: Dice,
    pub(super) queue: &'a mut Queue<C>,
}

impl<C: Core> Commands<'_, C> {
    /// Returns the service of a type, if the builder was given one.
    #[must_use]
    pub fn service<S: Any + Send + Sync>(&self) -> Option<&S> {
        self.services.get()
    }

    /// Returns the scene's clock.
    #[must_use]
    pub fn time(&self) -> &SceneTime {
        self.time
    }

    /// Returns a random number, which follows from the scene's seed, the actor's creation number,
    /// the frame, and how many numbers the hook has drawn before.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.dice.roll()
    }

    /// Returns another actor that is Active or Dying; `None` for the hook's own.
    #[must_use]
    pub fn actor(&self, h: Handle) -> Option<&Actor<C>> {
        let cell = self.registry.cell(h).ok().filter(|cell| *cell != self.owner)?;
        // SAFETY: this thread has the scene; the only actor that is lent to be written during a
        // hook is its owner, which is passed over; and nothing ends an actor before the hook
        // returns (invariant 16).
        unsafe { cell.get() }
    }

    /// Asks for the creation of an actor. If there is no room when it is carried out, it is counted
    /// in [`FrameReport::refused`](super::FrameReport::refused).
    pub fn create_actor(
        &mut self,
        position: C::Position,
        definition: Arc<C::Definition>,
        configure: impl FnOnce(&mut Actor<C>) + Send + 'static,
    ) {
        self.queue.push_back(Work::create(position, definition, configure));
    }

    /// Asks for an actor to be killed. If it is not Active when that is carried out, it is counted
    /// in [`FrameReport::refused`](super::FrameReport::refused).
    pub fn kill_actor(&mut self, h: Handle) {
        self.queue.push_back(Work::Kill(h));
    }

    /// Asks for the shutdown of the scene: at the end of this frame or, outside a frame, before the
    /// call to the scene that led here returns.
    pub fn shutdown(&mut self) {
        self.queue.push_back(Work::Shutdown);
    }
}

impl<C: Core> fmt::Debug for Commands<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commands").field("time", self.time).finish_non_exhaustive()
    }
}

//! Systems: they are told of every actor, and may tick once a frame in a phase.

use super::actor::{Actor, Core};
use super::commands::Commands;
use super::frame::Frame;
use super::phase::Phase;
use super::teardown::Teardown;

/// A system, which is told of every actor of a scene.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use hatchery::scene::{Commands, System};
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
/// struct Score(Arc<AtomicUsize>);
/// impl System<Unit> for Score {
///     fn on_actor_pending_destroy(&mut self, _: &Actor<Unit>, _: &mut Commands<'_, Unit>) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let kills = Arc::new(AtomicUsize::new(0));
/// let mut scene = Scene::<Unit>::builder().system(Score(Arc::clone(&kills))).build()?;
/// let unit = scene.create_actor((), &(), |_| ())?;
/// scene.kill_actor(unit)?;
/// assert_eq!(kills.load(Ordering::Relaxed), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait System<C: Core>: Send + 'static {
    /// Called after the created hooks of the actor itself.
    fn on_actor_created(&mut self, actor: &mut Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (actor, cx);
    }

    /// Called after the pending-destroy hooks of the actor itself; never at a shutdown, so it may
    /// settle.
    fn on_actor_pending_destroy(&mut self, actor: &Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (actor, cx);
    }

    /// Called after the destroyed hooks of the actor's components, before the core's `cleanup`.
    fn on_actor_destroyed(&mut self, actor: &mut Actor<C>, end: &Teardown<'_>) {
        let _ = (actor, end);
    }

    /// Called in the first phase of the shutdown, before any actor is destroyed: release what
    /// belongs to the system and not to an actor.
    fn on_scene_shutdown(&mut self, end: &Teardown<'_>) {
        let _ = end;
    }
}

/// A system that is called once in its phase of every frame.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// use hatchery::scene::{Frame, Phase, System, TickSystem};
///
/// # struct Unit;
/// # impl Core for Unit {
/// #     type Definition = ();
/// #     type Position = f32;
/// #     type Public = ();
/// #     fn construct(_: f32) -> Unit { Unit }
/// #     fn init(_: &mut Actor<Unit>, _: &()) {}
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
/// # }
/// struct Wind;
/// impl System<Unit> for Wind {}
/// impl TickSystem<Unit> for Wind {
///     fn phase(&self) -> Phase {
///         Phase::Main
///     }
///     fn tick(&mut self, frame: &mut Frame<'_, Unit>, dt: f32) {
///         for actor in frame.actors_mut() {
///             actor.position += dt;
///         }
///     }
/// }
///
/// let mut scene = Scene::<Unit>::builder().tick_system(Wind).build()?;
/// let leaf = scene.create_actor(1.0, &(), |_| ())?;
/// scene.tick(0.5);
/// assert_eq!(scene.actor(leaf)?.position, 1.5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TickSystem<C: Core>: System<C> {
    /// Returns the phase in which the system ticks; called once, when the scene is built.
    fn phase(&self) -> Phase;

    /// Advances the system by `dt` scaled seconds.
    fn tick(&mut self, frame: &mut Frame<'_, C>, dt: f32);
}

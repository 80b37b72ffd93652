//! What an actor may use in the actor phase.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;

use super::actor::{Actor, Core};
use super::cell::ActorCell;
use super::publish::Published;
use super::random::{Dice, Drawer};
use super::services::Services;
use super::time::SceneTime;
use super::work::Work;
use crate::handle::Handle;
use crate::state::State;
use crate::store::Store;

/// What all actors of a phase see, on whatever thread they tick.
pub(super) struct Seen<'f, C: Core> {
    pub(super) store: &'f Store<ActorCell<C>>,
    pub(super) published: &'f Published<C>,
    pub(super) services: &'f Services,
    pub(super) time: &'f SceneTime,
    pub(super) seed: u64,
}

/// What an actor may read and ask for in the actor phase. It sees other actors as they were when
/// the phase began; requests are carried out after the phase, in the order in which the asking
/// actors were created.
///
/// # Examples
///
/// ```
/// use hatchery::Handle;
/// use hatchery::scene::{Actor, Core, Scene, TickContext};
///
/// struct Hunter { prey: Option<Handle> }
///
/// impl Core for Hunter {
///     type Definition = Option<Handle>;
///     type Position = f32;
///     type Public = f32; // others see the position
/// #   fn construct(_: f32) -> Hunter { Hunter { prey: None } }
/// #   fn init(actor: &mut Actor<Hunter>, prey: &Option<Handle>) { actor.core.prey = *prey; }
///     fn publish(actor: &Actor<Hunter>) -> f32 {
///         actor.position
///     }
///     fn tick(actor: &mut Actor<Hunter>, cx: &TickContext<'_, Hunter>, _: f32) {
///         let Some(prey) = actor.core.prey else { return };
///         match cx.public(prey) {
///             Some(there) if *there == actor.position => cx.kill_actor(prey),
///             Some(there) => actor.position = *there,
///             None => actor.core.prey = None,
///         }
///     }
/// }
///
/// let mut scene = Scene::<Hunter>::builder().build()?;
/// let deer = scene.create_actor(8.0, &None, |_| ())?;
/// let wolf = scene.create_actor(0.0, &Some(deer), |_| ())?;
/// scene.tick(1.0);
/// assert_eq!(scene.actor(wolf)?.position, 8.0);
/// scene.tick(1.0);
/// scene.tick(1.0);
/// assert!(scene.actor(deer).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct TickContext<'f, C: Core> {
    pub(super) seen: &'f Seen<'f, C>,
    /// The creation number of the actor that ticks.
    birth: Cell<u64>,
    /// Made when the actor draws its first number.
    dice: RefCell<Option<Dice>>,
    asked: &'f RefCell<Vec<Work<C>>>,
    /// Scaled seconds. Here, so that a component which does not ask for them is not handed them.
    pub(super) dt: f32,
}

impl<'f, C: Core> TickContext<'f, C> {
    pub(super) fn new(
        seen: &'f Seen<'f, C>,
        asked: &'f RefCell<Vec<Work<C>>>,
        dt: f32,
    ) -> TickContext<'f, C> {
        TickContext { seen, birth: Cell::new(0), dice: RefCell::new(None), asked, dt }
    }

    /// The next actor of this worker is the one of this creation number.
    #[inline]
    pub(super) fn turn_to(&mut self, birth: u64) {
        self.birth.set(birth);
        *self.dice.get_mut() = None;
    }

    /// Returns the service of a type, if the builder was given one.
    #[must_use]
    pub fn service<S: Any + Send + Sync>(&self) -> Option<&'f S> {
        self.seen.services.get()
    }

    /// Returns the scene's clock.
    #[must_use]
    pub fn time(&self) -> &'f SceneTime {
        self.seen.time
    }

    /// Returns a random number, which follows from the scene's seed, the actor's creation number,
    /// the frame, and how many numbers the actor has drawn in it before.
    #[must_use]
    pub fn random(&self) -> u64 {
        let (seen, number) = (self.seen, self.birth.get());
        let begin = || Dice::new(seen.seed, Drawer::Tick, number, seen.time.frame);
        self.dice.borrow_mut().get_or_insert_with(begin).roll()
    }

    /// Returns what an actor has published, if it was Active when the phase began.
    #[must_use]
    pub fn public(&self, h: Handle) -> Option<&'f C::Public> {
        if self.is_alive(h) { self.seen.published.get(h) } else { None }
    }

    /// Returns whether an actor was Active when the phase began.
    #[must_use]
    pub fn is_alive(&self, h: Handle) -> bool {
        // SAFETY: during the phase nobody ends an actor, nor shrinks the store; the cell is not
        // looked into (invariant 16).
        matches!(unsafe { self.seen.store.peek(h) }, Ok((_, State::Active)))
    }

    /// Asks for an actor, created after the phase. See
    /// [`Commands::create_actor`](super::Commands::create_actor).
    pub fn create_actor(
        &self,
        position: C::Position,
        definition: Arc<C::Definition>,
        configure: impl FnOnce(&mut Actor<C>) + Send + 'static,
    ) {
        self.ask(Work::create(position, definition, configure));
    }

    /// Asks for a kill after the phase, as [`Commands::kill_actor`](super::Commands::kill_actor):
    /// the victim still ticks in it.
    pub fn kill_actor(&self, h: Handle) {
        self.ask(Work::Kill(h));
    }

    /// Asks for the shutdown at the end of this frame.
    pub fn shutdown(&self) {
        self.ask(Work::Shutdown);
    }

    fn ask(&self, work: Work<C>) {
        self.asked.borrow_mut().push(work);
    }
}

impl<C: Core> fmt::Debug for TickContext<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TickContext").field("time", self.seen.time).finish_non_exhaustive()
    }
}

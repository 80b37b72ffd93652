//! Actors: passive data, whose code runs only when the frame calls it.

use std::fmt;
use std::ptr;

use super::commands::Commands;
use super::component::{Component, TickComponent};
use super::components::Components;
use super::context::TickContext;
use super::tags::TagSet;
use super::teardown::Teardown;
use crate::handle::Handle;

/// The core components of an actor: plain fields, reached without a look-up.
///
/// An actor is created in strict order: [`construct`](Core::construct), [`init`](Core::init), the
/// creator's `configure`, the created hooks, and then the first tick. Each step may read only what
/// the steps before it have completed.
///
/// # Examples
///
/// ```
/// use hatchery::scene::{Actor, Core, Scene, TickContext};
///
/// struct Orc { health: i32 }
/// struct OrcDefinition { health: i32 }
///
/// impl Core for Orc {
///     type Definition = OrcDefinition;
///     type Position = [f32; 2];
///     type Public = i32; // others see the health
///
///     fn construct(_: [f32; 2]) -> Orc {
///         Orc { health: 0 }
///     }
///     fn init(actor: &mut Actor<Orc>, definition: &OrcDefinition) {
///         actor.core.health = definition.health;
///     }
///     fn publish(actor: &Actor<Orc>) -> i32 {
///         actor.core.health
///     }
///     fn tick(actor: &mut Actor<Orc>, _: &TickContext<'_, Orc>, dt: f32) {
///         actor.position[0] += dt;
///     }
/// }
///
/// let mut scene = Scene::<Orc>::builder().build()?;
/// let orc = scene.create_actor([0.0, 0.0], &OrcDefinition { health: 30 }, |_| ())?;
/// scene.tick(0.5);
/// assert_eq!(scene.actor(orc)?.position, [0.5, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Core: Sized + Send + 'static {
    /// What an actor is created from.
    type Definition: ?Sized + Send + Sync + 'static;
    /// Where an actor is.
    type Position: Copy + Send + Sync + 'static;
    /// What other actors may see of an actor during the actor phase.
    type Public: Send + Sync + 'static;

    /// The first step of a creation: sets fields, and calls nothing.
    fn construct(position: Self::Position) -> Self;

    /// The second step: sets what follows from the definition.
    fn init(actor: &mut Actor<Self>, definition: &Self::Definition);

    /// Returns what other actors may see; called for every Active actor as the actor phase begins.
    fn publish(actor: &Actor<Self>) -> Self::Public;

    /// Advances the actor by `dt` scaled seconds in the actor phase, before its components. Actors
    /// tick in parallel, each with exclusive access to itself.
    fn tick(actor: &mut Actor<Self>, cx: &TickContext<'_, Self>, dt: f32);

    /// The first of the created hooks: from here on, services and other actors may be read.
    fn on_created(actor: &mut Actor<Self>, cx: &mut Commands<'_, Self>) {
        let _ = (actor, cx);
    }

    /// The first of the pending-destroy hooks: the actor was killed, and its state is intact. It is
    /// not called when the scene is shut down, so it may settle: loot, scores.
    fn on_pending_destroy(actor: &Actor<Self>, cx: &mut Commands<'_, Self>) {
        let _ = (actor, cx);
    }

    /// Runs after every destroyed hook, and releases what the core has acquired.
    fn cleanup(actor: &mut Actor<Self>, end: &Teardown<'_>) {
        let _ = (actor, end);
    }
}

/// One entity of a scene: passive data.
///
/// # Examples
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
/// let mut scene = Scene::<Unit>::builder().build()?;
/// let unit = scene.create_actor([3.0, 4.0], &(), |actor| {
///     actor.tags.insert("Team.Red");
/// })?;
/// let actor = scene.actor_mut(unit)?;
/// assert_eq!(actor.handle(), unit);
/// assert!(actor.tags.contains("Team"));
/// actor.position = [0.0, 0.0];
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Actor<C: Core> {
    handle: Handle,
    /// Where the actor is.
    pub position: C::Position,
    /// The actor's status in the game, which says nothing about its existence.
    pub tags: TagSet,
    /// The core components.
    pub core: C,
    pub(super) components: Components<C>,
    /// The actor's address while `configure` runs, which is when components may be added; 0 before
    /// and afterwards. An actor that user code has moved elsewhere meanwhile does not match it.
    configured_at: usize,
    /// Whether a component was added that ticks; if not, the block need not be looked at.
    pub(super) ticks: bool,
}

// SAFETY: everything that an actor owns is Send: the core, the position, and the components, whose
// trait asks for it (invariant 17).
unsafe impl<C: Core> Send for Actor<C> {}

impl<C: Core> Actor<C> {
    /// The step `construct`. `components` are empty, with a block or without.
    #[inline]
    pub(super) fn construct(
        handle: Handle,
        components: Components<C>,
        position: C::Position,
    ) -> Actor<C> {
        Actor {
            handle,
            position,
            tags: TagSet::default(),
            core: C::construct(position),
            components,
            configured_at: 0,
            ticks: false,
        }
    }

    /// The steps `init` and `configure`.
    #[inline]
    pub(super) fn complete(
        &mut self,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) {
        C::init(self, definition);
        self.configured_at = ptr::from_ref(self).addr();
        configure(self);
        self.configured_at = 0;
        self.components.fit();
    }

    /// Returns the handle that the actor was created under.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Adds a component, or replaces the one of the same type, which is dropped.
    ///
    /// # Panics
    /// Outside `configure`: hooks and systems rely on the set of components not to change.
    #[inline]
    #[track_caller]
    pub fn add_component<T: Component<C>>(&mut self, component: T) {
        self.assert_configuring::<T>();
        self.components.add(component);
    }

    /// Adds a component that ticks, as [`add_component`](Actor::add_component) adds others.
    /// Components tick in the order in which they were added.
    ///
    /// # Panics
    /// Outside `configure`.
    #[inline]
    #[track_caller]
    pub fn add_tick_component<T: TickComponent<C>>(&mut self, component: T) {
        self.assert_configuring::<T>();
        self.ticks = true;
        self.components.add_ticking(component);
    }

    #[track_caller]
    fn assert_configuring<T>(&self) {
        let name = std::any::type_name::<T>();
        assert!(
            self.configured_at == ptr::from_ref(self).addr() && !self.components.is_lent(),
            "{name} is added to {} outside configure, which is the only place for it",
            self.handle,
        );
    }

    /// Returns the component of a type. A component does not find itself inside its own hooks and
    /// tick.
    ///
    /// # Complexity
    /// Linear in the number of components.
    #[must_use]
    pub fn component<T: Component<C>>(&self) -> Option<&T> {
        self.components.get()
    }

    /// Returns the component of a type, to be changed. See [`component`](Actor::component).
    #[must_use]
    pub fn component_mut<T: Component<C>>(&mut self) -> Option<&mut T> {
        self.components.get_mut()
    }

    /// Returns whether [`component`](Actor::component) finds a component of a type.
    #[must_use]
    pub fn has_component<T: Component<C>>(&self) -> bool {
        self.component::<T>().is_some()
    }
}

impl<C: Core> fmt::Debug for Actor<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actor")
            .field("handle", &self.handle)
            .field("tags", &self.tags)
            .field("components", &self.components)
            .finish_non_exhaustive()
    }
}

//! Extension components: what a component may do, and the table of functions behind its type.

use std::any::{Any, TypeId, type_name};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::actor::{Actor, Core};
use super::commands::Commands;
use super::components::{Fit, Place, Walk};
use super::context::TickContext;
use super::teardown::Teardown;

/// A component that only some actors have, reached by its type.
///
/// It is added while its actor is configured, and goes with it. Inside its own hooks it is not in its
/// place: `owner.component::<Self>()` answers `None` there.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Commands, Component, Core, Scene, TickContext};
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
/// struct Shield(u32);
/// impl Component<Unit> for Shield {
///     fn on_created(&mut self, owner: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
///         owner.tags.insert("Actor.Shielded");
///         self.0 *= 2;
///     }
/// }
///
/// let mut scene = Scene::<Unit>::builder().build()?;
/// let unit = scene.create_actor((), &(), |actor| actor.add_component(Shield(5)))?;
/// assert_eq!(scene.actor(unit)?.component::<Shield>().map(|shield| shield.0), Some(10));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Component<C: Core>: Any + Send {
    /// The actor is complete: siblings, services and other actors may be read from here on.
    fn on_created(&mut self, owner: &mut Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (owner, cx);
    }

    /// The actor was killed, and its old state is whole: loot, scores, last words. Not called when
    /// the scene is shut down.
    fn on_pending_destroy(&mut self, owner: &Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (owner, cx);
    }

    /// The actor goes, whatever for: release what was acquired, and nothing else.
    fn on_destroyed(&mut self, owner: &mut Actor<C>, end: &Teardown<'_>) {
        let _ = (owner, end);
    }
}

/// A component that is called in every actor phase.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Component, Core, Scene, TickComponent, TickContext};
/// # struct Unit { distance: f32 }
/// # impl Core for Unit {
/// #     type Definition = ();
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Unit { Unit { distance: 0.0 } }
/// #     fn init(_: &mut Actor<Unit>, _: &()) {}
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
/// # }
/// struct Motor { speed: f32 }
/// impl Component<Unit> for Motor {}
/// impl TickComponent<Unit> for Motor {
///     fn tick(&mut self, owner: &mut Actor<Unit>, _: &TickContext<'_, Unit>, dt: f32) {
///         owner.core.distance += self.speed * dt;
///     }
/// }
///
/// let mut scene = Scene::<Unit>::builder().build()?;
/// let unit = scene.create_actor((), &(), |actor| actor.add_tick_component(Motor { speed: 4.0 }))?;
/// scene.tick(0.5);
/// assert_eq!(scene.actor(unit)?.core.distance, 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait TickComponent<C: Core>: Component<C> {
    /// One step of `dt` scaled seconds, after the core's and in the order of adding.
    fn tick(&mut self, owner: &mut Actor<C>, cx: &TickContext<'_, C>, dt: f32);
}

/// Larger components lie behind a box, since a component is moved out of its place for each call.
const LARGEST_INLINE: usize = 256;

const fn inline<T>() -> bool {
    size_of::<T>() <= LARGEST_INLINE
}

/// How a component lies in its place.
pub(super) trait Stored<T>: Sized {
    fn store(value: T) -> Self;
    fn get(&self) -> &T;
    fn get_mut(&mut self) -> &mut T;
}

/// In the place itself.
#[repr(transparent)]
pub(super) struct Inline<T>(T);

impl<T> Stored<T> for Inline<T> {
    fn store(value: T) -> Inline<T> {
        Inline(value)
    }

    #[inline]
    fn get(&self) -> &T {
        &self.0
    }

    #[inline]
    fn get_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T> Stored<T> for Box<T> {
    fn store(value: T) -> Box<T> {
        Box::new(value)
    }

    fn get(&self) -> &T {
        self
    }

    fn get_mut(&mut self) -> &mut T {
        self
    }
}

/// Calls a created or pending-destroy hook.
///
/// # Safety
/// * The place is one of the actor's, has a component of the table's type, and nothing is out.
type Created<C> = unsafe fn(&mut Actor<C>, Place, &mut Commands<'_, C>);
/// Calls a destroyed hook.
///
/// # Safety
/// * The place is one of the actor's, has a component of the table's type, and nothing is out.
type Destroyed<C> = unsafe fn(&mut Actor<C>, Place, &Teardown<'_>);
/// Ticks a component.
///
/// # Safety
/// * The place is one of the actor's, has a component of the table's type, and nothing is out.
type Tick<C> = unsafe fn(&mut Actor<C>, Place, &TickContext<'_, C>, f32);

/// The table of a type.
pub(super) struct Kind<C: Core> {
    pub(super) id: fn() -> TypeId,
    pub(super) name: fn() -> &'static str,
    pub(super) fit: Fit,
    /// Drops the component in its place.
    ///
    /// # Safety
    /// * The place has a component of the table's type, and nobody uses it any more.
    pub(super) drop: unsafe fn(NonNull<u8>),
    pub(super) created: Created<C>,
    pub(super) pending_destroy: Created<C>,
    pub(super) destroyed: Destroyed<C>,
    pub(super) tick: Option<Tick<C>>,
}

/// Makes the tables of a type, stored in one of the two ways.
struct Table<C, T, S>(std::marker::PhantomData<(C, T, S)>);

impl<C: Core, T: Component<C>, S: Stored<T> + 'static> Table<C, T, S> {
    const PLAIN: Kind<C> = Kind {
        id: TypeId::of::<T>,
        name: type_name::<T>,
        fit: Fit::of::<S>(),
        drop: drop_stored::<S>,
        created: created::<C, T, S>,
        pending_destroy: pending_destroy::<C, T, S>,
        destroyed: destroyed::<C, T, S>,
        tick: None,
    };
    const PLAIN_REF: &'static Kind<C> = &Self::PLAIN;
}

impl<C: Core, T: TickComponent<C>, S: Stored<T> + 'static> Table<C, T, S> {
    const TICKING: &'static Kind<C> = &Kind { tick: Some(tick::<C, T, S>), ..Self::PLAIN };
}

impl<C: Core> Kind<C> {
    pub(super) fn plain<T: Component<C>>() -> &'static Kind<C> {
        if inline::<T>() {
            Table::<C, T, Inline<T>>::PLAIN_REF
        } else {
            Table::<C, T, Box<T>>::PLAIN_REF
        }
    }

    pub(super) fn ticking<T: TickComponent<C>>() -> &'static Kind<C> {
        if inline::<T>() {
            Table::<C, T, Inline<T>>::TICKING
        } else {
            Table::<C, T, Box<T>>::TICKING
        }
    }
}

/// Puts a component into an empty place.
///
/// # Safety
/// * The place is empty, and laid out for this type.
pub(super) unsafe fn put<T: 'static>(place: NonNull<u8>, value: T) {
    if inline::<T>() {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { place.cast::<Inline<T>>().write(Inline::store(value)) };
    } else {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { place.cast::<Box<T>>().write(Box::store(value)) };
    }
}

/// Replaces the component in a place by another of its type; the old one.
///
/// # Safety
/// * The place has a component of this type.
pub(super) unsafe fn replace<T: 'static>(place: NonNull<u8>, value: T) -> impl Sized {
    // SAFETY: the caller's duty (invariant 17).
    std::mem::replace(unsafe { get_mut(place) }, value)
}

/// The component in a place.
///
/// # Safety
/// * The place has a component of this type.
/// * Nobody writes or takes it as long as the borrow lasts.
pub(super) unsafe fn get<'a, T: 'static>(place: NonNull<u8>) -> &'a T {
    if inline::<T>() {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { place.cast::<Inline<T>>().as_ref() }.get()
    } else {
        // SAFETY: the caller's duty (invariant 17).
        Stored::get(unsafe { place.cast::<Box<T>>().as_ref() })
    }
}

/// As [`get`], to write it.
///
/// # Safety
/// * The place has a component of this type.
/// * Nobody else reads, writes or takes it as long as the borrow lasts.
pub(super) unsafe fn get_mut<'a, T: 'static>(place: NonNull<u8>) -> &'a mut T {
    if inline::<T>() {
        // SAFETY: the caller's duty (invariant 17).
        unsafe { place.cast::<Inline<T>>().as_mut() }.get_mut()
    } else {
        // SAFETY: the caller's duty (invariant 17).
        Stored::get_mut(unsafe { place.cast::<Box<T>>().as_mut() })
    }
}

/// A component that is out of its place while it is called, so that its owner can be lent to it.
struct Out<'a, C: Core, S> {
    component: ManuallyDrop<S>,
    owner: &'a mut Actor<C>,
    place: Place,
}

impl<'a, C: Core, S> Out<'a, C, S> {
    /// # Safety
    /// * The place is one of the owner's, with a component stored as `S`, and nothing is out.
    #[inline]
    unsafe fn take(owner: &'a mut Actor<C>, place: Place) -> Out<'a, C, S> {
        // SAFETY: the caller's duty (invariant 17).
        let from = unsafe { owner.components.take_out(place) }.cast::<S>();
        // SAFETY: the place has such a component, which is marked as taken from here on
        // (invariant 17).
        let component = ManuallyDrop::new(unsafe { from.read() });
        Out { component, owner, place }
    }
}

impl<C: Core, S> Drop for Out<'_, C, S> {
    /// Back into its place, after a panic as well. If the owner was exchanged meanwhile for another
    /// actor, which user code can do by `mem::swap`, there is no place, and the component goes.
    #[inline]
    fn drop(&mut self) {
        // SAFETY: read once, here (invariant 17).
        let component = unsafe { ManuallyDrop::take(&mut self.component) };
        if let Some(to) = self.owner.components.put_back(self.place) {
            // SAFETY: the very place that this component was taken from (invariant 17).
            unsafe { to.cast::<S>().write(component) };
        }
    }
}

/// # Safety
/// * The place has a component stored as `S`, and nobody uses it any more.
unsafe fn drop_stored<S>(place: NonNull<u8>) {
    // SAFETY: the caller's duty (invariant 17).
    unsafe { place.cast::<S>().drop_in_place() };
}

/// # Safety
/// * As for [`Out::take`].
unsafe fn created<C: Core, T: Component<C>, S: Stored<T>>(
    actor: &mut Actor<C>,
    place: Place,
    cx: &mut Commands<'_, C>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut out = unsafe { Out::<C, S>::take(actor, place) };
    let Out { component, owner, .. } = &mut out;
    component.get_mut().on_created(owner, cx);
}

/// # Safety
/// * As for [`Out::take`].
unsafe fn pending_destroy<C: Core, T: Component<C>, S: Stored<T>>(
    actor: &mut Actor<C>,
    place: Place,
    cx: &mut Commands<'_, C>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut out = unsafe { Out::<C, S>::take(actor, place) };
    let Out { component, owner, .. } = &mut out;
    component.get_mut().on_pending_destroy(owner, cx);
}

/// # Safety
/// * As for [`Out::take`].
unsafe fn destroyed<C: Core, T: Component<C>, S: Stored<T>>(
    actor: &mut Actor<C>,
    place: Place,
    end: &Teardown<'_>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut out = unsafe { Out::<C, S>::take(actor, place) };
    let Out { component, owner, .. } = &mut out;
    component.get_mut().on_destroyed(owner, end);
}

/// # Safety
/// * As for [`Out::take`].
unsafe fn tick<C: Core, T: TickComponent<C>, S: Stored<T>>(
    actor: &mut Actor<C>,
    place: Place,
    cx: &TickContext<'_, C>,
    dt: f32,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut out = unsafe { Out::<C, S>::take(actor, place) };
    let Out { component, owner, .. } = &mut out;
    component.get_mut().tick(owner, cx, dt);
}

/// Ticks the components of an actor that asked for it.
#[inline]
pub(super) fn tick_all<C: Core>(actor: &mut Actor<C>, cx: &TickContext<'_, C>, dt: f32) {
    let mut walk = Walk::of(&actor.components);
    while let Some((kind, place)) = walk.next_to_call(&actor.components) {
        if let Some(tick) = kind.tick {
            // SAFETY: the walk has just found the place in these components (invariant 17).
            unsafe { tick(actor, place, cx, dt) };
        }
    }
}

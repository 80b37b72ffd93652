//! Extension components: what a component may do, and the table of functions behind its type.

use std::any::{Any, TypeId, type_name};
use std::marker::PhantomData;
use std::mem::forget;
use std::ptr::NonNull;

use super::actor::{Actor, Core};
use super::block::{At, Block, Fit};
use super::commands::Commands;
use super::components::Walk;
use super::context::TickContext;
use super::teardown::Teardown;

/// A component that only some actors have, reached by its type.
///
/// It is added while its actor is configured, and dropped with it. Inside its own hooks and tick it
/// is not found: `owner.component::<Self>()` returns `None` there.
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
    /// Called when the actor is complete: other components, services and other actors may be read
    /// from here on.
    fn on_created(&mut self, owner: &mut Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (owner, cx);
    }

    /// Called when the actor was killed, with its state intact: loot, scores, last words. Not
    /// called when the scene is shut down.
    fn on_pending_destroy(&mut self, owner: &Actor<C>, cx: &mut Commands<'_, C>) {
        let _ = (owner, cx);
    }

    /// Called when the actor is destroyed, for whatever reason: release what was acquired, and
    /// nothing else.
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
    /// Advances the component by `dt` scaled seconds, after the core, in the order in which
    /// components were added.
    fn tick(&mut self, owner: &mut Actor<C>, cx: &TickContext<'_, C>, dt: f32);
}

/// Calls a created or pending-destroy hook, and goes on to the entry behind.
///
/// # Safety
/// * An entry of the actor's begins there, with a component of the table's type, and nothing is
///   lent.
type Created<C> = unsafe fn(&mut Actor<C>, &mut At, &mut Commands<'_, C>);
/// Calls a destroyed hook, and goes on to the entry behind.
///
/// # Safety
/// * As for [`Created`].
type Destroyed<C> = unsafe fn(&mut Actor<C>, &mut At, &Teardown<'_>);
/// Ticks a component, if its type is one that ticks, and those behind it up to a place; the entry
/// that is next.
///
/// # Safety
/// * As for [`Created`], and the place is not behind the last component.
type Tick<C> = unsafe fn(&mut Actor<C>, At, &TickContext<'_, C>, At) -> At;

/// The table of a type.
pub(super) struct Kind<C: Core> {
    pub(super) tick: Tick<C>,
    pub(super) fit: Fit,
    pub(super) id: TypeId,
    pub(super) name: fn() -> &'static str,
    /// Drops the component in its place.
    ///
    /// # Safety
    /// * The place has a component of the table's type, and nobody uses it any more.
    pub(super) drop: unsafe fn(NonNull<u8>),
    pub(super) created: Created<C>,
    pub(super) pending_destroy: Created<C>,
    pub(super) destroyed: Destroyed<C>,
}

/// Makes the tables of a type.
struct Table<C, T>(PhantomData<(C, T)>);

impl<C: Core, T: Component<C>> Table<C, T> {
    const PLAIN: Kind<C> = Kind {
        tick: pass::<C, T>,
        fit: Fit::of::<T>(),
        id: TypeId::of::<T>(),
        name: type_name::<T>,
        drop: drop_in_place::<T>,
        created: created::<C, T>,
        pending_destroy: pending_destroy::<C, T>,
        destroyed: destroyed::<C, T>,
    };
    const PLAIN_REF: &'static Kind<C> = &Self::PLAIN;
}

impl<C: Core, T: TickComponent<C>> Table<C, T> {
    const TICKING: &'static Kind<C> = &Kind { tick: tick::<C, T>, ..Self::PLAIN };
}

impl<C: Core> Kind<C> {
    pub(super) fn plain<T: Component<C>>() -> &'static Kind<C> {
        Table::<C, T>::PLAIN_REF
    }

    pub(super) fn ticking<T: TickComponent<C>>() -> &'static Kind<C> {
        Table::<C, T>::TICKING
    }
}

/// A component that is lent to its own hook, beside its owner.
struct Lent<'a, C: Core, T> {
    component: NonNull<T>,
    owner: &'a mut Actor<C>,
    block: Block,
    /// Where the walk is.
    at: &'a mut At,
}

impl<'a, C: Core, T> Lent<'a, C, T> {
    /// # Safety
    /// * An entry of the owner's begins there, with a component of this type, and nothing is lent.
    #[inline]
    unsafe fn new(owner: &'a mut Actor<C>, at: &'a mut At) -> Lent<'a, C, T> {
        // SAFETY: there is a block where there is an entry: the caller's duty (invariant 17).
        let block = unsafe { owner.components.block().unwrap_unchecked() };
        // SAFETY: the caller's duty (invariant 17).
        let component = unsafe { at.component(Fit::of::<T>()) };
        // SAFETY: the block is the owner's, and nothing of it is lent (invariant 17).
        unsafe { block.set_lent(Some(*at)) };
        Lent { component: component.cast(), owner, block, at }
    }

    /// The component, and its owner.
    #[inline]
    fn parts(&mut self) -> (&mut T, &mut Actor<C>) {
        // SAFETY: it is lent here, so that nobody else reaches it, and its block stays
        // (invariant 17).
        (unsafe { self.component.as_mut() }, self.owner)
    }

    /// Goes on to the component behind, which is marked in its stead: until then the mark is left.
    #[inline]
    fn go_on(self) {
        if self.owner.components.block() == Some(self.block) {
            // SAFETY: the entry of such a component is there (invariant 17).
            *self.at = unsafe { self.at.next(Fit::of::<T>()) };
            forget(self);
        }
    }

    /// The owner was exchanged for another actor: the component has no place any more, and goes.
    /// The walk is over.
    #[cold]
    fn depart(&mut self) {
        /// Leaves the block, even if the component panics as it goes.
        struct Leave(Block);
        impl Drop for Leave {
            fn drop(&mut self) {
                // SAFETY: the owner lost the block while the component was lent, which has been
                // dropped (invariant 17).
                unsafe { self.0.leave() };
            }
        }
        // SAFETY: the block stays until the caller of the component leaves it (invariant 17).
        *self.at = unsafe { self.block.end() };
        let _leave = Leave(self.block);
        // SAFETY: whoever has the rest of the block leaves alone what is lent, for good
        // (invariant 17).
        unsafe { self.component.drop_in_place() };
    }
}

impl<C: Core, T> Drop for Lent<'_, C, T> {
    /// After a panic as well.
    #[inline]
    fn drop(&mut self) {
        if self.owner.components.block() != Some(self.block) {
            return self.depart();
        }
        // SAFETY: the block is the owner's (invariant 17).
        unsafe { self.block.set_lent(None) };
        // SAFETY: the entry of such a component is there (invariant 17).
        *self.at = unsafe { self.at.next(Fit::of::<T>()) };
    }
}

/// # Safety
/// * The place has a component of this type, and nobody uses it any more.
unsafe fn drop_in_place<T>(place: NonNull<u8>) {
    // SAFETY: the caller's duty (invariant 17).
    unsafe { place.cast::<T>().drop_in_place() };
}

/// # Safety
/// * As for [`Lent::new`].
unsafe fn created<C: Core, T: Component<C>>(
    actor: &mut Actor<C>,
    at: &mut At,
    cx: &mut Commands<'_, C>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut lent = unsafe { Lent::<C, T>::new(actor, at) };
    let (component, owner) = lent.parts();
    component.on_created(owner, cx);
}

/// # Safety
/// * As for [`Lent::new`].
unsafe fn pending_destroy<C: Core, T: Component<C>>(
    actor: &mut Actor<C>,
    at: &mut At,
    cx: &mut Commands<'_, C>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut lent = unsafe { Lent::<C, T>::new(actor, at) };
    let (component, owner) = lent.parts();
    component.on_pending_destroy(owner, cx);
}

/// # Safety
/// * As for [`Lent::new`].
unsafe fn destroyed<C: Core, T: Component<C>>(
    actor: &mut Actor<C>,
    at: &mut At,
    end: &Teardown<'_>,
) {
    // SAFETY: the caller's duty (invariant 17).
    let mut lent = unsafe { Lent::<C, T>::new(actor, at) };
    let (component, owner) = lent.parts();
    component.on_destroyed(owner, end);
}

/// # Safety
/// * As for [`Tick`].
unsafe fn tick<C: Core, T: TickComponent<C>>(
    actor: &mut Actor<C>,
    mut at: At,
    cx: &TickContext<'_, C>,
    until: At,
) -> At {
    // SAFETY: the caller's duty (invariant 17).
    let mut lent = unsafe { Lent::<C, T>::new(actor, &mut at) };
    let (component, owner) = lent.parts();
    component.tick(owner, cx, cx.dt);
    lent.go_on();
    // SAFETY: as the caller's (invariant 17).
    unsafe { tick_on(actor, at, cx, until) }
}

/// Passes over a component that does not tick: a call costs less than asking each whether it does.
///
/// # Safety
/// * As for [`Tick`].
unsafe fn pass<C: Core, T>(actor: &mut Actor<C>, at: At, cx: &TickContext<'_, C>, until: At) -> At {
    // SAFETY: the entry of such a component is here: the caller's duty (invariant 17).
    let at = unsafe { at.next(Fit::of::<T>()) };
    // SAFETY: as the caller's (invariant 17).
    unsafe { tick_on(actor, at, cx, until) }
}

/// Goes on to the component behind: the last that a tick does, so that it is a jump from one to the
/// next, with everything in its registers, and not a return and a call.
///
/// # Safety
/// * As for [`Tick`], if the entry is ahead of the place.
#[inline(always)]
unsafe fn tick_on<C: Core>(actor: &mut Actor<C>, at: At, cx: &TickContext<'_, C>, until: At) -> At {
    if at >= until {
        return at;
    }
    // SAFETY: an entry of this actor's begins here: one that loses its components while one of them
    // is called has come to the end of its walk (invariant 17).
    let kind = unsafe { at.kind::<C>() };
    // SAFETY: as above, and nothing is lent, whatever is marked (invariant 17).
    unsafe { (kind.tick)(actor, at, cx, until) }
}

/// How much of a block is ticked at a time: where a compiler makes calls of the jumps, as it does
/// for debugging, so many components lie on the stack and no more.
const REACH: usize = 1024;

/// Ticks the components of an actor that asked for it.
#[inline]
pub(super) fn tick_all<C: Core>(actor: &mut Actor<C>, cx: &TickContext<'_, C>) {
    let Walk { mut at, end } = Walk::to_call(&actor.components);
    let Some(block) = actor.components.block().filter(|_| at != end) else { return };
    while at != end {
        // SAFETY: the components of this actor go on up to the end, and nothing is lent (invariant
        // 17).
        at = unsafe { tick_on(actor, at, cx, at.ahead(REACH).min(end)) };
    }
    if actor.components.block() == Some(block) {
        // SAFETY: the block is the actor's, and no call of its components is under way
        // (invariant 17).
        unsafe { block.set_lent(None) };
    }
}

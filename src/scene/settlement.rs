//! Tickets that keep a killed actor from its sweep.

use std::fmt;

use super::actor::Core;
use super::cell::ActorCell;
use crate::handle::Handle;
use crate::store::Hold;

/// A ticket: while there is one, a killed actor stays Dying, and its destroyed hooks wait.
///
/// For what takes longer than a frame: a database, another service. It may be sent to any thread and
/// outlive the scene. A shutdown does not wait for it, and what it keeps then is the slot alone.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// use hatchery::State;
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
/// let mut scene = Scene::<Unit>::builder().build()?;
/// let unit = scene.create_actor((), &(), |_| ())?;
/// let ticket = scene.settle(unit)?;
/// scene.kill_actor(unit)?;
/// scene.tick(0.1);
/// assert_eq!(scene.state(unit), Ok(State::Dying));
/// drop(ticket);
/// scene.tick(0.1);
/// assert!(scene.state(unit).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Settlement {
    handle: Handle,
    /// Never looked into: an actor is the scene's thread's.
    _hold: Box<dyn Send + Sync>,
}

impl Settlement {
    pub(super) fn new<C: Core>(hold: Hold<ActorCell<C>>) -> Settlement {
        Settlement { handle: hold.handle(), _hold: Box::new(hold) }
    }

    /// The actor that it is a ticket for.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }
}

impl fmt::Debug for Settlement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settlement").field("handle", &self.handle).finish_non_exhaustive()
    }
}

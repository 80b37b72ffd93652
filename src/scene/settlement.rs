//! Tickets that keep a killed actor from its sweep.

use std::fmt;

use super::actor::Core;
use super::cell::ActorCell;
use crate::handle::Handle;
use crate::store::Hold;

/// A ticket for an actor: as long as one exists, the actor stays Dying after its kill, and its
/// destroyed hooks wait.
///
/// It is for work that takes longer than a frame, such as a call to a database or another service.
/// It may be sent to any thread, and may outlive the scene. A shutdown does not wait for it, and
/// destroys the actor; from then on the ticket only keeps the slot.
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
    /// Its payload is never looked at: the actor belongs to the thread of the scene.
    _hold: Box<dyn Send + Sync>,
}

impl Settlement {
    pub(super) fn new<C: Core>(hold: Hold<ActorCell<C>>) -> Settlement {
        Settlement { handle: hold.handle(), _hold: Box::new(hold) }
    }

    /// Returns the handle of the actor.
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

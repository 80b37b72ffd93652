//! What a hook may use while things are taken apart.

use std::any::Any;

use super::services::Services;
use super::time::SceneTime;
use crate::reason::EndReason;

/// What destroyed hooks, `cleanup` and the shutdown hooks may read: services, and the reason.
/// Nothing can be created or killed.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use hatchery::{EndReason, scene::Teardown};
///
/// struct Unit;
/// struct Sockets(AtomicUsize);
///
/// impl Core for Unit {
/// #     type Definition = ();
/// #     type Position = ();
/// #     type Public = ();
/// #     fn construct(_: ()) -> Unit { Unit }
/// #     fn init(_: &mut Actor<Unit>, _: &()) {}
/// #     fn publish(_: &Actor<Unit>) {}
/// #     fn tick(_: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {}
///     fn cleanup(_: &mut Actor<Unit>, end: &Teardown<'_>) {
///         assert_eq!(end.reason(), EndReason::Shutdown);
///         let sockets = end.service::<Sockets>().expect("set in the builder");
///         sockets.0.fetch_sub(1, Ordering::Relaxed);
///     }
/// }
///
/// let mut scene = Scene::<Unit>::builder().service(Sockets(AtomicUsize::new(1))).build()?;
/// scene.create_actor((), &(), |_| ())?;
/// scene.shutdown();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Teardown<'a> {
    pub(super) reason: EndReason,
    pub(super) services: &'a Services,
    pub(super) time: &'a SceneTime,
}

impl<'a> Teardown<'a> {
    /// Returns the reason: Killed, Shutdown, or Cancelled if a creation failed after its first
    /// created hook had begun.
    #[must_use]
    pub fn reason(&self) -> EndReason {
        self.reason
    }

    /// Returns the service of a type, if the builder was given one.
    #[must_use]
    pub fn service<S: Any + Send + Sync>(&self) -> Option<&'a S> {
        self.services.get()
    }

    /// Returns the scene's clock.
    #[must_use]
    pub fn time(&self) -> &'a SceneTime {
        self.time
    }
}

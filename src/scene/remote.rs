//! What other threads may do with a scene: create, kill and look up, while it ticks.

use std::fmt;
use std::sync::Arc as StdArc;

use super::actor::{Actor, Core};
use super::cell::{ActorCell, Newborn};
use super::components::Components;
use super::error::CreateError;
use super::inbox::{Inbox, Taken};
use super::settlement::Settlement;
use crate::error::{HoldError, LookupError};
use crate::handle::Handle;
use crate::id::SceneId;
use crate::state::State;
use crate::store::{Store, WeakStore};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Ordering, planted};

/// What another thread asks of a scene.
pub(super) enum Request<C: Core> {
    /// Admit an actor that is Pending.
    Admit(Newborn<C>),
    Kill(Handle),
}

/// What a scene and its remotes share. It keeps neither the scene nor its store.
pub(crate) struct Link<C: Core> {
    inbox: Inbox<Request<C>>,
    shutdown_asked: AtomicBool,
    /// How many remotes there are.
    remotes: AtomicUsize,
}

impl<C: Core> Link<C> {
    pub(crate) fn new() -> Link<C> {
        Link {
            inbox: Inbox::new(),
            shutdown_asked: AtomicBool::new(false),
            remotes: AtomicUsize::new(0),
        }
    }

    /// Whether there is no remote; then there is none until the thread that has the scene makes
    /// one.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        // Acquire N3: receives what was done through every remote that there was, before this
        // thread changes a word as if there had been none.
        self.remotes.load(ord!(Acquire: N3)) == 0 || planted("alone beside a remote")
    }

    /// One remote more: of the scene, by its thread, or of another remote.
    pub(crate) fn join(&self) {
        // Relaxed: whoever makes one has the scene or a remote, so the scene cannot find itself
        // alone meanwhile. It cannot overflow: each remote owns a reference to the link, and `Arc`
        // bounds those.
        self.remotes.fetch_add(1, Ordering::Relaxed);
    }

    /// One remote less.
    pub(crate) fn leave(&self) {
        // Release N3: publishes what was done through it. Others leave by read-modify-writes, so
        // the release sequence goes on to the last.
        self.remotes.fetch_sub(1, ord!(Release: N3));
    }

    /// Everything that was asked for, in order of arrival.
    pub(super) fn take(&self) -> Taken<Request<C>> {
        self.inbox.take()
    }

    /// As [`take`](Link::take), and whoever comes from here on is refused.
    pub(super) fn close(&self) -> Taken<Request<C>> {
        self.inbox.close()
    }

    /// Asks for an actor's end; refused once the link is closed.
    pub(super) fn kill(&self, h: Handle) -> Result<(), Request<C>> {
        self.inbox.push(Request::Kill(h))
    }

    pub(crate) fn ask_for_shutdown(&self) {
        // Release N2: publishes what this thread did before, to the hooks of the shutdown.
        self.shutdown_asked.store(true, ord!(Release: N2));
    }

    pub(crate) fn shutdown_asked(&self) -> bool {
        // Acquire N2: receives what the thread did that asked, before the hooks of the shutdown
        // run.
        self.shutdown_asked.load(ord!(Acquire: N2))
    }
}

/// A reference to a scene for threads that do not drive it.
///
/// Creating and killing are lock-free: a request goes into an inbox, which the scene empties at the
/// start of its next frame. A remote keeps neither the scene alive nor its id in use; a call that
/// is in progress when the scene is dropped keeps the id until it returns.
///
/// # Examples
///
/// ```
/// # use hatchery::scene::{Actor, Core, Scene, TickContext};
/// use std::sync::Arc;
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
/// let mut scene = Scene::<Unit>::builder().build()?;
/// let remote = scene.remote();
/// let spawner = std::thread::spawn(move || remote.create_actor(3.0, Arc::new(()), |_| ()));
/// let unit = spawner.join().unwrap()?;
/// assert!(scene.actor(unit).is_err()); // Pending
/// scene.tick(0.1); // admits it
/// assert_eq!(scene.actor(unit)?.position, 3.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SceneRemote<C: Core> {
    store: WeakStore<ActorCell<C>>,
    scene: SceneId,
    link: Arc<Link<C>>,
}

impl<C: Core> SceneRemote<C> {
    pub(super) fn new(store: &Store<ActorCell<C>>, link: &Arc<Link<C>>) -> SceneRemote<C> {
        link.join();
        let link = Arc::clone(link);
        SceneRemote { store: store.downgrade(), scene: store.scene(), link }
    }

    /// The store, while the scene takes requests.
    fn open_store(&self) -> Option<Store<ActorCell<C>>> {
        if self.link.inbox.is_closed() { None } else { self.store.upgrade() }
    }

    /// Creates an actor; its constructor and `configure` run on the calling thread. It is Pending
    /// until the next frame, paused or not, admits it: then its created hooks run on the scene's
    /// thread.
    ///
    /// A frame admits all actors that wait, so threads that keep creating faster than frames are
    /// run make each frame longer than the one before. [Limits](crate::scene::SceneBuilder::limits)
    /// bound that.
    ///
    /// # Errors
    /// [`CreateError::Shutdown`] if the scene is shut down or dropped, [`CreateError::Spawn`] if
    /// there is no room.
    pub fn create_actor(
        &self,
        position: C::Position,
        definition: StdArc<C::Definition>,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Handle, CreateError> {
        let shutdown = CreateError::Shutdown { scene: self.scene };
        let store = self.open_store().ok_or(shutdown)?;
        let (block, configured) = (Components::new, configure);
        // SAFETY: there is no nursery (invariant 16).
        let newborn =
            unsafe { Newborn::make(&store, None, block, position, &definition, configured) }?;
        let handle = newborn.handle;
        if let Err(Request::Admit(newborn)) = self.link.inbox.push(Request::Admit(newborn)) {
            // SAFETY: it was given back, so it is this thread's again (invariant 16).
            let refused = unsafe { newborn.cell.take() };
            newborn.cancel(&store);
            drop(refused);
            return Err(shutdown);
        }
        Ok(handle)
    }

    /// Asks for an actor to be killed at the start of the next frame, and returns whether the
    /// request was taken: the actor was Pending or Active, and the scene is not shut down.
    ///
    /// An actor that is not admitted by then is killed in the first frame that finds it admitted.
    pub fn kill_actor(&self, h: Handle) -> bool {
        let Some(store) = self.open_store() else { return false };
        matches!(store.existence(h), Ok(State::Pending | State::Active))
            && self.link.kill(h).is_ok()
    }

    /// Takes a ticket: once the actor is killed, its destroyed hooks wait until the last ticket
    /// drops.
    ///
    /// # Errors
    /// A [`HoldError`] if the handle does not lead to an Active or Dying actor;
    /// [`HoldError::ReapRequested`] for one whose destroyed hooks have begun.
    pub fn settle(&self, h: Handle) -> Result<Settlement, HoldError> {
        let gone = HoldError::Lookup(LookupError::NotFound { handle: h });
        let store = self.open_store().ok_or(gone)?;
        store.hold(h).map(Settlement::new)
    }

    /// Returns the state of an actor that exists.
    ///
    /// # Errors
    /// A [`LookupError`] that says why there is none; `NotFound` once the scene is shut down.
    pub fn state(&self, h: Handle) -> Result<State, LookupError> {
        let store = self.open_store().ok_or(LookupError::NotFound { handle: h })?;
        store.existence(h)
    }

    /// Asks for the shutdown of the scene, at the end of the running frame or the start of the next
    /// one.
    pub fn shutdown(&self) {
        self.link.ask_for_shutdown();
    }

    /// Returns whether the scene is shut down or dropped.
    #[must_use]
    pub fn is_shutdown(&self) -> bool {
        self.link.inbox.is_closed()
    }
}

impl<C: Core> Clone for SceneRemote<C> {
    fn clone(&self) -> SceneRemote<C> {
        self.link.join();
        SceneRemote { store: self.store.clone(), scene: self.scene, link: Arc::clone(&self.link) }
    }
}

impl<C: Core> Drop for SceneRemote<C> {
    fn drop(&mut self) {
        self.link.leave();
    }
}

impl<C: Core> fmt::Debug for SceneRemote<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SceneRemote")
            .field("scene", &self.scene)
            .field("is_shutdown", &self.is_shutdown())
            .finish()
    }
}

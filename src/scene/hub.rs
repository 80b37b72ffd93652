//! The systems of a scene, in order of registration, and by phase those that tick.

use std::fmt;

use super::actor::{Actor, Core};
use super::commands::Commands;
use super::phase::Phase;
use super::system::{System, TickSystem};
use super::teardown::Teardown;

/// A system, as it was registered.
pub(super) enum Registered<C: Core> {
    Hearing(Box<dyn System<C>>),
    Ticking(Box<dyn TickSystem<C>>),
}

/// Calls a method of `System`, which a `TickSystem` has as well.
macro_rules! of_system {
    ($registered:expr, $system:ident => $call:expr) => {
        match $registered {
            Registered::Hearing($system) => $call,
            Registered::Ticking($system) => $call,
        }
    };
}

/// The systems of a scene.
pub(super) struct Hub<C: Core> {
    systems: Vec<Registered<C>>,
    phases: [Vec<usize>; 4],
}

impl<C: Core> Hub<C> {
    pub(super) fn new() -> Hub<C> {
        Hub { systems: Vec::new(), phases: Default::default() }
    }

    pub(super) fn add(&mut self, system: impl System<C>) {
        self.systems.push(Registered::Hearing(Box::new(system)));
    }

    pub(super) fn add_ticking(&mut self, system: impl TickSystem<C>) {
        self.systems.push(Registered::Ticking(Box::new(system)));
    }

    /// Asks every system for its phase, once.
    pub(super) fn freeze(&mut self) {
        for (place, registered) in self.systems.iter().enumerate() {
            if let Registered::Ticking(system) = registered {
                self.phases[system.phase() as usize].push(place);
            }
        }
    }

    /// The place of the `number`th system of a phase. An iterator would borrow the hub, which is
    /// needed between two ticks for what the first has asked for.
    pub(super) fn place(&self, phase: Phase, number: usize) -> Option<usize> {
        self.phases[phase as usize].get(number).copied()
    }

    pub(super) fn ticking(&mut self, place: usize) -> Option<&mut dyn TickSystem<C>> {
        match self.systems.get_mut(place)? {
            Registered::Ticking(system) => Some(&mut **system),
            Registered::Hearing(_) => None,
        }
    }

    /// A system, by its place in the order of registration.
    #[inline]
    pub(super) fn get(&mut self, place: usize) -> Option<&mut Registered<C>> {
        self.systems.get_mut(place)
    }
}

/// The hooks of a system, whichever kind it is of.
impl<C: Core> Registered<C> {
    pub(super) fn created(&mut self, actor: &mut Actor<C>, cx: &mut Commands<'_, C>) {
        of_system!(self, system => system.on_actor_created(actor, cx));
    }

    pub(super) fn pending_destroy(&mut self, actor: &Actor<C>, cx: &mut Commands<'_, C>) {
        of_system!(self, system => system.on_actor_pending_destroy(actor, cx));
    }

    pub(super) fn destroyed(&mut self, actor: &mut Actor<C>, end: &Teardown<'_>) {
        of_system!(self, system => system.on_actor_destroyed(actor, end));
    }

    pub(super) fn scene_shutdown(&mut self, end: &Teardown<'_>) {
        of_system!(self, system => system.on_scene_shutdown(end));
    }
}

impl<C: Core> fmt::Debug for Hub<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").field("systems", &self.systems.len()).finish()
    }
}

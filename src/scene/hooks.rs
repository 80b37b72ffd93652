//! The hooks of the three events in an actor's existence, and what they ask for.

use super::actor::Core;
use super::cell::{CellRef, Newborn};
use super::commands::Commands;
use super::components::{Components, Walk};
use super::error::CreateError;
use super::hub::Hub;
use super::random::{Dice, Drawer};
use super::registry::Entry;
use super::teardown::Teardown;
use super::work::Work;
use super::{Actor, Scene, trace};
use crate::error::TransitionError;
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::state::State;
use crate::sync::planted;

/// How many created hooks were begun: only these are told of the actor's end.
#[derive(Clone, Copy)]
struct Begun {
    components: usize,
    systems: usize,
}

const ALL: Begun = Begun { components: usize::MAX, systems: usize::MAX };

impl<C: Core> Scene<C> {
    /// Carries out what hooks and ticks have asked for, in order, until the queue is empty.
    #[inline]
    pub(super) fn drain(&mut self) {
        if !self.queue.is_empty() {
            self.drain_slow();
        }
    }

    #[inline(never)]
    fn drain_slow(&mut self) {
        while let Some(work) = self.queue.pop_front() {
            match work {
                Work::Create { position, definition, configure } => {
                    let mut made = None;
                    let registry = &mut self.registry;
                    self.panics.contain(|| {
                        // Dropped in here, since its destructor is user code as well.
                        let definition = definition;
                        made = Some(registry.make(position, &definition, configure));
                    });
                    match made {
                        Some(Ok(newborn)) => self.introduce(newborn),
                        Some(Err(failure)) => {
                            self.report.refuse_creation(self.registry.store.scene(), failure);
                        }
                        None => {}
                    }
                }
                Work::Introduce(newborn) => self.introduce(newborn),
                // A refusal has been counted.
                Work::Kill(handle) => drop(self.kill(handle)),
                Work::RemoteKill(handle) => {
                    // Its creator has not sent it yet, so the next frame tries again.
                    let ahead = self.registry.store.existence(handle) == Ok(State::Pending)
                        && !planted("kill ahead of its actor dropped");
                    if !ahead || self.link.kill(handle).is_err() {
                        let _ = self.kill(handle);
                    }
                }
                Work::Mourn(cell) => self.mourn(cell),
                Work::Shutdown => self.shutdown_asked = true,
            }
        }
    }

    /// Kills an actor, and tells its pending-destroy hooks.
    #[inline]
    pub(super) fn kill(&mut self, handle: Handle) -> Result<(), TransitionError> {
        match self.registry.kill(handle) {
            Ok(cell) => {
                self.mourn(cell);
                Ok(())
            }
            Err(refused) => {
                self.report.refuse_kill(refused);
                Err(refused)
            }
        }
    }

    /// Creates an actor for a caller that waits for its handle.
    #[inline]
    pub(super) fn create(
        &mut self,
        position: C::Position,
        definition: &C::Definition,
        configure: impl FnOnce(&mut Actor<C>),
    ) -> Result<Handle, CreateError> {
        if self.is_shutdown {
            return Err(CreateError::Shutdown { scene: self.registry.store.scene() });
        }
        match self.registry.make(position, definition, configure) {
            Ok(newborn) => {
                let handle = newborn.handle;
                self.introduce(newborn);
                Ok(handle)
            }
            Err(failure) => {
                self.report.refuse_creation(self.registry.store.scene(), failure);
                Err(failure.into())
            }
        }
    }

    /// Calls the created hooks of a Pending actor, which is Active afterwards. If one panics, the
    /// creation is cancelled, and those who were told of it are told of its end.
    pub(super) fn introduce(&mut self, newborn: Newborn<C>) {
        let birth = self.registry.number(&newborn);
        match self.tell_created(newborn.cell, birth) {
            Ok(()) => {
                let handle = newborn.handle;
                self.registry.activate(newborn, birth);
                self.report.created += 1;
                trace::created(handle);
            }
            Err(begun) => self.cancel(newborn, begun),
        }
    }

    /// Ends an actor that is Pending, and tells those who were told of its creation.
    #[cold]
    fn cancel(&mut self, newborn: Newborn<C>, begun: Begun) {
        let handle = newborn.handle;
        self.tell_destroyed(newborn.cell, begun, EndReason::Cancelled);
        // SAFETY: this thread has the scene, and the actor is Pending (invariant 16).
        let actor = unsafe { newborn.cell.take() };
        self.panics.contain_drop(actor);
        self.registry.count();
        newborn.cancel(&self.registry.store);
        trace::cancelled(handle, EndReason::Cancelled);
    }

    fn tell_created(&mut self, cell: CellRef<C>, birth: u64) -> Result<(), Begun> {
        let dice = Dice::new(self.seed, Drawer::Created, birth, self.time.frame);
        let Scene { registry, services, time, queue, hub, panics, .. } = self;
        // SAFETY: this thread has the scene, and the actor is Pending, so nobody else finds it
        // (invariant 16).
        let Some(actor) = (unsafe { cell.get_mut() }) else { return Ok(()) };
        let mut cx = Commands { registry, services, time, owner: cell, dice, queue };
        let mut begun = Begun { components: 0, systems: 0 };
        let told = panics.contain(|| {
            C::on_created(actor, &mut cx);
            let mut walk = Walk::to_call(&actor.components);
            // SAFETY: a hook that exchanges the actor ends the walk (invariant 17).
            while let Some(kind) = unsafe { walk.kind::<C>() } {
                begun.components += 1;
                // SAFETY: the walk is over the actor's components, and nothing is lent
                // (invariant 17).
                unsafe { (kind.created)(actor, &mut walk.at, &mut cx) };
            }
            while let Some(system) = hub.get(begun.systems) {
                begun.systems += 1;
                system.created(actor, &mut cx);
            }
        });
        if told { Ok(()) } else { Err(begun) }
    }

    /// Calls the pending-destroy hooks of a killed actor. Each is called, even if others panic.
    #[inline(always)]
    pub(super) fn mourn(&mut self, cell: CellRef<C>) {
        self.report.killed += 1;
        // SAFETY: this thread has the scene (invariant 16).
        let birth = unsafe { cell.birth() };
        let dice = Dice::new(self.seed, Drawer::PendingDestroy, birth, self.time.frame);
        let Scene { registry, services, time, queue, hub, panics, .. } = self;
        // SAFETY: this thread has the scene, and the hooks get no other way to this actor
        // (invariant 16).
        let Some(actor) = (unsafe { cell.get_mut() }) else { return };
        let mut cx = Commands { registry, services, time, owner: cell, dice, queue };
        let (mut core_is_told, mut walk, mut number) = (false, None, 0);
        panics.contain_each(|| {
            let (actor, cx) = (&mut *actor, &mut cx);
            if !core_is_told {
                core_is_told = true;
                C::on_pending_destroy(actor, cx);
            }
            let walk = walk.get_or_insert_with(|| Walk::to_call(&actor.components));
            // SAFETY: a hook that exchanges the actor ends the walk (invariant 17).
            while let Some(kind) = unsafe { walk.kind::<C>() } {
                // SAFETY: the walk is over the actor's components, and nothing is lent
                // (invariant 17). It goes on before a panic does.
                unsafe { (kind.pending_destroy)(actor, &mut walk.at, cx) };
            }
            while let Some(system) = hub.get(number) {
                number += 1;
                system.pending_destroy(actor, cx);
            }
        });
    }

    /// Calls the destroyed hooks of an actor, drops it and what it has published, and keeps the
    /// block of its components for another actor.
    pub(super) fn destroy(&mut self, doomed: &Entry<C>, reason: EndReason) {
        let Scene { registry, services, time, hub, panics, published, .. } = self;
        // SAFETY: this thread has the scene, the actor is Dying, and the hooks get no other way to
        // it (invariant 16).
        let place = unsafe { doomed.cell.actor_mut() };
        let end = Teardown { reason, services, time };
        let mut left = Components::new();
        if let Some(actor) = place {
            let mut farewell = Farewell::new(actor, ALL);
            panics.contain_each(|| farewell.tell(actor, hub, &end));
            std::mem::swap(&mut left, &mut actor.components);
            // In its place, which is empty even if this panics.
            panics.contain(|| *place = None);
        }
        // Even if these panic, nothing of the actor is left.
        panics.contain(|| left.clear());
        panics.contain(|| published.forget(doomed));
        registry.spares.keep(left);
        self.report.destroyed += 1;
        trace::destroyed(self.registry.handle(doomed), reason);
    }

    fn tell_destroyed(&mut self, cell: CellRef<C>, begun: Begun, reason: EndReason) {
        let Scene { services, time, hub, panics, .. } = self;
        // SAFETY: this thread has the scene, and the hooks get no other way to this actor
        // (invariant 16).
        let Some(actor) = (unsafe { cell.get_mut() }) else { return };
        let end = Teardown { reason, services, time };
        let mut farewell = Farewell::new(actor, begun);
        panics.contain_each(|| farewell.tell(actor, hub, &end));
    }
}

/// How far the destroyed hooks of an actor have come.
struct Farewell {
    begun: Begun,
    walk: Walk,
    components: usize,
    systems: usize,
    is_clean: bool,
}

impl Farewell {
    #[inline]
    fn new<C: Core>(actor: &Actor<C>, begun: Begun) -> Farewell {
        let walk = Walk::to_call(&actor.components);
        Farewell { begun, walk, components: 0, systems: 0, is_clean: false }
    }

    /// Calls those that were not called yet.
    #[inline]
    fn tell<C: Core>(&mut self, actor: &mut Actor<C>, hub: &mut Hub<C>, end: &Teardown<'_>) {
        while self.components < self.begun.components {
            // SAFETY: a hook that exchanges the actor ends the walk (invariant 17).
            let Some(kind) = (unsafe { self.walk.kind::<C>() }) else { break };
            self.components += 1;
            // SAFETY: the walk is over the actor's components, and nothing is lent (invariant 17).
            // It goes on before a panic does.
            unsafe { (kind.destroyed)(actor, &mut self.walk.at, end) };
        }
        while self.systems < self.begun.systems {
            let Some(system) = hub.get(self.systems) else { break };
            self.systems += 1;
            system.destroyed(actor, end);
        }
        if !self.is_clean {
            self.is_clean = true;
            C::cleanup(actor, end);
        }
    }
}

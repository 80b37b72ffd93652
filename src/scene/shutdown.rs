//! The end of a scene, in two phases: first its systems are told, and then every actor is
//! destroyed.

use super::actor::Core;
use super::remote::Request;
use super::teardown::Teardown;
use super::work::Work;
use super::{Scene, trace};
use crate::reason::EndReason;
use crate::sync::planted;

impl<C: Core> Scene<C> {
    /// Ends the scene if that was asked for; returns whether it has ended.
    pub(super) fn end_if_asked(&mut self) -> bool {
        if !self.is_shutdown && (self.shutdown_asked || self.link.shutdown_asked()) {
            self.end();
        }
        self.is_shutdown
    }

    /// Ends the scene, once, whatever is alive, pending or dying.
    pub(super) fn end(&mut self) {
        self.is_shutdown = true;
        let _span = trace::shutdown(self.registry.store.scene());
        self.registry.count();
        self.refuse_remotes();
        self.end_systems();
        self.end_actors();
    }

    /// Closes the inbox, and cancels the actors in it, so that none stays Pending for ever.
    fn refuse_remotes(&mut self) {
        for request in self.link.close() {
            if let Request::Admit(newborn) = request {
                // SAFETY: this thread has the scene, and the actor was handed to it
                // (invariant 16).
                let actor = unsafe { newborn.cell.take() };
                self.panics.contain_drop(actor);
                let handle = newborn.handle;
                newborn.cancel(&self.registry.store);
                trace::cancelled(handle, EndReason::Shutdown);
            } else if let (Request::Kill(h), true) =
                (request, planted("kill carried out in a shutdown"))
            {
                self.queue.push_back(Work::Kill(h));
                self.drain();
            }
        }
    }

    fn end_systems(&mut self) {
        let Scene { services, time, hub, panics, .. } = self;
        let end = Teardown { reason: EndReason::Shutdown, services, time };
        let mut number = 0;
        while let Some(system) = hub.get(number) {
            number += 1;
            panics.contain(|| system.scene_shutdown(&end));
        }
    }

    /// Destroys every actor. A ticket keeps the slot of its actor, and not the actor.
    fn end_actors(&mut self) {
        let store = self.registry.store.clone();
        let pinned = store.pin();
        for doomed in self.registry.doom_all() {
            self.destroy(&doomed, EndReason::Shutdown);
            // Deferred, where somebody has a ticket.
            let _ = store.reap(self.registry.handle(&doomed));
        }
        drop(pinned);
        self.published.clear();
        self.registry.spares.clear();
        store.reclaim_at_once();
    }
}

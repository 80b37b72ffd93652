//! The sweep at the beginning of a frame, which ends the actors that were killed before.

use super::Scene;
use super::actor::Core;
use super::cell::ActorCell;
use super::registry::Entry;
use crate::reason::EndReason;
use crate::store::Ending;

impl<C: Core> Scene<C> {
    /// Ends the actors that were killed before this frame and have no ticket.
    pub(super) fn sweep(&mut self) {
        let store = self.registry.store.clone();
        self.registry.trim();
        let mut swept = std::mem::take(&mut self.swept);
        self.registry.take_doomed(&mut swept);
        if !swept.is_empty() {
            // One pin for all of them.
            let mut ending = store.ending();
            self.registry.count();
            let is_alone = self.registry.is_alone();
            swept.retain(|doomed| self.end_killed(&mut ending, doomed, is_alone));
            drop(ending);
            self.registry.close_gaps(&mut swept);
            swept.clear();
        }
        self.swept = swept;
        // Now, so that which slots are used next does not depend on readers.
        store.reclaim_at_once();
    }

    /// Ends a killed actor, unless it has a ticket; returns whether it did.
    #[inline]
    fn end_killed(
        &mut self,
        ending: &mut Ending<'_, ActorCell<C>>,
        doomed: &Entry<C>,
        is_alone: bool,
    ) -> bool {
        let ends = self.registry.seal(doomed, is_alone);
        if ends {
            self.destroy(doomed, EndReason::Killed);
            self.registry.bury(ending, doomed);
        }
        ends
    }
}

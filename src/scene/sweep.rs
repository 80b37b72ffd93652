//! The sweep at the beginning of a frame: the end of those that were killed before.

use super::Scene;
use super::actor::Core;
use super::registry::Registry;
use crate::reason::EndReason;

impl<C: Core> Scene<C> {
    /// Ends those that were killed before this frame and that no ticket keeps.
    pub(super) fn sweep(&mut self) {
        let store = self.registry.store.clone();
        self.registry.spares.trim();
        let mut swept = std::mem::take(&mut self.swept);
        self.registry.take_doomed(&mut swept);
        if !swept.is_empty() {
            // One pin for all of them.
            let mut ending = store.ending();
            self.registry.count();
            for doomed in &swept {
                self.destroy(doomed, EndReason::Killed);
                Registry::bury(&mut ending, doomed);
            }
            drop(ending);
            self.registry.close_gaps(&mut swept);
            swept.clear();
        }
        self.swept = swept;
        // Now, so that which slots serve next does not depend on when readers come by.
        store.reclaim_at_once();
    }
}

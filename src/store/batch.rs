//! Many entities at once.

use super::core::Core;
use crate::error::{BatchError, SpawnError};
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::reclaim::Session;

/// After how many entities a batch moves its own pin, so that it does not hold back what it made
/// Dead itself.
const REPIN_EVERY: usize = 256;

/// Handles that are allocated ahead, at most: an iterator's own estimate may be anything.
const TRUSTED_ESTIMATE: usize = 4096;

impl<T> Core<T> {
    pub(super) fn spawn_batch(
        &self,
        session: &Session,
        values: impl IntoIterator<Item = T>,
    ) -> Result<Vec<Handle>, BatchError<T>> {
        let mut values = values.into_iter();
        let mut spawned = Vec::with_capacity(values.size_hint().0.min(TRUSTED_ESTIMATE));
        while let Some(value) = values.next() {
            match self.spawn_active(session, value) {
                Ok(handle) => spawned.push(handle),
                Err(SpawnError { value, failure }) => {
                    // Pushed one by one: `collect` would allocate by the iterator's own estimate.
                    let mut rest = vec![value];
                    values.for_each(|value| rest.push(value));
                    return Err(BatchError { spawned, rest, failure });
                }
            }
            if spawned.len() % REPIN_EVERY == 0 {
                session.refresh();
            }
        }
        Ok(spawned)
    }

    pub(super) fn despawn_batch(&self, session: &Session, handles: &[Handle]) -> usize {
        let mut ended = 0;
        for chunk in handles.chunks(REPIN_EVERY) {
            let despawned =
                |&&handle: &&Handle| self.despawn(session, handle, EndReason::Killed).is_ok();
            ended += chunk.iter().filter(despawned).count();
            session.refresh();
        }
        ended
    }
}

//! Many entities at once.

use super::core::Core;
use crate::error::{BatchError, SpawnError};
use crate::free::Event;
use crate::handle::Handle;
use crate::reason::EndReason;
use crate::reclaim::Session;
use crate::segment::Index;

/// After how many entities a batch moves its own pin, so that it does not hold back what it made
/// Dead itself.
const REPIN_EVERY: usize = 256;

/// How many words are read before the first of them is changed.
const AHEAD: usize = if cfg!(all(loom, test)) { 2 } else { 32 };

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
        // Where a slot needs a permit, or the payload that is left in it may not be dropped here,
        // each goes the ordinary way.
        let short = self.permits.is_none() && !Self::nested();
        // The iterator may block. Not at each of its steps, which costs more than all else that a
        // batch saves: so not while this call itself waits for a slot, or it would not wait long.
        let mut lending = Some(session.lend());
        while let Some(value) = values.next() {
            // One by one, after the value is there: the iterator may use the store, or panic.
            let vacancy = if short { self.take_at_hand(session) } else { None };
            let handle = match vacancy {
                Some(vacancy) => self.show(vacancy, value),
                None => {
                    drop(lending.take());
                    let other = self.spawn_other(session, value);
                    lending = Some(session.lend());
                    match other {
                        Ok(handle) => handle,
                        Err(refused) => return Err(Self::refused_batch(spawned, refused, values)),
                    }
                }
            };
            spawned.push(handle);
            if spawned.len() % REPIN_EVERY == 0 {
                session.refresh();
            }
        }
        // Here, where it may block, and before there is a result that a panic would leak.
        drop(values);
        Ok(spawned)
    }

    /// Spawns one of a batch in the way of one alone.
    #[cold]
    #[inline(never)]
    fn spawn_other(&self, session: &Session, value: T) -> Result<Handle, SpawnError<T>> {
        self.spawn_active(|| session, value)
    }

    /// What was spawned, and what was not.
    #[cold]
    fn refused_batch(
        spawned: Vec<Handle>,
        refused: SpawnError<T>,
        values: impl Iterator<Item = T>,
    ) -> BatchError<T> {
        let SpawnError { value, failure } = refused;
        // Pushed one by one: `collect` would allocate by the iterator's own estimate.
        let mut rest = vec![value];
        values.for_each(|value| rest.push(value));
        BatchError { spawned, rest, failure }
    }

    pub(super) fn despawn_batch(&self, session: &Session, handles: &[Handle]) -> usize {
        let mut ended = 0;
        for chunk in handles.chunks(REPIN_EVERY) {
            // With a capacity each unit goes back at once: as long as a call has it, others are
            // refused for nobody's sake.
            ended += if self.on_dying.is_some() || self.permits.is_some() {
                chunk.iter().filter(|&&handle| self.despawn_other(session, handle)).count()
            } else {
                chunk.chunks(AHEAD).map(|few| self.despawn_few(session, few)).sum()
            };
            session.refresh();
        }
        ended
    }

    /// Despawns a few, in a store that tells nobody and has no capacity: looks at all of them
    /// first, so that their lines come one beside the other and not one after the other, ends them,
    /// and buries them together. How many it ended.
    fn despawn_few(&self, session: &Session, handles: &[Handle]) -> usize {
        let mut slots = [None; AHEAD];
        let mut ended = 0;
        for (slot, &handle) in slots.iter_mut().zip(handles) {
            *slot = self
                .find(handle)
                .ok()
                .filter(|slot| slot.word.peek().plainly_active_as(handle.generation_bits()));
            if slot.is_none() {
                // Here, while nothing is in hand: a Pending one is dropped, which is user code.
                ended += usize::from(self.despawn_other(session, handle));
            }
        }
        let mut dead = [Index(0); AHEAD];
        let mut count = 0;
        for (slot, &handle) in slots.iter().zip(handles) {
            let &Some(slot) = slot else { continue };
            if slot.word.end_plain(handle.generation_bits()) {
                dead[count] = Self::index(handle);
                count += 1;
                continue;
            }
            self.bury_many(session, &dead[..count], Event::Despawned);
            ended += count + usize::from(self.despawn_other(session, handle));
            count = 0;
        }
        self.bury_many(session, &dead[..count], Event::Despawned);
        ended + count
    }

    /// Despawns one of a batch in the way of one alone; whether it did.
    #[inline(never)]
    fn despawn_other(&self, session: &Session, handle: Handle) -> bool {
        self.despawn(session, handle, EndReason::Killed).is_ok()
    }
}

//! What fills an empty magazine.
//!
//! In this order: ripe batches of the shard's own, as soon as the collector can make some; the
//! depot; a neighbour's, or, while there is room, new slots in their stead; dead stacks and
//! magazines that nobody has claimed; new slots (`growth`); and at last, in a store with limits, a
//! bounded wait for whoever holds the epoch.

use super::core::Core;
use crate::error::SpawnFailure;
use crate::free::{BATCH_CAPACITY, Claimed, Magazine, Owned};
use crate::reclaim::Session;
use crate::sync::{PATIENCE, UNBLOCKED};

/// How often the collector is asked to advance before it counts as stuck: a batch is ripe two
/// epochs after it was handed over, and one more lets a neighbour's pin catch up.
pub(super) const ADVANCES: u32 = 3;

/// So many Dead slots of a shard may be in limbo before those that make them step aside; in a store
/// where more are alive, its part of as many as are alive.
const CROWDED: u64 = 16_384;

/// How many slots beside those of the living each shard in use may have before it takes those of a
/// neighbour: a quarter of all, but so many at least and at most, and beside them [`LIMBO_ROOM`].
/// The most suffices for a batch in the magazine, one that fills, and two in limbo. Slots that go
/// from core to core cost several lines a life; these stay where they are. Models are to see both.
const ELBOW_ROOM_LEAST: u64 = if cfg!(all(loom, test)) { 0 } else { 64 };
const ELBOW_ROOM_MOST: u64 = 4 * BATCH_CAPACITY as u64;

/// So many times as many as it has in limbo: while the epoch is held that is nearly all it has.
const LIMBO_ROOM: u64 = 2;

/// How many refills in a row make fresh slots before what lies about is gathered.
const GROWTHS: u64 = 8;

/// How often a call looks again when waiting has not helped the last time.
pub(super) const SHORT_PATIENCE: u32 = 3;

impl<T> Core<T> {
    /// Inside a destructor, slots without a payload come first: if one is still to be dropped on
    /// top of the magazine, and a clean batch is to be had, that takes its place, and the dirty one
    /// goes through limbo once more.
    #[cold]
    pub(super) fn prefer_clean(
        &self,
        session: &Session,
        magazine: Claimed<'_>,
    ) -> Result<(), SpawnFailure> {
        if !magazine.peek().is_some_and(|top| self.has_payload(top)) {
            return Ok(());
        }
        let Some(clean) = self.circulation.take_drained().or_else(|| self.grow(session).ok()?)
        else {
            return Ok(());
        };
        if let Some(dirty) = magazine.unload() {
            self.hand_over(session, dirty);
        }
        self.load(session, clean)
    }

    /// Fills the magazine, or says why there is nothing to fill it with.
    #[cold]
    pub(super) fn refill(&self, session: &Session, nested: bool) -> Result<(), SpawnFailure> {
        session.follow_core(&self.circulation);
        // At every refill, not only when nothing else is left: under a pin that lends payloads out
        // they cannot ripen on the spot, and have to be in limbo by then.
        self.collect_dead(session);
        if self.attic.waiting.get() > 0 {
            // Memory that a pin has kept: whoever only spawns has nothing else to ask the collector
            // for.
            session.hurry();
        }
        let clean = || match self.circulation.take_drained() {
            Some(batch) => Ok(Some(batch)),
            None => self.grow(session),
        };
        let found = if nested {
            clean()?.or_else(|| self.scour(session))
        } else {
            match self.ripe_at_home(session) {
                Some(batch) => Some(self.lower(batch)),
                None => self.forage(session)?,
            }
        };
        match found {
            Some(batch) => self.load(session, batch),
            None => self.starve(session),
        }
    }

    /// A batch, where none is ripe at home.
    fn forage(&self, session: &Session) -> Result<Option<Owned>, SpawnFailure> {
        let gathers = !self.grows_first(session)?;
        let found = self
            .ripe_elsewhere(session)
            .or_else(|| if gathers { self.gather_ripe(session) } else { None });
        match found {
            Some(batch) => Ok(Some(batch)),
            None => self.grow(session),
        }
    }

    /// Puts a batch into the magazine: what every refill ends with, also one that a
    /// `spawn_recycled` makes for itself. So this is where a spawner looks at what others have, for
    /// its peak.
    pub(super) fn load(&self, session: &Session, mut batch: Owned) -> Result<(), SpawnFailure> {
        let magazine = session.magazine(&self.circulation)?;
        self.mark_all(&mut batch);
        if magazine.peak.is_due() {
            self.look_up_others(&magazine);
        }
        if let Some(empty) = magazine.load(batch) {
            self.circulation.put_empty(empty);
        }
        Ok(())
    }

    /// Whether to make fresh slots before what lies about is gathered: in a store without limits
    /// that has so few slots beside those of the living that what could be gathered would be small
    /// batches, each of which costs a hand-over. Not for ever: what is Dead is not to lie there as
    /// long as a store grows.
    fn grows_first(&self, session: &Session) -> Result<bool, SpawnFailure> {
        let (slots, magazine) = (self.growth.slots(), session.magazine(&self.circulation)?);
        let first = self.most == usize::MAX
            && self.starving.get() == 0
            && magazine.growths.get() < GROWTHS
            && self.counted_alive() as u64 > slots - slots / 4;
        magazine.growths.set(if first { magazine.growths.get() + 1 } else { 0 });
        Ok(first)
    }

    /// A batch of one's own that is ripe, or that the collector can ripen now: its slots lie in
    /// this core's cache, and who finds it need not count how many are alive.
    fn ripe_at_home(&self, session: &Session) -> Option<Owned> {
        let own = || self.circulation.take_ripe_of(session.home());
        own().or_else(|| self.ripen(session, own))
    }

    /// A batch that ripened elsewhere, or a fresh one in its place while there is room: its slots
    /// have no other core to come from.
    fn ripe_elsewhere(&self, session: &Session) -> Option<Owned> {
        self.circulation.take_drained().or_else(|| {
            if !self.circulation.has_ripe() {
                return None;
            }
            let fresh =
                if self.has_elbow_room(session) { self.grow(session).ok().flatten() } else { None };
            fresh.or_else(|| self.circulation.take_ripe(session.home()))
        })
    }

    /// Whether a store without limits has so few slots that a shard had better make some of its own
    /// than take a neighbour's.
    fn has_elbow_room(&self, session: &Session) -> bool {
        let slots = self.growth.slots();
        let each = (slots / 4).clamp(ELBOW_ROOM_LEAST, ELBOW_ROOM_MOST)
            + LIMBO_ROOM * self.in_limbo_of(session.home());
        let shards = self.domain.threads().min(self.circulation.shards_in_use() as u64);
        let spare = each * shards;
        self.most == usize::MAX && slots + self.new_batch() <= self.counted_alive() as u64 + spare
    }

    /// Any batch of slots that are free already, or that can be gathered and ripened now.
    pub(super) fn scour(&self, session: &Session) -> Option<Owned> {
        self.ripe_at_home(session)
            .or_else(|| self.ripe_elsewhere(session))
            .or_else(|| self.gather_ripe(session))
    }

    fn gather_ripe(&self, session: &Session) -> Option<Owned> {
        self.gather(session, session.may_repin() || self.starving.get() > 0)
            .or_else(|| self.ripen(session, || self.circulation.take_ripe(session.home())))
    }

    /// Asks the collector to advance until there is something to take.
    fn ripen(&self, session: &Session, take: impl Fn() -> Option<Owned>) -> Option<Owned> {
        for _ in 0..ADVANCES {
            if session.in_limbo(&self.circulation) == 0 {
                return None;
            }
            session.advance();
            if let Some(batch) = take() {
                return Some(batch);
            }
        }
        None
    }

    /// Sends what lies about through limbo: dead stacks, magazines that nobody has claimed, and
    /// with `own` this thread's. A batch to take from that lay unclaimed comes back at once.
    pub(super) fn gather(&self, session: &Session, own: bool) -> Option<Owned> {
        self.collect_dead(session);
        if own {
            self.hand_over_collected(session);
        }
        let home = session.home();
        for magazine in self.circulation.magazines_from(home).filter_map(Magazine::claim) {
            let (take, give) = (magazine.unload(), magazine.collect());
            magazine.release();
            if let Some(batch) = give {
                self.hand_over_found(session, batch);
            }
            if take.is_some() {
                return take;
            }
        }
        None
    }

    /// Moves a session's pin along or begins it, after stepping aside if its thread has made
    /// garbage and there is much of it: with more threads than cores, one that is off the processor
    /// holds the epoch for whole time slices, and the others would fill the memory meanwhile.
    #[inline]
    pub(super) fn look_around(&self, session: &mut Session) {
        if session.owes() {
            self.step_aside(session);
        }
    }

    #[cold]
    #[inline(never)]
    fn step_aside(&self, session: &mut Session) {
        session.step_aside(&self.circulation, |home| self.crowded(home));
    }

    fn crowded(&self, home: usize) -> bool {
        let waiting = self.in_limbo_of(home);
        // The living are counted last, and seldom: that reads a line of every thread.
        let shards = || self.circulation.shards_in_use() as u64;
        waiting > CROWDED && waiting * shards() > self.counted_alive() as u64
    }

    /// How many of a shard's slots are in limbo, about.
    fn in_limbo_of(&self, home: usize) -> u64 {
        self.circulation.in_limbo_of(home) * self.full_batch() as u64
    }

    /// Waits a bounded time for a slot that readers, or calls that are off the processor, still
    /// hold. A courtesy, never a condition: it ends by itself, and at once where waiting did not
    /// help the last time and nothing has ripened since.
    #[cold]
    fn starve(&self, session: &Session) -> Result<(), SpawnFailure> {
        self.starving.add_shared(1);
        let outcome = self.wait_for_batch(session);
        self.starving.sub_shared(1);
        match outcome? {
            Some(batch) => self.load(session, batch),
            None => Err(SpawnFailure::Reclaiming { dead: self.dead() }),
        }
    }

    fn wait_for_batch(&self, session: &Session) -> Result<Option<Owned>, SpawnFailure> {
        let stuck = self.circulation.ripened() == self.stalled_at.get();
        let mut round = 0;
        while round < self.patience(session, stuck) {
            if let Some(batch) = self.scour(session) {
                return Ok(Some(batch));
            }
            if let Some(batch) = self.grow(session)? {
                return Ok(Some(batch));
            }
            session.courtesy(round);
            round += 1;
        }
        self.stalled_at.set(self.circulation.ripened());
        Ok(None)
    }

    /// How often a call that is short of slots looks again. Without a reader that lends payloads
    /// out, and without a call that runs user code, nothing keeps a slot but calls in progress,
    /// however long they are off the processor.
    pub(super) fn patience(&self, session: &Session, stuck: bool) -> u32 {
        match (session.may_repin(), self.domain.lends()) {
            (false, _) => SHORT_PATIENCE.min(PATIENCE),
            (true, true) if stuck => SHORT_PATIENCE.min(PATIENCE),
            (true, true) => PATIENCE,
            (true, false) if stuck => PATIENCE,
            (true, false) => PATIENCE.saturating_mul(UNBLOCKED),
        }
    }
}

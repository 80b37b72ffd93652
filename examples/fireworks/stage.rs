//! One pool, under one policy, and a frame of it.

use hatchery::pool::Pool;
use hatchery::{ConfigError, Limits, Stats};

use crate::claims::{self, Account};
use crate::crew::{Crew, WorkerGone};
use crate::hand::{Hand, Tally, Task};
use crate::particle::Particle;
use crate::program::Bill;

/// Leases that hands make room for beforehand, at most.
const MOST_ROOM: usize = 1 << 16;

/// A pool and those who use it.
#[derive(Debug)]
pub(crate) struct Stage {
    limits: Limits,
    pool: Pool<Particle>,
    hands: Vec<Hand>,
    /// What ended without its holder, in the windows before this one: overwritten or reset.
    revoked: u64,
    /// The most leases at once, in all windows.
    most: usize,
    last: Sample,
}

/// What one frame did to a pool.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    pub(crate) stats: Stats,
    /// In this frame alone.
    pub(crate) rejected: u64,
    pub(crate) overwritten: u64,
}

/// Why a frame could not be finished.
#[derive(Debug)]
pub(crate) enum Trouble {
    Broken(String),
    WorkerGone,
}

impl From<WorkerGone> for Trouble {
    fn from(_: WorkerGone) -> Trouble {
        Trouble::WorkerGone
    }
}

impl Stage {
    pub(crate) fn new(limits: Limits, crew: &Crew) -> Result<Stage, ConfigError> {
        let pool = Pool::new(limits)?;
        let room = (limits.max_capacity + 1).min(MOST_ROOM);
        let hands = (0..crew.hands()).map(|_| Hand::with_room(room)).collect();
        let last = Sample { stats: pool.stats(), ..Sample::default() };
        Ok(Stage { limits, pool, hands, revoked: 0, most: 0, last })
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    /// The last frame.
    pub(crate) fn last(&self) -> &Sample {
        &self.last
    }

    /// Gives back what is spent, takes what the bill wants, and checks the pool's word.
    pub(crate) fn frame(&mut self, crew: &Crew, frame: u64, bill: Bill) -> Result<(), Trouble> {
        let (before, seen) = (self.pool.stats(), self.tally());
        let stride = crew.hands() as u32;
        crew.perform(frame, &self.pool, &mut self.hands, |_| Task::Step)?;
        crew.perform(frame, &self.pool, &mut self.hands, |first| Task::Light {
            bill,
            first,
            stride,
        })?;
        let (after, tally) = (self.pool.stats(), self.tally());
        self.most = self.most.max(after.peak_live);
        let ended = tally.released + self.revoked + after.overwritten;
        let account = Account {
            limits: self.limits,
            before: &before,
            after: &after,
            wishes: u64::from(bill.wishes),
            did: tally.since(seen),
            held: tally.granted.wrapping_sub(ended),
            most: self.most,
            hands: self.hands.len(),
        };
        account.check().map_err(Trouble::Broken)?;
        self.last = Sample {
            stats: after,
            rejected: after.rejected - before.rejected,
            overwritten: after.overwritten - before.overwritten,
        };
        Ok(())
    }

    /// Ends every lease, and checks that nothing is lost.
    pub(crate) fn close(&mut self, crew: &Crew) -> Result<(), Trouble> {
        crew.perform(0, &self.pool, &mut self.hands, |_| Task::LetGo)?;
        claims::at_rest(&self.pool.stats(), self.tally()).map_err(Trouble::Broken)
    }

    /// The pool takes every lease back. The hands are not told: they find out as they go on.
    pub(crate) fn reset(&mut self) {
        let overwritten = self.pool.stats().overwritten;
        self.revoked += overwritten + self.pool.reset() as u64;
        self.last = Sample { stats: self.pool.stats(), ..Sample::default() };
    }

    /// Shows what is alive.
    pub(crate) fn look(&mut self, mut see: impl FnMut(&Particle)) {
        self.hands.iter_mut().for_each(|hand| hand.look(&mut see));
    }

    fn tally(&self) -> Tally {
        self.hands.iter().map(Hand::tally).fold(Tally::default(), Tally::plus)
    }
}

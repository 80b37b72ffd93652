//! One game's store, and who works on it.
//!
//! All copies of a game live in this one store. A copy belongs to one worker, but it is kept here
//! behind a lock of its own, which that worker takes for a visit at a time and which nobody else
//! wants, except a checkpoint: with the locks of all copies it has paused every writer of this
//! store, and no other store notices. Settlement is paused through the `gate`.

use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use hatchery::{ConfigError, Limits, Store};

use crate::game::Replay;
use crate::payload::Unit;
use crate::plan::Plan;
use crate::recording::Game;
use crate::skills::{self, Cast};
use crate::soak::Kept;

/// A copy, shared by its worker and the checkpoints.
pub(crate) type Copy = Arc<Mutex<Replay>>;

/// A game and its store.
pub(crate) struct Arena<'r> {
    pub(crate) index: usize,
    pub(crate) game: &'r Game,
    pub(crate) casts: Vec<Cast>,
    /// From the start of a pass to the start of the next.
    pub(crate) period_us: u64,
    pub(crate) store: Store<Unit>,
    /// Nobody settles anything of this store while a checkpoint has this, and the soak neither
    /// takes Holds nor lets them go.
    pub(crate) gate: RwLock<()>,
    /// Killed and not yet let go by all four settlement steps. Signed, because a step may be done
    /// before the killer, who counts a visit at a time, has counted.
    pub(crate) in_settlement: AtomicI64,
    /// The soak's Holds. Changed only with the gate open.
    pub(crate) kept: Mutex<Vec<Kept>>,
    copies: Mutex<Vec<Copy>>,
    /// How many of the copies there are have not yet been replayed once.
    pub(crate) first_passes: AtomicUsize,
}

impl<'r> Arena<'r> {
    pub(crate) fn new(index: usize, game: &'r Game, plan: &Plan) -> Result<Arena<'r>, ConfigError> {
        let limits = plan.capacity.map_or(Limits::UNBOUNDED, Limits::reject);
        Ok(Arena {
            index,
            game,
            casts: skills::plan(game),
            period_us: plan.period_us,
            store: Store::builder().limits(limits).build()?,
            gate: RwLock::new(()),
            in_settlement: AtomicI64::new(0),
            kept: Mutex::new(Vec::new()),
            copies: Mutex::new(Vec::new()),
            first_passes: AtomicUsize::new(0),
        })
    }

    /// Adds copy `number`.
    pub(crate) fn add_copy(&self, number: usize, plan: &Plan) -> Copy {
        let began_us = plan.phase_us(self.index, number);
        let log = plan.record && number == 0;
        let copy = Arc::new(Mutex::new(Replay::new(self.game, number as u32, began_us, log)));
        self.first_passes.fetch_add(1, Ordering::Relaxed);
        self.copies.lock().expect("no worker panicked").push(Arc::clone(&copy));
        copy
    }

    /// Runs `check` while nobody writes to this store, by kill, birth, settlement or soak.
    pub(crate) fn paused<R>(&self, check: impl FnOnce(&[MutexGuard<'_, Replay>]) -> R) -> R {
        // Also after a panic: it is a violation already, and what it left behind is still worth
        // looking at.
        let copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let locked = copies.iter().map(|copy| copy.lock().unwrap_or_else(PoisonError::into_inner));
        let locked: Vec<_> = locked.collect();
        let _nobody_settles = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        check(&locked)
    }

    /// The rows that copy 0 carried out in its first pass.
    pub(crate) fn log(&self) -> Vec<u32> {
        self.paused(|copies| {
            let first = copies.iter().find(|copy| copy.number() == 0);
            first.map(|copy| copy.log().to_vec()).unwrap_or_default()
        })
    }
}

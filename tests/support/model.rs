//! The plain model that the property tests hold the store against: a map of who
//! is alive, and what each operation does to it and answers.

use std::collections::BTreeMap;

use hatchery::{Handle, LookupError, Reaped, State, TransitionError};

use crate::support::nonzero;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Activate,
    Cancel,
    Kill,
    KillAndHold,
    Revive,
    Reap,
    Despawn,
}

#[derive(Clone, Debug)]
pub struct Being {
    pub tag: u64,
    pub state: State,
    pub guarded: bool,
    pub requested: bool,
    pub holds: u32,
}

#[derive(Default)]
pub struct Model {
    pub alive: BTreeMap<Handle, Being>,
    /// Every handle ever issued, in order.
    pub issued: Vec<Handle>,
    /// The generation that each slot has come to.
    pub generations: BTreeMap<u64, u32>,
    pub last_generation: u32,
    /// spawned, activated, cancelled, killed, revived, reaped, rejected
    pub counts: [u64; 7],
    pub peak: usize,
}

pub const SPAWNED: usize = 0;
pub const ACTIVATED: usize = 1;
pub const CANCELLED: usize = 2;
pub const KILLED: usize = 3;
pub const REVIVED: usize = 4;
pub const REAPED: usize = 5;
pub const REJECTED: usize = 6;

impl Model {
    /// Enters a handle that the store has issued: it must be a new one, its slot's next.
    pub fn issue(&mut self, handle: Handle) {
        let before = self.generations.insert(handle.seq(), handle.generation().get());
        assert_eq!(handle.generation().get(), before.unwrap_or(0) + 1, "{handle}");
        assert!(handle.generation().get() <= self.last_generation, "{handle}");
        assert!(self.alive.keys().all(|other| other.id() != handle.id()), "{handle}: taken");
        self.issued.push(handle);
    }

    pub fn be_born(&mut self, handle: Handle, tag: u64, state: State, guarded: bool) {
        self.issue(handle);
        self.counts[SPAWNED] += 1;
        self.counts[ACTIVATED] += u64::from(state == State::Active);
        self.alive.insert(handle, Being { tag, state, guarded, requested: false, holds: 0 });
        self.peak = self.peak.max(self.alive.len());
    }

    pub fn lookup(&self, handle: Handle) -> Result<&Being, LookupError> {
        let current = self.generations[&handle.seq()];
        match self.alive.get(&handle) {
            Some(being) => Ok(being),
            None if current == handle.generation().get() => Err(LookupError::NotFound { handle }),
            None => Err(LookupError::Stale { handle, current: nonzero(current) }),
        }
    }

    pub fn end(&mut self, handle: Handle, count: usize) {
        self.alive.remove(&handle).unwrap();
        self.counts[count] += 1;
    }

    pub fn reap(&mut self, handle: Handle) -> Reaped {
        let being = self.alive.get_mut(&handle).unwrap();
        match being.holds {
            0 => {
                self.end(handle, REAPED);
                Reaped::Done
            }
            holds => {
                being.requested = true;
                Reaped::Deferred { holds }
            }
        }
    }

    pub fn despawn(&mut self, handle: Handle) -> Result<Reaped, TransitionError> {
        let being = self.lookup(handle)?;
        if being.guarded {
            return Err(TransitionError::Guarded { handle });
        }
        if being.requested {
            return Err(TransitionError::ReapRequested { handle });
        }
        if being.state == State::Pending {
            self.end(handle, CANCELLED);
            return Ok(Reaped::Done);
        }
        self.counts[KILLED] += u64::from(being.state == State::Active);
        self.alive.get_mut(&handle).unwrap().state = State::Dying;
        Ok(self.reap(handle))
    }

    /// One step by handle; what a reap was answered, for the steps that reap.
    pub fn step(&mut self, handle: Handle, step: Step) -> Result<Option<Reaped>, TransitionError> {
        let (needed, to, count) = match step {
            Step::Activate => (State::Pending, State::Active, ACTIVATED),
            Step::Cancel => (State::Pending, State::Dead, CANCELLED),
            Step::Kill | Step::KillAndHold => (State::Active, State::Dying, KILLED),
            Step::Revive => (State::Dying, State::Active, REVIVED),
            Step::Reap => (State::Dying, State::Dead, REAPED),
            Step::Despawn => return self.despawn(handle).map(Some),
        };
        let found = self.lookup(handle)?.state;
        let being = self.alive.get_mut(&handle).unwrap();
        if found != needed {
            return Err(match found.advance(to) {
                Ok(_) => TransitionError::WrongState { handle, found, needed },
                Err(transition) => TransitionError::Illegal { handle, transition },
            });
        }
        if being.guarded {
            return Err(TransitionError::Guarded { handle });
        }
        if being.requested {
            return Err(TransitionError::ReapRequested { handle });
        }
        match step {
            Step::Reap => return Ok(Some(self.reap(handle))),
            Step::Cancel => self.end(handle, count),
            _ => {
                being.state = to;
                being.holds += u32::from(matches!(step, Step::KillAndHold));
                self.counts[count] += 1;
            }
        }
        Ok(None)
    }

    pub fn drop_hold(&mut self, handle: Handle) {
        let being = self.alive.get_mut(&handle).unwrap();
        being.holds -= 1;
        if being.holds == 0 && being.requested {
            self.end(handle, REAPED);
        }
    }
}

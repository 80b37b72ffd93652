//! A store at one moment, and what one step does to it.
//!
//! Which slot a spawn gets is the store's choice: the answer is taken for it, and must be a slot
//! that nobody lives in, under its next generation. From there `NotFound` and `Stale` are exact:
//! the first until the slot's next entity begins, the second from then on.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hatchery::{Handle, HoldError, LookupError, Reaped, SceneId, State, TransitionError};

use crate::history::{GuardEnd, History, Question, Seen, Step};

/// A store at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
    scene: SceneId,
    last_generation: u32,
    /// By sequence number, those that were ever used.
    slots: BTreeMap<u64, Slot>,
    /// Units of the capacity in nobody's hands; `None` without a limit.
    free: Option<usize>,
    /// The generation that fresh slots start above, once one is known.
    floor: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    entity: Option<Entity>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Entity {
    tag: u64,
    state: State,
    guarded: bool,
    requested: bool,
    holds: u32,
}

/// What a transition leaves to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    Nothing,
    /// The entity is sealed: `finish` ends it.
    Sealed,
    /// The entity has ended, and its unit is to be given back.
    Ended,
}

impl World {
    pub fn empty(history: &History) -> World {
        let History { scene, capacity, last_generation, .. } = *history;
        World { scene, last_generation, slots: BTreeMap::new(), free: capacity, floor: None }
    }

    pub fn alive(&self) -> usize {
        self.slots.values().filter(|slot| slot.entity.is_some()).count()
    }

    /// How many units of the capacity are in nobody's hands, if there is a limit.
    pub fn free_units(&self) -> Option<usize> {
        self.free
    }

    pub fn take_unit(&mut self) -> Option<()> {
        if let Some(free) = &mut self.free {
            *free = free.checked_sub(1)?;
        }
        Some(())
    }

    pub fn give_unit(&mut self) {
        if let Some(free) = &mut self.free {
            *free += 1;
        }
    }

    /// Begins an entity under a handle, if that is one which the store may issue now.
    pub fn begin(&mut self, handle: Handle, tag: u64, guarded: bool) -> Option<()> {
        let generation = handle.generation().get();
        let floor = *self.floor.get_or_insert(generation - 1);
        let slot = self.slots.entry(handle.seq());
        let slot = slot.or_insert(Slot { generation: floor, entity: None });
        let fresh = slot.entity.is_none() && generation == slot.generation + 1;
        if !fresh || handle.scene() != self.scene || generation > self.last_generation {
            return None;
        }
        let state = if guarded { State::Pending } else { State::Active };
        let entity = Entity { tag, state, guarded, requested: false, holds: 0 };
        *slot = Slot { generation, entity: Some(entity) };
        Some(())
    }

    /// The second step of whoever has sealed an entity.
    pub fn finish(&mut self, handle: Handle) {
        self.end(handle);
    }

    fn end(&mut self, handle: Handle) {
        if let Some(slot) = self.slots.get_mut(&handle.seq()) {
            slot.entity = None;
        }
    }

    /// The entity of a guard or of a hold, whose handle is known to be right.
    fn entity(&mut self, handle: Handle) -> Option<&mut Entity> {
        let slot = self.slots.get_mut(&handle.seq())?;
        slot.entity.as_mut().filter(|_| slot.generation == handle.generation().get())
    }

    fn guarded(&mut self, handle: Handle) -> Option<&mut Entity> {
        self.entity(handle).filter(|entity| entity.guarded)
    }

    fn held(&mut self, handle: Handle) -> Option<&mut Entity> {
        self.entity(handle).filter(|entity| entity.holds > 0)
    }

    /// A guard's end; `None` if there is no guard, which no history should say.
    pub fn end_guard(&mut self, handle: Handle, end: GuardEnd) -> Option<Rest> {
        let entity = self.guarded(handle)?;
        match end {
            GuardEnd::Detach => entity.guarded = false,
            GuardEnd::Activate => (entity.state, entity.guarded) = (State::Active, false),
            GuardEnd::Cancel | GuardEnd::Drop => {
                self.end(handle);
                return Some(Rest::Ended);
            }
        }
        Some(Rest::Nothing)
    }

    pub fn write(&mut self, handle: Handle, tag: u64) -> Option<()> {
        self.guarded(handle)?.tag = tag;
        Some(())
    }

    pub fn clone_hold(&mut self, handle: Handle) -> Option<()> {
        self.held(handle)?.holds += 1;
        Some(())
    }

    pub fn state_of_held(&mut self, handle: Handle) -> Option<Seen> {
        Some(Seen::State(self.held(handle)?.state))
    }

    pub fn request_of_held(&mut self, handle: Handle) -> Option<Seen> {
        Some(Seen::Requested(self.held(handle)?.requested))
    }

    pub fn drop_hold(&mut self, handle: Handle, tag: u64) -> Option<Rest> {
        let entity = self.held(handle).filter(|entity| entity.tag == tag)?;
        entity.holds -= 1;
        if entity.holds > 0 || !entity.requested {
            return Some(Rest::Nothing);
        }
        self.end(handle);
        Some(Rest::Ended)
    }

    fn lookup(&mut self, handle: Handle) -> Result<&mut Entity, LookupError> {
        if handle.scene() != self.scene {
            return Err(LookupError::SceneMismatch { handle, scene: self.scene });
        }
        let Some(slot) = self.slots.get_mut(&handle.seq()) else {
            return Err(LookupError::NotFound { handle });
        };
        match NonZeroU32::new(slot.generation) {
            Some(current) if current > handle.generation() => {
                Err(LookupError::Stale { handle, current })
            }
            Some(current) if current == handle.generation() => {
                slot.entity.as_mut().ok_or(LookupError::NotFound { handle })
            }
            _ => Err(LookupError::NotFound { handle }),
        }
    }

    pub fn ask(&mut self, handle: Handle, question: Question) -> Result<Seen, LookupError> {
        let entity = self.lookup(handle)?;
        match (question, entity.state) {
            (Question::State, state) => Ok(Seen::State(state)),
            (_, State::Pending) => Err(LookupError::Pending { handle }),
            (Question::GetActive, State::Dying) => Err(LookupError::Dying { handle }),
            (Question::Get | Question::GetActive, _) => Ok(Seen::Tag(entity.tag)),
            (Question::GetWithState, state) => Ok(Seen::Both(entity.tag, state)),
            (Question::Holds, _) => Ok(Seen::Holds(entity.holds)),
        }
    }

    pub fn hold(&mut self, handle: Handle) -> Result<u64, HoldError> {
        let entity = self.lookup(handle)?;
        if entity.state == State::Pending {
            return Err(LookupError::Pending { handle }.into());
        }
        if entity.requested {
            return Err(HoldError::ReapRequested { handle });
        }
        entity.holds += 1;
        Ok(entity.tag)
    }

    /// An operation that goes by handle, its answer and what it leaves.
    pub fn transition(
        &mut self,
        handle: Handle,
        step: Step,
    ) -> (Result<Option<Reaped>, TransitionError>, Rest) {
        let refuse = |error| (Err(error), Rest::Nothing);
        let entity = match self.lookup(handle) {
            Ok(entity) => entity,
            Err(error) => return refuse(error.into()),
        };
        let (needed, to) = match step {
            Step::Activate => (State::Pending, State::Active),
            Step::Cancel => (State::Pending, State::Dead),
            Step::Kill | Step::KillAndHold => (State::Active, State::Dying),
            Step::Revive => (State::Dying, State::Active),
            Step::Reap => (State::Dying, State::Dead),
            // From any alive state.
            Step::Despawn => (entity.state, State::Dead),
        };
        if entity.state != needed {
            return refuse(match entity.state.advance(to) {
                Ok(_) => TransitionError::WrongState { handle, found: entity.state, needed },
                Err(transition) => TransitionError::Illegal { handle, transition },
            });
        }
        if entity.guarded {
            return refuse(TransitionError::Guarded { handle });
        }
        if entity.requested && !matches!(step, Step::Kill | Step::KillAndHold) {
            return refuse(TransitionError::ReapRequested { handle });
        }
        match (step, entity.state) {
            (Step::Cancel, _) => {
                self.end(handle);
                (Ok(None), Rest::Ended)
            }
            (Step::Despawn, State::Pending) => {
                self.end(handle);
                (Ok(Some(Reaped::Done)), Rest::Ended)
            }
            (Step::Reap | Step::Despawn, found) => {
                let holds = entity.holds;
                if holds > 0 || found == State::Active {
                    (entity.state, entity.requested) = (State::Dying, true);
                }
                if holds > 0 {
                    (Ok(Some(Reaped::Deferred { holds })), Rest::Nothing)
                } else if found == State::Active {
                    (Ok(Some(Reaped::Done)), Rest::Sealed)
                } else {
                    self.end(handle);
                    (Ok(Some(Reaped::Done)), Rest::Ended)
                }
            }
            _ => {
                entity.state = to;
                entity.holds += u32::from(step == Step::KillAndHold);
                (Ok(None), Rest::Nothing)
            }
        }
    }
}

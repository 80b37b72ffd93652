//! The sequential specification: what each operation does to a store, a step at a time.
//!
//! Most operations are one step: they take effect at one moment, and their whole answer, with the
//! variant of the error, must be true at it. Three things are more than one step, and the calls of
//! others may fall in between:
//!
//! * A unit of a capacity is in the hands of a call before its entity begins, and again after it
//!   has ended: taken, published; ended, given back. So `Exhausted` is right exactly if at some
//!   moment of the call no unit is free, which is invariant 9. A call that answers `Exhausted`
//!   itself never had one, so two of them do not excuse each other.
//! * `despawn` of an Active entity that nobody holds seals it first: it is Dying, and every other
//!   call is refused, until the second step.
//! * A batch is its singles, one after the other.
//!
//! Which slot a spawn gets is the store's choice: the answer is taken for it, and must be a slot
//! that nobody lives in, under its next generation. From there `NotFound` and `Stale` are exact:
//! the first until the slot's next entity begins, the second from then on.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use hatchery::{
    Handle, HoldError, LookupError, Reaped, SceneId, SpawnFailure, State, TransitionError,
};

use crate::history::{Answer, Call, GuardEnd, History, Op, Question, Seen, Step};

/// A store at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct World {
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

/// How far a call has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Progress {
    stage: Stage,
    /// In a batch: which single, and how many have succeeded.
    single: usize,
    succeeded: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    #[default]
    Begun,
    /// It has sealed the entity.
    Sealed,
    /// It has a unit of the capacity in its hands.
    HasUnit,
    Done,
}

impl Progress {
    pub fn is_done(self) -> bool {
        self.stage == Stage::Done
    }

    fn at(self, stage: Stage) -> Progress {
        Progress { stage, ..self }
    }

    fn next_single(self, succeeded: bool) -> Progress {
        let succeeded = self.succeeded + usize::from(succeeded);
        Progress { stage: Stage::Begun, single: self.single + 1, succeeded }
    }
}

/// What a transition leaves to be done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    Nothing,
    Sealed,
    Ended,
}

/// What the whole history says, and one moment does not.
pub struct Spec {
    scene: SceneId,
    capacity: Option<usize>,
    last_generation: u32,
}

/// What happened during a call.
#[derive(Clone, Copy)]
pub struct Meanwhile {
    pub pinned: bool,
    pub under_way: usize,
}

type Next = Option<(World, Progress)>;

impl Spec {
    pub fn of(history: &History) -> Spec {
        let History { scene, capacity, last_generation, .. } = *history;
        Spec { scene, capacity, last_generation }
    }

    pub fn start(&self) -> World {
        World { slots: BTreeMap::new(), free: self.capacity, floor: None }
    }

    /// The next step of a call, or `None` if it cannot be taken now on the way to its answer.
    pub fn step(&self, world: &World, call: &Call, during: Meanwhile, at: Progress) -> Next {
        let mut world = world.clone();
        match (&call.op, &call.answer) {
            (Op::Spawn { tag, guarded }, Answer::Spawned(outcome)) => {
                self.birth(world, (*tag, *guarded), *outcome, during, at)
            }
            (Op::SpawnBatch { first, size }, Answer::Batch { spawned, refused }) => {
                let stopped = refused.is_some();
                if stopped == (spawned.len() == *size) || spawned.len() > *size {
                    return None;
                }
                let payload = (first + at.single as u64, false);
                match (spawned.get(at.single), refused) {
                    (Some(handle), _) => {
                        let (world, next) = self.birth(world, payload, Ok(*handle), during, at)?;
                        Some((world, if next.is_done() { at.next_single(true) } else { next }))
                    }
                    (None, Some(failure)) => {
                        self.birth(world, payload, Err(*failure), during, at)
                    }
                    (None, None) => Some((world, at.at(Stage::Done))),
                }
            }
            (Op::DespawnBatch { handles }, Answer::Count(count)) => {
                let Some(handle) = handles.get(at.single) else {
                    return (at.succeeded == *count).then_some((world, at.at(Stage::Done)));
                };
                let mut succeeded = at.stage != Stage::Begun;
                let next = self.transition_step(&mut world, *handle, Step::Despawn, at, |answer| {
                    succeeded = answer.is_ok();
                    true
                })?;
                Some((world, if next.is_done() { at.next_single(succeeded) } else { next }))
            }
            (Op::Step { handle, step }, Answer::Stepped(answer)) => {
                let next =
                    self.transition_step(&mut world, *handle, *step, at, |it| it == *answer)?;
                Some((world, next))
            }
            (Op::Guard { handle, end }, _) => {
                let next = self.guard_step(&mut world, *handle, *end, at)?;
                Some((world, next))
            }
            (Op::DropHold { handle }, Answer::Read(Ok(Seen::Tag(tag)))) => {
                let next = self.drop_hold_step(&mut world, *handle, *tag, at)?;
                Some((world, next))
            }
            (Op::Len, Answer::Count(count)) => {
                let near = world.alive().abs_diff(*count) <= during.under_way;
                near.then_some((world, at.at(Stage::Done)))
            }
            (Op::Reclaim | Op::Pin | Op::Repin | Op::Unpin, _) => {
                Some((world, at.at(Stage::Done)))
            }
            (op, answer) => {
                let model = self.single_step(&mut world, op)?;
                (model == *answer).then_some((world, at.at(Stage::Done)))
            }
        }
    }

    /// One entity's beginning, or the refusal of it.
    fn birth(
        &self,
        mut world: World,
        (tag, guarded): (u64, bool),
        outcome: Result<Handle, SpawnFailure>,
        during: Meanwhile,
        at: Progress,
    ) -> Next {
        if let Err(SpawnFailure::Exhausted { capacity }) = outcome {
            let right = world.free == Some(0) && self.capacity == Some(capacity);
            return right.then_some((world, at.at(Stage::Done)));
        }
        if at.stage == Stage::Begun && world.free.is_some() {
            world.take_unit()?;
            return Some((world, at.at(Stage::HasUnit)));
        }
        match outcome {
            Ok(handle) => {
                let entity = Entity {
                    tag,
                    state: if guarded { State::Pending } else { State::Active },
                    guarded,
                    requested: false,
                    holds: 0,
                };
                self.publish(&mut world, handle, entity)?;
            }
            Err(SpawnFailure::Reclaiming { .. }) if during.pinned => world.give_unit(),
            Err(_) => return None,
        }
        Some((world, at.at(Stage::Done)))
    }

    /// Gives a fresh handle to an entity, if it is one.
    fn publish(&self, world: &mut World, handle: Handle, entity: Entity) -> Option<()> {
        let generation = handle.generation().get();
        let floor = *world.floor.get_or_insert(generation - 1);
        let slot = world.slots.entry(handle.seq());
        let slot = slot.or_insert(Slot { generation: floor, entity: None });
        let fresh = slot.entity.is_none() && generation == slot.generation + 1;
        if !fresh || handle.scene() != self.scene || generation > self.last_generation {
            return None;
        }
        *slot = Slot { generation, entity: Some(entity) };
        Some(())
    }

    /// The next step of an operation that goes by handle; `fits` judges the model's answer.
    fn transition_step(
        &self,
        world: &mut World,
        handle: Handle,
        step: Step,
        at: Progress,
        fits: impl FnOnce(Result<Option<Reaped>, TransitionError>) -> bool,
    ) -> Option<Progress> {
        let rest = match at.stage {
            Stage::Begun => {
                let (answer, rest) = self.transition(world, handle, step);
                if !fits(answer) {
                    return None;
                }
                rest
            }
            Stage::Sealed => {
                world.end(handle);
                Rest::Ended
            }
            Stage::HasUnit => {
                world.give_unit();
                Rest::Nothing
            }
            Stage::Done => return None,
        };
        Some(at.at(world.stage_after(rest)))
    }

    fn guard_step(
        &self,
        world: &mut World,
        handle: Handle,
        end: GuardEnd,
        at: Progress,
    ) -> Option<Progress> {
        if at.stage == Stage::HasUnit {
            world.give_unit();
            return Some(at.at(Stage::Done));
        }
        let entity = world.entity(handle).filter(|entity| entity.guarded)?;
        match end {
            GuardEnd::Detach => entity.guarded = false,
            GuardEnd::Activate => (entity.state, entity.guarded) = (State::Active, false),
            GuardEnd::Cancel | GuardEnd::Drop => {
                world.end(handle);
                return Some(at.at(world.stage_after(Rest::Ended)));
            }
        }
        Some(at.at(Stage::Done))
    }

    fn drop_hold_step(
        &self,
        world: &mut World,
        handle: Handle,
        tag: u64,
        at: Progress,
    ) -> Option<Progress> {
        if at.stage == Stage::HasUnit {
            world.give_unit();
            return Some(at.at(Stage::Done));
        }
        let entity = world.entity(handle).filter(|it| it.holds > 0 && it.tag == tag)?;
        entity.holds -= 1;
        if entity.holds > 0 || !entity.requested {
            return Some(at.at(Stage::Done));
        }
        world.end(handle);
        Some(at.at(world.stage_after(Rest::Ended)))
    }

    /// An operation of one step, and its answer.
    fn single_step(&self, world: &mut World, op: &Op) -> Option<Answer> {
        Some(match *op {
            Op::Write { handle, tag } => {
                world.entity(handle).filter(|entity| entity.guarded)?.tag = tag;
                Answer::Nothing
            }
            Op::Ask { handle, question } => Answer::Read(self.ask(world, handle, question)),
            Op::Hold { handle } => Answer::Held(self.hold(world, handle)),
            Op::CloneHold { handle } => {
                world.held(handle)?.holds += 1;
                Answer::Nothing
            }
            Op::HoldState { handle } => {
                Answer::Read(Ok(Seen::State(world.held(handle)?.state)))
            }
            Op::HoldRequested { handle } => {
                Answer::Read(Ok(Seen::Requested(world.held(handle)?.requested)))
            }
            _ => return None,
        })
    }

    fn lookup<'w>(
        &self,
        world: &'w mut World,
        handle: Handle,
    ) -> Result<&'w mut Entity, LookupError> {
        if handle.scene() != self.scene {
            return Err(LookupError::SceneMismatch { handle, scene: self.scene });
        }
        let Some(slot) = world.slots.get_mut(&handle.seq()) else {
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

    fn ask(
        &self,
        world: &mut World,
        handle: Handle,
        question: Question,
    ) -> Result<Seen, LookupError> {
        let entity = self.lookup(world, handle)?;
        match (question, entity.state) {
            (Question::State, state) => Ok(Seen::State(state)),
            (_, State::Pending) => Err(LookupError::Pending { handle }),
            (Question::GetActive, State::Dying) => Err(LookupError::Dying { handle }),
            (Question::Get | Question::GetActive, _) => Ok(Seen::Tag(entity.tag)),
            (Question::GetWithState, state) => Ok(Seen::Both(entity.tag, state)),
            (Question::Holds, _) => Ok(Seen::Holds(entity.holds)),
        }
    }

    fn hold(&self, world: &mut World, handle: Handle) -> Result<u64, HoldError> {
        let entity = self.lookup(world, handle)?;
        if entity.state == State::Pending {
            return Err(LookupError::Pending { handle }.into());
        }
        if entity.requested {
            return Err(HoldError::ReapRequested { handle });
        }
        entity.holds += 1;
        Ok(entity.tag)
    }

    fn transition(
        &self,
        world: &mut World,
        handle: Handle,
        step: Step,
    ) -> (Result<Option<Reaped>, TransitionError>, Rest) {
        let refuse = |error| (Err(error), Rest::Nothing);
        let entity = match self.lookup(world, handle) {
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
                world.end(handle);
                (Ok(None), Rest::Ended)
            }
            (Step::Despawn, State::Pending) => {
                world.end(handle);
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
                    world.end(handle);
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

impl World {
    fn alive(&self) -> usize {
        self.slots.values().filter(|slot| slot.entity.is_some()).count()
    }

    /// The entity of a guard or of a hold, whose handle is known to be right.
    fn entity(&mut self, handle: Handle) -> Option<&mut Entity> {
        let slot = self.slots.get_mut(&handle.seq())?;
        slot.entity.as_mut().filter(|_| slot.generation == handle.generation().get())
    }

    fn held(&mut self, handle: Handle) -> Option<&mut Entity> {
        self.entity(handle).filter(|entity| entity.holds > 0)
    }

    fn end(&mut self, handle: Handle) {
        if let Some(slot) = self.slots.get_mut(&handle.seq()) {
            slot.entity = None;
        }
    }

    fn take_unit(&mut self) -> Option<()> {
        if let Some(free) = &mut self.free {
            *free = free.checked_sub(1)?;
        }
        Some(())
    }

    fn give_unit(&mut self) {
        if let Some(free) = &mut self.free {
            *free += 1;
        }
    }

    fn stage_after(&self, rest: Rest) -> Stage {
        match rest {
            Rest::Ended if self.free.is_some() => Stage::HasUnit,
            Rest::Nothing | Rest::Ended => Stage::Done,
            Rest::Sealed => Stage::Sealed,
        }
    }
}

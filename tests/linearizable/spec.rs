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

use hatchery::{Handle, SpawnFailure};

use crate::history::{Answer, Call, History, Op, Seen, Step};
use crate::world::{Rest, World};

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

    fn in_stage(self, stage: Stage) -> Progress {
        Progress { stage, ..self }
    }

    fn done(self) -> Progress {
        self.in_stage(Stage::Done)
    }

    fn next_single(self, succeeded: bool) -> Progress {
        let succeeded = self.succeeded + usize::from(succeeded);
        Progress { stage: Stage::Begun, single: self.single + 1, succeeded }
    }
}

/// What happened during a call.
#[derive(Clone, Copy)]
pub struct Meanwhile {
    /// An explicit pin was out.
    pub pinned: bool,
    /// So many entities may have been begun or ended by others.
    pub under_way: usize,
}

/// What the whole history says, and one moment does not.
pub struct Spec {
    capacity: Option<usize>,
}

impl Spec {
    pub fn of(history: &History) -> Spec {
        Spec { capacity: history.capacity }
    }

    /// The next step of a call, or `None` if it cannot be taken now on the way to its answer.
    pub fn step(
        &self,
        world: &World,
        call: &Call,
        during: Meanwhile,
        at: Progress,
    ) -> Option<(World, Progress)> {
        let mut next = world.clone();
        let progress = self.step_in(&mut next, call, during, at)?;
        Some((next, progress))
    }

    fn step_in(
        &self,
        world: &mut World,
        call: &Call,
        during: Meanwhile,
        at: Progress,
    ) -> Option<Progress> {
        match (&call.op, &call.answer) {
            (Op::Spawn { tag, guarded }, Answer::Spawned(outcome)) => {
                self.birth(world, (*tag, *guarded), *outcome, during, at)
            }
            (Op::SpawnBatch { first, size }, Answer::Batch { spawned, refused }) => {
                let whole = spawned.len() == *size;
                if spawned.len() > *size || whole == refused.is_some() {
                    return None;
                }
                let payload = (first + at.single as u64, false);
                match (spawned.get(at.single), refused) {
                    (Some(handle), _) => {
                        let next = self.birth(world, payload, Ok(*handle), during, at)?;
                        Some(if next.is_done() { at.next_single(true) } else { next })
                    }
                    (None, Some(failure)) => self.birth(world, payload, Err(*failure), during, at),
                    (None, None) => Some(at.done()),
                }
            }
            (Op::Step { handle, step }, Answer::Stepped(answer)) => {
                ending(world, *handle, at, |world| {
                    let (model, rest) = world.transition(*handle, *step);
                    (model == *answer).then_some(rest)
                })
            }
            (Op::DespawnBatch { handles }, Answer::Count(count)) => {
                let Some(handle) = handles.get(at.single) else {
                    return (at.succeeded == *count).then_some(at.done());
                };
                // What has come to a second step has succeeded.
                let mut succeeded = at.stage != Stage::Begun;
                let next = ending(world, *handle, at, |world| {
                    let (model, rest) = world.transition(*handle, Step::Despawn);
                    succeeded = model.is_ok();
                    Some(rest)
                })?;
                Some(if next.is_done() { at.next_single(succeeded) } else { next })
            }
            (Op::Guard { handle, end }, _) => {
                ending(world, *handle, at, |world| world.end_guard(*handle, *end))
            }
            (Op::DropHold { handle }, Answer::Read(Ok(Seen::Tag(tag)))) => {
                ending(world, *handle, at, |world| world.drop_hold(*handle, *tag))
            }
            (Op::Len, Answer::Count(count)) => {
                let near = world.alive().abs_diff(*count) <= during.under_way;
                near.then_some(at.done())
            }
            (Op::Reclaim | Op::Pin | Op::Repin | Op::Unpin, _) => Some(at.done()),
            (op, answer) => (single(world, op)? == *answer).then_some(at.done()),
        }
    }

    /// One entity's beginning, or the refusal of it.
    fn birth(
        &self,
        world: &mut World,
        (tag, guarded): (u64, bool),
        outcome: Result<Handle, SpawnFailure>,
        during: Meanwhile,
        at: Progress,
    ) -> Option<Progress> {
        if let Err(SpawnFailure::Exhausted { capacity }) = outcome {
            let right = world.free_units() == Some(0) && self.capacity == Some(capacity);
            return right.then_some(at.done());
        }
        if at.stage == Stage::Begun && world.free_units().is_some() {
            world.take_unit()?;
            return Some(at.in_stage(Stage::HasUnit));
        }
        match outcome {
            Ok(handle) => world.begin(handle, tag, guarded)?,
            Err(SpawnFailure::Reclaiming { .. }) if during.pinned => world.give_unit(),
            Err(_) => return None,
        }
        Some(at.done())
    }
}

/// What comes after a step that left `rest` to be done.
fn stage_after(world: &World, rest: Rest) -> Stage {
    match rest {
        Rest::Ended if world.free_units().is_some() => Stage::HasUnit,
        Rest::Nothing | Rest::Ended => Stage::Done,
        Rest::Sealed => Stage::Sealed,
    }
}

/// The next step of a call that may end an entity; `first` is the one that decides.
fn ending(
    world: &mut World,
    handle: Handle,
    at: Progress,
    first: impl FnOnce(&mut World) -> Option<Rest>,
) -> Option<Progress> {
    let rest = match at.stage {
        Stage::Begun => first(world)?,
        Stage::Sealed => {
            world.finish(handle);
            Rest::Ended
        }
        Stage::HasUnit => {
            world.give_unit();
            Rest::Nothing
        }
        Stage::Done => return None,
    };
    Some(at.in_stage(stage_after(world, rest)))
}

/// An operation of one step, and its answer.
fn single(world: &mut World, op: &Op) -> Option<Answer> {
    Some(match *op {
        Op::Write { handle, tag } => {
            world.write(handle, tag)?;
            Answer::Nothing
        }
        Op::Ask { handle, question } => Answer::Read(world.ask(handle, question)),
        Op::Hold { handle } => Answer::Held(world.hold(handle)),
        Op::CloneHold { handle } => {
            world.clone_hold(handle)?;
            Answer::Nothing
        }
        Op::HoldState { handle } => Answer::Read(Ok(world.state_of_held(handle)?)),
        Op::HoldRequested { handle } => Answer::Read(Ok(world.request_of_held(handle)?)),
        _ => return None,
    })
}

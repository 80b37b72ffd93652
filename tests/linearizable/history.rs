//! What was called, what was answered, and when: a history of real threads.

use std::sync::atomic::{AtomicU64, Ordering};

use hatchery::{
    Handle, HoldError, LookupError, Reaped, SceneId, SpawnFailure, State, TransitionError,
};

/// The operations that go by handle from one state to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Activate,
    Cancel,
    Kill,
    KillAndHold,
    Revive,
    Reap,
    Despawn,
}

/// The ways in which a `Pending` guard ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardEnd {
    Activate,
    Cancel,
    Drop,
    Detach,
}

/// The questions about an entity that change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    State,
    Get,
    GetActive,
    GetWithState,
    Holds,
}

/// An operation as it was called. Payloads are known by their tags.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Spawn {
        tag: u64,
        guarded: bool,
    },
    SpawnBatch {
        first: u64,
        size: usize,
    },
    /// Changes the payload through its guard.
    Write {
        handle: Handle,
        tag: u64,
    },
    Guard {
        handle: Handle,
        end: GuardEnd,
    },
    Step {
        handle: Handle,
        step: Step,
    },
    Ask {
        handle: Handle,
        question: Question,
    },
    Hold {
        handle: Handle,
    },
    CloneHold {
        handle: Handle,
    },
    HoldState {
        handle: Handle,
    },
    HoldRequested {
        handle: Handle,
    },
    DropHold {
        handle: Handle,
    },
    DespawnBatch {
        handles: Vec<Handle>,
    },
    Len,
    Reclaim,
    Pin,
    Repin,
    Unpin,
}

/// What was read of an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    State(State),
    Tag(u64),
    Both(u64, State),
    Holds(u32),
    Requested(bool),
}

/// What an operation answered.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Nothing,
    Spawned(Result<Handle, SpawnFailure>),
    Batch { spawned: Vec<Handle>, refused: Option<SpawnFailure> },
    Stepped(Result<Option<Reaped>, TransitionError>),
    Read(Result<Seen, LookupError>),
    Held(Result<u64, HoldError>),
    Count(usize),
}

/// One call: it took effect at some moment, or some moments, between the two times.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    pub thread: usize,
    pub began: u64,
    pub ended: u64,
    pub op: Op,
    pub answer: Answer,
}

impl Call {
    pub fn overlaps(&self, other: &Call) -> bool {
        self.began < other.ended && other.began < self.ended
    }

    /// How many entities it may begin or end.
    pub fn weight(&self) -> usize {
        match &self.op {
            Op::SpawnBatch { size, .. } => *size,
            Op::DespawnBatch { handles } => handles.len(),
            _ => 1,
        }
    }
}

/// The calls of all threads on one store.
#[derive(Clone, Debug)]
pub struct History {
    pub scene: SceneId,
    /// `None` is no limit.
    pub capacity: Option<usize>,
    pub last_generation: u32,
    pub calls: Vec<Call>,
}

impl History {
    /// Whether an explicit pin may have been out at some moment of the call: from the beginning of
    /// `pin` to the end of the unpin it is taken to be out.
    pub fn pinned_during(&self, call: &Call) -> bool {
        self.calls.iter().filter(|pin| pin.op == Op::Pin && pin.began < call.ended).any(|pin| {
            let unpin = self.calls.iter().find(|unpin| {
                unpin.op == Op::Unpin && unpin.thread == pin.thread && unpin.began > pin.ended
            });
            unpin.is_none_or(|unpin| unpin.ended > call.began)
        })
    }

    /// How many entities others may have begun or ended during the call.
    pub fn under_way_during(&self, call: &Call) -> usize {
        let others = self.calls.iter().filter(|other| other.thread != call.thread);
        others.filter(|other| other.overlaps(call)).map(Call::weight).sum()
    }

    /// Every handle that was issued.
    pub fn issued(&self) -> Vec<Handle> {
        let handles = self.calls.iter().flat_map(|call| match &call.answer {
            Answer::Spawned(Ok(handle)) => vec![*handle],
            Answer::Batch { spawned, .. } => spawned.clone(),
            _ => Vec::new(),
        });
        handles.collect()
    }

    /// How many calls overlap one of another thread.
    pub fn concurrent_calls(&self) -> usize {
        let meets = |call: &&Call| {
            self.calls.iter().any(|other| other.thread != call.thread && other.overlaps(call))
        };
        self.calls.iter().filter(meets).count()
    }
}

/// The time that all threads share: every reading is another number.
///
/// It orders memory as well, so that what ended before another call began is seen by it: real time
/// promises as much. It also hides orderings within the store that are too weak: those are for the
/// models in `loom-tests/`.
#[derive(Default)]
pub struct Clock(AtomicU64);

impl Clock {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Writes down the calls of one thread.
pub struct Recorder<'c> {
    clock: &'c Clock,
    thread: usize,
    pub calls: Vec<Call>,
}

impl<'c> Recorder<'c> {
    pub fn new(clock: &'c Clock, thread: usize) -> Recorder<'c> {
        Recorder { clock, thread, calls: Vec::new() }
    }

    /// Carries out a call; `answer` reads its answer when the time has been taken.
    pub fn call<R>(
        &mut self,
        op: Op,
        body: impl FnOnce() -> R,
        answer: impl FnOnce(&R) -> Answer,
    ) -> R {
        let began = self.clock.now();
        let returned = body();
        let ended = self.clock.now();
        let answer = answer(&returned);
        self.calls.push(Call { thread: self.thread, began, ended, op, answer });
        returned
    }
}

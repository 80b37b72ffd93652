//! Histories by hand: the calls that a test of the checker is made of.

use hatchery::{
    Handle, HoldError, LookupError, Reaped, SceneId, SpawnFailure, State, TransitionError,
};

use crate::checker::check;
use crate::history::{Answer, Call, GuardEnd, History, Op, Question, Seen, Step};
use crate::support::{handle, nonzero};

const SCENE: SceneId = SceneId(7);

/// What was called, and what it answered.
pub type Entry = (Op, Answer);

/// A history in the making, and the time that it has come to.
pub struct Draft {
    history: History,
    now: u64,
}

/// A store of slots with three generations each.
pub fn store(capacity: impl Into<Option<usize>>) -> Draft {
    let capacity = capacity.into();
    let history = History { scene: SCENE, capacity, last_generation: 3, calls: Vec::new() };
    Draft { history, now: 0 }
}

impl Draft {
    /// One call, after all before it.
    pub fn then(self, entry: Entry) -> Draft {
        self.at_once([entry])
    }

    /// Calls of as many threads, each of which overlaps every other.
    pub fn at_once<const N: usize>(mut self, entries: [Entry; N]) -> Draft {
        for (thread, (op, answer)) in entries.into_iter().enumerate() {
            let began = self.now + thread as u64;
            self.history.calls.push(Call { thread, began, ended: began + N as u64, op, answer });
        }
        self.now += 2 * N as u64;
        self
    }

    /// One call, and others while it lasts.
    pub fn during(mut self, (op, answer): Entry, others: impl FnOnce(Draft) -> Draft) -> Draft {
        let at = self.history.calls.len();
        self.history.calls.push(Call { thread: 9, began: self.now, ended: u64::MAX, op, answer });
        self.now += 1;
        let mut draft = others(self);
        draft.history.calls[at].ended = draft.now;
        draft.now += 1;
        draft
    }

    #[track_caller]
    pub fn passes(self) {
        check(&self.history).expect("this history is right");
    }

    /// It is refused, and at this call: what comes before passes.
    #[track_caller]
    pub fn refused_at(self, entry: Entry) {
        let refused = check(&self.history).expect_err("this history is wrong");
        let wrong = refused.wrong();
        assert_eq!((wrong.op.clone(), wrong.answer.clone()), entry, "{refused:?}");
    }

    /// With this call at its end it is refused there.
    #[track_caller]
    pub fn refuses(self, entry: Entry) {
        self.then(entry.clone()).refused_at(entry);
    }
}

pub fn h(seq: u64, generation: u32) -> Handle {
    handle(SCENE, seq, generation)
}

/// The first entity of the first slot.
pub fn a() -> Handle {
    h(0, 1)
}

/// The second entity of the first slot.
pub fn a2() -> Handle {
    h(0, 2)
}

/// The first entity of the second slot.
pub fn b() -> Handle {
    h(1, 1)
}

pub fn spawned(tag: u64, handle: Handle) -> Entry {
    (Op::Spawn { tag, guarded: false }, Answer::Spawned(Ok(handle)))
}

pub fn reserved(tag: u64, handle: Handle) -> Entry {
    (Op::Spawn { tag, guarded: true }, Answer::Spawned(Ok(handle)))
}

pub fn exhausted(capacity: usize) -> Entry {
    let failure = SpawnFailure::Exhausted { capacity };
    (Op::Spawn { tag: 99, guarded: false }, Answer::Spawned(Err(failure)))
}

pub fn reclaiming() -> Entry {
    let failure = SpawnFailure::Reclaiming { dead: 1 };
    (Op::Spawn { tag: 98, guarded: false }, Answer::Spawned(Err(failure)))
}

/// A batch of payloads with the tags from `first`; a refusal where it has none of the handles.
pub fn batch(first: u64, spawned: &[Handle], refused: Option<(usize, SpawnFailure)>) -> Entry {
    let size = spawned.len() + refused.map_or(0, |(rest, _)| rest);
    let refused = refused.map(|(_, failure)| failure);
    (Op::SpawnBatch { first, size }, Answer::Batch { spawned: spawned.to_vec(), refused })
}

pub fn despawned(handles: &[Handle], count: usize) -> Entry {
    (Op::DespawnBatch { handles: handles.to_vec() }, Answer::Count(count))
}

/// A step that was taken; a reap or despawn of what nobody holds.
pub fn did(step: Step, handle: Handle) -> Entry {
    let reaped = matches!(step, Step::Reap | Step::Despawn).then_some(Reaped::Done);
    (Op::Step { handle, step }, Answer::Stepped(Ok(reaped)))
}

pub fn deferred(step: Step, handle: Handle, holds: u32) -> Entry {
    (Op::Step { handle, step }, Answer::Stepped(Ok(Some(Reaped::Deferred { holds }))))
}

/// A step of `handle` that was refused.
pub fn failed(step: Step, handle: Handle, error: impl Into<TransitionError>) -> Entry {
    (Op::Step { handle, step }, Answer::Stepped(Err(error.into())))
}

pub fn illegal(handle: Handle, from: State, to: State) -> TransitionError {
    let transition = from.advance(to).expect_err("the table has no such edge");
    TransitionError::Illegal { handle, transition }
}

pub fn not_found(handle: Handle) -> LookupError {
    LookupError::NotFound { handle }
}

pub fn stale(handle: Handle, current: u32) -> LookupError {
    LookupError::Stale { handle, current: nonzero(current) }
}

pub fn got(handle: Handle, tag: u64) -> Entry {
    (Op::Ask { handle, question: Question::Get }, Answer::Read(Ok(Seen::Tag(tag))))
}

pub fn is(handle: Handle, state: State) -> Entry {
    (Op::Ask { handle, question: Question::State }, Answer::Read(Ok(Seen::State(state))))
}

/// A question about the state that led nowhere.
pub fn missed(error: LookupError) -> Entry {
    let op = Op::Ask { handle: error.handle(), question: Question::State };
    (op, Answer::Read(Err(error)))
}

pub fn held(handle: Handle, tag: u64) -> Entry {
    (Op::Hold { handle }, Answer::Held(Ok(tag)))
}

pub fn not_held(error: impl Into<HoldError>) -> Entry {
    let error = error.into();
    (Op::Hold { handle: error.handle() }, Answer::Held(Err(error)))
}

pub fn unheld(handle: Handle, tag: u64) -> Entry {
    (Op::DropHold { handle }, Answer::Read(Ok(Seen::Tag(tag))))
}

pub fn guard(handle: Handle, end: GuardEnd) -> Entry {
    (Op::Guard { handle, end }, Answer::Nothing)
}

pub fn wrote(handle: Handle, tag: u64) -> Entry {
    (Op::Write { handle, tag }, Answer::Nothing)
}

pub fn length(count: usize) -> Entry {
    (Op::Len, Answer::Count(count))
}

pub fn pinned() -> Entry {
    (Op::Pin, Answer::Nothing)
}

pub fn unpinned() -> Entry {
    (Op::Unpin, Answer::Nothing)
}

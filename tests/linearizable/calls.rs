//! The calls of a thread, each with what it answered, and what becomes of what it returned.

use hatchery::{BatchError, Handle, Hold, HoldError, Pending, Pinned, SpawnFailure, State};

use crate::history::{Answer, GuardEnd, Op, Question, Recorder, Seen, Step};
use crate::payload::{Payload, linger};
use crate::worker::{Session, Worker};

/// A call through the session if there is one, or through the store.
macro_rules! through {
    ($worker:ident, $session:expr, $op:expr, |$there:ident| $call:expr, $answer:expr) => {{
        let store = $worker.place.store;
        match $session {
            Some($there) => $worker.recorder.call($op, || $call, $answer),
            None => {
                let $there = store;
                $worker.recorder.call($op, || $call, $answer)
            }
        }
    }};
}

impl<'w> Worker<'w> {
    pub fn read<'p>(&mut self, pinned: &'p Pinned<'w, Payload>) -> Option<(&'p Payload, u64)> {
        let handle = self.target()?;
        let ask = |question| Op::Ask { handle, question };
        let tag = |read: &Result<&Payload, _>| {
            Answer::Read(read.as_ref().map(|payload| Seen::Tag(payload.tag())).map_err(|e| *e))
        };
        let read = &mut self.recorder;
        let payload = match self.dice.roll(4) {
            0 => read.call(ask(Question::Get), || pinned.get(handle), tag).ok(),
            1 => read.call(ask(Question::GetActive), || pinned.get_active(handle), tag).ok(),
            2 => {
                let both = |read: &Result<(&Payload, _), _>| {
                    let seen = read.as_ref().map(|(it, state)| Seen::Both(it.tag(), *state));
                    Answer::Read(seen.map_err(|error| *error))
                };
                let op = ask(Question::GetWithState);
                read.call(op, || pinned.get_with_state(handle), both).ok().map(|(it, _)| it)
            }
            _ => {
                let holds = |count: &Result<u32, _>| Answer::Read(count.map(Seen::Holds));
                let _ = read.call(ask(Question::Holds), || pinned.holds(handle), holds);
                None
            }
        };
        payload.map(|payload| (payload, payload.tag()))
    }

    pub fn payload(&mut self) -> Payload {
        Payload::new(self.next_tag(), self.place.ledger)
    }

    pub fn spawn_active(&mut self, session: Session<'_, 'w>) -> Result<Handle, SpawnFailure> {
        let payload = self.payload();
        let tag = payload.tag();
        let op = Op::Spawn { tag, guarded: false };
        let answer = |answer: &Result<Handle, SpawnFailure>| Answer::Spawned(*answer);
        let spawned = through!(
            self,
            session,
            op,
            |there| {
                there.spawn_active(payload).map_err(|refused| {
                    assert_eq!(refused.value.tag(), tag, "another payload came back");
                    refused.failure
                })
            },
            answer
        );
        spawned.inspect(|handle| self.place.board.put(*handle))
    }

    pub fn spawn_guarded(&mut self, session: Session<'_, 'w>) {
        let payload = self.payload();
        let op = Op::Spawn { tag: payload.tag(), guarded: true };
        let by_closure = self.dice.roll(2) == 0;
        let answer = |answer: &Result<Pending<'w, Payload>, SpawnFailure>| {
            Answer::Spawned(answer.as_ref().map(Pending::handle).map_err(|failure| *failure))
        };
        let pending = through!(
            self,
            session,
            op,
            |there| {
                if by_closure {
                    there.spawn_with(|_| {
                        linger();
                        payload
                    })
                } else {
                    there.spawn(payload).map_err(|refused| refused.failure)
                }
            },
            answer
        );
        if let Ok(pending) = pending {
            self.place.board.put(pending.handle());
            self.guards.push(pending);
        }
    }

    pub fn spawn_batch(&mut self, session: Session<'_, 'w>) {
        let size = 1 + self.dice.roll(3) as usize;
        let payloads: Vec<Payload> = (0..size).map(|_| self.payload()).collect();
        let first = payloads[0].tag();
        let op = Op::SpawnBatch { first, size };
        let answer = |batch: &Result<Vec<Handle>, BatchError<Payload>>| match batch {
            Ok(spawned) => Answer::Batch { spawned: spawned.clone(), refused: None },
            Err(error) => {
                let rest = error.rest.iter().map(Payload::tag);
                assert!(rest.eq(first + error.spawned.len() as u64..first + size as u64));
                Answer::Batch { spawned: error.spawned.clone(), refused: Some(error.failure) }
            }
        };
        let batch = through!(self, session, op, |there| there.spawn_batch(payloads), answer);
        let spawned = batch.unwrap_or_else(|error| error.spawned);
        spawned.into_iter().for_each(|handle| self.place.board.put(handle));
    }

    pub fn use_guard(&mut self) {
        if self.dice.roll(3) > 0 {
            return self.end_guard();
        }
        let tag = self.next_tag();
        let Some(guard) = self.guards.last_mut() else { return };
        let handle = guard.handle();
        let write = || guard.set_tag(tag);
        self.recorder.call(Op::Write { handle, tag }, write, nothing);
    }

    pub fn end_guard(&mut self) {
        let at = self.dice.roll(self.guards.len() as u64) as usize;
        let guard = self.guards.swap_remove(at);
        let handle = guard.handle();
        let op = |end| Op::Guard { handle, end };
        let end = &mut self.recorder;
        match self.dice.roll(5) {
            0 => drop(end.call(op(GuardEnd::Cancel), || guard.cancel(), nothing)),
            1 => end.call(op(GuardEnd::Drop), || drop(guard), nothing),
            2 => {
                end.call(op(GuardEnd::Detach), || guard.detach(), nothing);
            }
            _ => {
                end.call(op(GuardEnd::Activate), || guard.activate(), nothing);
            }
        }
    }

    pub fn hold(&mut self, session: Session<'_, 'w>) {
        let Some(handle) = self.target() else { return };
        let answer = |hold: &Result<Hold<Payload>, HoldError>| {
            Answer::Held(hold.as_ref().map(|hold| hold.tag()).map_err(|error| *error))
        };
        let op = Op::Hold { handle };
        self.holds.extend(through!(self, session, op, |there| there.hold(handle), answer));
    }

    pub fn use_hold(&mut self) {
        let at = self.dice.roll(self.holds.len() as u64) as usize;
        let hold = &self.holds[at];
        let handle = hold.handle();
        match self.dice.roll(3) {
            0 => {
                let another =
                    self.recorder.call(Op::CloneHold { handle }, || hold.clone(), nothing);
                self.holds.push(another);
            }
            1 => {
                let state = |state: &State| Answer::Read(Ok(Seen::State(*state)));
                self.recorder.call(Op::HoldState { handle }, || hold.state(), state);
            }
            _ => {
                let asked = |asked: &bool| Answer::Read(Ok(Seen::Requested(*asked)));
                let op = Op::HoldRequested { handle };
                self.recorder.call(op, || hold.is_reap_requested(), asked);
            }
        }
    }

    pub fn drop_hold(&mut self) {
        let at = self.dice.roll(self.holds.len() as u64) as usize;
        let hold = self.holds.swap_remove(at);
        match &self.stranger {
            Some(stranger) if self.dice.roll(2) == 0 => {
                stranger.send(hold).expect("it listens as long as there is a worker");
            }
            _ => give_up(&mut self.recorder, hold),
        }
    }

    pub fn despawn_batch(&mut self, session: Session<'_, 'w>) {
        let size = 1 + self.dice.roll(3);
        let handles: Vec<Handle> = (0..size).filter_map(|_| self.target()).collect();
        let op = Op::DespawnBatch { handles: handles.clone() };
        let answer = |count: &usize| Answer::Count(*count);
        through!(self, session, op, |there| there.despawn_batch(&handles), answer);
    }

    pub fn len(&mut self) {
        let store = self.place.store;
        self.recorder.call(Op::Len, || store.len(), |len| Answer::Count(*len));
    }

    pub fn state(&mut self, session: Session<'_, 'w>, handle: Handle) {
        let op = Op::Ask { handle, question: Question::State };
        let answer = |state: &Result<_, _>| Answer::Read(state.map(Seen::State));
        let _ = through!(self, session, op, |there| there.state(handle), answer);
    }

    pub fn step(&mut self, session: Session<'_, 'w>, handle: Handle) {
        let step = match self.dice.roll(20) {
            0..2 => Step::Activate,
            2 => Step::Cancel,
            3..7 => Step::Kill,
            7..9 => Step::KillAndHold,
            9..11 => Step::Revive,
            11..14 => Step::Reap,
            _ => Step::Despawn,
        };
        self.step_by(session, handle, step);
    }

    pub fn step_by(&mut self, session: Session<'_, 'w>, handle: Handle, step: Step) {
        let mut hold = None;
        let answer = |answer: &Result<_, _>| Answer::Stepped(*answer);
        let op = Op::Step { handle, step };
        let _ = through!(
            self,
            session,
            op,
            |there| match step {
                Step::Activate => there.activate(handle).map(|()| None),
                Step::Cancel => there.cancel(handle).map(|()| None),
                Step::Kill => there.kill(handle).map(|()| None),
                Step::KillAndHold => there.kill_and_hold(handle).map(|it| {
                    hold = Some(it);
                    None
                }),
                Step::Revive => there.revive(handle).map(|()| None),
                Step::Reap => there.reap(handle).map(Some),
                Step::Despawn => there.despawn(handle).map(Some),
            },
            answer
        );
        self.holds.extend(hold);
    }

    pub fn reclaim(&mut self) {
        let store = self.place.store;
        self.recorder.call(Op::Reclaim, || store.reclaim(), nothing);
    }
}

/// Drops a hold, whosever it was.
pub fn give_up(recorder: &mut Recorder<'_>, hold: Hold<Payload>) {
    let (handle, tag) = (hold.handle(), hold.tag());
    let op = Op::DropHold { handle };
    recorder.call(op, || drop(hold), |()| Answer::Read(Ok(Seen::Tag(tag))));
}

pub fn nothing<R>(_: &R) -> Answer {
    Answer::Nothing
}

//! What a thread does next: rounds, pins, and the choice of calls and handles.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use hatchery::{EntityId, Handle, Hold, Pending, Pinned, Store};

use crate::calls::nothing;
use crate::history::{Call, History, Op, Recorder, Step};
use crate::payload::{Ledger, Payload};
use crate::support::{Dice, nonzero};
use crate::workload::{Board, Meeting, Setup};

/// What all threads share.
#[derive(Clone, Copy)]
pub struct Place<'w> {
    pub store: &'w Store<Payload>,
    pub setup: &'w Setup,
    pub board: &'w Board,
    pub ledger: &'w Arc<Ledger>,
}

/// One thread: what it has in its hands, and what it has written down.
pub struct Worker<'w> {
    pub place: Place<'w>,
    pub recorder: Recorder<'w>,
    pub dice: Dice,
    pub guards: Vec<Pending<'w, Payload>>,
    pub holds: Vec<Hold<Payload>>,
    /// The thread that may be given holds.
    pub stranger: Option<Sender<Hold<Payload>>>,
    next_tag: u64,
}

/// The session that a call goes through; `None` is the store itself.
pub type Session<'p, 'w> = Option<&'p Pinned<'w, Payload>>;

impl<'w> Worker<'w> {
    pub fn new(place: Place<'w>, recorder: Recorder<'w>, thread: usize) -> Worker<'w> {
        Worker {
            place,
            recorder,
            dice: Dice::new(place.setup.seed << 3 | thread as u64),
            guards: Vec::new(),
            holds: Vec::new(),
            stranger: None,
            next_tag: 1000 * (thread as u64 + 1),
        }
    }

    /// A tag that nobody else uses.
    pub fn next_tag(&mut self) -> u64 {
        self.next_tag += 1;
        self.next_tag
    }

    /// Some rounds of calls; in the end it gives up what it has in its hands.
    pub fn work(mut self, meeting: &Meeting, stranger: Option<Sender<Hold<Payload>>>) -> Vec<Call> {
        self.stranger = stranger;
        for round in 1..=self.place.setup.rounds {
            meeting.meet(self.place.setup.threads, round);
            let calls = 1 + self.dice.roll(4);
            if self.place.setup.pins && self.dice.roll(3) == 0 {
                self.pin(calls);
            } else {
                (0..calls).for_each(|_| self.one(None));
            }
        }
        while !self.guards.is_empty() {
            self.end_guard();
        }
        while !self.holds.is_empty() {
            self.drop_hold();
        }
        self.recorder.calls
    }

    /// Some calls under a pin. What was read under it must be whole until its end.
    fn pin(&mut self, calls: u64) {
        let store = self.place.store;
        let mut pinned = self.recorder.call(Op::Pin, || store.pin(), nothing);
        loop {
            let mut seen: Vec<(&Payload, u64)> = Vec::new();
            for _ in 0..calls {
                if self.dice.roll(3) == 0 {
                    seen.extend(self.read(&pinned));
                } else {
                    let through_it = self.dice.roll(4) > 0;
                    self.one(through_it.then_some(&pinned));
                }
            }
            for (payload, tag) in seen {
                assert_eq!(payload.tag(), tag, "a payload that was lent out has changed");
            }
            if self.dice.roll(3) > 0 {
                break;
            }
            self.recorder.call(Op::Repin, || pinned.repin(), nothing);
        }
        self.recorder.call(Op::Unpin, || drop(pinned), nothing);
    }

    /// One call.
    fn one(&mut self, session: Session<'_, 'w>) {
        match self.dice.roll(100) {
            0..20 => {
                let _ = self.spawn_active(session);
            }
            20..29 => self.spawn_guarded(session),
            29..33 => self.spawn_batch(session),
            33..43 if !self.guards.is_empty() => self.use_guard(),
            43..51 if !self.holds.is_empty() => self.drop_hold(),
            51..54 if !self.holds.is_empty() => self.use_hold(),
            54..59 => self.hold(session),
            59..62 => self.despawn_batch(session),
            62..64 => self.len(),
            64 => self.reclaim(),
            65..73 => {
                if let Some(handle) = self.target() {
                    self.state(session, handle);
                }
            }
            _ => {
                if let Some(handle) = self.target() {
                    self.step(session, handle);
                }
            }
        }
    }

    /// A handle that somebody has, or that is a guess: the generation before, or the next one,
    /// whose spawn may be under way.
    pub fn target(&mut self) -> Option<Handle> {
        let place = self.dice.roll(6);
        let (seq, generation) = self.place.board.look(place)?;
        let generation = match self.dice.roll(8) {
            0 => generation.saturating_sub(1).max(1),
            1 => generation + 1,
            _ => generation,
        };
        let foreign = self.dice.roll(60) == 0;
        let scene = self.place.store.scene();
        let scene = if foreign { (scene.0 ^ 1).into() } else { scene };
        Some(Handle::new(EntityId::new(scene, seq)?, nonzero(generation)))
    }

    /// Asks everything of the quiet store: who is alive, how many, and whether all the capacity is
    /// there.
    pub fn take_stock(mut self, history: &History) -> Vec<Call> {
        self.len();
        for handle in history.issued() {
            self.state(None, handle);
            if self.dice.roll(2) == 0 {
                self.step_by(None, handle, Step::Despawn);
            }
        }
        self.len();
        for _ in 0..=self.place.setup.capacity.unwrap_or(2) {
            if self.spawn_active(None).is_err() {
                break;
            }
        }
        self.len();
        self.recorder.calls
    }
}

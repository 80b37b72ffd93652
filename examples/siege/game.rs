//! One copy of a game, being replayed into the game's store.
//!
//! A copy knows which of its keys lives under which handle, and nothing else about the store: it
//! tells the store what the recording says, and every answer that differs from the recording is a
//! violation. Rows that make no sense (a kill of a key that was never born) are counted and
//! change nothing.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;

use hatchery::{Handle, LookupError, Pinned, Reaped, SpawnFailure};

use crate::arena::Arena;
use crate::payload::{Origin, Unit, mix};
use crate::recording::{Game, Op, Row};
use crate::settle::STEPS;
use crate::skills::FLIGHT_US;
use crate::worker::Desk;

/// Visits in which a whole game is replayed, when it is not too short or too long for that. All
/// games take as many, so that at full speed, too, they are replayed equally often.
const VISITS: usize = 32;

/// Rows that a visit carries out at most, however long the game.
pub(crate) const MOST_ROWS: usize = 256;

/// Survivors that are ended at once.
const ENDED_AT_ONCE: usize = 128;

/// How a key stands, as far as this copy has replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// No row has named it.
    Unborn,
    /// A row has named it, but none has given birth to it.
    Unknown,
    /// The store refused its birth.
    Refused,
    Pending(Handle),
    Active(Handle),
    Ended,
}

/// A skill in the air.
struct Flight {
    /// By the copy's clock, which runs on from pass to pass.
    lands_us: u64,
    key: u32,
    target: Handle,
}

/// The replay of one copy.
pub(crate) struct Replay {
    number: u32,
    /// Rows that one visit carries out at most. A visit is one session, and what dies in it cannot
    /// be reused before its end.
    visit_rows: usize,
    pass: u64,
    next_row: usize,
    next_cast: usize,
    /// The copy's clock at the start of this pass, and now.
    pass_began_us: u64,
    clock_us: u64,
    lives: Vec<Life>,
    flights: VecDeque<Flight>,
    /// The spawn rows of this pass that were refused: the oracle expects nothing of them.
    refused: Vec<u32>,
    log: Option<Vec<u32>>,
}

impl Replay {
    /// `began_us` is when the first pass begins, by the copy's clock.
    pub(crate) fn new(game: &Game, number: u32, began_us: u64, log: bool) -> Replay {
        Replay {
            number,
            visit_rows: visit_rows(game),
            pass: 0,
            next_row: 0,
            next_cast: 0,
            pass_began_us: began_us,
            clock_us: 0,
            lives: vec![Life::Unborn; game.keys.len()],
            flights: VecDeque::new(),
            refused: Vec::new(),
            log: log.then(Vec::new),
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// How many rows of this pass are replayed.
    pub(crate) fn replayed(&self) -> usize {
        self.next_row
    }

    pub(crate) fn refused(&self) -> &[u32] {
        &self.refused
    }

    pub(crate) fn life(&self, key: u32) -> Life {
        self.lives[key as usize]
    }

    pub(crate) fn log(&self) -> &[u32] {
        self.log.as_deref().unwrap_or_default()
    }

    /// When, by the copy's clock, something is to be done next.
    pub(crate) fn next_due_us(&self, game: &Game) -> u64 {
        let row = match game.rows.get(self.next_row) {
            Some(row) => self.by_clock(game, row.time_us),
            None => self.pass_ends_us(game),
        };
        self.flights.front().map_or(row, |flight| row.min(flight.lands_us))
    }

    /// Replays what is due by the copy's clock at `now_us`, as far as one visit goes.
    pub(crate) fn visit(&mut self, arena: &Arena<'_>, now_us: u64, desk: &mut Desk<'_>) {
        let mut session = arena.store.pin();
        self.land(&session, desk);
        for _ in 0..self.visit_rows {
            let Some(&row) = arena.game.rows.get(self.next_row) else {
                break;
            };
            let due_us = self.by_clock(arena.game, row.time_us);
            if due_us > now_us {
                break;
            }
            self.cast(arena, desk);
            self.clock_us = self.clock_us.max(due_us);
            self.replay(&session, row, desk);
            self.next_row += 1;
        }
        if self.next_row == arena.game.rows.len() && self.pass_ends_us(arena.game) <= now_us {
            self.cast(arena, desk);
            self.end_game(&mut session, desk);
            self.begin_pass(arena, desk);
        } else if now_us != u64::MAX {
            self.clock_us = self.clock_us.max(now_us);
        }
        drop(session);
        // Before the copy's lock is given up, so that a checkpoint finds it counted.
        arena.in_settlement.fetch_add(desk.outbox.killed() as i64, Ordering::Relaxed);
    }

    /// A moment of the recording, by the clock of this copy and in this pass. A recording may
    /// last until the end of 64 bits, so the clock stops there instead of turning over.
    fn by_clock(&self, game: &Game, time_us: u64) -> u64 {
        self.pass_began_us.saturating_add(time_us - game.start_us())
    }

    fn pass_ends_us(&self, game: &Game) -> u64 {
        self.pass_began_us.saturating_add(game.duration_us())
    }

    fn begin_pass(&mut self, arena: &Arena<'_>, desk: &mut Desk<'_>) {
        desk.tally.passes += 1;
        if self.pass == 0 {
            arena.first_passes.fetch_sub(1, Ordering::Relaxed);
        }
        self.pass += 1;
        self.next_row = 0;
        self.next_cast = 0;
        self.pass_began_us = self.pass_began_us.saturating_add(arena.period_us);
        self.clock_us = self.pass_began_us;
        self.lives.fill(Life::Unborn);
        self.refused.clear();
    }

    /// Ends everyone whom the recording leaves alive.
    pub(crate) fn end_game(&mut self, session: &mut Pinned<'_, Unit>, desk: &mut Desk<'_>) {
        desk.handles.clear();
        for life in &mut self.lives {
            if let Life::Pending(handle) | Life::Active(handle) = *life {
                desk.handles.push(handle);
                *life = Life::Ended;
            }
        }
        let mut ended = 0;
        for some in desk.handles.chunks(ENDED_AT_ONCE) {
            ended += session.despawn_batch(some);
            session.repin();
        }
        desk.tally.survivors += ended as u64;
        if ended != desk.handles.len() {
            let expected = desk.handles.len();
            desk.violations.add(|| format!("a game's end ended {ended} of {expected} survivors"));
        }
    }

    fn replay(&mut self, session: &Pinned<'_, Unit>, row: Row, desk: &mut Desk<'_>) {
        let life = self.lives[row.key as usize];
        let next = match (row.op, life) {
            (Op::Spawn, Life::Pending(_) | Life::Active(_)) => {
                desk.tally.births_of_living += 1;
                return;
            }
            (Op::Spawn, _) => self.spawn(session, row, desk),
            (Op::Activate, Life::Pending(handle)) => activate(session, handle, desk),
            (Op::Kill, Life::Pending(handle)) => cancel(session, handle, desk),
            (Op::Kill, Life::Active(handle)) => kill(session, handle, desk),
            (_, odd) => {
                self.lives[row.key as usize] = count_odd(odd, desk);
                return;
            }
        };
        self.lives[row.key as usize] = next;
        if self.pass == 0 && next != Life::Refused {
            self.log.iter_mut().for_each(|log| log.push(self.next_row as u32));
        }
    }

    fn spawn(&mut self, session: &Pinned<'_, Unit>, row: Row, desk: &mut Desk<'_>) -> Life {
        let origin = Origin { copy: self.number, key: row.key, kind: row.kind };
        let born =
            desk.meters.spawn.time(|| session.spawn_with(|handle| Unit::new(handle, origin)));
        match born {
            Ok(mut pending) => {
                // Nobody else can see it yet, so it can be written to like a local variable.
                let luck = mix(u64::from(row.key));
                pending.enlist(luck as u32 % 8, 40 + (luck >> 32) as i32 % 400);
                desk.tally.births += 1;
                Life::Pending(pending.detach())
            }
            Err(refusal) => {
                count_refusal(&refusal, desk);
                self.refused.push(self.next_row as u32);
                Life::Refused
            }
        }
    }

    /// Aims the skills that the plan has before the next row.
    fn cast(&mut self, arena: &Arena<'_>, desk: &mut Desk<'_>) {
        while let Some(cast) = arena.casts.get(self.next_cast) {
            if cast.row as usize > self.next_row {
                return;
            }
            self.next_cast += 1;
            let Life::Active(target) = self.lives[cast.key as usize] else {
                continue;
            };
            let lands_us = self.by_clock(arena.game, cast.time_us).saturating_add(FLIGHT_US);
            self.flights.push_back(Flight { lands_us, key: cast.key, target });
            desk.tally.casts += 1;
        }
    }

    /// Lets the skills land whose time has come, at the start of a visit: since they were aimed,
    /// other workers and the settlement have gone on.
    fn land(&mut self, session: &Pinned<'_, Unit>, desk: &mut Desk<'_>) {
        while self.flights.front().is_some_and(|flight| flight.lands_us <= self.clock_us) {
            let flight = self.flights.pop_front().expect("there is a first");
            let alive = self.lives[flight.key as usize] == Life::Active(flight.target);
            judge(session, flight.target, alive, desk);
        }
    }
}

/// How many rows of a game one visit carries out at most.
pub(crate) fn visit_rows(game: &Game) -> usize {
    game.rows.len().div_ceil(VISITS).clamp(16, MOST_ROWS)
}

/// What a skill finds where it was aimed, and whether that is what the recording says.
fn judge(session: &Pinned<'_, Unit>, target: Handle, alive: bool, desk: &mut Desk<'_>) {
    desk.tally.landings += 1;
    let found = desk.meters.look_up.time(|| session.get_active(target));
    match found {
        // Also one that answers to the handle of a dead unit is a stranger.
        Ok(unit) if !unit.is(target) || !alive => {
            desk.tally.strangers_hit += 1;
            desk.violations.add(|| format!("a skill at {target} was given another unit"));
        }
        Ok(unit) => {
            desk.tally.hits += 1;
            unit.strike(7);
        }
        Err(LookupError::Dying { .. }) => desk.tally.dying += 1,
        Err(LookupError::NotFound { .. }) => desk.tally.not_found += 1,
        Err(LookupError::Stale { current, .. }) => {
            desk.tally.stale += 1;
            // An index without a generation would have found whoever lives there now.
            let stranger = Handle::new(target.id(), current);
            desk.tally.strangers_avoided += u64::from(session.state(stranger).is_ok());
        }
        Err(_) => {}
    }
    if let (Err(error), true) = (found, alive) {
        desk.violations.add(|| format!("{target} is alive in the recording, the store: {error}"));
    }
}

fn activate(session: &Pinned<'_, Unit>, handle: Handle, desk: &mut Desk<'_>) -> Life {
    match session.activate(handle) {
        Ok(()) => desk.tally.activations += 1,
        Err(error) => desk.violations.add(|| format!("activate: {error}")),
    }
    Life::Active(handle)
}

fn cancel(session: &Pinned<'_, Unit>, handle: Handle, desk: &mut Desk<'_>) -> Life {
    match session.cancel(handle) {
        Ok(()) => desk.tally.cancels += 1,
        Err(error) => desk.violations.add(|| format!("cancel: {error}")),
    }
    Life::Ended
}

/// Kills, gives each settlement step its Hold, and asks for the reap, which waits for them.
fn kill(session: &Pinned<'_, Unit>, handle: Handle, desk: &mut Desk<'_>) -> Life {
    match desk.meters.kill.time(|| session.kill_and_hold(handle)) {
        Ok(hold) => {
            desk.tally.kills += 1;
            hold.doom();
            desk.outbox.give(hold);
        }
        Err(error) => desk.violations.add(|| format!("kill: {error}")),
    }
    match desk.meters.reap.time(|| session.reap(handle)) {
        Ok(Reaped::Deferred { holds, .. }) => {
            desk.tally.deferred += 1;
            let steps = STEPS as u32;
            if !(steps..=steps + desk.most_kept).contains(&holds) {
                desk.violations.add(|| format!("the reap of {handle} waits for {holds} holds"));
            }
        }
        Ok(_) => {
            desk.tally.reaped_at_once += 1;
            desk.violations.add(|| format!("the reap of {handle} did not wait for its holds"));
        }
        Err(error) => desk.violations.add(|| format!("reap: {error}")),
    }
    Life::Ended
}

/// A row that nothing can follow from: counted, and what becomes of its key.
fn count_odd(life: Life, desk: &mut Desk<'_>) -> Life {
    match life {
        Life::Unborn | Life::Unknown => {
            desk.tally.unknown_keys += u64::from(life == Life::Unborn);
            desk.tally.unknown_rows += 1;
            return Life::Unknown;
        }
        Life::Refused => desk.tally.skipped_rows += 1,
        Life::Ended => desk.tally.rows_after_death += 1,
        Life::Pending(_) | Life::Active(_) => desk.tally.repeated_activations += 1,
    }
    life
}

fn count_refusal(refusal: &SpawnFailure, desk: &mut Desk<'_>) {
    desk.tally.refused += 1;
    let (reason, needs_capacity) = match refusal {
        SpawnFailure::Exhausted { .. } => (&mut desk.tally.refused_exhausted, true),
        SpawnFailure::Reclaiming { .. } => (&mut desk.tally.refused_reclaiming, true),
        _ => (&mut desk.tally.refused_out_of_memory, false),
    };
    *reason += 1;
    if needs_capacity && !desk.has_capacity {
        desk.violations.add(|| format!("a store without a limit refused a birth: {refusal}"));
    }
}

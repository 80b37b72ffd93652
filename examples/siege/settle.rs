//! Settlement: what has to be done about a death before its slot may be used again.
//!
//! Four steps (loot, experience, quest, broadcast), on other threads than the killer. Each gets a
//! Hold of its own, looks at the dead unit through it, and drops it. Nobody waits for anybody:
//! the reap was asked for at the kill, and whoever drops the last Hold carries it out.

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use hatchery::{Hold, State};

use crate::game::MOST_ROWS;
use crate::meters::Meters;
use crate::payload::{ALL_STEPS, Unit};
use crate::siege::Siege;
use crate::tally::Tally;

/// How many steps settle a death.
pub(crate) const STEPS: usize = 4;

/// How many threads do that. Each serves two of the steps' queues.
pub(crate) const THREADS: usize = 2;

/// Batches that wait for one thread at most: memory stays bounded, and a worker that kills faster
/// than deaths can be settled waits, outside its sessions.
const QUEUE: usize = 32;

type Holds = Vec<Hold<Unit>>;

/// The deaths of one visit, as one step gets them.
pub(crate) struct Batch {
    arena: usize,
    /// The step's bit in the unit.
    step: u8,
    holds: Holds,
}

/// Emptied lists, for the next batches: made by one thread and freed by another, they would keep
/// the allocator growing, and the memory of the run would say little about the stores.
#[derive(Default)]
pub(crate) struct Spares(Mutex<Vec<Holds>>);

impl Spares {
    /// One for each step, and one lock for all of them.
    fn take(&self) -> [Holds; STEPS] {
        let mut spares = self.0.lock().expect("nobody panics here");
        std::array::from_fn(|_| spares.pop().unwrap_or_else(|| Holds::with_capacity(MOST_ROWS)))
    }

    fn put(&self, emptied: Holds) {
        self.0.lock().expect("nobody panics here").push(emptied);
    }
}

/// Where a worker's batches go.
#[derive(Clone)]
pub(crate) struct Queues(Vec<SyncSender<Batch>>);

/// One queue a thread.
pub(crate) fn queues() -> (Queues, Vec<Receiver<Batch>>) {
    let (senders, receivers) = (0..THREADS).map(|_| sync_channel(QUEUE)).unzip();
    (Queues(senders), receivers)
}

/// The Holds of the deaths in one visit, until the session is over: a send may block, and a
/// session that waits holds up reclamation.
#[derive(Default)]
pub(crate) struct Outbox([Holds; STEPS]);

impl Outbox {
    /// Gives each step a Hold.
    pub(crate) fn give(&mut self, hold: Hold<Unit>) {
        let [first, others @ ..] = &mut self.0;
        others.iter_mut().for_each(|step| step.push(hold.clone()));
        first.push(hold);
    }

    pub(crate) fn killed(&self) -> usize {
        self.0[0].len()
    }

    /// Sends what there is; the settlement is gone only when it has panicked.
    pub(crate) fn send(
        &mut self,
        arena: usize,
        queues: &Queues,
        spares: &Spares,
    ) -> Result<(), &'static str> {
        if self.killed() == 0 {
            return Ok(());
        }
        let batches = std::mem::replace(&mut self.0, spares.take());
        for (number, holds) in batches.into_iter().enumerate() {
            let batch = Batch { arena, step: 1 << number, holds };
            queues.0[number % THREADS].send(batch).map_err(|_| "the settlement is gone")?;
        }
        Ok(())
    }
}

/// Settles until all workers are gone.
pub(crate) fn serve(siege: &Siege<'_>, queue: Receiver<Batch>) -> (Tally, Meters) {
    let (mut tally, mut meters) = (Tally::default(), Meters::new());
    for batch in queue {
        settle(siege, batch, &mut tally, &mut meters);
    }
    (tally, meters)
}

fn settle(siege: &Siege<'_>, mut batch: Batch, tally: &mut Tally, meters: &mut Meters) {
    let arena = &siege.arenas[batch.arena];
    let _open = arena.gate.read().expect("no checkpoint panicked");
    let mut settled = 0;
    for hold in batch.holds.drain(..) {
        let handle = hold.handle();
        if !hold.is(handle) {
            siege.violations.add(|| format!("a hold on {handle} reads another payload"));
        }
        if hold.state() != State::Dying || !hold.is_reap_requested() {
            siege.violations.add(|| format!("{handle} is held and {}", hold.state()));
        }
        let before = hold.settle(batch.step);
        if before & batch.step != 0 {
            siege.violations.add(|| format!("{handle} was settled twice by step {}", batch.step));
        }
        tally.settled_steps += 1;
        if before | batch.step == ALL_STEPS {
            settled += 1;
            meters.last_hold.time(|| drop(hold));
        }
    }
    arena.in_settlement.fetch_sub(settled, Ordering::Relaxed);
    siege.spares.put(batch.holds);
}

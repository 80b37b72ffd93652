//! A worker: replays its copies, each a visit at a time.
//!
//! Copy `c` of game `g` belongs to worker `(g + c) % workers`, so that every worker has a copy in
//! every store, once there are as many copies as workers.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use hatchery::Handle;

use crate::arena::{Arena, Copy};
use crate::meters::Meters;
use crate::plan::Speed;
use crate::settle::{Outbox, Queues};
use crate::siege::Siege;
use crate::soak;
use crate::tally::{Tally, Violations};

/// What a worker works with, beside the copies.
pub(crate) struct Desk<'s> {
    pub(crate) tally: Tally,
    pub(crate) meters: Meters,
    pub(crate) outbox: Outbox,
    /// Used again for every game's end.
    pub(crate) handles: Vec<Handle>,
    pub(crate) violations: &'s Violations,
    pub(crate) has_capacity: bool,
    /// Holds on one unit at most that are the soak's.
    pub(crate) most_kept: u32,
}

/// One worker thread.
struct Worker<'s, 'r> {
    siege: &'s Siege<'r>,
    number: usize,
    queues: Queues,
    desk: Desk<'s>,
    mine: Vec<Mine<'s, 'r>>,
    /// Copies of each game that were dealt already.
    dealt: usize,
}

/// A copy that belongs to this worker.
struct Mine<'s, 'r> {
    arena: &'s Arena<'r>,
    copy: Copy,
    /// When, in nanoseconds of the run, its clock stood at 0.
    began_ns: u64,
}

/// How a visit ended.
enum Visit {
    Done {
        next_due_us: u64,
    },
    /// A checkpoint has paused this store.
    Paused,
}

/// Works until the siege is over, then ends what is still alive.
pub(crate) fn work(siege: &Siege<'_>, number: usize, queues: Queues) -> (Tally, Meters) {
    let desk = Desk {
        tally: Tally::default(),
        meters: Meters::new(),
        outbox: Outbox::default(),
        handles: Vec::new(),
        violations: &siege.violations,
        has_capacity: siege.plan.capacity.is_some(),
        most_kept: soak::share(siege) as u32,
    };
    let mut worker = Worker { siege, number, queues, desk, mine: Vec::new(), dealt: 0 };
    match siege.plan.speed {
        Speed::Max => worker.work_unpaced(),
        Speed::Times(speed) => worker.work_paced(speed),
    }
    worker.end_all();
    (worker.desk.tally, worker.desk.meters)
}

impl Worker<'_, '_> {
    /// From copy to copy, without a pause.
    fn work_unpaced(&mut self) {
        while !self.siege.is_over() {
            self.adopt();
            let mut paused = 0;
            for index in 0..self.mine.len() {
                if self.siege.is_over() {
                    return;
                }
                paused += usize::from(matches!(self.visit(index, u64::MAX), Visit::Paused));
            }
            // Nothing to do: leave the processor to whoever has something, a checkpoint perhaps.
            if paused == self.mine.len() {
                self.sleep(Duration::from_micros(200));
            }
        }
    }

    /// Whichever copy is due first, and asleep when none is.
    fn work_paced(&mut self, speed: f64) {
        let mut due: BinaryHeap<Reverse<(u64, usize)>> = BinaryHeap::new();
        while !self.siege.is_over() {
            let known = self.mine.len();
            self.adopt();
            due.extend((known..self.mine.len()).map(|index| Reverse((0, index))));
            let now_ns = self.siege.elapsed_ns();
            match due.peek() {
                Some(&Reverse((due_ns, index))) if due_ns <= now_ns => {
                    due.pop();
                    let next_ns = self.visit_paced(index, now_ns, speed);
                    due.push(Reverse((next_ns, index)));
                }
                next => {
                    let wait_ns = next.map_or(u64::MAX, |next| next.0.0 - now_ns);
                    self.sleep(Duration::from_nanos(wait_ns.clamp(50_000, 2_000_000)));
                }
            }
        }
    }

    /// Visits a copy that is due; when it is due again.
    fn visit_paced(&mut self, index: usize, now_ns: u64, speed: f64) -> u64 {
        // Nanoseconds of the run to microseconds of the game, and back.
        let to_us = |ns: u64| (ns as f64 * speed / 1_000.0) as u64;
        let to_ns = |us: u64| (us as f64 * 1_000.0 / speed) as u64;
        let began_ns = self.mine[index].began_ns;
        match self.visit(index, to_us(now_ns.saturating_sub(began_ns))) {
            Visit::Done { next_due_us } => began_ns.saturating_add(to_ns(next_due_us)),
            Visit::Paused => now_ns + 200_000,
        }
    }

    fn visit(&mut self, index: usize, now_us: u64) -> Visit {
        let Mine { arena, copy, .. } = &self.mine[index];
        let Ok(mut replay) = copy.try_lock() else {
            return Visit::Paused;
        };
        replay.visit(arena, now_us, &mut self.desk);
        let next_due_us = replay.next_due_us(arena.game);
        // Sending may have to wait for the settlement, which may have to wait for a checkpoint,
        // which waits for this lock.
        drop(replay);
        let index = arena.index;
        self.send(index);
        self.siege.pulses[self.number].show(&self.desk.tally);
        Visit::Done { next_due_us }
    }

    fn send(&mut self, arena: usize) {
        if let Err(reason) = self.desk.outbox.send(arena, &self.queues, &self.siege.spares) {
            self.desk.violations.add(|| reason.to_owned());
        }
    }

    /// Takes over the copies that were added since the last look.
    fn adopt(&mut self) {
        let copies = self.siege.copies.load(Ordering::Relaxed);
        let workers = self.siege.plan.threads;
        let began_ns = self.siege.elapsed_ns();
        for copy in self.dealt..copies {
            let dealt = self.siege.arenas.iter();
            let dealt = dealt.filter(|arena| (arena.index + copy) % workers == self.number);
            self.mine.extend(dealt.map(|arena| Mine {
                arena,
                copy: arena.add_copy(copy, &self.siege.plan),
                began_ns,
            }));
        }
        self.dealt = copies;
    }

    fn sleep(&mut self, time: Duration) {
        let asleep = Instant::now();
        std::thread::sleep(time);
        let slept_ns = asleep.elapsed().as_nanos() as u64;
        self.siege.pulses[self.number].slept_ns.fetch_add(slept_ns, Ordering::Relaxed);
    }

    /// The run is over in the middle of all games: ends who is alive.
    fn end_all(&mut self) {
        for Mine { arena, copy, .. } in &self.mine {
            let mut replay = copy.lock().expect("no checkpoint panicked");
            replay.end_game(&mut arena.store.pin(), &mut self.desk);
        }
    }
}

//! The run: who takes part in it, what they share, and what must hold when it is over.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use crate::arena::Arena;
use crate::meters::Meters;
use crate::oracle::{self, Checkpoints};
use crate::payload;
use crate::plan::Plan;
use crate::readers::{self, Stalled};
use crate::recording::Recording;
use crate::settle::{self, Spares};
use crate::soak::{self, Soaked};
use crate::tally::{Pulses, Tally, Violations};
use crate::watch::{self, Watched};
use crate::worker;

/// What all threads of a run share.
pub(crate) struct Siege<'r> {
    pub(crate) plan: Plan,
    pub(crate) arenas: Vec<Arena<'r>>,
    pub(crate) violations: Violations,
    pub(crate) pulses: Pulses,
    pub(crate) spares: Spares,
    /// How many copies of each game there should be.
    pub(crate) copies: AtomicUsize,
    over: AtomicBool,
    began: Instant,
}

impl Siege<'_> {
    /// Whether everybody is to come to an end.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.elapsed().as_nanos() as u64
    }

    /// Waits until `moment` of the run; false when it was over before.
    pub(crate) fn wait_until(&self, moment: Duration) -> bool {
        while !self.is_over() {
            let left = moment.saturating_sub(self.elapsed());
            if left.is_zero() {
                return true;
            }
            thread::sleep(left.min(Duration::from_millis(20)));
        }
        false
    }
}

/// What a run was, for the report.
pub(crate) struct Outcome {
    pub(crate) plan: Plan,
    pub(crate) copies: usize,
    pub(crate) seconds: f64,
    pub(crate) tally: Tally,
    pub(crate) meters: Meters,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) watched: Watched,
    pub(crate) stalled: Option<Stalled>,
    pub(crate) soaked: Option<Soaked>,
    pub(crate) constructed: u64,
    pub(crate) dropped: u64,
    pub(crate) violations: u64,
    pub(crate) told: Vec<String>,
    /// For each game, the rows that its copy 0 carried out in the first pass.
    pub(crate) logs: Vec<Vec<u32>>,
}

/// Replays `recording` as planned. The error is a store that could not be built.
pub(crate) fn run(recording: &Recording, plan: Plan) -> Result<Outcome, String> {
    let before = payload::ledger();
    let arenas = recording.games.iter().enumerate();
    let arenas = arenas.map(|(index, game)| Arena::new(index, game, &plan));
    let siege = Siege {
        arenas: arenas.collect::<Result<_, _>>().map_err(|error| error.to_string())?,
        violations: Violations::default(),
        pulses: (0..plan.threads).map(|_| Default::default()).collect(),
        spares: Spares::default(),
        copies: AtomicUsize::new(plan.copies),
        over: AtomicBool::new(false),
        began: Instant::now(),
        plan,
    };
    let mut done = thread::scope(|scope| besiege(&siege, scope));
    check_stores(&siege, &done.tally);
    done.soaked.iter().for_each(|_| soak::check_memory(&siege, &done.watched));
    done.logs = siege.arenas.iter().map(Arena::log).collect();
    let Siege { plan, arenas, violations, copies, .. } = siege;
    // With the last store goes the last payload.
    drop(arenas);
    let ledger = payload::ledger();
    let constructed = ledger.constructed - before.constructed;
    let dropped = ledger.dropped - before.dropped;
    if constructed != dropped || ledger.dropped_twice != before.dropped_twice {
        let twice = ledger.dropped_twice - before.dropped_twice;
        violations.add(|| format!("{constructed} payloads made, {dropped} dropped, {twice} twice"));
    }
    Ok(Outcome {
        plan,
        copies: copies.into_inner(),
        seconds: done.seconds,
        tally: done.tally,
        meters: done.meters,
        checkpoints: done.checkpoints,
        watched: done.watched,
        stalled: done.stalled,
        soaked: done.soaked,
        constructed,
        dropped,
        violations: violations.count(),
        told: violations.told(),
        logs: done.logs,
    })
}

/// What the threads of a run leave behind.
struct Done {
    seconds: f64,
    tally: Tally,
    meters: Meters,
    checkpoints: Checkpoints,
    watched: Watched,
    stalled: Option<Stalled>,
    soaked: Option<Soaked>,
    logs: Vec<Vec<u32>>,
}

fn besiege<'s>(siege: &'s Siege<'_>, scope: &'s thread::Scope<'s, '_>) -> Done {
    let (queues, receivers) = settle::queues();
    let mut counting: Vec<ScopedJoinHandle<'_, (Tally, Meters)>> = Vec::new();
    for queue in receivers {
        counting.push(scope.spawn(move || settle::serve(siege, queue)));
    }
    for number in 0..siege.plan.threads {
        let queues = queues.clone();
        counting.push(scope.spawn(move || worker::work(siege, number, queues)));
    }
    // The settlement ends when the last worker has dropped its end of the queues.
    drop(queues);
    counting.push(scope.spawn(|| readers::read(siege)));
    let stalled = siege.plan.stall_reader.then(|| scope.spawn(|| readers::stall(siege)));
    let soak = siege.plan.soak.then(|| {
        (scope.spawn(|| soak::pin_at_random(siege)), scope.spawn(|| soak::hold_at_random(siege)))
    });
    let oracle = scope.spawn(|| oracle::consult(siege));

    let watched = watch::watch(siege, || oracle.is_finished());
    siege.over.store(true, Ordering::Relaxed);
    let seconds = siege.elapsed().as_secs_f64();
    let (mut tally, mut meters) = (Tally::default(), Meters::new());
    for thread in counting {
        if let Some((counted, measured)) = joined(siege, thread) {
            tally.add(&counted);
            meters.add(&measured);
        }
    }
    Done {
        seconds,
        tally,
        meters,
        checkpoints: joined(siege, oracle).unwrap_or_default(),
        watched,
        stalled: stalled.and_then(|thread| joined(siege, thread)),
        soaked: soak.map(|(pins, holds)| Soaked {
            pins: joined(siege, pins).unwrap_or_default(),
            holds: joined(siege, holds).unwrap_or_default(),
        }),
        logs: Vec::new(),
    }
}

/// A thread that panicked has already said why; that it did is a violation.
fn joined<R>(siege: &Siege<'_>, thread: ScopedJoinHandle<'_, R>) -> Option<R> {
    let joined = thread.join();
    if joined.is_err() {
        siege.violations.add(|| "a thread of the siege panicked".to_owned());
    }
    joined.ok()
}

/// Everybody has gone home: nobody is alive, every birth was ended once, and with no pin held all
/// slots come back.
fn check_stores(siege: &Siege<'_>, tally: &Tally) {
    let mut births = 0;
    for arena in &siege.arenas {
        let number = arena.game.number;
        arena.store.reclaim();
        let stats = arena.store.stats();
        births += stats.spawned;
        if stats.live != 0 || stats.dead != 0 || stats.holds != 0 {
            let found = format!("{} alive, {} dead, {} held", stats.live, stats.dead, stats.holds);
            siege.violations.add(|| format!("game {number} left behind: {found}"));
        }
        if stats.spawned != stats.cancelled + stats.reaped {
            let found = (stats.spawned, stats.cancelled, stats.reaped);
            siege.violations.add(|| format!("game {number} spawned, cancelled, reaped: {found:?}"));
        }
        let kept = stats.free as u64 + stats.retired_slots;
        if kept != stats.slots as u64 && stats.free != stats.slots {
            let found = (stats.slots, stats.free);
            siege.violations.add(|| format!("game {number} lost slots, made and free: {found:?}"));
        }
    }
    let ended = tally.cancels + tally.kills + tally.survivors;
    if births != tally.births || tally.births != ended {
        let found = (tally.births, births, ended);
        siege.violations.add(|| format!("births counted by workers, by stores, ends: {found:?}"));
    }
    if tally.settled_steps != tally.kills * settle::STEPS as u64 || tally.deferred != tally.kills {
        let found = (tally.kills, tally.deferred, tally.settled_steps);
        siege.violations.add(|| format!("kills, deferred reaps, settlement steps: {found:?}"));
    }
}

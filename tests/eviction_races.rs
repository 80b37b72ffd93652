//! Many threads that spawn into a full store: who may not be ended, how many are alive, what is
//! told and counted.

mod support;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicIsize, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use hatchery::{EndReason, Handle, Hold, Limits, SpawnFailure, Store};
use support::{Census, Counted, Dice, assert_accounts, take_turn};

/// A time that all threads share: every reading is another number.
#[derive(Default)]
struct Clock(AtomicU64);

impl Clock {
    fn now(&self) -> u64 {
        self.0.fetch_add(1, SeqCst)
    }
}

/// From before the first to after the last moment that it speaks of.
type Span = (u64, u64);

/// What threads write down.
#[derive(Default)]
struct Log {
    activations: Vec<(Handle, Span)>,
    /// From before a hold was asked for until after it was dropped.
    holds: Vec<(Handle, Span)>,
    /// Just before a despawn.
    despawns: Vec<(Handle, u64)>,
    /// The spawn that ended it, until its callback.
    evictions: Vec<(Handle, Span)>,
}

impl Log {
    fn append(&mut self, other: &mut Log) {
        self.activations.append(&mut other.activations);
        self.holds.append(&mut other.holds);
        self.despawns.append(&mut other.despawns);
        self.evictions.append(&mut other.evictions);
    }
}

thread_local! {
    /// When this thread's spawn began.
    static SPAWN_BEGAN: Cell<u64> = const { Cell::new(0) };
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
struct Run {
    threads: u64,
    capacity: usize,
    rounds: u64,
    seed: u64,
}

/// One thread of a run.
struct Worker<'r> {
    store: &'r Store<u64>,
    clock: &'r Clock,
    dice: Dice,
    log: Log,
    detached: Vec<Handle>,
    known: Vec<Handle>,
    holds: Vec<(u64, Hold<u64>)>,
}

impl Worker<'_> {
    fn one_of(&mut self, many: usize) -> usize {
        self.dice.roll(many as u64) as usize
    }

    fn activated(&mut self, began: u64, handle: Handle) {
        self.log.activations.push((handle, (began, self.clock.now())));
        self.known.push(handle);
    }

    fn spawn(&mut self, payload: u64) {
        SPAWN_BEGAN.set(self.clock.now());
        if self.dice.roll(3) > 0 {
            let began = self.clock.now();
            if let Ok(handle) = self.store.spawn_active(payload) {
                self.activated(began, handle);
            }
        } else if let Ok(guard) = self.store.spawn(payload) {
            if self.dice.roll(2) == 0 {
                let began = self.clock.now();
                let handle = guard.activate();
                self.activated(began, handle);
            } else {
                self.detached.push(guard.detach());
            }
        }
    }

    fn activate_one(&mut self) {
        let at = self.one_of(self.detached.len());
        let handle = self.detached.swap_remove(at);
        let began = self.clock.now();
        self.store.activate(handle).expect("nobody else knows of it");
        self.activated(began, handle);
    }

    fn hold_one(&mut self) {
        let at = self.one_of(self.known.len());
        let handle = self.known[at];
        let began = self.clock.now();
        match self.store.hold(handle) {
            Ok(hold) => self.holds.push((began, hold)),
            Err(_) => self.known.retain(|known| *known != handle),
        }
    }

    fn let_one_go(&mut self) {
        let at = self.one_of(self.holds.len());
        let (began, hold) = self.holds.swap_remove(at);
        let handle = hold.handle();
        drop(hold);
        self.log.holds.push((handle, (began, self.clock.now())));
    }

    fn work(mut self, rounds: u64) -> Log {
        for round in 0..rounds {
            self.spawn(round);
            if self.detached.len() > 1 {
                self.activate_one();
            }
            match self.dice.roll(8) {
                0 | 1 if !self.known.is_empty() => self.hold_one(),
                2 if !self.known.is_empty() => {
                    let at = self.one_of(self.known.len());
                    let handle = self.known.swap_remove(at);
                    self.log.despawns.push((handle, self.clock.now()));
                    let _ = self.store.despawn(handle);
                }
                _ => {}
            }
            if self.holds.len() > 2 || (self.dice.roll(3) == 0 && !self.holds.is_empty()) {
                self.let_one_go();
            }
        }
        while !self.holds.is_empty() {
            self.let_one_go();
        }
        self.log
    }
}

fn run(Run { threads, capacity, rounds, seed }: Run) -> Log {
    let clock = Arc::new(Clock::default());
    let evictions: Arc<Mutex<Vec<(Handle, Span)>>> = Arc::default();
    let (time, notes) = (Arc::clone(&clock), Arc::clone(&evictions));
    let store: Store<u64> = Store::builder()
        .limits(Limits::overwrite_oldest(capacity))
        .on_dying(move |handle, _, reason| {
            if reason == EndReason::Overwritten {
                notes.lock().unwrap().push((handle, (SPAWN_BEGAN.get(), time.now())));
            }
        })
        .build()
        .unwrap();
    let worker = |thread| Worker {
        store: &store,
        clock: &clock,
        dice: Dice::new(seed << 8 | thread),
        log: Log::default(),
        detached: Vec::new(),
        known: Vec::new(),
        holds: Vec::new(),
    };
    let mut all = Log::default();
    std::thread::scope(|scope| {
        let worker = &worker;
        let start = |thread| scope.spawn(move || worker(thread).work(rounds));
        let threads: Vec<_> = (0..threads).map(start).collect();
        threads.into_iter().for_each(|thread| all.append(&mut thread.join().unwrap()));
    });
    assert_accounts(&store.stats());
    all.evictions = std::mem::take(&mut *evictions.lock().unwrap());
    assert_eq!(store.stats().overwritten, all.evictions.len() as u64);
    all
}

/// The promise: E is not ended while F, whose activation returned before E's began, stays Active
/// and unheld for the whole spawn call. How many pairs it had something to say of.
fn check(setup: Run, log: Log) -> usize {
    let mut held: HashMap<Handle, Vec<Span>> = HashMap::new();
    for (handle, span) in log.holds {
        held.entry(handle).or_default().push(span);
    }
    // Until then at least it was Active.
    let mut until: HashMap<Handle, u64> =
        log.evictions.iter().map(|(handle, (began, _))| (*handle, *began)).collect();
    assert_eq!(until.len(), log.evictions.len(), "nobody is ended twice");
    for (handle, time) in log.despawns {
        until.entry(handle).and_modify(|until| *until = time.min(*until)).or_insert(time);
    }
    let activated: HashMap<Handle, Span> = log.activations.iter().copied().collect();
    let until = |handle| until.get(&handle).copied().unwrap_or(u64::MAX);
    let mut elders: Vec<(u64, u64, Handle)> =
        log.activations.iter().map(|(it, (_, returned))| (*returned, until(*it), *it)).collect();
    elders.sort_unstable();
    let mut pairs = 0;
    for (handle, (began, told)) in log.evictions {
        let young = activated[&handle].0.min(began);
        for (_, until, elder) in elders.iter().take_while(|(returned, ..)| *returned < young) {
            let until = *until;
            if until < began {
                continue;
            }
            pairs += 1;
            let spans = held.get(elder).map_or(&[][..], |spans| spans);
            let in_use = spans.iter().any(|(from, to)| *from < told && began < *to);
            assert!(
                until < told || in_use,
                "{setup:?}: {handle}, activated from {young} on, was ended within {began}..{told}, \
                 while {elder} stayed until {until}, held {spans:?}",
            );
        }
    }
    pairs
}

#[test]
fn nobody_is_ended_before_an_elder_that_stays_active_and_unheld() {
    let _turn = take_turn();
    let mut pairs = 0;
    for (threads, capacity, rounds) in
        [(2, 8, 400), (4, 8, 250), (8, 16, 150), (2, 64, 500), (8, 64, 200), (3, 1000, 700)]
    {
        for seed in 1..3 {
            let setup = Run { threads, capacity, rounds, seed };
            pairs += check(setup, run(setup));
        }
    }
    assert!(pairs > 100, "{pairs} pairs are too few to show anything");
}

/// Counted from outside: raised after a spawn has returned, and lowered in the callback, while the
/// entity is still alive. So the count is never more than what is alive, which is never more than
/// the capacity.
fn check_capacity(capacity: usize, rounds: u64) {
    let count = Arc::new(AtomicIsize::new(capacity as isize));
    let lower = Arc::clone(&count);
    let store: Store<u64> = Store::builder()
        .limits(Limits::overwrite_oldest(capacity))
        .on_dying(move |_, _, _| _ = lower.fetch_sub(1, SeqCst))
        .build()
        .unwrap();
    store.spawn_batch(0..capacity as u64).unwrap();
    let (most, refused) = (AtomicIsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for worker in 0..16 {
            let (store, count, most, refused) = (&store, &count, &most, &refused);
            scope.spawn(move || {
                let mut dice = Dice::new(worker + 1);
                for round in 0..rounds {
                    let Ok(handle) = store.spawn_active(round) else {
                        refused.fetch_add(1, SeqCst);
                        continue;
                    };
                    most.fetch_max(count.fetch_add(1, SeqCst) + 1, SeqCst);
                    if dice.roll(8) == 0 {
                        let _ = store.despawn(handle);
                    }
                    let stats = store.stats();
                    assert!(store.len() <= capacity && stats.live <= capacity, "{stats:?}");
                    assert!(stats.peak_live <= capacity && stats.capacity == capacity, "{stats:?}");
                }
            });
        }
    });
    let most = most.into_inner();
    assert!(most <= capacity as isize, "{most} at once");
    let stats = store.stats();
    assert_eq!(stats.acquired, capacity as u64 + 16 * rounds);
    assert_eq!(stats.rejected, refused.into_inner() as u64);
    assert!(stats.overwritten > 0 && stats.slots <= 2 * capacity, "{stats:?}");
    assert_eq!((stats.live as isize, stats.live), (count.load(SeqCst), store.clear()));
    assert_accounts(&store.stats());
}

/// C17
#[test]
fn parallel_spawns_into_a_full_store_never_pass_the_capacity() {
    let _turn = take_turn();
    check_capacity(8, 500);
    check_capacity(1000, 200);
}

/// C17
#[test]
fn parallel_spawns_into_a_large_full_store_never_pass_the_capacity() {
    let _turn = take_turn();
    check_capacity(100_000, 50);
}

/// Nobody holds anything, and half of the units are in nobody's hands at every moment: a spawn
/// always finds a unit or somebody to end, whatever others end meanwhile.
#[test]
fn spawn_is_never_refused_while_somebody_can_be_ended_at_every_instant() {
    let _turn = take_turn();
    for (threads, capacity) in [(2, 4), (3, 8), (4, 8)] {
        let census = Census::new();
        let store = Store::builder()
            .limits(Limits::overwrite_oldest(capacity))
            .backlog(1 << 12)
            .build()
            .unwrap();
        std::thread::scope(|scope| {
            for worker in 0..threads {
                let (store, maker) = (&store, census.maker());
                scope.spawn(move || {
                    let mut dice = Dice::new(worker + 1);
                    let mut mine: Vec<Handle> = Vec::new();
                    for tag in 0..1500 {
                        mine.push(store.spawn_active(maker.payload(tag)).unwrap());
                        match dice.roll(8) {
                            0 => _ = store.clear(),
                            1 | 2 => _ = store.despawn_batch(&std::mem::take(&mut mine)),
                            _ => {}
                        }
                    }
                });
            }
        });
        assert_eq!(store.stats().rejected, 0);
        assert!(store.stats().overwritten > 0);
        assert_accounts(&store.stats());
    }
}

/// Kills, holds, revivals and evictions of the same few: each end is told once, each payload is
/// dropped once, and what is held is left alone.
#[test]
fn evictions_that_race_with_every_other_operation_keep_the_accounts() {
    let _turn = take_turn();
    for (capacity, backlog) in [(2, 2), (6, 1), (40, 40)] {
        let census = Census::new();
        let told = Arc::new([const { AtomicU64::new(0) }; 2]);
        let notes = Arc::clone(&told);
        let store = Store::builder()
            .limits(Limits::overwrite_oldest(capacity))
            .backlog(backlog)
            .on_dying(move |_, payload: &Counted, reason| {
                payload.tag();
                notes[usize::from(reason == EndReason::Overwritten)].fetch_add(1, SeqCst);
            })
            .build()
            .unwrap();
        let shared: Mutex<Vec<Handle>> = Mutex::default();
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let (store, shared, maker) = (&store, &shared, census.maker());
                scope.spawn(move || work_on_shared(store, shared, &maker, Dice::new(worker + 1)));
            }
        });
        let stats = store.stats();
        assert_accounts(&stats);
        assert!(stats.live <= capacity && stats.holds == 0, "{stats:?}");
        let [killed, overwritten] = [0, 1].map(|at: usize| told[at].load(SeqCst));
        assert_eq!(killed + overwritten, stats.killed, "each end is told once");
        assert!(overwritten > 0 && overwritten <= stats.overwritten, "{stats:?}");
        assert_eq!(stats.released, stats.cancelled + stats.reaped - stats.overwritten);
        store.clear();
        assert_eq!((census.alive(), store.stats().drop_panics), (0, 0));
    }
}

fn work_on_shared(
    store: &Store<Counted>,
    shared: &Mutex<Vec<Handle>>,
    maker: &support::Maker,
    mut dice: Dice,
) {
    let mut holds: Vec<Hold<Counted>> = Vec::new();
    for tag in 0..1200 {
        let known = shared.lock().unwrap().clone();
        let handle = known.get(dice.roll(8) as usize).copied();
        match (dice.roll(10), handle) {
            (0, Some(handle)) => holds.extend(store.hold(handle)),
            (1, Some(handle)) => holds.extend(store.kill_and_hold(handle)),
            (2, Some(handle)) => _ = store.kill(handle),
            (3, Some(handle)) => _ = store.revive(handle),
            (4, Some(handle)) => _ = store.reap(handle),
            (5, Some(handle)) => _ = store.despawn(handle),
            (6, Some(handle)) => _ = store.activate(handle),
            (7, _) if !holds.is_empty() => {
                let hold = holds.swap_remove(dice.roll(holds.len() as u64) as usize);
                assert!(hold.tag() < 1200 && store.state(hold.handle()).is_ok());
            }
            _ => match store.spawn(maker.payload(tag)) {
                Ok(guard) => {
                    let detached = dice.roll(4) == 0;
                    let handle = if detached { guard.detach() } else { guard.activate() };
                    let mut shared = shared.lock().unwrap();
                    shared.insert(0, handle);
                    shared.truncate(8);
                }
                Err(error) => {
                    let full = SpawnFailure::Exhausted { capacity: store.limits().capacity };
                    assert_eq!(error.failure, full, "no pin is out");
                    holds.clear();
                    known.iter().for_each(|handle| _ = store.cancel(*handle));
                }
            },
        }
    }
}

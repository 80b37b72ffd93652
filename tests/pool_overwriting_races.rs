//! Many threads that acquire from a full pool: whose lease may not be taken, that nobody's object
//! is taken under their hands, how many leases there are, and what is counted.

mod support;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::thread;

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, Recycle, SpawnFailure};
use support::{Census, Counted, Dice, Maker, take_turn};

/// A time that all threads share: every reading is another number.
static CLOCK: AtomicU64 = AtomicU64::new(1);

fn now() -> u64 {
    CLOCK.fetch_add(1, SeqCst)
}

/// From before the first to after the last moment that it speaks of.
type Span = (u64, u64);

thread_local! {
    static MAKER: RefCell<Option<Maker>> = const { RefCell::new(None) };
    /// When this thread's acquisition began, if one is under way.
    static ACQUIRING: Cell<Option<u64>> = const { Cell::new(None) };
    /// Whose objects this thread's acquisitions have taken, and when.
    static TAKEN: RefCell<Vec<(u64, Span)>> = const { RefCell::new(Vec::new()) };
}

/// An object that carries the number of the lease that uses it, in two words.
#[derive(Debug)]
struct Object {
    owner: u64,
    check: u64,
    _counted: Counted,
}

impl Default for Object {
    fn default() -> Object {
        let counted = MAKER.with_borrow(|maker| maker.as_ref().expect("a census").payload(0));
        Object { owner: 0, check: 0, _counted: counted }
    }
}

impl Object {
    /// Writes the owner's mark where nobody has, and checks it.
    fn use_as(&mut self, owner: u64) {
        if self.owner == 0 {
            (self.owner, self.check) = (owner, owner);
        }
        assert_eq!((self.owner, self.check), (owner, owner), "somebody else's object");
    }
}

impl Recycle for Object {
    fn recycle(&mut self) {
        assert_eq!(self.owner, self.check, "taken in the middle of a use");
        if let Some(began) = ACQUIRING.get() {
            TAKEN.with_borrow_mut(|taken| taken.push((self.owner, (began, now()))));
        }
        (self.owner, self.check) = (0, 0);
    }
}

fn enrol(census: &Census) {
    MAKER.set(Some(census.maker()));
}

/// What threads write down, by the numbers of the leases.
#[derive(Default)]
struct Log {
    acquisitions: Vec<(u64, Span)>,
    uses: Vec<(u64, Span)>,
    /// The last moment at which it was certainly not revoked, of what was found revoked, and of
    /// what was given back.
    until: Vec<(u64, u64)>,
    overwritten: Vec<(u64, Span)>,
    refused: u64,
}

impl Log {
    fn append(&mut self, other: &mut Log) {
        self.acquisitions.append(&mut other.acquisitions);
        self.uses.append(&mut other.uses);
        self.until.append(&mut other.until);
        self.overwritten.append(&mut other.overwritten);
        self.refused += other.refused;
    }
}

/// How a run is made.
#[derive(Clone, Copy, Debug)]
struct Run {
    threads: u64,
    capacity: usize,
    rounds: u64,
    /// Leases that a thread keeps.
    keep: usize,
    /// Every so many rounds a thread resets the pool.
    resets: u64,
    /// Whether the pool is full of used leases before the threads begin.
    full: bool,
    seed: u64,
}

/// A lease, and when it was certainly good.
struct Kept {
    lease: Lease<Object>,
    good: u64,
}

struct Worker<'r> {
    setup: Run,
    pool: &'r Pool<Object>,
    dice: Dice,
    log: Log,
    kept: Vec<Kept>,
}

impl Worker<'_> {
    fn acquire(&mut self) {
        let began = now();
        ACQUIRING.set(Some(began));
        let outcome = self.pool.acquire();
        ACQUIRING.set(None);
        match outcome {
            Ok(lease) => {
                let returned = now();
                self.log.acquisitions.push((lease.seq(), (began, returned)));
                self.kept.push(Kept { lease, good: began });
                // Most are used at once, so that who takes them is told whose they were.
                if self.dice.roll(16) > 0 {
                    self.use_one(self.kept.len() - 1, 0);
                }
            }
            Err(failure) => {
                let capacity = self.setup.capacity;
                assert_eq!(failure, SpawnFailure::Exhausted { capacity });
                self.log.refused += 1;
            }
        }
    }

    fn use_one(&mut self, at: usize, pauses: u64) {
        let Kept { lease, good } = &mut self.kept[at];
        let (number, began) = (lease.seq(), now());
        let Some(mut object) = lease.get_mut() else {
            assert!(lease.is_revoked() && lease.get_mut().is_none(), "for ever");
            self.log.until.push((number, *good));
            assert!(!self.pool.release(self.kept.swap_remove(at).lease));
            return;
        };
        object.use_as(number);
        for _ in 0..pauses {
            thread::yield_now();
            object.use_as(number);
        }
        *good = now();
        drop(object);
        self.log.uses.push((number, (began, now())));
    }

    fn end_one(&mut self, at: usize) {
        let Kept { lease, good } = self.kept.swap_remove(at);
        let (number, before) = (lease.seq(), now());
        let released = self.pool.release(lease);
        self.log.until.push((number, if released { before } else { good }));
    }

    fn one(&mut self) -> usize {
        self.dice.roll(self.kept.len() as u64) as usize
    }

    fn fill(&mut self) {
        for _ in 0..self.setup.capacity {
            self.acquire();
        }
    }

    fn work(&mut self) {
        let Run { capacity, rounds, keep, resets, .. } = self.setup;
        for round in 1..=rounds {
            self.acquire();
            if !self.kept.is_empty() {
                let (at, pauses) = (self.one(), self.dice.roll(4));
                self.use_one(at, pauses);
            }
            if self.kept.len() > keep || (self.dice.roll(8) == 0 && !self.kept.is_empty()) {
                let at = self.one();
                self.end_one(at);
            }
            if resets > 0 && round % resets == 0 {
                self.pool.reset();
            }
            if round % 64 == 0 {
                let stats = self.pool.stats();
                assert!(stats.live <= capacity && stats.peak_live <= capacity, "{stats:?}");
                assert!(stats.created <= capacity as u64 && stats.slots <= capacity, "{stats:?}");
            }
        }
    }

    fn finish(mut self) -> Log {
        while !self.kept.is_empty() {
            self.end_one(self.kept.len() - 1);
        }
        self.log.overwritten = TAKEN.take();
        self.log
    }
}

/// Runs the threads, checks what must hold of any run, and answers what they wrote down.
fn run(setup: Run) -> Log {
    let census = Census::new();
    let pool = Pool::new(Limits::overwrite_oldest(setup.capacity)).unwrap();
    let barrier = Barrier::new(setup.threads as usize);
    enrol(&census);
    let worker = |thread| Worker {
        setup,
        pool: &pool,
        dice: Dice::new(setup.seed << 8 | thread),
        log: Log::default(),
        kept: Vec::new(),
    };
    let mut main = worker(setup.threads);
    if setup.full {
        main.fill();
    }
    let mut all = Log::default();
    thread::scope(|scope| {
        let (census, barrier, worker) = (&census, &barrier, &worker);
        let start = |thread| {
            scope.spawn(move || {
                enrol(census);
                let mut worker = worker(thread);
                barrier.wait();
                worker.work();
                worker.finish()
            })
        };
        let threads: Vec<_> = (0..setup.threads).map(start).collect();
        threads.into_iter().for_each(|thread| all.append(&mut thread.join().unwrap()));
    });
    all.append(&mut main.finish());
    let stats = pool.stats();
    let served = all.acquisitions.len() as u64;
    if setup.resets == 0 {
        assert_eq!((stats.spawned, stats.rejected), (served, all.refused), "{stats:?}");
        assert_eq!(served, stats.hits + stats.misses + stats.overwritten, "{stats:?}");
        assert_eq!(served, stats.released + stats.overwritten + stats.live as u64, "{stats:?}");
        assert_eq!(stats.overwritten, all.overwritten.len() as u64, "told once each");
    }
    assert_eq!((stats.live, stats.drop_panics), (0, 0), "all leases are dropped");
    assert_eq!((stats.idle, stats.created as usize), (stats.slots, stats.slots));
    let full = Vec::from_iter((0..setup.capacity).map(|_| pool.acquire().expect("room")));
    assert!(!full.iter().any(Lease::is_revoked), "no unit is lost");
    assert!(pool.acquire().is_ok() && full[0].is_revoked() && pool.stats().live < setup.capacity);
    drop(pool);
    drop(full);
    census.assert_balanced();
    all
}

/// Who acquires after another's acquisition has returned has a higher number.
fn check_numbers(setup: Run, acquisitions: &[(u64, Span)]) {
    let mut by_begin = acquisitions.to_vec();
    by_begin.sort_unstable_by_key(|(_, (began, _))| *began);
    let mut by_return = acquisitions.to_vec();
    by_return.sort_unstable_by_key(|(_, (_, returned))| *returned);
    let (mut before, mut highest) = (by_return.iter().peekable(), 0);
    for (lease, (began, _)) in by_begin {
        while let Some((elder, _)) = before.next_if(|(_, (_, returned))| *returned < began) {
            highest = highest.max(*elder);
        }
        assert!(highest < lease, "{setup:?}: {lease} began after {highest} had returned");
    }
}

/// The promise: E's lease is not revoked while F's, whose acquisition returned before E's began,
/// could have been revoked throughout the call. How many pairs it had something to say of.
fn check(setup: Run, log: Log) -> usize {
    let mut uses: HashMap<u64, Vec<Span>> = HashMap::new();
    for (lease, span) in log.uses {
        uses.entry(lease).or_default().push(span);
    }
    let mut until: HashMap<u64, u64> = log.until.into_iter().collect();
    for (lease, (began, _)) in &log.overwritten {
        // Found revoked later: it was good until this call began, at least.
        until.entry(*lease).and_modify(|until| *until = (*until).max(*began)).or_insert(*began);
    }
    let acquired: HashMap<u64, Span> = log.acquisitions.iter().copied().collect();
    assert_eq!(acquired.len(), log.acquisitions.len(), "numbers are unique");
    check_numbers(setup, &log.acquisitions);
    let mut elders: Vec<(u64, u64, u64)> =
        log.acquisitions.iter().map(|(it, (_, returned))| (*returned, until[it], *it)).collect();
    elders.sort_unstable();
    let mut pairs = 0;
    let some = log.overwritten.len() / 3000 + 1;
    for (lease, (began, told)) in log.overwritten.into_iter().step_by(some) {
        let Some(young) = acquired.get(&lease).map(|(it, _)| *it) else { continue };
        for &(_, until, elder) in elders.iter().take_while(|(returned, ..)| *returned < young) {
            if until < began {
                continue;
            }
            pairs += 1;
            let spans = uses.get(&elder).map_or(&[][..], |spans| spans);
            let in_use = spans.iter().any(|(from, to)| *from < told && began < *to);
            assert!(
                until < told || in_use,
                "{setup:?}: {lease}, acquired from {young} on, was overwritten within \
                 {began}..{told}, while {elder} stayed until {until}, used {spans:?}",
            );
        }
    }
    pairs
}

#[test]
fn nobody_is_overwritten_before_an_elder_that_could_be() {
    let _turn = take_turn();
    let mut pairs = 0;
    for (threads, capacity, rounds, keep) in [
        (2, 8, 600, 6),
        (4, 8, 400, 4),
        (16, 8, 200, 2),
        (16, 24, 200, 3),
        (2, 100, 1000, 70),
        (8, 100, 300, 20),
    ] {
        for (resets, seed) in [(0, 1), (0, 2), (97, 3)] {
            let full = seed == 2;
            let setup = Run { threads, capacity, rounds, keep, resets, full, seed };
            pairs += check(setup, run(setup));
        }
    }
    assert!(pairs > 1000, "{pairs} pairs are too few to show anything");
}

#[test]
fn sixteen_threads_at_a_large_capacity_take_the_oldest() {
    let _turn = take_turn();
    let setup = Run {
        threads: 16,
        capacity: 100_000,
        rounds: 500,
        keep: 200,
        resets: 0,
        full: true,
        seed: 1,
    };
    let (mut overwritten, mut pairs) = (0, 0);
    // How many there are, and how many to compare, depends on how the threads are scheduled.
    for seed in 1..=8 {
        let setup = Run { seed, ..setup };
        let log = run(setup);
        overwritten += log.overwritten.len();
        pairs += check(setup, log);
        if overwritten > 3000 && pairs > 10 {
            return;
        }
    }
    panic!("{overwritten} overwritten and {pairs} pairs are too few to show anything");
}

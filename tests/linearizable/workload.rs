//! Random calls of a few threads on one small store, written down.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use hatchery::{Handle, Limits, Store};

use crate::calls::give_up;
use crate::history::{Clock, History, Recorder};
use crate::payload::{Ledger, Payload, linger};
use crate::support::nonzero;
use crate::worker::{Place, Worker};

/// One kind of history.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub seed: u64,
    pub threads: usize,
    /// How often the threads meet, to begin a few calls each together.
    pub rounds: usize,
    pub capacity: Option<usize>,
    /// From where the store grows to its capacity, if it does.
    pub grows_from: Option<usize>,
    pub backlog: Option<usize>,
    pub last_generation: u32,
    pub shards: usize,
    /// Whether threads pin. Without a pin nothing excuses `Reclaiming`.
    pub pins: bool,
    /// Whether holds are given to a thread that knows nothing of the store, to be dropped.
    pub stranger: bool,
}

impl Setup {
    /// A store that grows answers as one that has all its units from the beginning: which of them
    /// is added, and when, no answer tells.
    fn limits(&self) -> Limits {
        match (self.capacity, self.grows_from) {
            (Some(most), Some(first)) => Limits::grow_to_cap(first, most),
            (Some(most), None) => Limits::reject(most),
            (None, _) => Limits::UNBOUNDED,
        }
    }
}

/// Where threads wait for one another: else the first is through before the last has begun.
#[derive(Default)]
pub struct Meeting {
    come: AtomicUsize,
    broken: AtomicBool,
}

impl Meeting {
    /// Waits for `threads` to have come `times` times.
    pub fn meet(&self, threads: usize, times: usize) {
        self.come.fetch_add(1, Ordering::SeqCst);
        let mut looks = 0;
        while self.come.load(Ordering::SeqCst) < threads * times {
            assert!(!self.broken.load(Ordering::SeqCst), "another thread has panicked");
            looks += 1;
            if looks < 1000 { spin_loop() } else { std::thread::sleep(Duration::from_micros(10)) }
        }
    }
}

/// Keeps the others from waiting for ever for a thread that panics.
struct Attendance<'m>(&'m Meeting);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.broken.store(true, Ordering::SeqCst);
        }
    }
}

/// The handles that threads have told one another of.
pub struct Board([AtomicU64; 6]);

impl Board {
    pub fn put(&self, handle: Handle) {
        let place = &self.0[(handle.seq() % self.0.len() as u64) as usize];
        place.store(handle.seq() << 32 | u64::from(handle.generation().get()), Ordering::Relaxed);
    }

    /// One of them, from a place on: its sequence number and generation.
    pub fn look(&self, place: u64) -> Option<(u64, u32)> {
        let places = self.0.iter().cycle().skip(place as usize % self.0.len()).take(self.0.len());
        let shown = places.map(|place| place.load(Ordering::Relaxed)).find(|shown| *shown != 0)?;
        Some((shown >> 32, shown as u32))
    }
}

/// Carries out the calls of all threads; at the end the store is asked everything while it is
/// quiet, and must have dropped every payload exactly once when it is gone.
pub fn run(setup: Setup) -> History {
    let ledger = Arc::new(Ledger::default());
    let store = Store::builder()
        .limits(setup.limits())
        .last_generation(nonzero(setup.last_generation))
        .shards(setup.shards)
        .on_dying(|_, payload: &Payload, _| {
            payload.tag();
            linger();
        });
    let store = match setup.backlog {
        Some(dead) => store.backlog(dead),
        None => store,
    };
    let store = store.build().expect("the limits are right");
    let (clock, board) = (Clock::default(), Board(Default::default()));
    let meeting = Meeting::default();
    let place = Place { store: &store, setup: &setup, board: &board, ledger: &ledger };
    let worker = |thread| Worker::new(place, Recorder::new(&clock, thread), thread);
    let mut calls = std::thread::scope(|scope| {
        let (sender, holds) = mpsc::channel();
        let start = |thread| {
            let (worker, meeting, sender) = (&worker, &meeting, sender.clone());
            scope.spawn(move || {
                let _attendance = Attendance(meeting);
                let stranger = setup.stranger.then_some(sender);
                worker(thread).work(meeting, stranger)
            })
        };
        let mut threads: Vec<_> = (0..setup.threads).map(start).collect();
        drop(sender);
        let mut recorder = Recorder::new(&clock, setup.threads + 1);
        threads.push(scope.spawn(move || {
            holds.into_iter().for_each(|hold| give_up(&mut recorder, hold));
            recorder.calls
        }));
        threads.into_iter().flat_map(|it| it.join().expect("every payload is whole")).collect()
    });
    let mut history = History {
        scene: store.scene(),
        capacity: setup.capacity,
        last_generation: setup.last_generation,
        calls,
    };
    calls = worker(setup.threads).take_stock(&history);
    history.calls.append(&mut calls);
    let grown = store.stats().grown as usize;
    let room = setup.grows_from.map(|first| setup.limits().max_capacity - first);
    assert!(grown <= room.unwrap_or(0), "{grown} units were added, {room:?} allowed");
    drop(store);
    let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
    assert_eq!(count(&ledger.made), count(&ledger.dropped), "made (left) is not dropped (right)");
    history
}

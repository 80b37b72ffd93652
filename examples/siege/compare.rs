//! The same load on what one would use otherwise: an `RwLock<SlotMap>` for each game.
//!
//! The same rows, the same payloads, the same skills, four settlement steps on other threads, a
//! reader that scans, and every read checked in the same way. Only the oracle is missing.

use std::fmt;
use std::num::NonZeroU32;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use hatchery::{EntityId, Handle};
use slotmap::{DefaultKey, Key, SlotMap};

use crate::game::visit_rows;
use crate::meters::{Meters, Quantiles};
use crate::payload::{ALL_STEPS, Origin, Unit};
use crate::plan::Plan;
use crate::recording::{Game, Op, Recording, Row};
use crate::report::thousands;
use crate::settle::{STEPS, THREADS};
use crate::skills::{self, Cast};

const QUEUE: usize = 32;

/// How it did.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Compared {
    births: u64,
    seconds: f64,
    lives_per_second: f64,
    spawn: Quantiles,
    look_up: Quantiles,
}

impl fmt::Display for Compared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let three = |times: &Quantiles| {
            let [p50, p99, p999] = [times.p50_ns, times.p99_ns, times.p999_ns].map(thousands);
            format!("{p50} / {p99} / {p999}")
        };
        write!(
            f,
            "compare      RwLock<SlotMap>, the same load at full speed for {:.1} s: {} \
             lives a second; spawn {} ns, look-up {} ns",
            self.seconds,
            thousands(self.lives_per_second as u64),
            three(&self.spawn),
            three(&self.look_up),
        )
    }
}

/// The siege's payload, and the lifecycle that a map does not have.
struct Slot {
    state: AtomicU8,
    unit: Unit,
}

impl Slot {
    fn is_active(&self) -> bool {
        self.state.load(Ordering::Acquire) == ACTIVE
    }
}

/// A slotmap key is an index and a version, as a handle is.
fn handle_of(key: DefaultKey) -> Handle {
    let bits = key.data().as_ffi();
    let version = NonZeroU32::new((bits >> 32) as u32).expect("a slotmap version is not 0");
    Handle::new(EntityId::from_bits(bits & u64::from(u32::MAX)), version)
}

const PENDING: u8 = 1;
const ACTIVE: u8 = 2;
const DYING: u8 = 3;

struct Field<'r> {
    game: &'r Game,
    casts: Vec<Cast>,
    units: RwLock<SlotMap<DefaultKey, Slot>>,
}

struct Batch {
    field: usize,
    step: u8,
    dead: Vec<DefaultKey>,
}

/// Replays `recording` for a fifth of the run's time, two seconds at most.
pub(crate) fn compare(recording: &Recording, plan: &Plan, copies: usize) -> Compared {
    let fields = recording.games.iter().map(|game| Field {
        game,
        casts: skills::plan(game),
        units: RwLock::default(),
    });
    let fields: Vec<_> = fields.collect();
    let (fields, over) = (&fields[..], &AtomicBool::new(false));
    let time = (plan.time / 5).min(Duration::from_secs(2));
    thread::scope(|scope| {
        let (senders, receivers): (Vec<_>, Vec<Receiver<Batch>>) =
            (0..THREADS).map(|_| sync_channel(QUEUE)).unzip();
        for queue in receivers {
            scope.spawn(move || queue.iter().for_each(|batch| settle(&fields[batch.field], batch)));
        }
        let began = Instant::now();
        let workers: Vec<_> = (0..plan.threads)
            .map(|number| {
                let senders = senders.clone();
                let dealt = (number, plan.threads, copies);
                scope.spawn(move || Worker::new(fields, senders).work(dealt, over))
            })
            .collect();
        drop(senders);
        scope.spawn(|| read(fields, over));
        thread::sleep(time);
        over.store(true, Ordering::Relaxed);
        let (mut births, mut meters) = (0, Meters::new());
        for worker in workers {
            let (born, measured) = worker.join().expect("a worker of the comparison panicked");
            births += born;
            meters.add(&measured);
        }
        let seconds = began.elapsed().as_secs_f64();
        Compared {
            births,
            seconds,
            lives_per_second: births as f64 / seconds,
            spawn: meters.spawn.quantiles(),
            look_up: meters.look_up.quantiles(),
        }
    })
}

/// One copy of a game.
struct Replay {
    field: usize,
    next_row: usize,
    next_cast: usize,
    lives: Vec<Option<DefaultKey>>,
    flights: Vec<DefaultKey>,
}

struct Worker<'f, 'r> {
    fields: &'f [Field<'r>],
    queues: Vec<SyncSender<Batch>>,
    births: u64,
    meters: Meters,
    dead: Vec<DefaultKey>,
}

impl<'f, 'r> Worker<'f, 'r> {
    fn new(fields: &'f [Field<'r>], queues: Vec<SyncSender<Batch>>) -> Worker<'f, 'r> {
        Worker { fields, queues, births: 0, meters: Meters::new(), dead: Vec::new() }
    }

    fn work(
        mut self,
        (number, workers, copies): (usize, usize, usize),
        over: &AtomicBool,
    ) -> (u64, Meters) {
        let dealt = (0..copies).flat_map(|copy| (0..self.fields.len()).map(move |f| (copy, f)));
        let mut mine: Vec<Replay> = dealt
            .filter(|(copy, field)| (copy + field) % workers == number)
            .map(|(_, field)| Replay {
                field,
                next_row: 0,
                next_cast: 0,
                lives: vec![None; self.fields[field].game.keys.len()],
                flights: Vec::new(),
            })
            .collect();
        // With more workers than copies of all games, some have nothing to do.
        while !mine.is_empty() && !over.load(Ordering::Relaxed) {
            mine.iter_mut().for_each(|replay| self.visit(replay));
        }
        (self.births, self.meters)
    }

    fn visit(&mut self, replay: &mut Replay) {
        let field = &self.fields[replay.field];
        for target in replay.flights.drain(..) {
            self.meters.look_up.time(|| strike(field, target));
        }
        for _ in 0..visit_rows(field.game) {
            self.cast(field, replay);
            let Some(&row) = field.game.rows.get(replay.next_row) else {
                end_game(field, replay);
                break;
            };
            self.replay(field, &mut replay.lives[row.key as usize], row);
            replay.next_row += 1;
        }
        self.send(replay.field);
    }

    fn replay(&mut self, field: &Field<'_>, life: &mut Option<DefaultKey>, row: Row) {
        match (row.op, *life) {
            (Op::Spawn, None) => {
                self.births += 1;
                let origin = Origin { copy: 0, key: row.key, kind: row.kind };
                *life = Some(self.meters.spawn.time(|| {
                    field.units.write().expect(SOUND).insert_with_key(|key| {
                        let mut unit = Unit::new(handle_of(key), origin);
                        unit.enlist(row.key % 8, 100);
                        Slot { state: AtomicU8::new(PENDING), unit }
                    })
                }));
            }
            (Op::Activate, Some(key)) => {
                let units = field.units.read().expect(SOUND);
                units[key].state.store(ACTIVE, Ordering::Release);
            }
            (Op::Kill, Some(key)) => {
                *life = None;
                let mut units = field.units.write().expect(SOUND);
                if units[key].state.swap(DYING, Ordering::AcqRel) == ACTIVE {
                    self.dead.push(key);
                } else {
                    units.remove(key);
                }
            }
            _ => {}
        }
    }

    fn cast(&mut self, field: &Field<'_>, replay: &mut Replay) {
        while let Some(cast) = field.casts.get(replay.next_cast) {
            if cast.row as usize > replay.next_row {
                return;
            }
            replay.next_cast += 1;
            replay.flights.extend(replay.lives[cast.key as usize]);
        }
    }

    fn send(&mut self, field: usize) {
        for step in 0..STEPS {
            let batch = Batch { field, step: 1 << step, dead: self.dead.clone() };
            if !self.dead.is_empty() {
                self.queues[step % THREADS].send(batch).expect("the settlement is there");
            }
        }
        self.dead.clear();
    }
}

const SOUND_MAP: &str = "a slotmap gives nobody a stranger";
const SOUND: &str = "no thread of the comparison panicked";

fn strike(field: &Field<'_>, target: DefaultKey) {
    let units = field.units.read().expect(SOUND);
    if let Some(slot) = units.get(target).filter(|slot| slot.is_active()) {
        assert!(slot.unit.is(handle_of(target)), "{SOUND_MAP}");
        slot.unit.strike(7);
    }
}

fn end_game(field: &Field<'_>, replay: &mut Replay) {
    for key in replay.lives.iter_mut().filter_map(Option::take) {
        field.units.write().expect(SOUND).remove(key);
    }
    replay.next_row = 0;
    replay.next_cast = 0;
}

fn settle(field: &Field<'_>, batch: Batch) {
    for key in batch.dead {
        let settled = {
            let units = field.units.read().expect(SOUND);
            let unit = &units[key].unit;
            assert!(unit.is(handle_of(key)), "{SOUND_MAP}");
            unit.settle(batch.step) | batch.step
        };
        if settled == ALL_STEPS {
            field.units.write().expect(SOUND).remove(key);
        }
    }
}

fn read(fields: &[Field<'_>], over: &AtomicBool) {
    let mut seen = 0_usize;
    for field in fields.iter().cycle() {
        if over.load(Ordering::Relaxed) {
            break;
        }
        let began = Instant::now();
        for (key, slot) in field.units.read().expect(SOUND).iter().filter(|two| two.1.is_active()) {
            assert!(slot.unit.is(handle_of(key)), "{SOUND_MAP}");
            seen += 1;
        }
        thread::sleep((began.elapsed() * 4).max(Duration::from_micros(100)));
    }
    std::hint::black_box(seen);
}

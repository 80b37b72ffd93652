//! User code that blocks inside a call of one thread: other threads wait for it as long as for a
//! reader that stays, and no longer.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hatchery::{Handle, Limits, Store};

/// A wait for calls that are merely off the processor takes some ten seconds, one for a reader a
/// tenth.
const LONG: Duration = Duration::from_secs(5);

/// Where user code arrives and blocks until it is let go.
#[derive(Clone)]
struct Barrier(Arc<Mutex<(Sender<()>, Receiver<()>)>>);

impl Barrier {
    /// With the ends that tell of an arrival, and let it go.
    fn new() -> (Barrier, Receiver<()>, Sender<()>) {
        let ((arrive, arrival), (release, released)) = (channel(), channel());
        (Barrier(Arc::new(Mutex::new((arrive, released)))), arrival, release)
    }

    fn block(&self) {
        let ends = self.0.lock().unwrap();
        ends.0.send(()).unwrap();
        ends.1.recv().unwrap();
    }
}

/// A payload that may block, when it is told of its death or when it is dropped.
enum Unit {
    Plain,
    BlocksInDrop(Barrier),
    BlocksInCallback(Barrier),
}

impl Drop for Unit {
    fn drop(&mut self) {
        if let Unit::BlocksInDrop(barrier) = self {
            barrier.block();
        }
    }
}

fn store() -> Store<Unit> {
    let full = Store::builder().limits(Limits::reject(4)).backlog(4).on_dying(|_, unit, _| {
        if let Unit::BlocksInCallback(barrier) = unit {
            barrier.block();
        }
    });
    full.build().unwrap()
}

type Call = fn(&Store<Unit>);

/// Calls of others that come to an end where the dead cannot be reclaimed.
const OTHERS: [(&str, Call); 4] = [
    ("spawn", |store| {
        for _ in 0..8 {
            let Ok(unit) = store.spawn_active(Unit::Plain) else { return };
            store.despawn(unit).unwrap();
        }
    }),
    ("reclaim", |store| _ = store.reclaim()),
    ("clear", |store| _ = store.clear()),
    ("shrink", |store| _ = store.shrink()),
];

/// While a call blocks, those of others end soon.
#[track_caller]
fn assert_short(call: &str, blocked: fn(&Store<Unit>, Barrier)) {
    for (name, other) in OTHERS {
        let store = store();
        let (barrier, arrival, release) = Barrier::new();
        thread::scope(|scope| {
            scope.spawn(|| blocked(&store, barrier));
            arrival.recv().unwrap();
            let begun = Instant::now();
            other(&store);
            let took = begun.elapsed();
            release.send(()).unwrap();
            assert!(took < LONG, "{name} beside {call}: {took:?}");
        });
    }
}

#[test]
fn others_go_on_beside_a_callback() {
    assert_short("on_dying", |store, barrier| {
        let unit = store.spawn_active(Unit::BlocksInCallback(barrier)).map_err(|e| e.failure);
        store.kill(unit.unwrap()).unwrap();
    });
}

#[test]
fn others_go_on_beside_the_iterator_of_a_batch() {
    assert_short("an iterator", |store, barrier| {
        let mut units = [Some(Unit::Plain), None].into_iter();
        let values = std::iter::from_fn(|| {
            let unit = units.next().flatten();
            if unit.is_none() {
                barrier.block();
            }
            unit
        });
        assert_eq!(store.spawn_batch(values).map_err(|e| e.failure).unwrap().len(), 1);
    });
}

#[test]
fn others_go_on_beside_a_destructor() {
    assert_short("a destructor", |store, barrier| {
        let unit = store.spawn_active(Unit::BlocksInDrop(barrier)).map_err(|e| e.failure);
        store.despawn(unit.unwrap()).unwrap();
        store.reclaim();
    });
}

/// Ends an entity that may be Pending.
type End = fn(&Store<Unit>, Handle);

#[test]
fn others_go_on_beside_the_destructor_of_a_pending_one() {
    fn blocked(store: &Store<Unit>, barrier: Barrier, end: End) {
        let unit = store.spawn(Unit::BlocksInDrop(barrier)).map_err(|e| e.failure);
        end(store, unit.unwrap().detach());
    }
    assert_short("cancel", |store, barrier| {
        blocked(store, barrier, |store, unit| store.cancel(unit).unwrap());
    });
    assert_short("despawn", |store, barrier| {
        blocked(store, barrier, |store, unit| _ = store.despawn(unit).unwrap());
    });
    assert_short("despawn_batch", |store, barrier| {
        blocked(store, barrier, |store, unit| assert_eq!(store.despawn_batch(&[unit]), 1));
    });
    assert_short("clear", |store, barrier| {
        blocked(store, barrier, |store, _| assert_eq!(store.clear(), 1));
    });
    assert_short("drop of a guard", |store, barrier| {
        let unit = store.spawn(Unit::BlocksInDrop(barrier)).map_err(|e| e.failure);
        drop(unit.unwrap());
    });
}

#[test]
fn others_go_on_beside_the_destructor_of_an_iterator() {
    struct Nothing(Barrier);
    impl Iterator for Nothing {
        type Item = Unit;
        fn next(&mut self) -> Option<Unit> {
            None
        }
    }
    impl Drop for Nothing {
        fn drop(&mut self) {
            self.0.block();
        }
    }
    assert_short("an iterator's destructor", |store, barrier| {
        assert_eq!(store.spawn_batch(Nothing(barrier)).map_err(|e| e.failure).unwrap(), []);
    });
}

#[test]
fn others_go_on_beside_a_constructor() {
    assert_short("a constructor", |store, barrier| {
        let made = store.spawn_with(|_| {
            barrier.block();
            Unit::Plain
        });
        made.unwrap().activate();
    });
}

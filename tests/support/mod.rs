//! What the test files share: payloads that are counted, a payload like the
//! seeds', a counting allocator, and a few short cuts.
#![allow(dead_code, reason = "every test file takes its own part of this module")]

pub mod counting;

use std::collections::HashSet;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;

use hatchery::{EntityId, Handle, SceneId, Stats};

/// Counts the payloads of one test. Make it before the store: it goes last,
/// and then checks that every payload made was dropped, exactly once.
pub struct Census(Arc<Ledger>);

struct Ledger {
    made: AtomicUsize,
    dropped: AtomicUsize,
    dropped_twice: AtomicUsize,
    alive: Mutex<HashSet<usize>>,
}

impl Census {
    pub fn new() -> Census {
        Census(Arc::new(Ledger {
            made: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
            dropped_twice: AtomicUsize::new(0),
            alive: Mutex::new(HashSet::new()),
        }))
    }

    pub fn payload(&self, tag: u64) -> Counted {
        self.maker().payload(tag)
    }

    /// What threads and closures take along to make payloads of this census.
    pub fn maker(&self) -> Maker {
        Maker(Arc::clone(&self.0))
    }

    pub fn made(&self) -> usize {
        self.0.made.load(Ordering::SeqCst)
    }

    pub fn dropped(&self) -> usize {
        self.0.dropped.load(Ordering::SeqCst)
    }

    pub fn alive(&self) -> usize {
        self.made() - self.dropped()
    }

    #[track_caller]
    pub fn assert_balanced(&self) {
        assert_eq!(self.0.dropped_twice.load(Ordering::SeqCst), 0, "a payload was dropped twice");
        assert_eq!(self.made(), self.dropped(), "made (left) is not dropped (right)");
    }
}

impl Drop for Census {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.assert_balanced();
        }
    }
}

#[derive(Clone)]
pub struct Maker(Arc<Ledger>);

impl Maker {
    pub fn payload(&self, tag: u64) -> Counted {
        let serial = self.0.made.fetch_add(1, Ordering::SeqCst);
        assert!(self.0.alive.lock().unwrap().insert(serial));
        Counted { tag, check: !tag, serial, ledger: Arc::clone(&self.0) }
    }
}

/// A payload that its census counts. It carries its tag in two words, so that a
/// read of a half-written or foreign payload shows.
pub struct Counted {
    tag: u64,
    check: u64,
    serial: usize,
    ledger: Arc<Ledger>,
}

impl Counted {
    #[track_caller]
    pub fn tag(&self) -> u64 {
        assert_eq!(self.check, !self.tag, "the two words of a payload disagree");
        self.tag
    }

    pub fn set_tag(&mut self, tag: u64) {
        (self.tag, self.check) = (tag, !tag);
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Counted({})", self.tag)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        if self.ledger.alive.lock().unwrap().remove(&self.serial) {
            self.ledger.dropped.fetch_add(1, Ordering::SeqCst);
        } else {
            self.ledger.dropped_twice.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// What kind of thing an entity is, as in the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Player = 1,
    Monster,
    Npc,
    Drop,
    Projectile,
}

impl Kind {
    pub const ALL: [Kind; 5] =
        [Kind::Player, Kind::Monster, Kind::Npc, Kind::Drop, Kind::Projectile];
}

/// A character's number on the whole server; it outlives the entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerId(pub u64);

/// The seed's entity: its own handle, its kind, the player if it is one, and hp.
#[derive(Debug)]
pub struct Entity {
    pub handle: Handle,
    pub kind: Kind,
    pub player: Option<PlayerId>,
    pub hp: i32,
    counted: Counted,
}

impl Entity {
    pub fn new(maker: &Maker, handle: Handle, kind: Kind, player: Option<PlayerId>) -> Entity {
        Entity { handle, kind, player, hp: 100, counted: maker.payload(handle.seq()) }
    }
}

/// A handle from its three parts.
#[track_caller]
pub fn handle(scene: SceneId, seq: u64, generation: u32) -> Handle {
    Handle::new(EntityId::new(scene, seq).unwrap(), nonzero(generation))
}

#[track_caller]
pub fn nonzero(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).unwrap()
}

/// Panics without the message that `panic!` prints: for panics that are the point of a test.
pub fn panic_quietly() -> ! {
    std::panic::resume_unwind(Box::new("a panic that the test wants"))
}

/// Whether `body` panicked. Its panic ends here.
pub fn panics(body: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_err()
}

/// Runs `body` on a thread of its own, and fails instead of waiting for ever.
/// The time is no measure of anything: it is what no run comes near.
#[track_caller]
pub fn finishes<R: Send + 'static>(body: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, wait) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        let answer = body();
        let _ = done.send(());
        answer
    });
    let ended = wait.recv_timeout(Duration::from_secs(240));
    assert!(ended != Err(mpsc::RecvTimeoutError::Timeout), "it never came back");
    match worker.join() {
        Ok(answer) => answer,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Lets the tests of a file that need all processors run one at a time.
pub fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What must hold between the numbers of a quiet store whose window counters were never reset.
#[track_caller]
pub fn assert_accounts(stats: &Stats) {
    assert_eq!(stats.acquired, stats.spawned + stats.rejected, "attempts: {stats:?}");
    assert_eq!(stats.live, stats.pending + stats.active + stats.dying, "live: {stats:?}");
    assert_eq!(stats.spawned - stats.cancelled - stats.reaped, stats.live as u64, "{stats:?}");
    let pending = stats.spawned - stats.activated - stats.cancelled;
    assert_eq!(pending, stats.pending as u64, "pending: {stats:?}");
    assert_eq!(stats.activated + stats.revived - stats.killed, stats.active as u64, "{stats:?}");
    assert_eq!(stats.killed - stats.revived - stats.reaped, stats.dying as u64, "{stats:?}");
}

/// A small generator for stress tests: the sequence depends on the seed alone.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % sides
    }
}

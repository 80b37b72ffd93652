//! An object of a pool that a census counts, and what the tests of pools do again and again.

use std::cell::{Cell, RefCell};
use std::mem::take;

use hatchery::pool::{Lease, Pool};
use hatchery::{Limits, Recycle, Stats};

use crate::support::{Census, Counted, Maker, panic_quietly};

thread_local! {
    static MAKER: RefCell<Option<Maker>> = const { RefCell::new(None) };
    /// How many constructions of this thread succeed before one panics.
    pub static MAY_BE_MADE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// An object that its census counts, and that remembers what its user did.
#[derive(Debug)]
pub struct Object {
    pub dirt: Vec<u64>,
    _counted: Counted,
    pub trick: Trick,
}

/// What recycling does besides, or the destructor.
#[derive(Debug, Default)]
pub enum Trick {
    #[default]
    None,
    PanicInRecycle,
    PanicInDrop,
    PanicInBoth,
    /// Acquires from the pool, keeps nothing, and is refused if it says so.
    Acquire(Pool<Object>, bool),
    AcquireInDrop(Pool<Object>, bool),
    GiveBack(Lease<Object>),
    Reset(Pool<Object>),
}

fn acquire_from(pool: &Pool<Object>, refused: bool) {
    let outcome = pool.acquire();
    assert_eq!(outcome.is_err(), refused, "{outcome:?}");
}

impl Default for Object {
    fn default() -> Object {
        let left = MAY_BE_MADE.get();
        if left == 0 {
            panic_quietly();
        }
        MAY_BE_MADE.set(left - 1);
        let counted = MAKER.with_borrow(|maker| maker.as_ref().expect("a census").payload(0));
        Object { dirt: Vec::new(), _counted: counted, trick: Trick::None }
    }
}

impl Recycle for Object {
    fn recycle(&mut self) {
        self.dirt.clear();
        match take(&mut self.trick) {
            Trick::None => {}
            Trick::PanicInRecycle => panic_quietly(),
            Trick::PanicInDrop => self.trick = Trick::PanicInDrop,
            Trick::PanicInBoth => {
                self.trick = Trick::PanicInDrop;
                panic_quietly();
            }
            Trick::Acquire(pool, refused) => acquire_from(&pool, refused),
            Trick::AcquireInDrop(pool, refused) => {
                self.trick = Trick::AcquireInDrop(pool, refused);
                panic_quietly();
            }
            Trick::GiveBack(lease) => drop(lease),
            Trick::Reset(pool) => _ = pool.reset(),
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        match take(&mut self.trick) {
            Trick::PanicInDrop => panic_quietly(),
            Trick::AcquireInDrop(pool, refused) => acquire_from(&pool, refused),
            _ => {}
        }
    }
}

/// Makes this thread's objects count in the census.
pub fn enrol(census: &Census) {
    MAKER.set(Some(census.maker()));
    MAY_BE_MADE.set(usize::MAX);
}

/// A pool that refuses beyond its capacity.
pub fn rejecting(capacity: usize) -> (Census, Pool<Object>) {
    pool(Limits::reject(capacity))
}

/// A pool that overwrites the oldest lease.
pub fn overwriting(capacity: usize) -> (Census, Pool<Object>) {
    pool(Limits::overwrite_oldest(capacity))
}

fn pool(limits: Limits) -> (Census, Pool<Object>) {
    let census = Census::new();
    enrol(&census);
    (census, Pool::new(limits).expect("legal"))
}

pub fn fill(pool: &Pool<Object>) -> Vec<Lease<Object>> {
    Vec::from_iter((0..pool.capacity()).map(|_| pool.acquire().expect("room")))
}

#[track_caller]
pub fn dirty(lease: &mut Lease<Object>, dirt: u64) {
    assert_eq!(lease.with(|object| object.dirt.push(dirt)), Some(()), "not revoked");
}

#[track_caller]
pub fn trick(lease: &mut Lease<Object>, trick: Trick) {
    assert_eq!(lease.with(|object| object.trick = trick), Some(()), "not revoked");
}

/// Which of the leases are revoked.
pub fn revoked(leases: &[Lease<Object>]) -> Vec<usize> {
    (0..leases.len()).filter(|&at| leases[at].is_revoked()).collect()
}

/// What must hold between the numbers of a quiet pool, since its window began with nothing leased.
/// `revoked` are the leases that ended by a reset, or by an acquisition that failed afterwards.
#[track_caller]
pub fn assert_accounts(stats: &Stats, revoked: u64) {
    assert_eq!(stats.acquired, stats.spawned + stats.rejected, "{stats:?}");
    assert_eq!(stats.spawned, stats.hits + stats.misses + stats.overwritten, "{stats:?}");
    let ended = stats.released + stats.overwritten + revoked;
    assert_eq!(stats.spawned, ended + stats.live as u64, "{stats:?}");
}

//! The pool beside the crates that one would use instead of it, the seed's, and the allocator.
//!
//! `cargo bench -p hatchery-peers --bench pools` prints nanoseconds of core time for acquire, touch
//! and release of a 64-byte object, medians of interleaved rounds, and each round's ratio to the
//! fastest of the pools that one would choose: object-pool, lockfree-object-pool, opool and
//! sharded-slab's.
//!
//! * *1 held*: the object goes back before the next is acquired.
//! * *64 held*: every thread has 64 in a ring; an operation gives the oldest back, acquires another
//!   and touches it.
//!
//! What the figures do not say:
//!
//! * None of the others can revoke a lease: while an object is out, its holder has it, and a pool
//!   that must not grow can but refuse. hatchery's takes the oldest lease back under
//!   `OverwriteOldest`, and any of them by `reset`, so a holder asks at each use.
//! * Their leases borrow the pool, where a crate has such a one: it is the cheaper kind. hatchery's
//!   lease owns its part, and may outlive the scope of the pool.
//! * Every candidate hands out an object that was cleared since its last use: by the crate's own
//!   hook, or after acquiring it where there is none.
//! * What moves its objects about (object-pool, opool, the queue, the vector) keeps them boxed. Bare
//!   ones would have no fixed address, and take object-pool and opool longer at 64 bytes already.

use std::hint::black_box;
use std::sync::Mutex;

use crossbeam_queue::ArrayQueue;
use hatchery::Limits;
use hatchery::pool::{Lease, Pool};
use hatchery_peers::{Timing, footer, head, interleaved, quick, row, timed};
use lockfree_object_pool::{LinearObjectPool, LinearReusable};

const ROUNDS: usize = 9;
/// Leases in the ring of a thread.
const HELD: usize = 64;
/// Objects of a pool, made beforehand where the pool does that: twice what two rings hold.
const OBJECTS: usize = 256;

type Object = [u64; 8];

const CLEAR: Object = [0; 8];
const ENOUGH: &str = "the pool has more objects than are held";

fn main() {
    let operations = if quick() { 20_000 } else { 2_000_000 };
    let ours = [
        Candidate::of::<Ours<false>>("hatchery, reject"),
        Candidate::of::<Ours<true>>("hatchery, overwriteOldest"),
    ];
    let pools = [
        Candidate::of::<object_pool::Pool<Box<Object>>>("object-pool"),
        Candidate::of::<LinearObjectPool<Object>>("lockfree-object-pool, linear"),
        Candidate::of::<opool::Pool<Maker, Box<Object>>>("opool"),
        Candidate::of::<sharded_slab::Pool<Slabbed>>("sharded-slab Pool"),
    ];
    let others = [
        Candidate::of::<ArrayQueue<Box<Object>>>("crossbeam ArrayQueue"),
        Candidate::of::<Mutex<Vec<Box<Object>>>>("Mutex<Vec<Box>>, the seed's"),
        Candidate::of::<Allocator>("malloc, no pool"),
    ];
    let all: Vec<&Candidate> = ours.iter().chain(&pools).chain(&others).collect();
    all.iter().for_each(|candidate| (candidate.check)());

    println!("64-byte objects, {OBJECTS} in a pool; medians of {ROUNDS} interleaved rounds,");
    println!("{operations} operations a thread\n");
    head(&["candidate", "held", "threads", "ns", "ratio to the fastest of the four"]);
    let mut measured = Vec::new();
    for held in [1, HELD] {
        for threads in [1, 2] {
            let run = |candidate: &Candidate| match held {
                1 => (candidate.one)(threads, operations),
                _ => (candidate.ring)(threads, operations),
            };
            let runs: Vec<_> = all.iter().map(|candidate| move || run(candidate)).collect();
            let runs: Vec<&dyn Fn() -> Timing> = runs.iter().map(|run| run as _).collect();
            let rounds = interleaved(ROUNDS, &runs);
            let fastest = rounds.fastest(ours.len()..ours.len() + pools.len());
            for (at, candidate) in all.iter().enumerate() {
                let nanoseconds = format!("{:.1}", rounds.time(at));
                let ratio = format!("{:.2}", rounds.ratio(at, fastest));
                row(&[&candidate.name, &held, &threads, &nanoseconds, &ratio]);
            }
            measured.push(rounds);
        }
    }
    footer(&measured);
}

struct Candidate {
    name: &'static str,
    check: fn(),
    one: fn(usize, usize) -> Timing,
    ring: fn(usize, usize) -> Timing,
}

impl Candidate {
    fn of<P: ObjectPool>(name: &'static str) -> Candidate {
        Candidate { name, check: check::<P>, one: one::<P>, ring: ring::<P> }
    }
}

/// What every candidate does.
trait ObjectPool: Sync {
    type Lease<'p>
    where
        Self: 'p;

    fn with_objects(objects: usize) -> Self;

    /// Takes a clear object out.
    fn acquire(&self) -> Self::Lease<'_>;

    /// Lets `f` at the object.
    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R;

    /// Gives the object back.
    fn release<'p>(&'p self, lease: Self::Lease<'p>) {
        drop(lease);
    }
}

/// Two leases are of two objects, and what is acquired was cleared since its last use.
fn check<P: ObjectPool>() {
    let pool = P::with_objects(OBJECTS);
    for _ in 0..2 * OBJECTS {
        let (mut one, mut two) = (pool.acquire(), pool.acquire());
        P::with(&mut one, |one| {
            P::with(&mut two, |two| {
                assert_eq!((&*one, &*two), (&CLEAR, &CLEAR));
                *one = [1; 8];
                assert_eq!(*two, CLEAR);
                *two = [2; 8];
                assert_eq!(*one, [1; 8]);
            });
        });
        pool.release(one);
        pool.release(two);
    }
}

fn touch(object: &mut Object, n: usize) {
    object[0] += n as u64;
    black_box(object);
}

/// Nanoseconds for an object that goes back before the next is acquired.
fn one<P: ObjectPool>(threads: usize, operations: usize) -> Timing {
    let pool = P::with_objects(OBJECTS);
    timed(threads, operations, |start| {
        let warm: Vec<_> = (0..HELD).map(|_| pool.acquire()).collect();
        warm.into_iter().for_each(|lease| pool.release(lease));
        start.wait();
        for n in 0..operations {
            let mut lease = pool.acquire();
            P::with(&mut lease, |object| touch(object, n));
            pool.release(lease);
        }
    })
}

/// Nanoseconds for the oldest of a ring that goes back and another that is acquired.
fn ring<P: ObjectPool>(threads: usize, operations: usize) -> Timing {
    let pool = P::with_objects(OBJECTS);
    timed(threads, operations, |start| {
        let mut ring: Vec<_> = (0..HELD).map(|_| Some(pool.acquire())).collect();
        start.wait();
        for n in 0..operations {
            let place = &mut ring[n % HELD];
            if let Some(oldest) = place.take() {
                pool.release(oldest);
            }
            let mut lease = pool.acquire();
            P::with(&mut lease, |object| touch(object, n));
            *place = Some(lease);
        }
        ring // dropped when the clock has stopped
    })
}

/// hatchery's, which refuses when all objects are out, or takes the oldest lease back.
struct Ours<const OVERWRITE_OLDEST: bool>(Pool<Object>);

impl<const OVERWRITE_OLDEST: bool> ObjectPool for Ours<OVERWRITE_OLDEST> {
    type Lease<'p> = Lease<Object>;

    fn with_objects(objects: usize) -> Self {
        let limits = match OVERWRITE_OLDEST {
            true => Limits::overwrite_oldest(objects),
            false => Limits::reject(objects),
        };
        Ours(Pool::new(limits).expect("a pool may have these limits"))
    }

    fn acquire(&self) -> Lease<Object> {
        self.0.acquire().expect(ENOUGH)
    }

    fn with<R>(lease: &mut Lease<Object>, f: impl FnOnce(&mut Object) -> R) -> R {
        lease.with(f).expect("no lease is taken back while objects are left")
    }
}

impl ObjectPool for object_pool::Pool<Box<Object>> {
    type Lease<'p> = object_pool::Reusable<'p, Box<Object>>;

    fn with_objects(objects: usize) -> Self {
        object_pool::Pool::new(objects, || Box::new(CLEAR))
    }

    fn acquire(&self) -> Self::Lease<'_> {
        let mut lease = self.try_pull().expect(ENOUGH);
        **lease = CLEAR;
        lease
    }

    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }
}

impl ObjectPool for LinearObjectPool<Object> {
    type Lease<'p> = LinearReusable<'p, Object>;

    /// It makes a page of objects when those that it has are out, and knows no limit.
    fn with_objects(_objects: usize) -> Self {
        LinearObjectPool::new(|| CLEAR, |object| *object = CLEAR)
    }

    fn acquire(&self) -> Self::Lease<'_> {
        self.pull()
    }

    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }
}

/// What opool asks for new and for clear objects.
struct Maker;

impl opool::PoolAllocator<Box<Object>> for Maker {
    fn allocate(&self) -> Box<Object> {
        Box::new(CLEAR)
    }

    fn reset(&self, object: &mut Box<Object>) {
        **object = CLEAR;
    }
}

impl ObjectPool for opool::Pool<Maker, Box<Object>> {
    type Lease<'p> = opool::RefGuard<'p, Maker, Box<Object>>;

    fn with_objects(objects: usize) -> Self {
        opool::Pool::new_prefilled(objects, Maker)
    }

    fn acquire(&self) -> Self::Lease<'_> {
        self.get()
    }

    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }
}

/// sharded-slab asks for objects that know how to clear themselves.
#[derive(Default)]
struct Slabbed(Object);

impl sharded_slab::Clear for Slabbed {
    fn clear(&mut self) {
        self.0 = CLEAR;
    }
}

impl ObjectPool for sharded_slab::Pool<Slabbed> {
    type Lease<'p> = sharded_slab::pool::RefMut<'p, Slabbed>;

    /// It makes a page of objects for a thread when those that the thread has are out.
    fn with_objects(_objects: usize) -> Self {
        sharded_slab::Pool::new()
    }

    fn acquire(&self) -> Self::Lease<'_> {
        self.create().expect(ENOUGH)
    }

    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(&mut lease.0)
    }

    /// The end of the guard shows the object to others; to end that is another call.
    fn release<'p>(&'p self, lease: Self::Lease<'p>) {
        let key = lease.key();
        drop(lease);
        assert!(self.clear(key));
    }
}

impl ObjectPool for ArrayQueue<Box<Object>> {
    type Lease<'p> = Box<Object>;

    fn with_objects(objects: usize) -> Self {
        let queue = ArrayQueue::new(objects);
        (0..objects).for_each(|_| queue.push(Box::new(CLEAR)).expect("as many as it has room for"));
        queue
    }

    fn acquire(&self) -> Box<Object> {
        let mut object = self.pop().expect(ENOUGH);
        *object = CLEAR;
        object
    }

    fn with<R>(lease: &mut Box<Object>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }

    fn release(&self, lease: Box<Object>) {
        self.push(lease).expect("no more come back than went out");
    }
}

impl ObjectPool for Mutex<Vec<Box<Object>>> {
    type Lease<'p> = Box<Object>;

    fn with_objects(objects: usize) -> Self {
        Mutex::new((0..objects).map(|_| Box::new(CLEAR)).collect())
    }

    fn acquire(&self) -> Box<Object> {
        let mut object = self.lock().unwrap().pop().expect(ENOUGH);
        *object = CLEAR;
        object
    }

    fn with<R>(lease: &mut Box<Object>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }

    fn release(&self, lease: Box<Object>) {
        self.lock().unwrap().push(lease);
    }
}

/// The floor: nothing is kept.
struct Allocator;

impl ObjectPool for Allocator {
    type Lease<'p> = Box<Object>;

    fn with_objects(_objects: usize) -> Self {
        Allocator
    }

    /// Zeroes that the compiler sees would make it ask for zeroed memory, which takes glibc longer.
    fn acquire(&self) -> Box<Object> {
        Box::new(black_box(CLEAR))
    }

    fn with<R>(lease: &mut Box<Object>, f: impl FnOnce(&mut Object) -> R) -> R {
        f(lease)
    }
}

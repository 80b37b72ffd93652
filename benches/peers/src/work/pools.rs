//! Acquire, touch and release, with one object held and with 64.

use std::hint::black_box;
use std::sync::Mutex;

use crossbeam_queue::ArrayQueue;
use lockfree_object_pool::LinearObjectPool;

use crate::measure::{Amount, Run, Timing, timed};
use crate::pools::{Allocator, Maker, OBJECTS, Object, ObjectPool, Recycled, Slabbed};
use crate::report::{Report, Setting};

/// Leases in the ring of a thread.
const HELD: usize = 64;

fn touch(object: &mut Object, n: usize) {
    object[0] += n as u64;
    black_box(object);
}

/// Nanoseconds for an object that goes back before the next is acquired.
fn one<P: ObjectPool>(threads: usize, operations: usize) -> Timing {
    let pool = P::with_objects(OBJECTS);
    timed(threads, operations, |_, start| {
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
    timed(threads, operations, |_, start| {
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

pub const OURS: &str = "hatchery Pool";
pub const QUEUE: &str = "crossbeam ArrayQueue";
pub const MALLOC: &str = "(malloc, no pool)";

/// A pool: given threads and the operations of each, it works with one object held and with a ring.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    pub name: &'static str,
    one: fn(usize, usize) -> Timing,
    pub ring: fn(usize, usize) -> Timing,
}

impl Candidate {
    fn of<P: ObjectPool>(name: &'static str) -> Candidate {
        Candidate { name, one: one::<P>, ring: ring::<P> }
    }
}

pub fn candidates() -> [Candidate; 8] {
    [
        Candidate::of::<hatchery::pool::Pool<Recycled>>(OURS),
        Candidate::of::<object_pool::Pool<Box<Object>>>("object-pool"),
        Candidate::of::<LinearObjectPool<Object>>("lockfree-object-pool, linear"),
        Candidate::of::<opool::Pool<Maker, Box<Object>>>("opool"),
        Candidate::of::<sharded_slab::Pool<Slabbed>>("sharded-slab Pool"),
        Candidate::of::<ArrayQueue<Box<Object>>>(QUEUE),
        Candidate::of::<Mutex<Vec<Box<Object>>>>("Mutex<Vec<Box>>, the seed's"),
        Candidate::of::<Allocator>(MALLOC),
    ]
}

pub fn run(report: &mut Report) {
    report.section(
        "pools",
        "Pools",
        "Acquire, touch and release a 64-byte object. 1 held: it goes back before the next is \
         acquired. 64 held: every thread has 64 in a ring, gives the oldest back and acquires \
         another.",
    );
    for held in [1, HELD] {
        for threads in [1, 2] {
            let runs = candidates()
                .into_iter()
                .map(|candidate| {
                    let work = if held == 1 { candidate.one } else { candidate.ring };
                    let run: Run<'_> = Box::new(move |operations| work(threads, operations));
                    (candidate.name, run)
                })
                .collect();
            let setting = Setting::of(format!("{held} held"), threads);
            report.measure("pools", setting, Amount::Span, runs);
        }
    }
    report.table("pools", "acquire + touch + release");
}

//! Pools of objects, behind one trait.
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
//! * What moves its objects about (object-pool, opool, the queue, the vector) keeps them boxed.
//!   Bare ones would have no fixed address, and take object-pool and opool longer at 64 bytes
//!   already.

mod adapters;

pub use adapters::{Allocator, Maker, Recycled, Slabbed};

/// An object: 64 bytes.
pub type Object = [u64; 8];

/// What an object is like that nobody has used.
pub const CLEAR: Object = [0; 8];
const ENOUGH: &str = "the pool has more objects than are held";

/// Objects of a pool, made beforehand where the pool does that: twice what two rings hold.
pub const OBJECTS: usize = 256;

/// What every candidate does.
pub trait ObjectPool: Sync + Sized {
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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

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

    #[test]
    fn every_pool_lends_clear_objects_to_one_holder_each() {
        check::<hatchery::pool::Pool<Recycled>>();
        check::<object_pool::Pool<Box<Object>>>();
        check::<lockfree_object_pool::LinearObjectPool<Object>>();
        check::<opool::Pool<Maker, Box<Object>>>();
        check::<sharded_slab::Pool<Slabbed>>();
        check::<crossbeam_queue::ArrayQueue<Box<Object>>>();
        check::<Mutex<Vec<Box<Object>>>>();
        check::<Allocator>();
    }
}

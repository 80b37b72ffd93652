//! The pools: hatchery's, the crates that one would use instead of it, the design of before, and
//! the allocator.

use std::hint::black_box;
use std::sync::Mutex;

use crossbeam_queue::ArrayQueue;
use lockfree_object_pool::{LinearObjectPool, LinearReusable};

use super::{CLEAR, ENOUGH, Object, ObjectPool};

/// hatchery asks for objects that know how to clear themselves.
#[derive(Debug, Default)]
pub struct Recycled(Object);

impl hatchery::Recycle for Recycled {
    fn recycle(&mut self) {
        self.0 = CLEAR;
    }
}

impl ObjectPool for hatchery::pool::Pool<Recycled> {
    type Lease<'p> = hatchery::pool::Lease<Recycled>;

    /// Its limit is no more than a number: objects are made when they are first needed.
    fn with_objects(objects: usize) -> Self {
        hatchery::pool::Pool::new(hatchery::Limits::reject(objects)).expect("a legal limit")
    }

    fn acquire(&self) -> Self::Lease<'_> {
        hatchery::pool::Pool::acquire(self).expect(ENOUGH)
    }

    /// It asks whether the lease was revoked.
    fn with<R>(lease: &mut Self::Lease<'_>, f: impl FnOnce(&mut Object) -> R) -> R {
        lease.with(|object| f(&mut object.0)).expect("nobody revokes")
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
#[derive(Debug)]
pub struct Maker;

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
#[derive(Debug, Default)]
pub struct Slabbed(Object);

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
#[derive(Debug)]
pub struct Allocator;

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

//! Destructors in a thread's last moments, when thread-locals are dropped one after the other.

mod support;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hatchery::pool::{Lease, Pool};
use hatchery::{Handle, Limits, Recycle, Store, WeakStore};
use support::finishes;

const LONG: usize = 100_000;

/// An object that has the next one of a chain on lease.
#[derive(Default)]
struct Ring(Option<Lease<Ring>>);

impl Recycle for Ring {}

thread_local! {
    /// Touched first, and so dropped last.
    static HEAD: RefCell<Option<Lease<Ring>>> = const { RefCell::new(None) };
    static TORCH: RefCell<Option<Torch>> = const { RefCell::new(None) };
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

#[test]
fn chain_of_leases_of_any_length_ends_in_the_last_moments_of_a_thread() {
    finishes(|| {
        let pool = Pool::<Ring>::new(Limits::reject(LONG)).expect("legal");
        let own = pool.clone();
        std::thread::spawn(move || {
            HEAD.with(|head| assert!(head.borrow().is_none()));
            for _ in 0..2 {
                let mut chain: Option<Lease<Ring>> = None;
                for _ in 0..LONG {
                    let mut lease = own.acquire().expect("room");
                    lease.with(|ring| ring.0 = chain.take());
                    chain = Some(lease);
                }
                // The first chain goes at once, the second one with the thread.
                HEAD.with(|head| head.replace(chain));
                if own.idle() == 0 && own.stats().hits == 0 {
                    HEAD.with(|head| head.take());
                }
            }
        })
        .join()
        .expect("nothing overflows");
        assert_eq!(pool.idle(), LONG);
    });
}

/// Its destructor ends a chain of entities, each of which ends the next one in its own.
struct Torch(WeakStore<Flame>);

struct Flame {
    store: WeakStore<Flame>,
    next: Option<Handle>,
    deepest: Arc<AtomicUsize>,
}

impl Drop for Flame {
    fn drop(&mut self) {
        let depth = DEPTH.get() + 1;
        DEPTH.set(depth);
        self.deepest.fetch_max(depth, Ordering::SeqCst);
        if let (Some(store), Some(next)) = (self.store.upgrade(), self.next) {
            let _ = store.cancel(next);
        }
        DEPTH.set(depth - 1);
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        let store = self.0.upgrade().expect("open");
        let deepest = Arc::new(AtomicUsize::new(0));
        let mut next = None;
        for _ in 0..100 {
            let flame = Flame { store: self.0.clone(), next, deepest: Arc::clone(&deepest) };
            next = Some(store.spawn(flame).expect("no limits").detach());
        }
        store.cancel(next.expect("some")).expect("it is Pending");
        assert!(store.is_empty());
        assert_eq!(deepest.load(Ordering::SeqCst), 1, "destructors do not nest");
    }
}

#[test]
fn destructors_do_not_nest_in_the_last_moments_of_a_thread() {
    let store = Store::new();
    let weak = store.downgrade();
    std::thread::spawn(move || {
        TORCH.with(|torch| assert!(torch.borrow().is_none()));
        // What waits for a destructor is there before, and would go before.
        drop(Torch(weak.clone()));
        TORCH.with(|torch| torch.replace(Some(Torch(weak))));
    })
    .join()
    .expect("nothing panics");
    assert!(store.is_empty());
}

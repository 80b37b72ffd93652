//! User code that panics, or drops what panics, where chains and nesting make it worst.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Census, Counted, assert_whole};
use crate::{Handle, Hold, Pending, Store, WeakStore};

const LONG: usize = 100_000;

/// Its destructor panics with a payload whose destructor spawns.
struct Bomb(WeakStore<Bomb>, bool);
struct Shrapnel(WeakStore<Bomb>);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.1 {
            resume_unwind(Box::new(Shrapnel(self.0.clone())));
        }
    }
}

impl Drop for Shrapnel {
    fn drop(&mut self) {
        let spawned = self.0.upgrade().map(|store| store.spawn_active(Bomb(self.0.clone(), false)));
        drop(spawned);
    }
}

#[test]
fn what_drops_a_panics_payload_does_not_nest_destructors() {
    let store = Store::new();
    let handles: Vec<_> = (0..LONG)
        .map(|_| store.spawn_active(Bomb(store.downgrade(), true)).ok().unwrap())
        .collect();
    assert_eq!(store.despawn_batch(&handles), LONG);
    store.reclaim();
    assert_eq!(store.stats().drop_panics, LONG as u64);
    assert_whole(&store);
}

/// Its destructor cancels the next one.
struct Canceller(WeakStore<Canceller>, Option<Handle>);

impl Drop for Canceller {
    fn drop(&mut self) {
        if let (Some(store), Some(next)) = (self.0.upgrade(), self.1) {
            store.cancel(next).unwrap();
        }
    }
}

#[test]
fn a_chain_of_cancels_in_destructors_needs_no_stack() {
    let store = Store::new();
    let mut next = None;
    for _ in 0..LONG {
        let pending = store.spawn(Canceller(store.downgrade(), next)).ok().unwrap();
        next = Some(pending.detach());
    }
    store.cancel(next.unwrap()).unwrap();
    assert!(store.is_empty());
    assert_whole(&store);
}

struct Nest(#[expect(dead_code, reason = "kept to be dropped")] Option<Pending<'static, Nest>>);

#[test]
fn a_chain_of_guards_in_payloads_needs_no_stack() {
    static STORE: std::sync::LazyLock<Store<Nest>> = std::sync::LazyLock::new(Store::new);
    let mut guard = None;
    for _ in 0..LONG {
        guard = Some(STORE.spawn(Nest(guard.take())).ok().unwrap());
    }
    drop(guard);
    assert_whole(&STORE);
}

/// Drops a store in its destructor, and notes what is left of that store's payloads then.
struct Owner {
    store: Option<Store<(Option<Hold<Held>>, Counted)>>,
    held: Option<Store<Held>>,
    census: Census,
    left: Arc<AtomicUsize>,
}
type Held = (Option<Arc<()>>, Counted);

impl Drop for Owner {
    fn drop(&mut self) {
        drop(self.held.take());
        drop(self.store.take());
        self.left.store(self.census.there() as usize, Ordering::SeqCst);
    }
}

#[test]
fn a_store_dropped_in_a_destructor_has_dropped_its_payloads_when_that_returns() {
    let (census, left) = (Census::default(), Arc::new(AtomicUsize::new(usize::MAX)));
    let (held, store) = (Store::new(), Store::new());
    for _ in 0..10 {
        let h = held.spawn_active((None, census.payload())).unwrap();
        store.spawn_active((Some(held.hold(h).unwrap()), census.payload())).unwrap();
    }
    let outer = Store::new();
    let owner =
        Owner { store: Some(store), held: Some(held), census: census.clone(), left: left.clone() };
    outer.spawn_active(owner).ok().unwrap();
    drop(outer);
    assert_eq!((left.load(Ordering::SeqCst), census.there()), (0, 0));
}

struct Unlucky;

impl Drop for Unlucky {
    fn drop(&mut self) {
        resume_unwind(Box::new("a panic that the test wants"));
    }
}

struct Keeper(#[expect(dead_code, reason = "kept to be dropped")] Option<Hold<Keeper>>);

impl Drop for Keeper {
    fn drop(&mut self) {}
}

/// The callback of a closed store goes with its last Hold, here inside another destructor.
#[test]
fn a_callback_whose_destructor_panics_is_contained() {
    let unlucky = Unlucky;
    let closed: Store<Keeper> =
        Store::builder().on_dying(move |_, _, _| _ = &unlucky).build().unwrap();
    let h = closed.spawn_active(Keeper(None)).ok().unwrap();
    let hold = closed.hold(h).unwrap();
    drop(closed);

    let store = Store::new();
    let h = store.spawn_active(Keeper(Some(hold))).ok().unwrap();
    store.despawn(h).unwrap();
    assert_eq!(store.reclaim(), 1);
    // The thread is not inside a destructor any more: reclaim works again.
    let h = store.spawn_active(Keeper(None)).ok().unwrap();
    store.despawn(h).unwrap();
    assert_eq!(store.reclaim(), 1);
}

#[test]
fn a_panic_out_of_each_callback_loses_nothing() {
    let census = Census::default();
    let store = Store::builder()
        .on_dying(|_, _: &Counted, _| resume_unwind(Box::new("in a callback")))
        .build()
        .unwrap();
    let panics = |body: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(body)).is_err());
    let wanted = || -> ! { resume_unwind(Box::new("a panic that the test wants")) };
    for _ in 0..300 {
        let h = store.spawn_active(census.payload()).unwrap();
        panics(&|| drop(store.spawn_with(|_| wanted())));
        panics(&|| drop(store.pin().spawn_with(|_| wanted())));
        panics(&|| {
            let pinned = store.pin();
            drop(pinned.iter().map(|_| -> Handle { wanted() }).collect::<Vec<_>>());
        });
        panics(&|| {
            let values = (0..5).map(|n| if n == 3 { wanted() } else { census.payload() });
            drop(store.spawn_batch(values));
        });
        store.despawn(h).unwrap();
    }
    assert_eq!(store.len(), 3 * 300);
    assert_whole(&store);
    drop(store);
    assert_eq!(census.there(), 0);
}

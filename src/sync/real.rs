//! The facade in an ordinary build: the standard library, nothing added.

pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
};

use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A cell whose accesses a model build can watch: the pointer is good for the closure only.
#[repr(transparent)]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> UnsafeCell<T> {
        UnsafeCell(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

std::thread_local! {
    static ORDINAL: Cell<usize> = const { Cell::new(0) };
}

/// A small number that tells threads apart well enough to spread them over shards.
#[inline]
pub(crate) fn thread_ordinal() -> usize {
    match ORDINAL.get() {
        0 => first_ordinal(),
        known => known,
    }
}

#[cold]
fn first_ordinal() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    // Relaxed: only uniqueness is asked for, and a read-modify-write gives it.
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    ORDINAL.set(fresh);
    fresh
}

/// A thread-local without lazy initialisation.
macro_rules! local {
    ($(#[$doc:meta])* static $name:ident: $t:ty = $init:expr;) => {
        std::thread_local! { $(#[$doc])* static $name: $t = const { $init }; }
    };
}
pub(crate) use local;

/// How often a caller that is short of slots looks again before it gives up.
pub(crate) const PATIENCE: u32 = 500;

/// So many times as patient it is when no reader can be to blame.
pub(crate) const UNBLOCKED: u32 = 100;

/// Leaves the processor to whoever holds the epoch: a bounded courtesy, never a condition.
pub(crate) fn courtesy(round: u32) {
    if round < 8 {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// Sleeps a moment, so that whoever holds the epoch gets the processor. The more threads of a core
/// do so at the same time, the longer: to wake takes some microseconds of the processor as well, so
/// one of them looks every ten or so.
pub(crate) fn step_aside(of_this_core: u64) {
    std::thread::sleep(Duration::from_micros(of_this_core.saturating_mul(10).clamp(50, 500)));
}

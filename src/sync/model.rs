//! The facade in a model build: loom in place of the standard library.

pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, fence,
};

use std::cell::Cell;

loom::thread_local! {
    static ORDINAL: Cell<usize> = Cell::new(0);
}

static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(1);

/// Begins an execution: ordinals must depend on the schedule alone, or loom cannot replay it.
pub(crate) fn reset_ordinals() {
    // Relaxed: all model threads share one thread of the system.
    NEXT.store(1, std::sync::atomic::Ordering::Relaxed);
}

/// A small number that tells threads apart well enough to spread them over shards.
pub(crate) fn thread_ordinal() -> usize {
    ORDINAL
        .try_with(|ordinal| {
            if ordinal.get() == 0 {
                // Relaxed: all model threads share one thread of the system.
                ordinal.set(NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
            }
            ordinal.get()
        })
        .unwrap_or(0)
}

/// Each model thread has a core of its own.
pub(crate) fn core_ordinal() -> usize {
    thread_ordinal()
}

/// A thread-local of a model's thread, made anew in every execution.
macro_rules! local {
    ($(#[$doc:meta])* static $name:ident: $t:ty = $init:expr;) => {
        loom::thread_local! { $(#[$doc])* static $name: $t = $init; }
    };
}
pub(crate) use local;

/// How often a caller that is short of slots looks again before it gives up.
pub(crate) const PATIENCE: u32 = 1;

/// So many times as patient it is when no reader can be to blame.
pub(crate) const UNBLOCKED: u32 = 1;

/// Lets another model thread run.
pub(crate) fn courtesy(_round: u32) {
    loom::thread::yield_now();
}

/// Lets another model thread run.
pub(crate) fn step_aside(_of_this_core: u64) {
    loom::thread::yield_now();
}

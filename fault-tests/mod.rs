//! Fault injection: threads that are stopped in the middle of a protocol, memory that is refused,
//! user code that panics. Mounted into the crate, because it needs the pause points of the facade
//! (`src/sync/pause.rs`) and the refusals of `src/memory.rs`.

mod evictions;
mod memory;
mod overwriting;
mod panics;
mod pool;
mod stopped;
mod wandering;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::Store;

/// How many payloads of a test are there.
#[derive(Clone, Debug, Default)]
struct Census(Arc<AtomicI64>);

/// A payload that is counted.
#[derive(Debug)]
struct Counted(Census);

impl Census {
    fn payload(&self) -> Counted {
        self.0.fetch_add(1, Ordering::SeqCst);
        Counted(self.clone())
    }

    fn there(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A quiet store has lost nothing: everything can be ended and brought back, and the accounts
/// agree.
#[track_caller]
fn assert_whole<T: Send + Sync + 'static>(store: &Store<T>) {
    store.clear();
    store.reclaim();
    let stats = store.stats();
    assert_eq!((stats.live, stats.dead, stats.holds), (0, 0, 0), "{stats:?}");
    assert_eq!(stats.acquired, stats.spawned + stats.rejected, "{stats:?}");
    assert_eq!(stats.spawned, stats.cancelled + stats.reaped, "{stats:?}");
    assert_eq!(stats.free + stats.retired_slots as usize, stats.slots, "{stats:?}");
}

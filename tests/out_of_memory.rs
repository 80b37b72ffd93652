//! When a segment cannot be made the spawn is refused, the payload comes back, and
//! nothing is lost.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use hatchery::{SpawnFailure, Store};

/// Refuses large blocks to a thread that asks for it: a segment of pages is large, and nothing
/// else here is.
struct Scarce;

const LARGE: usize = 64 << 10;

thread_local! {
    static SCARCE: Cell<bool> = const { Cell::new(false) };
}

fn refused(layout: Layout) -> bool {
    layout.size() >= LARGE && SCARCE.try_with(Cell::get).unwrap_or(false)
}

// SAFETY: every block comes from the system allocator, or is null, which means refused.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises about `layout` are those of `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if refused(layout) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promises about `layout` are those of `System`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with this layout, see `alloc`.
        unsafe { System.dealloc(block, layout) };
    }
}

#[global_allocator]
static ALLOCATOR: Scarce = Scarce;

/// While it lives, this thread gets no large block.
struct Scarcity;

impl Scarcity {
    fn begin() -> Scarcity {
        SCARCE.set(true);
        Scarcity
    }
}

impl Drop for Scarcity {
    fn drop(&mut self) {
        SCARCE.set(false);
    }
}

/// So large that a segment of a few dozen is over the limit.
struct Wide(Box<[u8]>, #[allow(dead_code, reason = "it takes room in the slot")] [u64; 512]);

fn wide(byte: u8) -> Wide {
    Wide(vec![byte; 16].into(), [0; 512])
}

fn is_out_of_memory(failure: SpawnFailure) -> bool {
    matches!(failure, SpawnFailure::OutOfMemory { bytes } if bytes >= LARGE)
}

#[test]
fn a_first_segment_that_cannot_be_made_costs_nothing() {
    let store = Store::new();
    let scarcity = Scarcity::begin();
    for _ in 0..10 {
        let error = store.spawn(wide(7)).err().unwrap();
        assert!(is_out_of_memory(error.failure), "{}", error.failure);
        assert_eq!(error.value.0[..], [7; 16]);
        let failure = store.spawn_with(|_| unreachable!("no slot, no payload")).err().unwrap();
        assert!(is_out_of_memory(failure), "{failure}");
        let error = store.pin().spawn_active(wide(8)).unwrap_err();
        assert_eq!(error.value.0[0], 8);
    }
    assert_eq!((store.len(), store.slots(), store.stats().rejected), (0, 0, 30));
    drop(scarcity);
    let handle = store.spawn_active(wide(9)).unwrap();
    assert_eq!(store.pin().get(handle).unwrap().0[0], 9);
    assert_eq!(handle.generation().get(), 1, "no slot was used up");
}

#[test]
fn a_further_segment_that_cannot_be_made_leaves_what_there_is_in_use() {
    let limits = hatchery::Limits::reject(10_000);
    let store = Store::builder().limits(limits).build().unwrap();
    let first = store.spawn_active(wide(0)).unwrap();
    let scarcity = Scarcity::begin();
    let mut handles = vec![first];
    let error = loop {
        match store.spawn_active(wide(1)) {
            Ok(handle) => handles.push(handle),
            Err(error) => break error,
        }
        assert!(handles.len() < 10_000, "it never ran out");
    };
    assert!(is_out_of_memory(error.failure), "{}", error.failure);
    assert_eq!(store.len(), handles.len());
    assert_eq!(store.stats().free, 0, "every slot that was made is in use");
    // What dies serves again, without a new segment.
    for round in 0..50 {
        store.despawn(handles.pop().unwrap()).unwrap();
        handles.push(store.spawn_active(wide(round)).unwrap());
    }
    let rest = store.spawn_batch((0..3).map(wide)).unwrap_err();
    assert!(is_out_of_memory(rest.failure), "{}", rest.failure);
    assert_eq!((rest.spawned.len(), rest.rest.len()), (0, 3));
    assert_eq!(rest.rest[2].0[0], 2);
    drop(scarcity);
    let more = store.spawn_batch(rest.rest).unwrap();
    assert_eq!(store.pin().get(more[1]).unwrap().0[0], 1);
    let alive = handles.len() + 3;
    assert_eq!(store.clear(), alive);
    let full = store.spawn_batch((0..alive + 50).map(|_| wide(3))).unwrap();
    assert_eq!(full.len(), alive + 50, "no place was lost");
}

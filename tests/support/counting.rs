//! A global allocator that counts, for the files that put it in place:
//! `#[global_allocator] static ALLOCATOR: Counting = Counting;`

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

pub struct Counting;

static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);
static BLOCKS: AtomicUsize = AtomicUsize::new(0);
static TURN: Mutex<()> = Mutex::new(());

thread_local! {
    static LOCAL_BYTES: Cell<isize> = const { Cell::new(0) };
    static LOCAL_BLOCKS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// Bytes that the whole process has allocated and not freed.
pub fn live_bytes() -> isize {
    LIVE_BYTES.load(Ordering::SeqCst)
}

/// How many blocks the whole process has allocated.
pub fn blocks() -> usize {
    BLOCKS.load(Ordering::SeqCst)
}

/// Bytes that this thread has allocated, less those that it has freed.
pub fn local_bytes() -> isize {
    LOCAL_BYTES.with(Cell::get)
}

/// How many blocks this thread has allocated, and the size of the largest, since it last asked.
pub fn take_local_blocks() -> (usize, usize) {
    LOCAL_BLOCKS.take()
}

/// The tests of one file take turns, so that one does not count another's bytes.
pub fn take_turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn count(bytes: isize) {
    LIVE_BYTES.fetch_add(bytes, Ordering::SeqCst);
    // A thread that is being torn down may allocate after its counter is gone.
    let _ = LOCAL_BYTES.try_with(|local| local.set(local.get() + bytes));
    if bytes > 0 {
        BLOCKS.fetch_add(1, Ordering::SeqCst);
        let _ = LOCAL_BLOCKS.try_with(|local| {
            let (blocks, largest) = local.get();
            local.set((blocks + 1, largest.max(bytes as usize)));
        });
    }
}

// SAFETY: every call goes to the system allocator unchanged; counting neither allocates nor
// unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are those of `System`.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count(layout.size() as isize);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises about `layout` are those of `System`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count(layout.size() as isize);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `block` came from `System` with this layout, see `alloc`.
        unsafe { System.dealloc(block, layout) };
        count(-(layout.size() as isize));
    }
}

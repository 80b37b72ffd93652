//! The allocator of the program that is traced: it says what is where, so that lines have names.

use std::alloc::{GlobalAlloc, Layout, System};

use crate::marks::{say_allocated, say_freed};

/// The system's allocator, which tells the simulation of what a thread allocates in its turn.
#[derive(Debug)]
pub struct Telling;

fn told(at: *mut u8, layout: Layout) -> *mut u8 {
    if !at.is_null() {
        say_allocated(at.addr(), layout.size(), layout.align());
    }
    at
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Telling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duty.
        told(unsafe { System.alloc(layout) }, layout)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's duty.
        told(unsafe { System.alloc_zeroed(layout) }, layout)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        say_freed(at.addr());
        // SAFETY: the caller's duty.
        unsafe { System.dealloc(at, layout) }
    }
}

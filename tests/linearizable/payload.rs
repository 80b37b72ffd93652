//! The payloads of the histories: whole, or seen not to be.

use std::cell::Cell;
use std::hint::{black_box, spin_loop};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Payloads made and dropped.
#[derive(Default)]
pub struct Ledger {
    pub made: AtomicUsize,
    pub dropped: AtomicUsize,
}

/// A tag in two words, which its destructor destroys: a read that comes too late shows.
pub struct Payload {
    tag: u64,
    check: u64,
    ledger: Arc<Ledger>,
}

impl Payload {
    pub fn new(tag: u64, ledger: &Arc<Ledger>) -> Payload {
        ledger.made.fetch_add(1, Ordering::Relaxed);
        Payload { tag, check: !tag, ledger: Arc::clone(ledger) }
    }

    pub fn set_tag(&mut self, tag: u64) {
        (self.tag, self.check) = (tag, !tag);
    }

    pub fn tag(&self) -> u64 {
        assert_eq!(self.check, !self.tag, "a payload that is not whole");
        self.tag
    }
}

impl Drop for Payload {
    fn drop(&mut self) {
        linger();
        self.tag();
        self.check = self.tag;
        black_box(&mut self.check);
        self.ledger.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stays a moment, of random length. In destructors and callbacks this draws calls out between
/// their steps, where others would hardly ever meet them.
pub fn linger() {
    thread_local!(static STATE: Cell<u32> = const { Cell::new(1) });
    let _ = STATE.try_with(|state| {
        state.set(state.get().wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        match state.get() >> 24 {
            // Not `yield_now`, which on a busy machine is away for many turns of others.
            0..64 => std::thread::sleep(Duration::from_micros(1)),
            length @ 64..192 => (0..length).for_each(|_| spin_loop()),
            _ => {}
        }
    });
}

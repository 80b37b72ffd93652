//! What the program that is traced tells the simulation.
//!
//! A trace shows addresses, not values: so what is said is said by which byte of a page is written.
//! The page is this static, and nothing else is ever written there.

use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering, compiler_fence};

/// Bytes of the page.
const PAGE: usize = 1024;

/// Where the marks begin that are no bytes of a number.
const SIGNS: usize = 256;
/// Where the marks of threads begin.
const THREADS: usize = 512;

/// The bytes that are written.
#[repr(C, align(1024))]
struct Page([AtomicU8; PAGE]);

static WRITTEN: Page = Page([const { AtomicU8::new(0) }; PAGE]);

thread_local! {
    /// Whether this thread has its turn: no other writes marks then.
    static SPEAKS: Cell<bool> = const { Cell::new(false) };
}

/// One mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// A byte of what the next sign is about.
    Byte(u8),
    /// From here a thread of this number runs.
    Thread(usize),
    /// An operation begins.
    Begin,
    /// It ends.
    End,
    /// All that comes counts.
    Measure,
    /// All is done.
    Done,
    /// Memory was allocated: address and size, eight bytes each, and the alignment as a power of
    /// two.
    Allocated,
    /// Memory was freed: eight bytes of address.
    Freed,
}

/// The signs in the order in which they lie on the page.
const IN_ORDER: [Mark; 6] =
    [Mark::Begin, Mark::End, Mark::Measure, Mark::Done, Mark::Allocated, Mark::Freed];

impl Mark {
    /// Which byte of the page says it.
    fn place(self) -> usize {
        match self {
            Mark::Byte(byte) => usize::from(byte),
            Mark::Thread(number) => THREADS + number,
            sign => SIGNS + IN_ORDER.iter().position(|other| *other == sign).unwrap_or(0),
        }
    }

    /// What a write to this byte of the page says.
    fn at(place: usize) -> Option<Mark> {
        match place {
            0..SIGNS => Some(Mark::Byte(place as u8)),
            SIGNS..THREADS => IN_ORDER.get(place - SIGNS).copied(),
            THREADS..PAGE => Some(Mark::Thread(place - THREADS)),
            _ => None,
        }
    }

    /// What a write to an address says, if the page begins at `page`.
    pub fn read(page: u64, address: u64) -> Option<Mark> {
        usize::try_from(address.checked_sub(page)?).ok().and_then(Mark::at)
    }
}

/// Where the page of this process begins.
pub fn page() -> u64 {
    (&raw const WRITTEN) as u64
}

/// Writes a mark. Nothing that the compiler has before it comes after, and the other way round.
pub fn say(mark: Mark) {
    compiler_fence(Ordering::SeqCst);
    // Nobody reads the page, so the compiler must not know that.
    let written = black_box(&WRITTEN);
    // Relaxed: what counts is that the write is in the trace.
    written.0[mark.place()].store(1, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
}

/// Marks the work as an operation, whose accesses are looked at.
pub fn operation<R>(work: impl FnOnce() -> R) -> R {
    say(Mark::Begin);
    let result = work();
    say(Mark::End);
    result
}

/// Lets this thread write marks about its allocations, or no longer.
pub fn speak(may: bool) {
    SPEAKS.with(|speaks| speaks.set(may));
}

fn say_number(number: u64, bytes: usize) {
    number.to_le_bytes()[..bytes].iter().for_each(|byte| say(Mark::Byte(*byte)));
}

/// Says what was allocated.
pub(crate) fn say_allocated(at: usize, size: usize, align: usize) {
    if SPEAKS.with(Cell::get) {
        say_number(at as u64, 8);
        say_number(size as u64, 8);
        say_number(u64::from(align.trailing_zeros()), 1);
        say(Mark::Allocated);
    }
}

/// Says what was freed.
pub(crate) fn say_freed(at: usize) {
    if SPEAKS.with(Cell::get) {
        say_number(at as u64, 8);
        say(Mark::Freed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_read_as_it_was_written() {
        let bytes = (0..=255).map(Mark::Byte);
        for mark in bytes.chain(IN_ORDER).chain([Mark::Thread(0), Mark::Thread(127)]) {
            assert_eq!(Mark::read(4096, 4096 + mark.place() as u64), Some(mark));
        }
    }

    #[test]
    fn other_addresses_say_nothing() {
        assert_eq!(Mark::read(4096, 4095), None);
        assert_eq!(Mark::read(4096, 4096 + PAGE as u64), None);
        assert_eq!(Mark::read(4096, 4096 + THREADS as u64 - 1), None);
    }
}

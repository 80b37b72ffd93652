//! Caches that are kept coherent by MESI: which accesses cost a transfer between cores.
//!
//! Every core has a cache of its own that never evicts. So what is counted is what threads do to
//! one another, and nothing that a larger cache would have spared them. A directory knows who has
//! what.

use std::collections::HashMap;

/// Bytes of a line, as a power of two.
const LINE_SHIFT: u32 = 6;

/// Cores that there can be.
pub const CORES: usize = 128;

/// A core: what one thread runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Core(u8);

/// The number of a line: an address without its lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line(pub u64);

/// What an instruction does to memory. A read-modify-write is a write: the line is asked for once,
/// to be owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It reads.
    Read,
    /// It writes, or reads and writes in one.
    Write,
}

/// What an access costs between cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// Nothing: the cache has the line in a state that allows the access, or no cache has it.
    None,
    /// The line comes to be read, from a core that has written it or others that have read it.
    Fetch,
    /// The line comes to be written, and nobody else keeps it.
    Own,
    /// The line is there, but others have it too, and must lose it before it is written.
    Upgrade,
}

/// Who has a line. One holder and clean is Exclusive, dirty is Modified; several are Shared.
#[derive(Clone, Copy, Debug, Default)]
struct Holders {
    cores: u128,
    dirty: bool,
}

/// The caches of all cores.
#[derive(Debug, Default)]
pub struct Caches {
    lines: HashMap<Line, Holders>,
}

impl Core {
    /// The core of a number below [`CORES`].
    pub fn new(number: usize) -> Option<Core> {
        u8::try_from(number).ok().filter(|_| number < CORES).map(Core)
    }

    fn bit(self) -> u128 {
        1 << self.0
    }
}

impl Line {
    /// The lines that an access of `size` bytes touches.
    pub fn touched(address: u64, size: u64) -> impl Iterator<Item = Line> {
        let last = address.saturating_add(size.max(1) - 1);
        (address >> LINE_SHIFT..=last >> LINE_SHIFT).map(Line)
    }

    /// The first address of the line.
    pub fn address(self) -> u64 {
        self.0 << LINE_SHIFT
    }
}

impl Caches {
    /// Lets a core access a line.
    pub fn access(&mut self, core: Core, line: Line, access: Access) -> Traffic {
        let holders = self.lines.entry(line).or_default();
        let (has, others) = (holders.cores & core.bit() != 0, holders.cores & !core.bit() != 0);
        match access {
            Access::Read => {
                holders.cores |= core.bit();
                if has {
                    return Traffic::None;
                }
                // Whoever had modified it writes it back.
                holders.dirty = false;
                if others { Traffic::Fetch } else { Traffic::None }
            }
            Access::Write => {
                *holders = Holders { cores: core.bit(), dirty: true };
                match (has, others) {
                    (_, false) => Traffic::None,
                    (true, true) => Traffic::Upgrade,
                    (false, true) => Traffic::Own,
                }
            }
        }
    }

    /// Whether a core could write a line without asking anybody.
    pub fn owns(&self, core: Core, line: Line) -> bool {
        self.lines.get(&line).is_some_and(|holders| holders.cores == core.bit())
    }

    /// Whether memory is behind what a core has written to a line.
    pub fn modified(&self, line: Line) -> bool {
        self.lines.get(&line).is_some_and(|holders| holders.dirty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Core = Core(0);
    const B: Core = Core(1);
    const C: Core = Core(127);
    const L: Line = Line(7);

    use Access::{Read, Write};

    /// What each access of a sequence costs.
    fn costs(sequence: &[(Core, Access)]) -> Vec<Traffic> {
        let mut caches = Caches::default();
        sequence.iter().map(|&(core, access)| caches.access(core, L, access)).collect()
    }

    #[test]
    fn a_private_line_costs_nothing() {
        assert_eq!(costs(&[(A, Read), (A, Write), (A, Read), (A, Write)]), [Traffic::None; 4]);
        assert_eq!(costs(&[(A, Write), (A, Read)]), [Traffic::None; 2]);
    }

    #[test]
    fn a_line_that_is_only_read_comes_once_to_each() {
        let costs = costs(&[(A, Read), (B, Read), (C, Read), (A, Read), (B, Read), (C, Read)]);
        assert_eq!(costs[..3], [Traffic::None, Traffic::Fetch, Traffic::Fetch]);
        assert_eq!(costs[3..], [Traffic::None; 3]);
    }

    #[test]
    fn a_reader_fetches_what_was_written_and_the_writer_must_ask_again() {
        let costs = costs(&[(A, Write), (B, Read), (B, Read), (A, Read), (A, Write), (B, Read)]);
        use Traffic::{Fetch, None, Upgrade};
        assert_eq!(costs, [None, Fetch, None, None, Upgrade, Fetch]);
    }

    #[test]
    fn writers_take_the_line_from_each_other() {
        let costs = costs(&[(A, Write), (B, Write), (A, Write), (A, Write), (C, Write)]);
        use Traffic::{None, Own};
        assert_eq!(costs, [None, Own, Own, None, Own]);
    }

    #[test]
    fn reading_before_writing_costs_twice() {
        // A Treiber stack: the head is read, and then compared and swapped.
        let costs = costs(&[(A, Read), (A, Write), (B, Read), (B, Write), (A, Read), (A, Write)]);
        use Traffic::{Fetch, None, Upgrade};
        assert_eq!(costs, [None, None, Fetch, Upgrade, Fetch, Upgrade]);
    }

    #[test]
    fn a_write_leaves_nobody_else_with_the_line() {
        let mut caches = Caches::default();
        for core in [A, B, C] {
            caches.access(core, L, Read);
        }
        assert!(!caches.owns(B, L) && !caches.modified(L));
        assert_eq!(caches.access(B, L, Write), Traffic::Upgrade);
        assert!(caches.owns(B, L) && caches.modified(L));
        assert_eq!(caches.access(A, L, Read), Traffic::Fetch);
        assert!(!caches.owns(B, L) && !caches.modified(L));
        assert_eq!(caches.access(C, L, Write), Traffic::Own);
    }

    #[test]
    fn lines_are_apart() {
        let mut caches = Caches::default();
        caches.access(A, Line(1), Write);
        assert_eq!(caches.access(B, Line(2), Write), Traffic::None);
    }

    #[test]
    fn an_access_may_touch_two_lines() {
        let touched = |address, size| Line::touched(address, size).map(|l| l.0).collect::<Vec<_>>();
        assert_eq!(touched(0, 8), [0]);
        assert_eq!(touched(56, 8), [0]);
        assert_eq!(touched(60, 8), [0, 1]);
        assert_eq!(touched(64, 64), [1]);
        assert_eq!(touched(128, 0), [2]);
    }

    #[test]
    fn there_are_only_so_many_cores() {
        assert!(Core::new(CORES - 1).is_some());
        assert!(Core::new(CORES).is_none());
    }
}

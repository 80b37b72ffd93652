//! The trace that valgrind's lackey writes: a line for each instruction and each access.
//!
//! ```text
//! I  04001090,3
//!  S 1ffeffffe8,8
//!  L 04227f80,8
//!  M 0421c7cc,4
//! ```

use std::io::{self, Read};
use std::thread::sleep;
use std::time::Duration;

use crate::mesi::Access;

/// What a line of the trace says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction is carried out.
    Instruction,
    /// Memory is accessed: how, where, how many bytes.
    Memory(Access, u64, u64),
}

impl Event {
    /// Reads a line, if it is one of the trace.
    pub fn read(line: &[u8]) -> Option<Event> {
        let access = match line {
            [b'I', b' ', ..] => return Some(Event::Instruction),
            [b' ', b'L', b' ', ..] => Access::Read,
            // An `M` is read and written by one instruction.
            [b' ', b'S' | b'M', b' ', ..] => Access::Write,
            _ => return None,
        };
        let mut numbers = line[3..].split(|byte| *byte == b',');
        let (address, size) = (numbers.next()?, numbers.next()?);
        Some(Event::Memory(access, number(address, 16)?, number(size, 10)?))
    }
}

fn number(digits: &[u8], base: u32) -> Option<u64> {
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(base)?;
        sum.checked_mul(u64::from(base))?.checked_add(u64::from(digit))
    })
}

/// Hands every line to `take`, until that is content or the trace ends.
///
/// # Errors
///
/// What reading fails with.
pub fn each_line(mut trace: impl Read, mut take: impl FnMut(&[u8]) -> Next) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut kept = 0;
    loop {
        let read = trace.read(&mut buffer[kept..])?;
        if read == 0 {
            return Ok(());
        }
        let filled = kept + read;
        let mut begin = 0;
        while let Some(length) = buffer[begin..filled].iter().position(|byte| *byte == b'\n') {
            if take(&buffer[begin..begin + length]) == Next::Stop {
                return Ok(());
            }
            begin += length + 1;
        }
        buffer.copy_within(begin..filled, 0);
        kept = filled - begin;
        if kept == buffer.len() {
            // A line as long as this is none of the trace.
            kept = 0;
        }
        if read < buffer.len() / 2 {
            // Every line is a write of its own, and each would wake a reader that waits for it. One
            // that sleeps meanwhile finds many: that makes the trace twice as fast.
            sleep(Duration::from_micros(50));
        }
    }
}

/// Whether more lines are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// They are.
    Go,
    /// They are not.
    Stop,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_trace_are_read() {
        let read = |line: &str| Event::read(line.as_bytes());
        assert_eq!(read("I  04001090,3"), Some(Event::Instruction));
        assert_eq!(read(" L 04227f80,8"), Some(Event::Memory(Access::Read, 0x4227f80, 8)));
        assert_eq!(read(" S 1ffeffffe8,16"), Some(Event::Memory(Access::Write, 0x1ffeffffe8, 16)));
        assert_eq!(read(" M 0421c7cc,4"), Some(Event::Memory(Access::Write, 0x421c7cc, 4)));
    }

    #[test]
    fn other_lines_are_not() {
        for line in ["", "==12== Lackey", " L", " L 12", " L zz,8", " S 12,", "thread panicked"] {
            let read = Event::read(line.as_bytes());
            assert!(matches!(read, None | Some(Event::Memory(_, _, 0))), "{line}: {read:?}");
        }
    }

    #[test]
    fn lines_are_handed_on_until_the_taker_is_content() {
        let mut seen = Vec::new();
        let taken = each_line(&b"one\ntwo\nthree\nfour"[..], |line| {
            seen.push(String::from_utf8_lossy(line).into_owned());
            if line == b"three" { Next::Stop } else { Next::Go }
        });
        assert!(taken.is_ok());
        assert_eq!(seen, ["one", "two", "three"]);
    }

    #[test]
    fn a_line_may_come_in_pieces() {
        /// Gives one byte at a time.
        struct Slow<'a>(&'a [u8]);
        impl Read for Slow<'_> {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                let part = into.len().min(1);
                self.0.read(&mut into[..part])
            }
        }
        let mut seen = Vec::new();
        let taken = each_line(Slow(b"I  1,2\n L 3,4\n"), |line| {
            seen.push(Event::read(line));
            Next::Go
        });
        assert!(taken.is_ok());
        assert_eq!(seen, [Some(Event::Instruction), Some(Event::Memory(Access::Read, 3, 4))]);
    }
}

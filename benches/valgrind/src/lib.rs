//! Counting what a program does: it runs itself under valgrind's callgrind.
//!
//! The program under callgrind prepares, calls [`begin`], does what is counted, and calls [`end`].
//! The other one asks for that by [`Callgrind::count`], and gets the [`Totals`] of what lay
//! between.

mod callgrind;
mod marks;
mod totals;

use std::io::ErrorKind;
use std::process::{Command, Stdio};

pub use callgrind::{Callgrind, Counted};
pub use marks::{hatchery_count_begin as begin, hatchery_count_end as end};
pub use totals::Totals;

/// Whether there is a valgrind to count with.
pub fn possible() -> bool {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    !matches!(valgrind, Err(error) if error.kind() == ErrorKind::NotFound)
}

//! Counting the instructions of one operation: the program runs itself, once for each of them.

use std::hint::black_box;
use std::path::Path;

use hatchery_valgrind::{Callgrind, begin, end};

/// Says to the program under callgrind which operation it is to do; the operation follows.
pub const ONE: &str = "--one";

/// Does the work, whose instructions are those that are counted. What it returns nobody needs; it
/// makes the compiler do the work.
#[inline(never)]
pub fn counted(work: &mut dyn FnMut() -> u64) {
    begin();
    black_box(work());
    end();
}

/// How many instructions the work of an operation takes in this program.
///
/// The profile is left in `profiles`, for `callgrind_annotate`.
///
/// # Errors
///
/// When valgrind fails, or counts nothing.
pub fn instructions(operation: &str, profiles: &Path) -> Result<u64, String> {
    let counted = Callgrind { flags: &[], profiles }.count(operation, &[ONE, operation])?;
    counted.totals.of("Ir").ok_or_else(|| format!("{operation}: no instruction was counted"))
}

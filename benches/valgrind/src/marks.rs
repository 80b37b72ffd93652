//! The two places between which callgrind counts.
//!
//! It knows them by their names, so they keep those, and each is there once however often it is
//! called. Each hides a number of its own from the compiler: a call that does nothing would be left
//! out, and two functions that do the same would become one.

use std::hint::black_box;

/// The names, as callgrind has them.
pub const NAMES: [&str; 2] = ["hatchery_count_begin", "hatchery_count_end"];

/// From here it is counted, whichever thread does it. Costs a call where nobody counts.
#[inline(never)]
#[unsafe(no_mangle)] // SAFETY: nothing else has such a name.
pub fn hatchery_count_begin() {
    black_box(1);
}

/// To here it is counted.
#[inline(never)]
#[unsafe(no_mangle)] // SAFETY: nothing else has such a name.
pub fn hatchery_count_end() {
    black_box(2);
}

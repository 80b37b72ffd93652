//! Keys for maps, which do not make their own.

use std::sync::atomic::{AtomicU64, Ordering};

use crossbeam_utils::CachePadded;
use foldhash::fast::FixedState;

/// What maps are given to hash with: the standard library's is made against attackers, and slow.
pub type Hasher = FixedState;

/// Where sessions get their numbers from: each has 2^32 to itself.
#[derive(Debug, Default)]
pub struct Numbers(CachePadded<AtomicU64>);

/// The next key of a session.
#[derive(Debug)]
pub struct Next(u64);

impl Numbers {
    /// Relaxed: only uniqueness is asked for.
    pub fn session(&self) -> Next {
        Next(self.0.fetch_add(1 << 32, Ordering::Relaxed))
    }
}

impl Next {
    #[inline]
    pub fn take(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

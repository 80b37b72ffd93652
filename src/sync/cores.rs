//! Which core a thread is on: what decides which shard it prefers, and nothing else. A moment later
//! it may be on another.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::thread_ordinal;

/// A small number that tells the cores apart, for that on which the thread is now. Where the system
/// does not tell, one that tells the threads apart.
pub(crate) fn core_ordinal() -> usize {
    #[cfg(test)]
    if let Some(ordinal) = tests::next_stop() {
        return ordinal;
    }
    current_core().map_or_else(thread_ordinal, ordinal_of)
}

#[cfg(all(target_os = "linux", not(miri)))]
fn current_core() -> Option<usize> {
    // SAFETY: it takes no argument, and touches nothing of ours (invariant 11).
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn current_core() -> Option<usize> {
    None
}

/// Cores are numbered from 1 as they are first seen: those that a process may use are few of the
/// machine's, and all of them may be even.
fn ordinal_of(core: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(1);
    static SEEN: [AtomicUsize; 512] = [const { AtomicUsize::new(0) }; 512];
    let Some(seen) = SEEN.get(core) else { return core };
    // Relaxed, here and below: the numbers alone are of use, and publish nothing.
    let known = seen.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let fresh = NEXT.fetch_add(1, Ordering::Relaxed);
    // If another thread has numbered the core meanwhile, this number is lost.
    match seen.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => fresh,
        Err(known) => known,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    /// Scatters the stops: one after the other would let a walk over shards meet each.
    const STRIDE: usize = 0x9e37_79b1;

    std::thread_local! {
        static STOPS: Cell<usize> = const { Cell::new(0) };
    }

    /// From now on this thread is on any core whenever it looks.
    pub(crate) fn wander() {
        STOPS.set(STRIDE);
    }

    pub(super) fn next_stop() -> Option<usize> {
        let stop = STOPS.get();
        (stop > 0).then(|| STOPS.replace(stop.wrapping_mul(STRIDE)) >> (usize::BITS / 2))
    }

    #[test]
    fn each_core_keeps_its_number() {
        // No machine here has so many.
        let (one, other) = (ordinal_of(510), ordinal_of(511));
        assert_ne!(one, other);
        assert_eq!((ordinal_of(510), ordinal_of(511)), (one, other));
        assert_eq!(ordinal_of(100_000), 100_000);
    }

    #[test]
    fn wanderer_is_found_all_over_the_place() {
        std::thread::spawn(|| {
            wander();
            let mut found = [0; 4];
            (0..4000).for_each(|_| found[core_ordinal() % 4] += 1);
            assert!(found.iter().all(|&times| times > 800), "{found:?}");
        })
        .join()
        .unwrap();
    }
}

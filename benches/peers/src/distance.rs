//! How far the cores are from each other.
//!
//! Where the machine is virtual, its two cores may be now the two halves of one, which share all
//! caches, and now two that share none, and nobody tells. Whatever two threads do to each other
//! takes several times as long then, for every candidate in its own measure.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use core_affinity::CoreId;
use crossbeam_utils::CachePadded;

const ROUND_TRIPS: u64 = 2000;
const PATIENCE: u32 = 10_000;

/// Nanoseconds that a cache line takes from one core to another; nothing where there is one core.
pub fn distance() -> Option<f64> {
    let cores = core_affinity::get_core_ids().unwrap_or_default();
    let [one, other, ..] = cores[..] else { return None };
    let (ball, start) = (CachePadded::new(AtomicU64::new(0)), Barrier::new(2));
    let play = |core: CoreId, first: u64| {
        core_affinity::set_for_current(core);
        start.wait();
        let begun = Instant::now();
        for turn in (first..2 * ROUND_TRIPS).step_by(2) {
            let mut waits = 0;
            // Acquire and Release: nothing is handed on but the ball; as a lock would do it.
            while ball.load(Ordering::Acquire) != turn {
                waits += 1;
                // Where both had to stay on one core, the other one is to have it.
                if waits < PATIENCE { std::hint::spin_loop() } else { std::thread::yield_now() }
            }
            ball.store(turn + 1, Ordering::Release);
        }
        begun.elapsed().as_nanos() as f64 / (2 * ROUND_TRIPS) as f64
    };
    std::thread::scope(|scope| {
        let play = &play;
        let threads = [scope.spawn(move || play(one, 0)), scope.spawn(move || play(other, 1))];
        threads.into_iter().filter_map(|thread| thread.join().ok()).reduce(f64::max)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_some_way_from_each_other() {
        assert!(distance().is_none_or(|nanoseconds| nanoseconds > 1.0));
    }
}

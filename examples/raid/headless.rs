//! A run without a terminal: frames, hashes, and the figures at the end.

use std::error::Error;
use std::fmt;
use std::io::Write;

use crate::audit::ensure;
use crate::fingerprint::Fingerprint;
use crate::raid::{Closed, Raid};

/// Frames between two actions of the spawners.
const HAND_OVER: u64 = 10;
/// Frames between two hashes that are printed.
const PRINTED: u64 = 25;
/// Business stands still after so many frames, for so many.
const PAUSE_AFTER: u64 = 40;
const PAUSE_FOR: u64 = 5;

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) closed: Closed,
    /// Of all frames, one after another, if it was asked for.
    pub(crate) hash: Option<u64>,
}

/// Runs so many frames, and shuts down in the middle of the fight.
pub(crate) fn run(
    mut raid: Raid,
    frames: u64,
    hash: bool,
    out: &mut impl Write,
) -> Result<Run, Box<dyn Error>> {
    let mut chain = Fingerprint::new();
    for frame in 1..=frames {
        let paused = (PAUSE_AFTER + 1..=PAUSE_AFTER + PAUSE_FOR).contains(&frame);
        raid.set_paused(paused);
        let elapsed = raid.scene().time().elapsed;
        raid.tick();
        let time = raid.scene().time();
        ensure("frames of the scene == frames of the run", time.frame, frame)?;
        if paused {
            let (before, now) = (elapsed.to_bits(), time.elapsed.to_bits());
            ensure("time in a pause == time before it, in bits", now, before)?;
        }
        if hash {
            let print = Fingerprint::of_world(raid.scene()).value();
            chain.word(print);
            if frame % PRINTED == 0 {
                let alive = raid.scene().alive_actors().count();
                // Whoever reads only the first lines has not made the run fail.
                let _ = writeln!(out, "hash {print:016x} of frame {frame}, {alive} actors");
            }
        }
        if frame % HAND_OVER == 0 && frame < frames {
            raid.hand_over();
        }
    }
    let closed = raid.close()?;
    Ok(Run { closed, hash: hash.then(|| chain.value()) })
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(hash) = self.hash {
            writeln!(f, "hash {hash:016x} of all {} frames", self.closed.met.frame)?;
        }
        write!(f, "{}", self.closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raid::Plan;
    use crate::spawner::Pace;

    fn play(actors: u32, threads: usize, seed: u64, pace: Pace, frames: u64) -> (Run, String) {
        let plan = Plan { seed, actors, threads: Some(threads), pace };
        let raid = Raid::new(plan).expect("the plan is allowed");
        let mut out = Vec::new();
        let hash = pace == Pace::InStep;
        let run = run(raid, frames, hash, &mut out).expect("everything that began has ended");
        let text = String::from_utf8(out).expect("it is text") + &run.to_string();
        (run, text)
    }

    fn hashes(text: &str) -> Vec<&str> {
        text.lines().filter(|line| line.starts_with("hash ")).collect()
    }

    #[test]
    fn hash_is_the_same_for_one_two_and_eight_threads_and_on_every_run() {
        let (run, text) = play(400, 1, 7, Pace::InStep, 130);
        assert_eq!(hashes(&text).len(), 6);
        for threads in [2, 8, 1] {
            let (again, same) = play(400, threads, 7, Pace::InStep, 130);
            assert_eq!((again.hash, hashes(&same)), (run.hash, hashes(&text)), "{threads} threads");
        }
    }

    #[test]
    fn hash_of_another_seed_is_another() {
        let [one, other] = [7, 8].map(|seed| play(200, 1, seed, Pace::InStep, 20).0.hash);
        assert!(one.is_some() && one != other);
    }

    #[test]
    fn shutdown_in_the_middle_of_the_fight_leaves_nothing() {
        let (Run { closed, .. }, text) = play(400, 2, 3, Pace::InStep, 130);
        let met = closed.met;
        assert!(
            met.alive > 300 && met.pending > 0 && met.missiles > 0 && met.tickets > 0,
            "{met:?}"
        );
        assert_eq!((closed.store.live, closed.pool.live, closed.store.holds), (0, 0, 0));
        assert_eq!(closed.store.cancelled, met.pending as u64);
        assert_eq!(closed.told.created, closed.told.destroyed);
        assert!(closed.spawners.turned_away > 0, "the spawners were told of the end");
        assert!(text.contains("\nbalanced "), "{text}");
    }

    #[test]
    fn free_spawners_leave_nothing_either() {
        let (Run { closed, hash }, _) = play(300, 2, 3, Pace::Free, 2500);
        assert_eq!((hash, closed.store.live, closed.pool.live), (None, 0, 0));
        assert!(closed.spawners.created > 0, "they had time");
    }

    #[test]
    fn long_raid_has_all_that_a_raid_has() {
        let (Run { closed, .. }, _) = play(400, 2, 1, Pace::InStep, 600);
        let deeds = &closed.books.deeds;
        let done =
            [&deeds.revived, &deeds.collected, &deeds.bosses, &deeds.calls, &deeds.experience];
        assert!(done.iter().all(|count| count.get() > 0), "{deeds:?}");
        assert!(deeds.calls.get() >= 3 && closed.spawners.dismissed > 0);
    }

    #[test]
    fn run_of_one_frame_ends_as_well() {
        let (run, _) = play(20, 1, 1, Pace::InStep, 1);
        assert_eq!(run.closed.met.frame, 1);
    }
}

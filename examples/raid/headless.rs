//! A run without a terminal: frames, hashes, and the figures at the end.

use std::error::Error;
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
    let hash = hash.then(|| chain.value());
    if let Some(hash) = hash {
        let _ = writeln!(out, "hash {hash:016x} of all {frames} frames");
    }
    let _ = write!(out, "{closed}");
    Ok(Run { closed, hash })
}

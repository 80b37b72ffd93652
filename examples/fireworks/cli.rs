//! The options.

use std::path::PathBuf;

use clap::Parser;

use crate::show::Scene;

const AFTER_HELP: &str = "\
Keys: q quits, space pauses, + and - change the size of the bursts, r takes every object back into \
its pool (reset).

Settings are a JSON file; examples/fireworks/seed.json is one. Its fields:
  capacity        needed: objects that may be out at once, 1 to 1000000
  maxCapacity     the cap of growToCap, from capacity on (capacity)
  policy          needed: reject, overwriteOldest or growToCap. All three are shown, this is marked
  burstPerFrame   sparks in a frame of the document's load; bursts are multiples of it (20)
  activeFrames    frames of that load (30)
  warmupAcquires  sparks of the flash after it (capacity)
  seed            the same seed lights the same sparks (1)
Other fields are left alone.

The exit status is 0 when every claim held, 1 when one did not, 2 when an option or a file cannot be \
used.";

/// Fireworks through three pools, one for each way to meet exhaustion: reject, overwriteOldest and
/// growToCap.
#[derive(Debug, Parser)]
#[command(name = "fireworks", after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// What is shown
    #[arg(long, value_enum, default_value = "seed")]
    pub(crate) scene: Scene,

    /// Settings of the pools and their load [default: those of the scene]
    #[arg(long, value_name = "FILE")]
    pub(crate) limits: Option<PathBuf>,

    /// Runs N frames without a terminal, checks the pools' claims, and prints their figures
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) frames: Option<u64>,

    /// Draws the frames as a chart
    #[arg(long, value_name = "FILE.svg", requires = "frames")]
    pub(crate) svg: Option<PathBuf>,
}

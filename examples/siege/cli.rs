//! The options.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::plan::Speed;

/// The recording that is replayed when the user names none.
const DEFAULT_RECORDING: &str = "examples/data/starcraft.csv";

const SCENARIO_HELP: &str = "\
A recording is a CSV file, scene,time_us,op,kind,key: the game from 1, microseconds of game time, \
spawn or activate or kill, the unit's type on spawn rows, and the key that its server knew it by. \
examples/data/README.md has more.

A scenario is a JSON file; examples/data/raid.json is one. Its fields:
  name              for the report
  seed              the same seed makes the same games (1)
  games             1 to 1000, each with a store of its own (1)
  seconds           needed: how long a game lasts, 1 to 86400
  units             needed: a list of kinds, each with
    kind              needed: its name
    atStart           born in the first microsecond (0)
    perSecond         born evenly over the game, 0 to 10000 (0)
    waveEverySeconds  a wave this often, 0 for none (0)
    waveSize          born in each wave (0)
    buildMillis       from spawn to activation, [from, to] ([0, 0])
    lifeMillis        needed: from activation to death, [from, to]
    cancelPermille    killed while still being built, of 1000 (0)

The exit status is 0 when nothing was violated, 1 when something was, 2 when an option or a file \
cannot be used.";

/// Replays real games into one store each, on all cores, and checks every answer against what
/// happened in them.
#[derive(Debug, Parser)]
#[command(name = "siege", after_help = SCENARIO_HELP)]
struct Arguments {
    /// The recording to replay [default: examples/data/starcraft.csv]
    #[arg(long, value_name = "FILE", conflicts_with = "scenario")]
    recording: Option<PathBuf>,

    /// How long to replay it, again and again
    #[arg(long, default_value = "10", value_parser = seconds)]
    seconds: Duration,

    /// Game time for wall time, or max for as fast as it goes [default: all games, one after
    /// another, within --seconds]
    #[arg(long, value_name = "TIMES|max", value_parser = speed)]
    speed: Option<Speed>,

    /// Copies of each game, all in the game's one store [default: one a worker, and more until
    /// the workers are busy; eight a worker at full speed]
    #[arg(long, value_parser = whole::<10_000>)]
    copies: Option<usize>,

    /// Workers, which replay; settlement, readers and checkpoints have threads of their own
    /// [default: the number of cores]
    #[arg(long, value_parser = whole::<1_000>)]
    threads: Option<usize>,

    /// Writes the report to FILE as well, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Draws population and throughput over time
    #[arg(long, value_name = "FILE.svg")]
    plot: Option<PathBuf>,

    /// Most units alive in each store; births beyond are refused, and counted
    #[arg(long, value_parser = whole::<1_000_000_000>)]
    capacity: Option<usize>,

    /// One reader stays pinned in the busiest store for the whole run: nothing that dies there is
    /// given back before its end. Use it with --capacity
    #[arg(long)]
    stall_reader: bool,

    /// Two more threads stand in reclamation's way: one pins stores at random for up to a
    /// millisecond, one takes Holds of units and keeps each for up to a second. Use it with
    /// --capacity: a violation is then, too, that all stores together take more memory at the end
    /// than at a tenth of the run, by more than 64 KiB a shard a store
    #[arg(long, conflicts_with = "stall_reader")]
    soak: bool,

    /// Replays a synthetic load instead of a recording
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,

    /// Writes what the first copy of each game did, as a recording
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    /// Leaves out the comparison with RwLock<SlotMap>
    #[arg(long, hide = true)]
    no_compare: bool,
}

/// What is replayed.
#[derive(Debug)]
pub(crate) enum Input {
    Recording(PathBuf),
    Scenario(PathBuf),
}

/// The options, with the defaults that do not depend on the recording.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) input: Input,
    pub(crate) seconds: Duration,
    pub(crate) speed: Option<Speed>,
    pub(crate) copies: Option<usize>,
    pub(crate) threads: usize,
    pub(crate) json: Option<PathBuf>,
    pub(crate) plot: Option<PathBuf>,
    pub(crate) capacity: Option<usize>,
    pub(crate) stall_reader: bool,
    pub(crate) soak: bool,
    pub(crate) record: Option<PathBuf>,
    pub(crate) compare: bool,
}

/// The options of this process; ends it with status 2 when one is not allowed.
pub(crate) fn options() -> Options {
    let arguments = Arguments::parse();
    let cores = || std::thread::available_parallelism().map_or(1, |cores| cores.get());
    Options {
        input: input(arguments.recording, arguments.scenario),
        seconds: arguments.seconds,
        speed: arguments.speed,
        copies: arguments.copies,
        threads: arguments.threads.unwrap_or_else(cores),
        json: arguments.json,
        plot: arguments.plot,
        capacity: arguments.capacity,
        stall_reader: arguments.stall_reader,
        soak: arguments.soak,
        record: arguments.record,
        compare: !arguments.no_compare,
    }
}

fn input(recording: Option<PathBuf>, scenario: Option<PathBuf>) -> Input {
    match scenario {
        Some(file) => Input::Scenario(found(file)),
        None => Input::Recording(found(recording.unwrap_or(DEFAULT_RECORDING.into()))),
    }
}

/// The files that come with the project are found from wherever the siege is started.
fn found(file: PathBuf) -> PathBuf {
    let shipped = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(&file);
    if !file.exists() && shipped.exists() { shipped } else { file }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=86_400.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("allowed: a number from 0.1 to 86400".to_owned())
}

fn speed(text: &str) -> Result<Speed, String> {
    if text == "max" {
        return Ok(Speed::Max);
    }
    let times = text.parse().ok().filter(|times| (0.001..=1e9).contains(times));
    times.map(Speed::Times).ok_or("allowed: max, or a number from 0.001 to 1e9".to_owned())
}

fn whole<const MOST: usize>(text: &str) -> Result<usize, String> {
    let whole = text.parse().ok().filter(|whole| (1..=MOST).contains(whole));
    whole.ok_or_else(|| format!("allowed: a whole number from 1 to {MOST}"))
}

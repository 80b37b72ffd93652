//! The options.

use clap::Parser;

use crate::raid::Plan;
use crate::spawner::Pace;

const AFTER_HELP: &str = "\
Keys: space pauses, s shuts the raid down in the middle of it, q quits.

Without a terminal, two spawner threads act between the same two frames on every run, one after the \
other; so the hash depends on the seed, the actors and the frames, and not on threads. With a \
terminal, or --free, they act when they like. The run pauses for five frames after frame 40.

The exit status is 0 when everything that began has ended, 1 when something is left over, 2 when an \
option cannot be used.";

/// A boss fight: thousands of actors in one scene, two threads that bring reinforcements, and a
/// shutdown in the middle, after which nothing may be left.
#[derive(Debug, Parser)]
#[command(name = "raid", after_help = AFTER_HELP)]
pub(crate) struct Options {
    /// Runs without a terminal, and prints figures at the end
    #[arg(long)]
    pub(crate) headless: bool,

    /// Frames before the shutdown
    #[arg(long, value_name = "N", default_value = "1000", requires = "headless")]
    #[arg(value_parser = whole::<1, 1_000_000>, allow_negative_numbers = true)]
    pub(crate) frames: u64,

    /// Prints the hash of the world: every 25 frames, and of all frames in a chain
    #[arg(long, requires = "headless", conflicts_with = "free")]
    pub(crate) hash: bool,

    /// Lets the spawners act when they like
    #[arg(long, requires = "headless")]
    pub(crate) free: bool,

    /// The same seed makes the same fight
    #[arg(long, value_name = "SEED", default_value = "1")]
    #[arg(value_parser = whole::<0, { u64::MAX }>, allow_negative_numbers = true)]
    pub(crate) seed: u64,

    /// Actors at the beginning
    #[arg(long, value_name = "N", default_value = "10000")]
    #[arg(value_parser = whole::<20, 200_000>, allow_negative_numbers = true)]
    pub(crate) actors: u64,

    /// Threads that tick the actors [default: the number of cores]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = whole::<1, 256>, allow_negative_numbers = true)]
    pub(crate) threads: Option<u64>,
}

impl Options {
    pub(crate) fn plan(&self) -> Plan {
        let free = self.free || !self.headless;
        Plan {
            seed: self.seed,
            actors: self.actors as u32,
            threads: self.threads.map(|threads| threads as usize),
            pace: if free { Pace::Free } else { Pace::InStep },
        }
    }
}

/// A number, or what is allowed: clap says what was given, and for which option.
fn whole<const LEAST: u64, const MOST: u64>(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| format!("allowed is a whole number from {LEAST} to {MOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        Options::try_parse_from(line.split(' ')).map_err(|error| error.to_string())
    }

    #[test]
    fn options_that_the_help_tells_of_are_taken() {
        let line = "raid --headless --frames 7 --hash --seed 9 --actors 50 --threads 2";
        let options = parse(line).expect("they are allowed");
        assert!(options.headless && options.hash && options.frames == 7);
        let Plan { seed, actors, threads, pace } = options.plan();
        assert_eq!((seed, actors, threads, pace), (9, 50, Some(2), Pace::InStep));
        assert_eq!(parse("raid").expect("nothing is needed").plan().pace, Pace::Free);
    }

    #[test]
    fn value_that_is_not_allowed_is_named_with_what_is() {
        let wrong = [
            ("--headless --frames 0", "'0' for '--frames <N>'", "from 1 to 1000000"),
            ("--actors 19", "'19' for '--actors <N>'", "from 20 to 200000"),
            ("--actors many", "'many' for '--actors <N>'", "from 20 to 200000"),
            ("--threads 257", "'257' for '--threads <N>'", "from 1 to 256"),
            ("--seed -1", "'-1' for '--seed <SEED>'", "from 0 to 18446744073709551615"),
            ("--hash", "--headless", "required"),
            ("--headless --free --hash", "'--free'", "cannot be used with"),
        ];
        for (options, named, allowed) in wrong {
            let error = parse(&format!("raid {options}")).expect_err(options);
            assert!(error.contains(named) && error.contains(allowed), "{options}: {error}");
        }
    }
}

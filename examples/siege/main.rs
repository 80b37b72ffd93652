//! The siege: real games, replayed into hatchery on all cores at once, and checked against what
//! happened in them.
//!
//! ```text
//! cargo run --release --example siege
//! cargo run --release --example siege -- --seconds 60 --speed max
//! cargo run --release --example siege -- --help
//! ```
//!
//! Each game of the recording has a store. Workers replay copies of all games into them: births,
//! activations, deaths, skills that land when their target may be dead. Every death is settled by
//! four steps on other threads, through Holds. Readers scan and look up old handles meanwhile,
//! and the oracle stops the writers of one store after another and compares what is in it with
//! what the recording says. With `--soak`, others pin and hold at random all the while. `game.rs`
//! is where the store is used; begin there.

mod arena;
mod cli;
mod compare;
mod csv;
#[cfg(test)]
mod fuzz;
mod game;
mod input;
mod json;
mod meters;
mod oracle;
mod payload;
mod plan;
mod plot;
mod readers;
mod record;
mod recording;
mod report;
mod scenario;
mod settle;
mod siege;
mod skills;
mod soak;
mod tally;
mod watch;
mod worker;

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use crate::cli::{Input, Options};
use crate::input::BadInput;
use crate::plan::Plan;
use crate::report::Report;

fn main() -> ExitCode {
    match run(&cli::options()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("siege: {error}");
            ExitCode::from(2)
        }
    }
}

/// Runs the siege; whether nothing was violated.
fn run(options: &Options) -> Result<bool, Box<dyn Error>> {
    let recording = match &options.input {
        Input::Recording(file) => csv::read(file)?,
        Input::Scenario(file) => scenario::read(file)?,
    };
    // A run of a minute should not end with a file that cannot be written.
    let json = options.json.as_deref().map(create).transpose()?;
    let record = options.record.as_deref().map(create).transpose()?;
    options.plot.as_deref().map(create).transpose()?;

    let outcome = siege::run(&recording, Plan::new(options, &recording))?;
    let compare = || compare::compare(&recording, &outcome.plan, outcome.copies);
    let report = Report::new(&recording, &outcome, options.compare.then(compare));
    // Whoever reads only the first lines of it has not made the siege fail.
    let _ = write!(std::io::stdout(), "{report}");
    if let Some(file) = json {
        serde_json::to_writer_pretty(file, &report)?;
    }
    if let Some(file) = record {
        record::write(file, &recording, &outcome.logs)?;
    }
    if let Some(file) = &options.plot {
        plot::draw(file, &outcome)?;
    }
    Ok(report.passed)
}

fn create(file: &Path) -> Result<File, BadInput> {
    File::create(file).map_err(|error| BadInput::unusable(file, "write it", error))
}

//! Fireworks: bursts of short-lived particles through object pools, one for each policy, side by
//! side.
//!
//! ```text
//! cargo run --release --example fireworks
//! cargo run --release --example fireworks -- --scene large
//! cargo run --release --example fireworks -- --frames 200 --svg fireworks.svg
//! ```
//!
//! A particle is lent by a [`Pool`](hatchery::pool::Pool) for some frames and given back; what
//! happens when more are wanted than there are is for the policy to say, and to be seen. In every
//! frame what the pools say of themselves is held against what their users have counted
//! (`claims.rs`). `hand.rs` is where the pool is used; begin there.

mod chance;
mod chart;
mod claims;
mod cli;
#[cfg(test)]
#[allow(dead_code, reason = "the tests of the library use all of it")]
#[path = "../../tests/support/counting.rs"]
mod counting;
mod crew;
mod hand;
mod headless;
mod particle;
mod program;
mod screen;
mod settings;
mod show;
mod sky;
mod stage;
mod table;
mod terminal;

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use crate::chart::Column;
use crate::cli::Options;
use crate::headless::Run;
use crate::settings::Settings;
use crate::show::{Failure, Show};

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fireworks: {error}");
            ExitCode::from(if error.is::<Failure>() { 1 } else { 2 })
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    let settings = options.limits.as_deref().map(Settings::read).transpose()?;
    let settings = settings.unwrap_or_else(|| options.scene.settings());
    let mut show = Show::new(options.scene, settings)?;
    // A long run should not end with a file that cannot be written.
    options.svg.as_deref().map(writable).transpose()?;
    let Some(frames) = options.frames else { return terminal::run(&mut show) };
    let run = headless::run(&mut show, frames, options.svg.is_some())?;
    // Whoever reads only the first lines of it has not made the run fail.
    let _ = write!(std::io::stdout(), "{}", run.report);
    if let Some(file) = &options.svg {
        draw(file, &show, &run)?;
    }
    Ok(())
}

fn draw(file: &Path, show: &Show, run: &Run) -> Result<(), Box<dyn Error>> {
    let pools = show.stages().iter().zip(&run.history);
    let columns = Vec::from_iter(
        pools.map(|(stage, samples)| Column { policy: stage.limits().policy, samples }),
    );
    let settings = show.settings();
    let (scene, capacity, cap) = (show.scene().name(), settings.capacity, settings.max_capacity);
    let title = format!("Object pools of {capacity} (growToCap up to {cap}), scene {scene}");
    chart::draw(file, &title, &columns)
}

fn writable(file: &Path) -> Result<File, String> {
    File::create(file).map_err(|error| format!("{}: cannot write it: {error}", file.display()))
}

//! Fireworks: bursts of short-lived particles through object pools, one for each policy, side by
//! side.
//!
//! ```text
//! cargo run --release --example fireworks
//! cargo run --release --example fireworks -- --scene large
//! cargo run --release --example fireworks -- --frames 200
//! ```
//!
//! A particle is lent by a [`Pool`](hatchery::pool::Pool) for some frames and given back; what
//! happens when more are wanted than there are is for the policy to say, and to be seen. In every
//! frame what the pools say of themselves is held against what their users have counted
//! (`claims.rs`). `hand.rs` is where the pool is used; begin there.

mod chance;
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
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Options;
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
    let Some(frames) = options.frames else { return terminal::run(&mut show) };
    let report = headless::run(&mut show, frames)?;
    // Whoever reads only the first lines of it has not made the run fail.
    let _ = write!(std::io::stdout(), "{report}");
    Ok(())
}

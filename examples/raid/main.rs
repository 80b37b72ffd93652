//! A raid: ten thousand actors fight around a boss, in one scene.
//!
//! ```text
//! cargo run --release --example raid
//! cargo run --release --example raid -- --headless --frames 300 --hash --threads 2
//! ```
//!
//! Raiders shoot, monsters strike, healers raise the dead, the boss calls for help as it weakens,
//! and two threads bring reinforcements while all this goes on. Death is a tag; an end is a kill,
//! whose hooks settle loot and experience. The shutdown comes in the middle of it, and then
//! everything that began must have ended (`audit.rs`). `raid.rs` puts the scene together; begin
//! there, and go on with `world/fighter.rs`, `components/` and `systems/`.

mod audit;
mod books;
mod cli;
mod components;
mod field;
mod fingerprint;
mod headless;
mod meters;
mod raid;
mod report;
mod screen;
mod spawner;
mod systems;
mod terminal;
mod world;

use std::error::Error;
use std::fmt::Display;
use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use crate::cli::Options;
use crate::raid::Raid;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("raid: {error}");
            ExitCode::from(if raid::is_broken(&*error) { 1 } else { 2 })
        }
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    if options.headless {
        let raid = Raid::new(options.plan())?;
        let run = headless::run(raid, options.frames, options.hash, &mut std::io::stdout())?;
        print(&run);
        return Ok(());
    }
    terminal::check()?;
    print(&terminal::run(Raid::new(options.plan())?)?);
    Ok(())
}

/// Whoever reads only the first lines of it has not made the run fail.
fn print(report: &impl Display) {
    let _ = write!(std::io::stdout(), "{report}");
}

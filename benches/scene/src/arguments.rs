//! What is asked for on the command line.

use clap::Parser;

use crate::measure::Plan;

/// hatchery's scene beside bevy_ecs.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Write the tables into docs/performance.md.
    #[arg(long, conflicts_with = "quick")]
    pub write: bool,
    /// Few actors and rounds, to show that all works.
    #[arg(long)]
    pub quick: bool,
    /// Measure with so many threads, and tell the figures alone.
    #[arg(long, hide = true, conflicts_with = "write")]
    pub threads: Option<usize>,
    /// What `cargo bench` hands over.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Arguments {
    pub fn plan(&self) -> Plan {
        if self.quick { Plan::quick() } else { Plan::full() }
    }
}

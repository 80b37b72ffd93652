//! Which cache lines hatchery's operations move: see the package's README.

use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, Subcommand};
use hatchery_pages::{PERFORMANCE, rewrite};
use hatchery_traffic::allocator::Telling;
use hatchery_traffic::drive::{Drive, Work};
use hatchery_traffic::mesi::CORES;
use hatchery_traffic::plan::Plan;
use hatchery_traffic::{lines, run, tables};

#[global_allocator]
static ALLOCATOR: Telling = Telling;

/// Which cache lines hatchery's operations move between cores, by simulation.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    /// Write the tables into docs/performance.md.
    #[arg(long, conflicts_with = "quick")]
    write: bool,
    /// Few threads, to show that all works.
    #[arg(long)]
    quick: bool,
    /// Runs at a time; by default one a core.
    #[arg(long)]
    jobs: Option<usize>,
    #[command(subcommand)]
    task: Option<Task>,
}

#[derive(Subcommand)]
enum Task {
    /// Print which places have most traffic in one run.
    Lines {
        /// What is done.
        work: Work,
        /// On how many threads.
        #[arg(value_parser = threads())]
        threads: usize,
        /// With how many shards; by default as many as threads.
        #[arg(long)]
        shards: Option<usize>,
    },
    /// Do the work that is traced.
    #[command(hide = true)]
    Drive(Drive),
}

/// As many threads as there are cores in the model, but for the one that makes what they share.
fn threads() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..CORES as u64)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.task {
        Some(Task::Drive(drive)) => drive.run(),
        _ if !hatchery_valgrind::possible() => {
            println!("valgrind is not installed: nothing was traced, no line counted");
            Ok(())
        }
        Some(Task::Lines { work, threads, shards }) => {
            show_lines(Drive::new(work, threads, shards.unwrap_or(threads)))
        }
        None => show_tables(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn show_lines(drive: Drive) -> Result<(), String> {
    let outcome = run::traced(&run::this_program()?, drive)?;
    print!("{}", lines::busiest(drive, &outcome));
    Ok(())
}

fn show_tables(arguments: &Arguments) -> Result<(), String> {
    let begun = Instant::now();
    let plan = if arguments.quick { Plan::quick() } else { Plan::full() };
    let cores = available_parallelism().map_or(1, usize::from);
    let outcomes = plan.run(&run::this_program()?, arguments.jobs.unwrap_or(cores))?;
    let tables = tables::all(&plan, &outcomes);
    println!("{tables}\nSimulated in {:.0} s.", begun.elapsed().as_secs_f64());
    if arguments.write {
        rewrite(PERFORMANCE, "traffic", &tables)?;
        println!("Written: docs/performance.md.");
    }
    Ok(())
}

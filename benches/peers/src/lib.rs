//! hatchery beside the crates that one would use instead of it, in one process.
//!
//! `cargo bench -p hatchery-peers` measures everything, prints it, and writes what it printed into
//! `docs/performance.md` and `README.md`, and the charts into `docs/charts`. With `-- --repeat 3`
//! it measures what the targets are about three times and shows the three beside each other. With
//! `-- --quick` it measures little in a minute and writes nothing, unless `--write` is said too;
//! with the name of a workload (`-- churn`) it measures that one and writes nothing.
//!
//! With `-- --counts` it times nothing, and counts under valgrind's callgrind what an operation is
//! made of, for the workloads and candidates that the targets are about (`counts`); with `--write`
//! that goes into `docs/performance.md` too. Without a valgrind it says so and is content.
//!
//! The candidates are behind one trait (`stores`), a file for each, used at its best; the workloads
//! (`work`) are generic over it. Every round runs all candidates of a table one after the other,
//! and begins with another one each time: what disturbs the machine meanwhile disturbs them all.
//! Ratios are taken within a round, and their median is what to quote; absolute times drift from
//! day to day.
//!
//! That is also why this is not criterion's harness: criterion measures one candidate to the end
//! before the next, minutes apart, so that a ratio would be one of two moments of the machine. The
//! plain operations of hatchery alone, where it is the drift over commits that one asks for, are
//! under criterion (`benches/operations.rs` of the library).
//!
//! Ratios do not help where the machine has other work and two threads are given one core by turns:
//! then they never contend, and what contends worst gains most. So below each table stands how
//! often threads waited for a core.

mod allocator;
mod arguments;
mod candidates;
mod counts;
mod distance;
mod measure;
mod pools;
mod report;
mod stores;
mod work;

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

pub use allocator::Counting;
pub use measure::{Start, Timing, median, timed};
pub use work::Random;

use arguments::Arguments;
use measure::Plan;
use report::{Report, targets};
use work::Work;

/// Measures what the arguments ask for. Profiles of what is counted are left in `profiles`.
pub fn main(profiles: &Path) -> ExitCode {
    // `cargo bench` hands over flags of the usual harness too; they mean nothing here.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if work::growth::answered(&arguments) || counts::answered(&arguments) {
        return ExitCode::SUCCESS;
    }
    let asked = match Arguments::read(&arguments) {
        Ok(asked) => asked,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::FAILURE;
        }
    };
    if asked.counts {
        return match counts::run(&asked, profiles) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let is_asked = |name: &str| asked.filter.as_ref().is_none_or(|part| name.contains(part));
    let chosen: Vec<Work> = work::ALL.into_iter().filter(|(name, _)| is_asked(name)).collect();
    if chosen.is_empty() {
        eprintln!("there is no such workload: {:?}", work::ALL.map(|(name, _)| name));
        return ExitCode::FAILURE;
    }

    let begun = Instant::now();
    let plan = if asked.quick { Plan::quick() } else { Plan::full() };
    let mut runs = Vec::new();
    for _ in 1..asked.repeat {
        let about = chosen.iter().filter(|(name, _)| targets::about(name));
        runs.push(measured(Report::for_targets(plan), about).targets());
    }
    // The last run is the one that is shown.
    let mut report = measured(Report::new(plan), &chosen);
    runs.push(report.targets());
    report.show_targets(&runs);
    if let Some(figures) = report.figures(&[]) {
        println!("\n### For the README\n\n{figures}");
    }
    println!("\nMeasured in {:.0} s.", begun.elapsed().as_secs_f64());
    if !asked.write {
        return ExitCode::SUCCESS;
    }
    match report.write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("a page or a chart could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs workloads, and tells what each took.
fn measured<'w>(mut report: Report, works: impl IntoIterator<Item = &'w Work>) -> Report {
    for (name, run) in works {
        let begun = Instant::now();
        run(&mut report);
        eprintln!("{name}: {:.1} s", begun.elapsed().as_secs_f64());
    }
    report
}

//! hatchery beside the crates that one would use instead of it, in one process.
//!
//! `cargo bench -p hatchery-peers` measures everything, prints it, and writes what it printed into
//! `docs/performance.md` and the charts into `docs/charts`. With `-- --quick` it measures little in
//! a minute or two and writes nothing; with the name of a workload (`-- churn`) it measures that one
//! and writes nothing.
//!
//! The candidates are behind one trait (`stores`), a file for each, used at its best; the workloads
//! (`work`) are generic over it. Every round runs all candidates of a table one after the other, and
//! begins with another one each time: what disturbs the machine meanwhile disturbs them all. Ratios
//! are taken within a round, and their median is what to quote; absolute times drift from day to
//! day.
//!
//! That is also why this is not criterion's harness: criterion measures one candidate to the end
//! before the next, minutes apart, so that a ratio would be one of two moments of the machine. The
//! plain operations of hatchery alone, where it is the drift over commits that one asks for, are
//! under criterion (`benches/operations.rs` of the library).
//!
//! Ratios do not help where the machine has other work and two threads are given one core by turns:
//! then they never contend, and what contends worst gains most. So below each table stands how often
//! threads waited for a core.

mod candidates;
mod count;
mod measure;
mod pools;
mod report;
mod stores;
mod work;

use std::process::ExitCode;
use std::time::Instant;

pub use count::Counting;

use measure::Plan;
use report::Report;

/// Measures what the arguments ask for.
pub fn main() -> ExitCode {
    // `cargo bench` hands over flags of the usual harness too; they mean nothing here.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if work::growth::answered(&arguments) {
        return ExitCode::SUCCESS;
    }
    let quick = arguments.iter().any(|argument| argument == "--quick" || argument == "--test");
    let filter = arguments.iter().find(|argument| !argument.starts_with('-'));
    let asked = |name: &str| filter.is_none_or(|filter| name.contains(filter.as_str()));
    let chosen: Vec<_> = work::ALL.into_iter().filter(|(name, _)| asked(name)).collect();
    if chosen.is_empty() {
        eprintln!("there is no such workload: {:?}", work::ALL.map(|(name, _)| name));
        return ExitCode::FAILURE;
    }

    let begun = Instant::now();
    let mut report = Report::new(if quick { Plan::quick() } else { Plan::full() });
    for (_, run) in chosen {
        run(&mut report);
    }
    report.targets();
    println!("\nMeasured in {:.0} s.", begun.elapsed().as_secs_f64());
    if quick || filter.is_some() {
        return ExitCode::SUCCESS;
    }
    match report.write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the page or a chart could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}

#![doc = include_str!("../README.md")]

mod arguments;
mod churn;
mod measure;
mod part;
mod report;
mod ticking;

use std::process::{Command, ExitCode};
use std::time::Instant;

use clap::Parser as _;

use arguments::Arguments;
use measure::{Case, Plan};
use report::Report;

/// Measures what the arguments ask for.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match arguments.threads {
        Some(threads) => {
            measured(&arguments.plan(), threads).iter().for_each(|case| print!("{case}"));
            Ok(())
        }
        None => show(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// All that is measured with so many threads. Once in a process: bevy's pool is made once and for
/// all.
fn measured(plan: &Plan, threads: usize) -> Vec<Case> {
    let mut cases = vec![ticking::case(plan, threads)];
    // Hooks and observers run on one thread.
    if threads == 1 {
        cases.push(churn::case(plan));
    }
    cases
}

fn show(arguments: &Arguments) -> Result<(), String> {
    let begun = Instant::now();
    let plan = arguments.plan();
    let mut cases = Vec::new();
    for threads in [1, 2] {
        cases.extend(measured_apart(arguments, threads)?);
    }
    let page = Report::new(&plan, &cases).page();
    println!("{page}\nMeasured in {:.0} s.", begun.elapsed().as_secs_f64());
    if arguments.write {
        hatchery_pages::rewrite(hatchery_pages::PERFORMANCE, "scene", &page)?;
        println!("Written: docs/performance.md.");
    }
    Ok(())
}

/// [`measured`], in a process of its own.
fn measured_apart(arguments: &Arguments, threads: usize) -> Result<Vec<Case>, String> {
    let told = |error: std::io::Error| format!("this program could not be run again: {error}");
    let mut command = Command::new(std::env::current_exe().map_err(told)?);
    command.args(["--threads", &threads.to_string()]).stderr(std::process::Stdio::inherit());
    if arguments.quick {
        command.arg("--quick");
    }
    let output = command.output().map_err(told)?;
    if !output.status.success() {
        return Err(format!("with {threads} threads: {}", output.status));
    }
    Case::read_all(&String::from_utf8_lossy(&output.stdout))
}

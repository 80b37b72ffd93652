//! What a second thread brings, to entities that each thread has to itself.

use super::churn::Churn;
use crate::candidates::{BARE, EMPTY, FOUR, MAP, OURS, PARKING_LOT, SLAB, named};
use crate::measure::{Amount, Run, Timing, cores};
use crate::report::{Report, Setting};

/// Who takes part, the harness first.
const NAMES: [&str; 7] = [EMPTY, OURS, FOUR, SLAB, MAP, PARKING_LOT, BARE];

pub fn run(report: &mut Report) {
    report.section(
        "scaling",
        "What a second thread brings",
        "Insert and remove with 1024 live a thread, at one thread and at two in the same rounds: how \
         many times the throughput of one thread two have, and what part of that the machine let the \
         empty harness have.",
    );
    let mut runs: Vec<(&'static str, Run<'_>)> = Vec::new();
    for candidate in NAMES.into_iter().filter_map(named) {
        for threads in [1, 2] {
            let churn = candidate.churn;
            let run = move |operations| churn(&Churn { window: 1024, threads, operations });
            runs.push((candidate.name, Box::new(run)));
        }
    }
    report.measure("scaling", Setting::of("window 1024", 2), Amount::Span, runs);
    let Some(rounds) = report.rounds("scaling", "window 1024", 2, 64) else { return };
    // Throughput, not core time: what two threads do in the time in which one does one.
    let gain = |times: &[Timing], at: usize| {
        cores().min(2) as f64 * times[2 * at].nanoseconds / times[2 * at + 1].nanoseconds
    };
    let rows: Vec<(&'static str, f64, f64)> = NAMES
        .iter()
        .enumerate()
        .map(|(at, name)| {
            let part = rounds.figure(|times| gain(times, at) / gain(times, 0));
            (*name, rounds.figure(|times| gain(times, at)), part)
        })
        .collect();
    report.head(&["candidate", "two threads over one", "of the empty harness"]);
    for (name, gain, part) in &rows {
        report.row(&[name, &format!("{gain:.2}"), &format!("{part:.2}")]);
    }
    report.scaling = rows;
    report.end();
}

//! What was measured, and the page that is printed while it is measured.

mod charts;
mod document;
mod figures;
mod repeats;
pub mod targets;

use std::fmt::Write as _;

use crate::distance::distance;
use crate::measure::{Amount, Plan, Rounds, Run, Timing, interleaved, median};
use crate::work::latency::Latencies;

/// Under what a workload is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub threads: usize,
    pub bytes: usize,
}

impl Setting {
    /// With the usual payload.
    pub fn of(name: impl Into<String>, threads: usize) -> Setting {
        Setting { name: name.into(), threads, bytes: 64 }
    }

    fn title(&self) -> String {
        let bytes = if self.bytes == 64 { String::new() } else { format!(", {} B", self.bytes) };
        format!("{}{bytes}, {} T", self.name, self.threads)
    }
}

/// Candidates that were measured together.
#[derive(Debug)]
struct Case {
    work: &'static str,
    setting: Setting,
    names: Vec<&'static str>,
    rounds: Rounds,
}

impl Case {
    fn at(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| *known == name)
    }

    /// The median of what a candidate took.
    fn time(&self, name: &str) -> Option<f64> {
        self.at(name).map(|at| self.rounds.time(at))
    }

    /// The median of the rounds' ratios.
    fn ratio(&self, name: &str, other: &str) -> Option<f64> {
        Some(self.rounds.ratio(self.at(name)?, self.at(other)?))
    }

    /// A line for each candidate that had to do less after standstills.
    fn standstills(&self) -> Vec<String> {
        let line = |(at, name): (usize, &&'static str)| {
            let worst = digits(self.rounds.standstill(at)?);
            let setting = self.setting.title();
            Some(format!(
                "\n{name}, {setting}: {worst} ns at its worst; shorter rounds after two such."
            ))
        };
        self.names.iter().enumerate().filter_map(line).collect()
    }
}

/// Everything that was measured, and its page.
#[derive(Debug)]
pub struct Report {
    pub plan: Plan,
    /// Whether nothing is asked for but what the targets are about, and no page.
    for_targets: bool,
    cases: Vec<Case>,
    /// So many of the cases are in tables.
    shown: usize,
    /// How long threads waited for a core, since the last table.
    waits: Vec<f64>,
    /// How far the cores were from each other, since the last table.
    distances: Vec<f64>,
    page: String,
    pub latencies: Vec<Latencies>,
    /// Bytes an entity.
    pub bytes: Vec<(&'static str, f64)>,
    /// What a second thread brings: times one thread's throughput, and the harness's part of that.
    pub scaling: Vec<(&'static str, f64, f64)>,
}

impl Report {
    pub fn new(plan: Plan) -> Report {
        let mut report = Report::empty(plan, false);
        report.say(&format!("{}\n", hatchery_pages::describe()));
        let Plan { quick, rounds, span } = plan;
        report.say(&format!(
            "Nanoseconds of core time an operation: wall time × the cores that the threads could \
             use / operations. Medians of {rounds} interleaved rounds of {} ms a candidate. In \
             parentheses the median of the rounds' ratios to the first row. T: threads.",
            span.as_millis(),
        ));
        if quick {
            report.say(
                "\nA quick run, of smaller sizes than it says: it shows that everything works and \
                 measures little.",
            );
        }
        report
    }

    /// For a run before the one that is shown: it measures for the targets and prints nothing.
    pub fn for_targets(plan: Plan) -> Report {
        Report::empty(plan, true)
    }

    fn empty(plan: Plan, for_targets: bool) -> Report {
        Report {
            plan,
            for_targets,
            cases: Vec::new(),
            shown: 0,
            waits: Vec::new(),
            distances: Vec::new(),
            page: String::new(),
            latencies: Vec::new(),
            bytes: Vec::new(),
            scaling: Vec::new(),
        }
    }

    /// Prints a line and puts it on the page, where what looks like a tag is not one.
    pub fn say(&mut self, line: &str) {
        if self.for_targets {
            return;
        }
        println!("{line}");
        // Writing to a string does not fail.
        let _ = writeln!(self.page, "{}", line.replace('<', "\\<"));
    }

    /// Begins a workload.
    pub fn section(&mut self, work: &str, title: &str, text: &str) {
        self.say(&format!("\n### {title}\n\n{text} (`-- {work}`)\n"));
    }

    /// The head of a table.
    pub fn head(&mut self, columns: &[&str]) {
        self.row(columns);
        self.row(&vec!["---"; columns.len()]);
    }

    pub fn row(&mut self, cells: &[&str]) {
        self.say(&format!("| {} |", cells.join(" | ")));
    }

    /// Runs candidates in turns, for the next table.
    pub fn measure(
        &mut self,
        work: &'static str,
        setting: Setting,
        amount: Amount,
        runs: Vec<(&'static str, Run<'_>)>,
    ) {
        if self.for_targets && !targets::about_case(work, &setting) {
            return;
        }
        let (names, runs): (Vec<_>, Vec<_>) = runs.into_iter().unzip();
        self.note_distance(setting.threads);
        let rounds = interleaved(&self.plan, amount, &runs);
        self.note_distance(setting.threads);
        self.waits.extend(rounds.waits());
        self.cases.push(Case { work, setting, names, rounds });
    }

    /// Takes note of a measurement that is not in a case.
    pub fn note_wait(&mut self, timing: Timing) {
        self.waits.extend(timing.waited);
    }

    /// Takes note of how far the cores are from each other, where several threads meet.
    pub fn note_distance(&mut self, threads: usize) {
        if threads > 1 {
            self.distances.extend(distance());
        }
    }

    fn case(&self, work: &str, name: &str, threads: usize, bytes: usize) -> Option<&Case> {
        let setting = Setting { bytes, ..Setting::of(name, threads) };
        self.cases.iter().find(|case| case.work == work && case.setting == setting)
    }

    pub fn rounds(&self, work: &str, name: &str, threads: usize, bytes: usize) -> Option<&Rounds> {
        self.case(work, name, threads, bytes).map(|case| &case.rounds)
    }

    /// The table of the cases since the last one: a row for each candidate, a column for each case.
    pub fn table(&mut self, work: &str, what: &str) {
        let cases = &self.cases[self.shown..];
        let standstills: Vec<String> = cases.iter().flat_map(Case::standstills).collect();
        debug_assert!(cases.iter().all(|case| case.work == work));
        let mut columns = vec![format!("ns: {what}")];
        columns.extend(cases.iter().map(|case| case.setting.title()));
        let mut rows = Vec::new();
        for name in cases.first().map_or(&[][..], |case| &case.names) {
            let mut cells = vec![(*name).to_owned()];
            cells.extend(cases.iter().map(|case| {
                let ratio = case.ratio(name, case.names[0]);
                match case.time(name).zip(ratio) {
                    Some((time, ratio)) => format!("{} ({ratio:.2})", digits(time)),
                    None => "–".to_owned(),
                }
            }));
            rows.push(cells);
        }
        self.head(&columns.iter().map(String::as_str).collect::<Vec<_>>());
        for row in rows {
            self.row(&row.iter().map(String::as_str).collect::<Vec<_>>());
        }
        for line in standstills {
            self.say(&line);
        }
        self.end();
    }

    /// Ends a table: says what to think of it.
    pub fn end(&mut self) {
        self.shown = self.cases.len();
        let distances = std::mem::take(&mut self.distances);
        if !distances.is_empty() {
            let most = distances.iter().copied().fold(0.0, f64::max);
            let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
            let middle = median(distances);
            self.say(&format!(
                "\nA line took {least:.0} to {most:.0} ns from one core to another, {middle:.0} in \
                 the median."
            ));
        }
        let waits = std::mem::take(&mut self.waits);
        if waits.is_empty() {
            return self.say("");
        }
        self.say(&format!(
            "\nIn {} of {} measurements threads waited for a core more than a twentieth of their \
             time.",
            long(&waits),
            waits.len()
        ));
        if disturbed(&waits) {
            self.say(DISTURBED);
        }
        self.say("");
    }
}

const DISTURBED: &str = "Threads had to share a core: do not quote what two threads took.";

/// In how many measurements threads waited for a core for long.
fn long(waits: &[f64]) -> usize {
    waits.iter().filter(|waited| **waited > 0.05).count()
}

/// Whether that was often.
fn disturbed(waits: &[f64]) -> bool {
    10 * long(waits) > waits.len()
}

/// Three digits that count.
fn digits(value: f64) -> String {
    match value {
        ..10.0 => format!("{value:.2}"),
        10.0..100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn took(nanoseconds: f64) -> Run<'static> {
        Box::new(move |_| Timing { nanoseconds, ..Timing::default() })
    }

    #[test]
    fn table_has_a_row_for_each_candidate_and_a_column_for_each_case() {
        let plan = Plan { quick: true, rounds: 1, span: Duration::ZERO };
        let mut report = Report::new(plan);
        for threads in [1, 2] {
            let runs = vec![("ours", took(2.0)), ("theirs", took(123.4))];
            report.measure("churn", Setting::of("window 1", threads), Amount::Fixed(1), runs);
        }
        report.page.clear();
        report.table("churn", "a life");
        let lines: Vec<&str> = report.page.lines().filter(|line| line.starts_with('|')).collect();
        assert_eq!(
            lines,
            [
                "| ns: a life | window 1, 1 T | window 1, 2 T |",
                "| --- | --- | --- |",
                "| ours | 2.00 (1.00) | 2.00 (1.00) |",
                "| theirs | 123 (61.70) | 123 (61.70) |",
            ]
        );
    }
}

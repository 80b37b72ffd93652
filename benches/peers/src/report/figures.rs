//! The few figures and charts for the README, of the same cases as the page.

use super::{Case, DISTURBED, Report, digits, disturbed};
use crate::candidates::{DASH, FOUR, IDR, MAP, OURS, PARKING_LOT, SLAB};

/// What stands in a row: work and setting, and in which of its ways hatchery does it.
struct Row {
    what: &'static str,
    work: &'static str,
    setting: &'static str,
    ours: &'static str,
}

const ROWS: [Row; 4] = [
    Row { what: "insert + remove", work: "churn", setting: "window 1024", ours: OURS },
    Row { what: "the same, four steps", work: "churn", setting: "window 1024", ours: FOUR },
    Row { what: "look-up", work: "lookup", setting: "1k live", ours: OURS },
    Row { what: "90/5/5 mix", work: "mix", setting: "90/5/5", ours: OURS },
];

const PEERS: [&str; 5] = [SLAB, MAP, IDR, DASH, PARKING_LOT];

/// The charts that the README shows.
const CHARTS: [&str; 2] = ["churn.svg", "mix.svg"];

impl Report {
    /// The part of the README, with links to those of the charts that it shows; none if something
    /// was not measured.
    pub fn figures(&self, charts: &[(&str, &str)]) -> Option<String> {
        let mut rows = Vec::new();
        let mut waits = Vec::new();
        for row in &ROWS {
            for threads in [1, 2] {
                let case = self.case(row.work, row.setting, threads, 64)?;
                rows.push(row.line(case)?);
                waits.extend(case.rounds.waits());
            }
        }
        let quick = if self.plan.quick { " -- --quick" } else { "" };
        let head: Vec<String> = PEERS.iter().map(|peer| format!(" {peer} |")).collect();
        let mut part = format!(
            "`cargo bench -p hatchery-peers{quick}` on {} Nanoseconds of core time for hatchery, \
             and how many times that the others take; medians of {} interleaved rounds.\n\n\
             | 64-byte payloads | threads | hatchery |{}\n| --- |{}\n",
            hatchery_pages::describe(),
            self.plan.rounds,
            head.concat(),
            " --- |".repeat(2 + PEERS.len()),
        );
        part.push_str(&rows.concat());
        if disturbed(&waits) {
            part.push_str(&format!("\n{DISTURBED}\n"));
        }
        let mut part = part.replace('<', "\\<");
        for (file, title) in charts.iter().filter(|(file, _)| CHARTS.contains(file)) {
            part.push_str(&format!("\n![{title}](docs/charts/{file})\n"));
        }
        Some(part)
    }
}

impl Row {
    fn line(&self, case: &Case) -> Option<String> {
        let ours = digits(case.time(self.ours)?);
        let mut line = format!("| {} | {} | {ours} ns |", self.what, case.setting.threads);
        for peer in PEERS {
            line.push_str(&format!(" {:.2} |", case.ratio(peer, self.ours)?));
        }
        line.push('\n');
        Some(line)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::measure::{Amount, Plan, Run, Timing};
    use crate::report::Setting;

    #[test]
    fn figures_are_those_of_the_cases_and_complete() {
        let plan = Plan { quick: true, rounds: 1, span: Duration::ZERO };
        let mut report = Report::new(plan);
        assert!(report.figures(&[]).is_none());
        for row in &ROWS {
            for threads in [1, 2] {
                let names = [OURS, FOUR].into_iter().chain(PEERS);
                let run = |(at, name): (usize, &'static str)| -> (&'static str, Run<'static>) {
                    let nanoseconds = (1 << at) as f64 * threads as f64;
                    (name, Box::new(move |_| Timing { nanoseconds, ..Timing::default() }))
                };
                let runs = names.enumerate().map(run).collect();
                let setting = Setting::of(row.setting, threads);
                report.measure(row.work, setting, Amount::Fixed(1), runs);
            }
        }
        let part = report.figures(&[("mix.svg", "The mix"), ("latency.svg", "How long")]).unwrap();
        assert!(part.starts_with("`cargo bench -p hatchery-peers -- --quick` on "));
        assert!(part.contains("\n| insert + remove | 2 | 2.00 ns | 4.00 | 8.00 | 16.00 |"));
        assert!(part.contains("\n| the same, four steps | 1 | 2.00 ns | 2.00 | 4.00 | 8.00 |"));
        assert!(part.ends_with("\n\n![The mix](docs/charts/mix.svg)\n"));
        assert!(part.contains("RwLock\\<SlotMap>") && !part.contains("latency.svg"));
    }
}

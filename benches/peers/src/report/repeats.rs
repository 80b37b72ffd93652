//! The table of the targets, with a column for each time that they were measured.

use super::Report;
use super::targets::Target;
use crate::measure::median;

impl Report {
    /// The section of the targets. All runs have the same ones, in the same order.
    pub fn show_targets(&mut self, runs: &[Vec<Target>]) {
        let Some(first) = runs.first().filter(|first| !first.is_empty()) else { return };
        let many = runs.len() > 1;
        if many {
            self.say(&format!("\n### Targets, {} runs\n", runs.len()));
            let columns: Vec<String> = (1..=runs.len()).map(|run| format!("run {run}")).collect();
            let mut head = vec!["ratio", "target"];
            head.extend(columns.iter().map(String::as_str));
            head.push("");
            self.head(&head);
        } else {
            self.say("\n### Targets\n");
            self.head(&["ratio", "target", "measured", ""]);
        }
        let mut met = 0;
        for (at, target) in first.iter().enumerate() {
            let measured = || runs.iter().map(|run| &run[at]);
            let is_met = target.bound.met(median(measured().map(|target| target.measured)));
            met += usize::from(is_met);
            let mut cells = vec![target.what.clone(), target.bound.says()];
            cells.extend(measured().map(|target| match target.best {
                Some(best) => format!("{:.3} ({best})", target.measured),
                None => format!("{:.3}", target.measured),
            }));
            cells.push(if is_met { "met" } else { "**missed**" }.to_owned());
            self.row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let by = if many { ", by the median of the runs; all else is of the last" } else { "" };
        self.say(&format!("\n{met} of {} met{by}.", first.len()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::targets::Bound;
    use super::*;
    use crate::measure::Plan;

    fn run(measured: f64, best: f64) -> Vec<Target> {
        let bound = Bound::AtMost(0.5);
        vec![
            Target { what: "ours / theirs".into(), bound, measured, best: None },
            Target { what: "ours / the best".into(), bound, measured: best, best: Some("it") },
        ]
    }

    fn lines(runs: &[Vec<Target>]) -> Vec<String> {
        let mut report = Report::new(Plan::quick());
        report.page.clear();
        report.show_targets(runs);
        report.page.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn several_runs_stand_side_by_side_and_their_median_counts() {
        let runs = [run(0.4, 0.6), run(0.6, 0.4), run(0.3, 0.7)];
        assert_eq!(
            lines(&runs),
            [
                "### Targets, 3 runs",
                "| ratio | target | run 1 | run 2 | run 3 |  |",
                "| --- | --- | --- | --- | --- | --- |",
                "| ours / theirs | at most 0.50 | 0.400 | 0.600 | 0.300 | met |",
                "| ours / the best | at most 0.50 | 0.600 (it) | 0.400 (it) | 0.700 (it) | **missed** |",
                "1 of 2 met, by the median of the runs; all else is of the last.",
            ]
        );
    }

    #[test]
    fn one_run_has_a_column_for_what_was_measured() {
        let lines = lines(&[run(0.4, 0.6)]);
        assert_eq!(lines[1], "| ratio | target | measured |  |");
        assert_eq!(lines[5], "1 of 2 met.");
        assert!(super::Report::new(Plan::quick()).targets().is_empty());
    }
}

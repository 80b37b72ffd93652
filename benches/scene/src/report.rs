//! The page: what was measured, and the targets beside it.

use std::fmt::Write as _;

use crate::measure::{Case, Plan, median};
use crate::{churn, ticking};

/// What was measured.
#[derive(Debug)]
pub struct Report<'m> {
    plan: &'m Plan,
    cases: &'m [Case],
}

/// How many times what a peer takes a scene may take.
struct Target {
    what: String,
    case: String,
    ours: &'static str,
    /// The faster one of them counts.
    peers: [&'static str; 2],
    at_most: f64,
}

fn targets() -> Vec<Target> {
    let frame = |threads| Target {
        what: format!("frame of 100 000 actors, {threads} T"),
        case: ticking::name(threads),
        ours: ticking::OURS,
        peers: [ticking::EIGHT, ticking::ONE],
        at_most: 1.5,
    };
    let churn = Target {
        what: "create and kill 10 000 a frame".to_owned(),
        case: churn::NAME.to_owned(),
        ours: churn::OURS,
        peers: [churn::TWO, churn::THREE],
        at_most: 0.5,
    };
    vec![frame(1), frame(2), churn]
}

impl<'m> Report<'m> {
    pub fn new(plan: &'m Plan, cases: &'m [Case]) -> Report<'m> {
        Report { plan, cases }
    }

    /// All of it.
    pub fn page(&self) -> String {
        let head = format!(
            "{}\n\nNanoseconds an actor: medians of {} interleaved rounds, each of which is the median \
             of the frames of {} ms. In parentheses the lowest and the highest of the rounds.",
            hatchery_pages::describe(),
            self.plan.rounds,
            self.plan.span.as_millis(),
        );
        let quick = "A quick run, of smaller sizes than it says: it shows that everything works and \
                     measures little.";
        let mut parts = vec![head];
        parts.extend(self.plan.quick.then(|| quick.to_owned()));
        parts.push(self.table());
        parts.push(self.targets());
        parts.join("\n\n")
    }

    fn table(&self) -> String {
        let mut table = "| | ns | times the scene's |\n| --- | ---: | ---: |".to_owned();
        for case in self.cases {
            // Writing to a string does not fail.
            let _ = write!(table, "\n| **{}** | | |", case.name);
            let ours = case.candidates.first().map_or("", |(name, _)| name);
            for (name, times) in &case.candidates {
                let ratios = case.ratios(name, ours).unwrap_or_default();
                let _ =
                    write!(table, "\n| {name} | {} | {} |", spread(times, 1), spread(&ratios, 2));
            }
        }
        table
    }

    fn targets(&self) -> String {
        let mut table = "| target: times the faster peer's | at most | measured | |\n\
                         | --- | ---: | ---: | --- |"
            .to_owned();
        for target in targets() {
            let Some((peer, ratios)) = self.faster(&target) else { continue };
            let Target { what, at_most, .. } = target;
            let met = if median(&ratios) <= at_most { "met" } else { "**missed**" };
            let measured = spread(&ratios, 2);
            let _ = write!(table, "\n| {what}; {peer} | {at_most:.2} | {measured} | {met} |");
        }
        table
    }

    /// Who is the faster peer of a target, and how many times what it took the scene took.
    fn faster(&self, target: &Target) -> Option<(&'static str, Vec<f64>)> {
        let case = self.cases.iter().find(|case| case.name == target.case)?;
        let took = |peer: &&'static str| case.times(peer).map_or(f64::INFINITY, median);
        let peer = target.peers.into_iter().min_by(|a, b| took(a).total_cmp(&took(b)))?;
        Some((peer, case.ratios(target.ours, peer)?))
    }
}

/// The median, and between what the others are.
fn spread(values: &[f64], digits: usize) -> String {
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(0.0, f64::max);
    format!("{:.digits$} ({lowest:.digits$}–{highest:.digits$})", median(values))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases() -> Vec<Case> {
        let took = |(name, times): (&str, [f64; 3])| (name.to_owned(), times.to_vec());
        let frame = [
            (ticking::OURS, [3.0, 2.0, 4.0]),
            (ticking::EIGHT, [2.0, 2.0, 2.0]),
            (ticking::ONE, [3.0, 3.0, 3.0]),
        ];
        let churn = [
            (churn::OURS, [6.0, 6.0, 6.0]),
            (churn::TWO, [10.0, 10.0, 10.0]),
            (churn::THREE, [12.0, 12.0, 12.0]),
        ];
        vec![
            Case { name: ticking::name(1), candidates: frame.map(took).to_vec() },
            Case { name: churn::NAME.to_owned(), candidates: churn.map(took).to_vec() },
        ]
    }

    #[test]
    fn table_has_a_row_for_each_candidate() {
        let (plan, cases) = (Plan::full(), cases());
        let table = Report::new(&plan, &cases).table();
        let rows: Vec<&str> = table.lines().skip(2).take(3).collect();
        assert_eq!(
            rows,
            [
                "| **a frame of an actor with 8 components, 1 T** | | |",
                "| hatchery | 3.0 (2.0–4.0) | 1.00 (1.00–1.00) |",
                "| bevy_ecs, eight systems | 2.0 (2.0–2.0) | 0.67 (0.50–1.00) |",
            ]
        );
    }

    #[test]
    fn target_is_a_ratio_to_the_faster_peer() {
        let (plan, cases) = (Plan::full(), cases());
        let targets = Report::new(&plan, &cases).targets();
        let rows: Vec<&str> = targets.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| frame of 100 000 actors, 1 T; bevy_ecs, eight systems | 1.50 | 1.50 (1.00–2.00) \
                 | met |",
                "| create and kill 10 000 a frame; bevy_ecs, two observers | 0.50 | 0.60 \
                 (0.60–0.60) | **missed** |",
            ]
        );
    }
}

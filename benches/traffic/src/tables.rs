//! The tables, as the document has them.

use std::collections::BTreeMap;

use clap::ValueEnum;

use crate::drive::{BATCH, Drive, Work};
use crate::estimate::{Estimate, INSTRUCTIONS, TRANSFER};
use crate::names::Owner;
use crate::plan::{Outcomes, Plan};
use crate::simulation::{Count, Outcome};

/// All tables.
pub fn all(plan: &Plan, outcomes: &Outcomes) -> String {
    [
        traffic(plan, outcomes),
        batch(plan, outcomes),
        shards(plan, outcomes),
        estimates(plan, outcomes),
    ]
    .join("\n")
}

fn head(title: &str, first: &str, columns: impl Iterator<Item = String>) -> String {
    let columns: Vec<String> = columns.collect();
    let rule = "| ---: ".repeat(columns.len());
    format!("### {title}\n\n| {first} | {} |\n| --- {rule}|\n", columns.join(" | "))
}

fn row(name: &str, cells: impl Iterator<Item = Option<String>>) -> String {
    let cells: Vec<String> = cells.map(|cell| cell.unwrap_or_else(|| "–".into())).collect();
    format!("| {name} | {} |\n", cells.join(" | "))
}

/// With as many digits as say something.
fn figure(value: f64) -> String {
    match value {
        0.0 => "0".to_string(),
        small if small < 0.995 => format!("{small:.2}"),
        middle if middle < 9.95 => format!("{middle:.1}"),
        _ => format!("{value:.0}"),
    }
}

fn name(work: Work) -> &'static str {
    match work {
        Work::GetOwn => "`get`, one's own",
        Work::GetHot => "`get`, one hot key",
        Work::Churn64 => "`spawn_active`, `despawn`, 64 alive",
        Work::Churn1024 => "the same, 1024 alive",
        Work::Bounded => "64 alive, with a capacity",
        Work::Small => "32 alive, a capacity with batches of 32",
        Work::Remote => "ended by the neighbour",
        Work::Unpinned => "64 alive, no held pin",
        Work::Holds => "spawn, kill and hold, reap, drop of the hold",
        Work::Pool => "`Pool`: release, acquire, use, 8 held",
        Work::Bare => "(one Treiber stack)",
    }
}

/// Lines that come and lines that others lose, for an operation.
fn moved(drive: Drive, outcome: &Outcome) -> String {
    let each = |count: u64| figure(count as f64 / drive.operations() as f64);
    format!("{} + {}", each(outcome.total.transfers()), each(outcome.total.upgraded))
}

fn traffic(plan: &Plan, outcomes: &Outcomes) -> String {
    let threads = plan.threads.iter().map(|threads| format!("{threads} T"));
    let mut table = head("Lines moved an operation", "came + taken from others", threads);
    for work in Work::value_variants() {
        let cell = |threads: &usize| {
            outcomes.of(*work, *threads, *threads).map(|(drive, outcome)| moved(drive, outcome))
        };
        table += &row(name(*work), plan.threads.iter().map(cell));
    }
    table
}

/// Where the traffic of a run is.
fn by_owner(outcome: &Outcome) -> BTreeMap<Owner, Count> {
    let mut owners = BTreeMap::new();
    for (place, count) in &outcome.places {
        *owners.entry(Owner::of(*place)).or_insert_with(Count::default) += *count;
    }
    owners
}

fn batch(plan: &Plan, outcomes: &Outcomes) -> String {
    let threads: Vec<usize> = plan.threads.iter().copied().filter(|n| *n > 1).collect();
    let columns = threads.iter().map(|threads| format!("{threads} T"));
    let mut table = head("Where it is: a batch of 256 lives, 64 alive", "came and taken", columns);
    let runs: Vec<_> =
        threads.iter().map(|threads| outcomes.of(Work::Churn64, *threads, *threads)).collect();
    let cells = |count: &dyn Fn(&Outcome) -> u64| -> Vec<Option<String>> {
        let batches = |drive: Drive| drive.operations() as f64 / BATCH as f64;
        let cell =
            |(drive, outcome): (Drive, &Outcome)| figure(count(outcome) as f64 / batches(drive));
        runs.iter().map(|run| run.map(cell)).collect()
    };
    for owner in Owner::ALL {
        let count = |outcome: &Outcome| by_owner(outcome).get(&owner).map_or(0, |c| c.all());
        table += &row(owner.name(), cells(&count).into_iter());
    }
    table + &row("**all**", cells(&|outcome| outcome.total.all()).into_iter())
}

fn shards(plan: &Plan, outcomes: &Outcomes) -> String {
    let title = format!("By shards, {} threads", plan.sharded);
    let columns = plan.shards().into_iter().map(|shards| format!("{shards} shards"));
    let mut table = head(&title, "came + taken from others", columns);
    for work in Plan::sharded_works() {
        let cell = |shards: usize| {
            outcomes.of(work, plan.sharded, shards).map(|(drive, outcome)| moved(drive, outcome))
        };
        table += &row(name(work), plan.shards().into_iter().map(cell));
    }
    table
}

fn estimates(plan: &Plan, outcomes: &Outcomes) -> String {
    let title =
        format!("Throughput, at {TRANSFER} ns a line and {INSTRUCTIONS} instructions a nanosecond");
    let columns = plan.threads.iter().map(|threads| format!("{threads} T"));
    let mut table = head(&title, "million a second", columns);
    for work in Work::value_variants() {
        let cell = |threads: &usize| {
            let run = outcomes.of(*work, *threads, *threads);
            run.map(|(drive, outcome)| figure(Estimate::of(drive, outcome).throughput()))
        };
        table += &row(name(*work), plan.threads.iter().map(cell));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        let figures = [0.0, 0.004, 0.126, 0.996, 1.26, 9.96, 123.4].map(figure);
        assert_eq!(figures, ["0", "0.00", "0.13", "1.0", "1.3", "10", "123"]);
    }

    #[test]
    fn what_was_not_run_has_a_dash() {
        let plan = Plan { threads: vec![1, 2], sharded: 2 };
        let mut outcomes = Outcomes::default();
        let drive = Drive { work: Work::Bare, threads: 2, shards: 2, warm: 0, measured: 5 };
        let total = Count { fetched: 10, owned: 5, upgraded: 20 };
        outcomes.insert(drive, Outcome { total, ..Outcome::default() });
        let tables = all(&plan, &outcomes);
        assert!(tables.contains("| (one Treiber stack) | – | 1.5 + 2.0 |"), "{tables}");
    }
}

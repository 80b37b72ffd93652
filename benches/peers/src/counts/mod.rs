//! What an operation is made of: the program runs itself under callgrind, once for each row, and
//! the measured part of a workload is counted instead of timed.
//!
//! It is one thread's, without contention. The caches are the same on every machine, so the counts
//! are too, as long as the compiler and the C library are.

mod groups;
mod table;

use std::path::Path;
use std::time::Instant;

use hatchery_pages::{PERFORMANCE, rewrite};
use hatchery_valgrind::{Callgrind, Totals};

use crate::arguments::Arguments;
use groups::{GROUPS, Group};

/// The marks of the page.
const MARKS: &str = "counts";

/// The argument of the program under callgrind; a group, a candidate and how long follow.
const ONE: &str = "--count-one";
const QUICK: &str = "quick";
const FULL: &str = "full";

/// Locked operations as well, branches, and caches: 48 KiB in 12 ways on the first level, 2 MiB in
/// 16 ways on the second, which is the last that callgrind knows. The page says so too.
const FLAGS: [&str; 6] = [
    "--collect-bus=yes",
    "--branch-sim=yes",
    "--cache-sim=yes",
    "--I1=32768,8,64",
    "--D1=49152,12,64",
    "--LL=2097152,16,64",
];

/// What one operation of a candidate takes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    candidate: &'static str,
    instructions: f64,
    locked: f64,
    accesses: f64,
    mispredicted: f64,
    first_level: f64,
    second_level: f64,
}

impl Row {
    fn of(candidate: &'static str, totals: &Totals, operations: usize) -> Option<Row> {
        let each = |events: &[&str]| {
            let counts: Option<u64> = events.iter().map(|event| totals.of(event)).sum();
            counts.map(|count| count as f64 / operations as f64)
        };
        Some(Row {
            candidate,
            instructions: each(&["Ir"])?,
            locked: each(&["Ge"])?,
            accesses: each(&["Dr", "Dw"])?,
            mispredicted: each(&["Bcm", "Bim"])?,
            first_level: each(&["D1mr", "D1mw"])?,
            second_level: each(&["DLmr", "DLmw"])?,
        })
    }
}

/// Whether this is the program under callgrind: then it has done what is counted, and told how many
/// operations that were.
pub fn answered(arguments: &[String]) -> bool {
    let [flag, group, candidate, size] = arguments else { return false };
    if flag != ONE {
        return false;
    }
    let group = GROUPS.iter().find(|known| known.name == group);
    let operations = group.and_then(|group| (group.run)(candidate, size == QUICK));
    println!("{}", operations.expect("a group and a candidate that are known"));
    true
}

/// Counts, prints the table, and puts it on the page if that is asked for.
///
/// # Errors
///
/// When something cannot be counted or written, and when no workload has such a name.
pub fn run(asked: &Arguments, profiles: &Path) -> Result<(), String> {
    if !hatchery_valgrind::possible() {
        println!("valgrind is not installed: nothing was counted");
        return Ok(());
    }
    let is_asked =
        |group: &&Group| asked.filter.as_ref().is_none_or(|part| group.name.contains(part));
    let groups: Vec<&Group> = GROUPS.iter().filter(is_asked).collect();
    if groups.is_empty() {
        return Err(format!("there is no such workload: {:?}", GROUPS.map(|group| group.name)));
    }
    let begun = Instant::now();
    let callgrind = Callgrind { flags: &FLAGS, profiles };
    let mut counted = Vec::new();
    for group in groups {
        let begun = Instant::now();
        // Each costs a start of callgrind: in a quick run the first and the last show that all
        // works.
        let between = if asked.quick { group.candidates.len() - 1 } else { 1 };
        let candidates = group.candidates.iter().step_by(between);
        let rows = candidates.map(|candidate| count(&callgrind, group, candidate, asked.quick));
        counted.push((group.name, rows.collect::<Result<Vec<Row>, String>>()?));
        eprintln!("{}: {:.1} s", group.name, begun.elapsed().as_secs_f64());
    }
    let page = table::page(&counted, asked.quick);
    println!("{page}\nCounted in {:.0} s.", begun.elapsed().as_secs_f64());
    println!("The profiles are in {}.", profiles.display());
    if asked.write {
        rewrite(PERFORMANCE, MARKS, &page)?;
        println!("Written: {PERFORMANCE}.");
    }
    Ok(())
}

fn count(
    callgrind: &Callgrind<'_>,
    group: &Group,
    candidate: &'static str,
    quick: bool,
) -> Result<Row, String> {
    let what = format!("{}, {candidate}", group.name);
    let size = if quick { QUICK } else { FULL };
    let counted = callgrind.count(&what, &[ONE, group.name, candidate, size])?;
    let operations = counted.printed.trim().parse().ok();
    let row = operations.and_then(|operations| Row::of(candidate, &counted.totals, operations));
    row.ok_or_else(|| format!("{what}: it says nothing that is known: {}", counted.printed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_what_one_operation_takes() {
        let profile = "events: Ir Dr Dw D1mr D1mw DLmr DLmw Bcm Bim Ge\n\
                       totals: 200 30 20 5 4 3 1 7 1 10\n";
        let row = Row::of("hatchery", &Totals::read(profile).unwrap(), 10).unwrap();
        assert_eq!((row.instructions, row.locked, row.accesses), (20.0, 1.0, 5.0));
        assert_eq!((row.mispredicted, row.first_level, row.second_level), (0.8, 0.9, 0.4));
        let without = Totals::read("events: Ir\ntotals: 200\n").unwrap();
        assert_eq!(Row::of("hatchery", &without, 10), None);
    }
}

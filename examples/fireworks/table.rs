//! The figures of the three pools as a Markdown table.

use std::fmt;

use hatchery::{Exhaustion, Stats};

const HEAD: [&str; 12] = [
    "policy",
    "capacity",
    "live",
    "acquired",
    "spawned",
    "hits",
    "hit rate (‰)",
    "created",
    "rejected",
    "overwritten",
    "grown",
    "peak",
];

/// A row for each pool.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<[String; HEAD.len()]>,
}

impl Table {
    /// `chosen` is the policy that the settings ask for: it is marked.
    pub(crate) fn new(
        pools: impl IntoIterator<Item = (Exhaustion, Stats)>,
        chosen: Exhaustion,
    ) -> Table {
        let row = |(policy, stats): (Exhaustion, Stats)| {
            let mark = if policy == chosen { " *" } else { "" };
            [
                format!("{policy}{mark}"),
                stats.capacity.to_string(),
                stats.live.to_string(),
                stats.acquired.to_string(),
                stats.spawned.to_string(),
                stats.hits.to_string(),
                stats.hit_rate_permille().to_string(),
                stats.created.to_string(),
                stats.rejected.to_string(),
                stats.overwritten.to_string(),
                stats.grown.to_string(),
                stats.peak_live.to_string(),
            ]
        };
        Table { rows: pools.into_iter().map(row).collect() }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = HEAD.map(str::to_owned);
        let wide = |text: &String| text.chars().count();
        let widths: [usize; HEAD.len()] = std::array::from_fn(|column| {
            let cells = self.rows.iter().map(|row| wide(&row[column]));
            cells.fold(wide(&head[column]), usize::max)
        });
        line(f, &head, &widths)?;
        f.write_str("|")?;
        for (column, width) in widths.into_iter().enumerate() {
            let rule = "-".repeat(width);
            if column == 0 { write!(f, " {rule} |")? } else { write!(f, " {rule}:|")? }
        }
        writeln!(f)?;
        self.rows.iter().try_for_each(|row| line(f, row, &widths))
    }
}

/// Numbers to the right, the name to the left.
fn line(f: &mut fmt::Formatter<'_>, cells: &[String], widths: &[usize]) -> fmt::Result {
    f.write_str("|")?;
    for (column, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        if column == 0 { write!(f, " {cell:<width$} |")? } else { write!(f, " {cell:>width$} |")? }
    }
    writeln!(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_lines_are_equally_long_and_mark_the_chosen_policy() {
        let mut stats = Stats::default();
        (stats.acquired, stats.hits) = (123_456_789, 100_000_000);
        let pools = [(Exhaustion::Reject, stats), (Exhaustion::GrowToCap, Stats::default())];
        let table = Table::new(pools, Exhaustion::GrowToCap).to_string();
        let lines = Vec::from_iter(table.lines());
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.chars().count() == lines[0].chars().count()));
        assert!(lines[2].starts_with("| reject      | ") && lines[2].contains(" 810 |"));
        assert!(lines[3].starts_with("| growToCap * | "));
    }
}

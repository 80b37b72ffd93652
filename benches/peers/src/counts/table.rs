//! The table of what was counted.

use super::Row;

const HEAD: &str = "\
| an operation | instructions | times hatchery's | locked | loads and stores | mispredicted | first-level misses | second-level misses |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
";

/// The part of the page: where it was counted, and the table.
pub fn page(groups: &[(&str, Vec<Row>)], quick: bool) -> String {
    let quick =
        if quick { " A quick run: fewer rows, and smaller sizes than they say." } else { "" };
    let rows: String = groups.iter().map(|(name, rows)| group(name, rows)).collect();
    let page = format!("{}{quick}\n\n{HEAD}{rows}", hatchery_pages::describe());
    page.replace('<', "\\<")
}

/// The rows of a workload below its name, the first of them hatchery's.
fn group(name: &str, rows: &[Row]) -> String {
    let line = |row: &Row| {
        let Row {
            candidate,
            instructions,
            locked,
            accesses,
            mispredicted,
            first_level,
            second_level,
        } = row;
        let ratio = instructions / rows[0].instructions;
        format!(
            "| {candidate} | {instructions:.1} | {ratio:.2} | {locked:.2} | {accesses:.1} | \
             {mispredicted:.2} | {first_level:.2} | {second_level:.2} |\n"
        )
    };
    format!("| **{name}** | | | | | | | |\n{}", rows.iter().map(line).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_compared_with_the_first_of_their_group() {
        let row = |candidate, instructions| Row {
            candidate,
            instructions,
            locked: 1.0,
            accesses: 80.25,
            mispredicted: 0.0,
            first_level: 1.126,
            second_level: 0.0,
        };
        let groups = [("churn", vec![row("hatchery", 200.0), row("Lock<Map>", 301.04)])];
        let page = page(&groups, true);
        let (place, table) = page.split_once("\n\n").unwrap();
        assert!(place.ends_with("A quick run: fewer rows, and smaller sizes than they say."));
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| **churn** | | | | | | | |",
                "| hatchery | 200.0 | 1.00 | 1.00 | 80.2 | 0.00 | 1.13 | 0.00 |",
                "| Lock\\<Map> | 301.0 | 1.51 | 1.00 | 80.2 | 0.00 | 1.13 | 0.00 |",
            ]
        );
    }
}

//! The table of budgets, and what is found against it.

use std::fmt;

/// What a measurement is compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The version of the compiler that the budgets belong to, as "1.95": patches do not count.
    pub rustc: String,
    /// The target that the budgets belong to.
    pub target: String,
    /// A budget for each operation.
    pub budgets: Vec<Budget>,
}

/// What one operation may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The operation.
    pub name: String,
    /// What it took when the budget was made, for each time that it is done.
    pub instructions: f64,
    /// How much more is let pass, in percent.
    pub slack: f64,
}

/// What came of comparing a measurement with its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Within the slack, above or below.
    Kept,
    /// Below by more than the slack: the budget should follow.
    Below,
    /// Above by more than the slack.
    Exceeded,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Kept => "",
            Verdict::Below => "below: lower the budget",
            Verdict::Exceeded => "ABOVE",
        })
    }
}

impl Budget {
    /// Compares a measurement with this budget.
    pub fn judge(&self, instructions: f64) -> Verdict {
        let slack = self.instructions * self.slack / 100.0;
        match instructions - self.instructions {
            more if more > slack => Verdict::Exceeded,
            more if more < -slack => Verdict::Below,
            _ => Verdict::Kept,
        }
    }

    fn read(cells: &[&str]) -> Option<Budget> {
        let [name, instructions, slack] = cells else { return None };
        let slack = slack.strip_suffix('%')?.trim_end();
        let (instructions, slack) = (instructions.parse().ok()?, slack.parse().ok()?);
        Some(Budget { name: name.to_string(), instructions, slack })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<40} | {:>8.2} | {} %", self.name, self.instructions, self.slack)
    }
}

fn cells(line: &str) -> Vec<&str> {
    line.split('|').map(str::trim).collect()
}

impl Table {
    /// Reads a table.
    ///
    /// # Errors
    ///
    /// Names the line that is none, or what is absent.
    pub fn read(text: &str) -> Result<Table, String> {
        let (mut rustc, mut target, mut budgets) = (None, None, Vec::new());
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match cells(line)[..] {
                ["rustc", version] => rustc = Some(version.to_string()),
                ["target", triple] => target = Some(triple.to_string()),
                ref row => budgets
                    .push(Budget::read(row).ok_or_else(|| format!("this is no budget: {line}"))?),
            }
        }
        Ok(Table {
            rustc: rustc.ok_or("the table names no rustc")?,
            target: target.ok_or("the table names no target")?,
            budgets,
        })
    }

    /// The text of a table, with other numbers of instructions for the operations that are named.
    pub fn renewed(text: &str, measured: &[(&str, f64)]) -> String {
        let renew = |line: &str| match Budget::read(&cells(line)) {
            Some(budget) => match measured.iter().find(|(name, _)| *name == budget.name) {
                Some(&(_, instructions)) => format!("{}\n", Budget { instructions, ..budget }),
                None => format!("{line}\n"),
            },
            None => format!("{line}\n"),
        };
        text.lines().map(renew).collect()
    }

    /// The budget of an operation.
    pub fn of(&self, name: &str) -> Option<&Budget> {
        self.budgets.iter().find(|budget| budget.name == name)
    }

    /// Why this table says nothing about what a compiler makes, if it does not.
    pub fn foreign(&self, rustc: &str, target: &str, flags: &str) -> Option<String> {
        let same = rustc.rsplit_once('.').is_some_and(|(version, patch)| {
            version == self.rustc && patch.bytes().all(|digit| digit.is_ascii_digit())
        });
        if !same {
            Some(format!("the budgets belong to rustc {}, this is {rustc}", self.rustc))
        } else if target != self.target {
            Some(format!("the budgets belong to {}, this is {target}", self.target))
        } else if !flags.is_empty() {
            Some(format!("the budgets belong to no flags for rustc, these were given: {flags}"))
        } else if cfg!(debug_assertions) {
            Some("the budgets belong to an optimised build, this is none".to_string())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# The budgets.
rustc  | 1.95
target | x86_64-unknown-linux-gnu

get                                      |    10.00 | 3 %
spawn + despawn                          |   100.00 | 5 %
";

    fn table() -> Table {
        Table::read(TEXT).unwrap()
    }

    #[test]
    fn a_table_is_read() {
        let get = Budget { name: "get".into(), instructions: 10.0, slack: 3.0 };
        assert_eq!((table().budgets.len(), table().of("get")), (2, Some(&get)));
        assert_eq!(table().of("hold"), None);
    }

    #[test]
    fn what_is_no_budget_is_refused() {
        for line in ["get", "get | ten | 3 %", "get | 10 | 3", "get | 10 | 3 % | more"] {
            let refused = Table::read(&format!("{TEXT}{line}\n")).unwrap_err();
            assert!(refused.ends_with(line), "{refused}");
        }
        assert!(Table::read("rustc | 1.95\n").unwrap_err().contains("target"));
    }

    #[test]
    fn more_than_the_slack_is_too_much() {
        let table = table();
        let get = table.of("get").unwrap();
        let verdicts = [10.31, 10.29, 9.71, 9.69].map(|measured| get.judge(measured));
        assert_eq!(verdicts, [Verdict::Exceeded, Verdict::Kept, Verdict::Kept, Verdict::Below]);
    }

    #[test]
    fn renewing_keeps_all_but_the_numbers() {
        let renewed = Table::renewed(TEXT, &[("get", 9.5)]);
        assert_eq!(renewed, TEXT.replace("   10.00", "    9.50"));
    }

    #[test]
    fn only_one_compiler_and_target_are_compared() {
        let foreign = |rustc, target, flags| table().foreign(rustc, target, flags).is_some();
        let (own, other) = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu");
        assert_eq!(foreign("1.95.1", own, ""), cfg!(debug_assertions));
        for rustc in ["1.96.0", "1.950.0", "1.95.0-nightly", "1.95.0-beta.3"] {
            assert!(foreign(rustc, own, ""), "{rustc}");
        }
        assert!(foreign("1.95.0", other, ""));
        assert!(foreign("1.95.0", own, "-C target-cpu=native"));
    }
}

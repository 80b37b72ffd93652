//! What the arguments ask for.

/// What is to be measured, how often, and what becomes of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// A short run, which shows that all works and measures little.
    pub quick: bool,
    /// How many times what the targets are about is measured.
    pub repeat: usize,
    /// Whether the page, the README and the charts get the figures.
    pub write: bool,
    /// Whether it is counted under callgrind what an operation is made of, and nothing timed.
    pub counts: bool,
    /// A part of the names of the workloads that are asked for.
    pub filter: Option<String>,
}

impl Arguments {
    /// Reads them. Flags that are not known are those of the usual harness, which `cargo bench`
    /// hands over too: they mean nothing here.
    pub fn read(arguments: &[String]) -> Result<Arguments, String> {
        let mut asked =
            Arguments { quick: false, repeat: 1, write: false, counts: false, filter: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--quick" | "--test" => asked.quick = true,
                "--write" => asked.write = true,
                "--counts" => asked.counts = true,
                "--repeat" => {
                    let times = arguments.next().and_then(|times| times.parse().ok());
                    let times = times.filter(|times| (1..=9).contains(times));
                    asked.repeat = times.ok_or("`--repeat` wants a number from 1 to 9")?;
                }
                flag if flag.starts_with('-') => {}
                name => asked.filter = Some(name.to_owned()),
            }
        }
        // A part of the figures would be written over all of them.
        if asked.write && asked.filter.is_some() {
            return Err("`--write` is for all workloads together".to_owned());
        }
        if asked.counts && asked.repeat > 1 {
            return Err("`--counts` counts the same each time".to_owned());
        }
        asked.write |= !asked.quick && !asked.counts && asked.filter.is_none();
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        Arguments::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn full_run_writes_and_others_do_not_unless_asked() {
        let writes = |line| read(line).unwrap().write;
        assert!(writes("--bench") && writes("--repeat 3"));
        assert!(!writes("--quick") && !writes("churn"));
        assert!(writes("--quick --write"));
        assert!(read("churn --write").is_err());
    }

    #[test]
    fn counts_are_written_only_where_that_is_said() {
        let asked = read("--counts --bench").unwrap();
        assert!(asked.counts && !asked.write && !read("").unwrap().counts);
        assert!(read("--counts --write").unwrap().write);
        assert_eq!(read("--counts look-up").unwrap().filter.as_deref(), Some("look-up"));
        assert!(read("--counts look-up --write").is_err());
        assert!(read("--counts --repeat 3").is_err());
    }

    #[test]
    fn repeat_takes_its_number_and_no_other() {
        let asked = read("--repeat 3 churn --bench").unwrap();
        assert_eq!((asked.repeat, asked.filter.as_deref()), (3, Some("churn")));
        assert_eq!(read("").unwrap().repeat, 1);
        for line in ["--repeat", "--repeat churn", "--repeat 0", "--repeat 10"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}

//! Candidates take turns, and what they took is told by another process.

use std::fmt;
use std::time::{Duration, Instant};

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub quick: bool,
    pub rounds: usize,
    /// How long a round of one candidate takes at least.
    pub span: Duration,
}

impl Plan {
    pub fn full() -> Plan {
        Plan { quick: false, rounds: 15, span: Duration::from_millis(200) }
    }

    pub fn quick() -> Plan {
        Plan { quick: true, rounds: 3, span: Duration::from_millis(10) }
    }

    /// A size: as it is in the full run, or a smaller one in the quick run.
    pub fn size(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }
}

/// How long something takes.
pub fn timed(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

/// A candidate: does a frame, and says how long that took.
pub type Run<'r> = Box<dyn FnMut() -> Duration + 'r>;

/// Candidates that were measured together.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub name: String,
    /// Each with nanoseconds an operation, round by round.
    pub candidates: Vec<(String, Vec<f64>)>,
}

impl Case {
    /// Runs every candidate once a round, in turns that begin with another one in each round: as
    /// many frames as fit into a span, of `operations` each. The frame in the middle counts, so
    /// that one in which the thread had no core does not.
    pub fn measure(
        name: &str,
        operations: usize,
        plan: &Plan,
        mut runs: Vec<(&str, Run<'_>)>,
    ) -> Case {
        // The first frames are cold.
        for (_, run) in &mut runs {
            for _ in 0..3 {
                run();
            }
        }
        let mut times = vec![Vec::new(); runs.len()];
        for round in 0..plan.rounds {
            for turn in 0..runs.len() {
                let at = (round + turn) % runs.len();
                let (mut frames, mut took) = (Vec::new(), Duration::ZERO);
                while frames.is_empty() || took < plan.span {
                    let frame = (runs[at].1)();
                    took += frame;
                    frames.push(frame.as_nanos() as f64 / operations as f64);
                }
                times[at].push(median(&frames));
            }
        }
        let names = runs.iter().map(|(name, _)| (*name).to_owned());
        Case { name: name.to_owned(), candidates: names.zip(times).collect() }
    }

    /// What a candidate took in each round.
    pub fn times(&self, candidate: &str) -> Option<&[f64]> {
        let found = self.candidates.iter().find(|(name, _)| name == candidate);
        found.map(|(_, times)| times.as_slice())
    }

    /// How many times what `other` took `candidate` took, in each round.
    pub fn ratios(&self, candidate: &str, other: &str) -> Option<Vec<f64>> {
        let (ours, theirs) = (self.times(candidate)?, self.times(other)?);
        Some(ours.iter().zip(theirs).map(|(ours, theirs)| ours / theirs).collect())
    }

    /// The cases that another process has told.
    pub fn read_all(told: &str) -> Result<Vec<Case>, String> {
        let mut cases: Vec<Case> = Vec::new();
        for line in told.lines() {
            let unknown = || format!("not a case: {line}");
            let mut cells = line.split('\t');
            match (cells.next(), cells.next(), cases.last_mut()) {
                (Some("case"), Some(name), _) => {
                    cases.push(Case { name: name.to_owned(), candidates: Vec::new() });
                }
                (Some("took"), Some(name), Some(case)) => {
                    let times = cells.map(str::parse).collect::<Result<_, _>>();
                    case.candidates.push((name.to_owned(), times.map_err(|_| unknown())?));
                }
                _ => return Err(unknown()),
            }
        }
        Ok(cases)
    }
}

/// As [`Case::read_all`] reads it.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "case\t{}", self.name)?;
        for (name, times) in &self.candidates {
            write!(f, "took\t{name}")?;
            times.iter().try_for_each(|time| write!(f, "\t{time}"))?;
            writeln!(f)?;
        }
        Ok(())
    }
}

/// The value in the middle, the upper one of two.
///
/// # Panics
///
/// When there is no value.
pub fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn median_is_the_value_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 3.0);
    }

    #[test]
    fn candidates_take_turns_and_each_round_begins_with_another() {
        let turns = RefCell::new(String::new());
        let candidate = |name: char| -> Run<'_> {
            let turns = &turns;
            Box::new(move || {
                turns.borrow_mut().push(name);
                Duration::from_nanos(1000)
            })
        };
        let plan = Plan { quick: false, rounds: 3, span: Duration::from_nanos(2000) };
        let case =
            Case::measure("it", 10, &plan, vec![("a", candidate('a')), ("b", candidate('b'))]);
        assert_eq!(*turns.borrow(), "aaa bbb aabb bbaa aabb".replace(' ', ""));
        assert_eq!(case.times("a"), Some([100.0; 3].as_slice()));
        assert_eq!(case.ratios("a", "b"), Some(vec![1.0; 3]));
    }

    #[test]
    fn case_is_read_as_it_was_told() {
        let took = |name: &str| (name.to_owned(), vec![1.5, 2.25]);
        let case = |name: &str| Case {
            name: name.to_owned(),
            candidates: vec![took("ours, one"), took("theirs")],
        };
        let cases = vec![case("first"), case("second, 2 T")];
        let told: String = cases.iter().map(Case::to_string).collect();
        assert_eq!(Case::read_all(&told), Ok(cases));
        assert!(Case::read_all("took\tnobody").is_err());
        assert!(Case::read_all("case\tit\ntook\tsomebody\tlong").is_err());
    }
}

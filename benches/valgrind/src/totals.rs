//! What callgrind has counted, read from a profile.

/// The totals of a profile: how often each event happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals(Vec<(String, u64)>);

impl Totals {
    /// Reads them from the text of a profile: one line names the events, and one has a number for
    /// each. Of numbers that are zero at the end callgrind may leave out the last.
    ///
    /// None, if one of the lines is absent or nothing was counted.
    pub fn read(profile: &str) -> Option<Totals> {
        let line = |name| profile.lines().find_map(|line| line.strip_prefix(name));
        let events = line("events:")?.split_whitespace();
        let counts: Result<Vec<u64>, _> =
            line("totals:")?.split_whitespace().map(str::parse).collect();
        let counts = counts.ok().filter(|counts| counts.iter().any(|count| *count > 0))?;
        let counts = counts.into_iter().chain(std::iter::repeat(0));
        Some(Totals(events.map(str::to_owned).zip(counts).collect()))
    }

    /// How often an event happened: `Ir` is an instruction; the others have to be asked for.
    pub fn of(&self, event: &str) -> Option<u64> {
        self.0.iter().find(|(name, _)| name == event).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_known_by_the_names_of_their_events() {
        let profile = "# callgrind format\nevents: Ir Dr Dw Ge\nsummary: 90 1 1 1\nfn=(1) x\n\
                       3 9\n\ntotals: 9 4 2 1\n";
        let totals = Totals::read(profile).unwrap();
        assert_eq!(["Ir", "Ge", "Dr"].map(|event| totals.of(event)), [Some(9), Some(1), Some(4)]);
        assert_eq!(totals.of("D1mr"), None);
    }

    #[test]
    fn zeros_that_were_left_out_are_zeros() {
        let totals = Totals::read("events: Ir Dr Ge\ntotals: 9 4\n").unwrap();
        assert_eq!((totals.of("Dr"), totals.of("Ge")), (Some(4), Some(0)));
    }

    #[test]
    fn a_profile_of_nothing_has_no_totals() {
        for profile in
            ["", "events: Ir\ntotals: 0\n", "events: Ir\n", "totals: 9\n", "events: Ir\ntotals: x"]
        {
            assert_eq!(Totals::read(profile), None, "{profile}");
        }
    }
}

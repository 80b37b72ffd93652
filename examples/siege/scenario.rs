//! A scenario: a synthetic load, told in a JSON file, made into a recording.
//!
//! `examples/data/raid.json` is one. All fields but the ones marked may be left out.
//!
//! ```json
//! {
//!   "name": "raid",              for the report
//!   "seed": 7,                   the same seed makes the same games         (default 1)
//!   "games": 8,                  1 to 1000, each with a store of its own    (default 1)
//!   "seconds": 240,              needed: how long a game lasts, 1 to 86400
//!   "units": [                   needed: at least one kind
//!     {
//!       "kind": "Whelp",         needed
//!       "atStart": 0,            born in the first microsecond              (default 0)
//!       "perSecond": 2.5,        born evenly over the game, 0 to 10000      (default 0)
//!       "waveEverySeconds": 30,  a wave this often, 0 for none              (default 0)
//!       "waveSize": 40,          born in each wave                          (default 0)
//!       "buildMillis": [0, 0],   from spawn to activation, from and to      (default [0, 0])
//!       "lifeMillis": [2000, 25000],  needed: from activation to death; who would die after the
//!                                     game's end outlives it
//!       "cancelPermille": 10     killed while still being built, of 1000    (default 0)
//!     }
//!   ]
//! }
//! ```

use std::path::Path;

use serde_json::Value;

use crate::input::BadInput;
use crate::json::Node;
use crate::payload::mix;
use crate::recording::{Builder, Op, Recording};

/// More rows than this are more than a machine wants to keep.
const MOST_BIRTHS: f64 = 5_000_000.0;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) games: u64,
    pub(crate) seconds: u64,
    pub(crate) units: Vec<Kind>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kind {
    pub(crate) kind: String,
    pub(crate) at_start: u64,
    pub(crate) per_second: f64,
    pub(crate) wave_every_seconds: u64,
    pub(crate) wave_size: u64,
    pub(crate) build_millis: (u64, u64),
    pub(crate) life_millis: (u64, u64),
    pub(crate) cancel_permille: u64,
}

/// Reads `path` and plays its games.
pub(crate) fn read(path: &Path) -> Result<Recording, BadInput> {
    let bytes = std::fs::read(path).map_err(|error| BadInput::unusable(path, "read it", error))?;
    parse(&path.display().to_string(), &bytes)
}

pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Recording, BadInput> {
    let recording = understand(file, bytes)?.play();
    if recording.games.is_empty() {
        let allowed = "at least one unit must be born".to_owned();
        return Err(BadInput::Empty { file: file.to_owned(), allowed });
    }
    Ok(recording)
}

/// What is asked for, without playing it.
pub(crate) fn understand(file: &str, bytes: &[u8]) -> Result<Scenario, BadInput> {
    // Some editors begin every text with a byte order mark.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| no_json(file, bytes, &error))?;
    Scenario::read(&Node::root(file, &value))
}

fn no_json(file: &str, bytes: &[u8], error: &serde_json::Error) -> BadInput {
    let text = String::from_utf8_lossy(bytes);
    let nth = |line: usize| text.split('\n').nth(line.saturating_sub(1)).unwrap_or_default();
    let (line, column) = match (error.line(), error.column()) {
        // An end of line that may not be there is the last of its line, not before the next.
        (line, 0) if line > 1 => (line - 1, nth(line - 1).chars().count() + 1),
        place => place,
    };
    let what = error.to_string();
    let told_twice = format!(" at line {} column {}", error.line(), error.column());
    let what = what.strip_suffix(&told_twice).unwrap_or(&what);
    let place = format!("line {line}, column {column}");
    BadInput::value(file, place, nth(line).trim(), format!("JSON ({what})"))
}

impl Scenario {
    fn read(node: &Node<'_>) -> Result<Scenario, BadInput> {
        node.only(&["name", "seed", "games", "seconds", "units"])?;
        let units = node.needed("units")?.items()?;
        let scenario = Scenario {
            name: node.get("name")?.map_or(Ok("scenario".to_owned()), |name| name.text())?,
            seed: node.whole_or("seed", 1, 0..=u64::MAX)?,
            games: node.whole_or("games", 1, 1..=1_000)?,
            seconds: node.needed("seconds")?.whole(1..=86_400)?,
            units: units.iter().map(Kind::read).collect::<Result<_, _>>()?,
        };
        let births = scenario.births();
        if births * scenario.games as f64 > MOST_BIRTHS {
            let asked = format!("{births} births in each of {} games", scenario.games);
            return Err(node
                .needed("units")?
                .error(&asked, format!("{MOST_BIRTHS} births in all")));
        }
        Ok(scenario)
    }

    /// In each game.
    pub(crate) fn births(&self) -> f64 {
        self.units.iter().map(|unit| unit.births(self.seconds)).sum()
    }

    fn play(&self) -> Recording {
        let mut builder = Builder::default();
        let end_us = self.seconds * 1_000_000;
        for game in 1..=self.games {
            let mut chance = Chance(mix(self.seed) ^ mix(game));
            let mut key = 0;
            for unit in &self.units {
                for born_us in unit.moments(end_us) {
                    key += 1;
                    live(&mut builder, game, key, unit, (born_us, end_us), &mut chance);
                }
            }
        }
        let mut recording = builder.build(self.name.clone());
        // Written kind by kind; that the rows were not in the order of time is nobody's fault.
        recording.out_of_order = 0;
        recording
    }
}

impl Kind {
    fn read(node: &Node<'_>) -> Result<Kind, BadInput> {
        node.only(&[
            "kind",
            "atStart",
            "perSecond",
            "waveEverySeconds",
            "waveSize",
            "buildMillis",
            "lifeMillis",
            "cancelPermille",
        ])?;
        const DAY_MILLIS: u64 = 86_400_000;
        let build = node.get("buildMillis")?;
        Ok(Kind {
            kind: node.needed("kind")?.text()?,
            at_start: node.whole_or("atStart", 0, 0..=1_000_000)?,
            per_second: node
                .get("perSecond")?
                .map_or(Ok(0.0), |rate| rate.number(0.0, 10_000.0))?,
            wave_every_seconds: node.whole_or("waveEverySeconds", 0, 0..=86_400)?,
            wave_size: node.whole_or("waveSize", 0, 0..=1_000_000)?,
            build_millis: build.map_or(Ok((0, 0)), |span| span.span(0..=DAY_MILLIS))?,
            life_millis: node.needed("lifeMillis")?.span(0..=DAY_MILLIS)?,
            cancel_permille: node.whole_or("cancelPermille", 0, 0..=1_000)?,
        })
    }

    fn births(&self, seconds: u64) -> f64 {
        let waves = seconds.checked_div(self.wave_every_seconds).unwrap_or(0);
        self.at_start as f64
            + self.per_second * seconds as f64
            + waves as f64 * self.wave_size as f64
    }

    /// When one of this kind is born.
    fn moments(&self, end_us: u64) -> impl Iterator<Item = u64> {
        let at_start = (0..self.at_start).map(|_| 0);
        let steady = (self.per_second * end_us as f64 / 1e6) as u64;
        let per_second = self.per_second;
        let steady = (0..steady).map(move |number| ((number + 1) as f64 * 1e6 / per_second) as u64);
        let every_us = self.wave_every_seconds * 1_000_000;
        let size = self.wave_size;
        // A million waves of nobody would take their time, and nothing limits them.
        let waves = if size == 0 { 0 } else { end_us.checked_div(every_us).unwrap_or(0) };
        let waves = (1..=waves).flat_map(move |wave| (0..size).map(move |_| wave * every_us));
        at_start.chain(steady).chain(waves)
    }
}

/// One life: its rows, up to the end of the game.
fn live(
    builder: &mut Builder,
    game: u64,
    key: u64,
    unit: &Kind,
    (born_us, end_us): (u64, u64),
    chance: &mut Chance,
) {
    builder.push(game, born_us, Op::Spawn, &unit.kind, key);
    let shown_us = born_us + chance.within(unit.build_millis) * 1_000;
    if chance.within((0, 999)) < unit.cancel_permille {
        let cancelled_us = born_us + (shown_us - born_us) / 2;
        if cancelled_us <= end_us {
            builder.push(game, cancelled_us, Op::Kill, "", key);
        }
        return;
    }
    let dead_us = shown_us + chance.within(unit.life_millis) * 1_000;
    for (moment_us, op) in [(shown_us, Op::Activate), (dead_us, Op::Kill)] {
        if moment_us <= end_us {
            builder.push(game, moment_us, op, "", key);
        }
    }
}

struct Chance(u64);

impl Chance {
    fn within(&mut self, (from, to): (u64, u64)) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        from + mix(self.0) % (to - from + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        parse("s.json", text.as_bytes())
            .map(|_| "accepted".to_owned())
            .unwrap_or_else(|bad| bad.to_string())
    }

    #[test]
    fn bad_scenario_names_field_value_and_what_is_allowed() {
        let unit = |more: &str| {
            said(&format!(
                r#"{{"seconds": 5, "units": [{{"kind": "a", "atStart": 1, "lifeMillis": [1, 2]{more}}}]}}"#
            ))
        };
        assert_eq!(unit(""), "accepted");
        assert_eq!(
            unit(r#", "perSecond": -1"#),
            r#"s.json: units[0].perSecond: "-1" is not allowed; allowed: a number from 0 to 10000"#
        );
        assert!(unit(r#", "speed": 1"#).starts_with("s.json: units[0].speed: \"1\""));
        assert!(unit(r#", "buildMillis": [5, 2]"#).contains("units[0].buildMillis: \"[5,2]\""));
        assert!(unit(r#", "cancelPermille": 1001"#).ends_with("a whole number from 0 to 1000"));
        assert!(said("{\"seconds\": 5}").starts_with("s.json: units: \"nothing\""));
        assert!(said("{").starts_with("s.json: line 1, column 1"));
        assert!(said("[]").starts_with("s.json: the whole file"));
    }
}

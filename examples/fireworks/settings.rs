//! The settings of a show: the JSON of the pool document.
//!
//! Reading into `Limits` with the library's feature `serde` is shorter, but the example is to run
//! without a flag, and has more fields to read. Each is looked at by itself, because what serde
//! derives says a line and a column, where a person looks for the field, its value and what is
//! allowed.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;

use hatchery::{Exhaustion, Limits};
use serde_json::{Map, Value};

/// The settings as the document has them, and those of the large scene.
const SEED: &str = include_str!("seed.json");
const LARGE: &str = include_str!("large.json");

/// More particles than a terminal can show; it keeps a slip of the pen from eating the memory.
const MOST: u64 = 1_000_000;
const MOST_A_FRAME: u64 = 100_000;

/// What a settings file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) capacity: usize,
    pub(crate) max_capacity: usize,
    /// The one that the file asks for; all three are shown, and this one is marked.
    pub(crate) policy: Exhaustion,
    pub(crate) burst_per_frame: u32,
    pub(crate) active_frames: u64,
    pub(crate) warmup_acquires: u32,
    pub(crate) seed: u64,
}

impl Settings {
    pub(crate) fn seed_scene() -> Settings {
        parse("seed.json", SEED).expect("it comes with the example, and a test reads it")
    }

    pub(crate) fn large_scene() -> Settings {
        parse("large.json", LARGE).expect("it comes with the example, and a test reads it")
    }

    pub(crate) fn read(file: &Path) -> Result<Settings, BadSettings> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file);
        let text = text.map_err(|error| BadSettings::file(&name, format!("cannot read: {error}")));
        parse(&name, &text?)
    }

    /// The three pools that are compared.
    pub(crate) fn limits(&self) -> [Limits; 3] {
        [
            Limits::reject(self.capacity),
            Limits::overwrite_oldest(self.capacity),
            Limits::grow_to_cap(self.capacity, self.max_capacity),
        ]
    }
}

/// What is wrong with a settings file, in one line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadSettings(String);

impl BadSettings {
    fn file(file: &str, what: String) -> BadSettings {
        BadSettings(format!("{file}: {what}"))
    }
}

impl fmt::Display for BadSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadSettings {}

/// Fields that are not known are left alone, as the library's `Limits` leave them: the file may
/// have other settings besides.
fn parse(file: &str, text: &str) -> Result<Settings, BadSettings> {
    // Some editors of Windows put a mark before the text.
    let text = text.trim_start_matches('\u{feff}');
    let value = serde_json::from_str(text);
    let value = value.map_err(|error| BadSettings::file(file, format!("not JSON: {error}")))?;
    let Value::Object(fields) = value else {
        return Err(BadSettings::file(file, "not an object of settings".to_owned()));
    };
    let fields = Fields { file, fields };
    let capacity = fields.needed("capacity", 1..=MOST)?;
    Ok(Settings {
        capacity: capacity as usize,
        max_capacity: fields.whole("maxCapacity", capacity..=MOST, capacity)? as usize,
        policy: fields.policy()?,
        burst_per_frame: fields.whole("burstPerFrame", 1..=MOST_A_FRAME, 20)? as u32,
        active_frames: fields.whole("activeFrames", 0..=MOST, 30)?,
        warmup_acquires: fields.whole("warmupAcquires", 0..=MOST, capacity)? as u32,
        seed: fields.whole("seed", 0..=u64::MAX, 1)?,
    })
}

struct Fields<'f> {
    file: &'f str,
    fields: Map<String, Value>,
}

impl Fields<'_> {
    fn needed(&self, name: &str, range: RangeInclusive<u64>) -> Result<u64, BadSettings> {
        match self.fields.get(name) {
            Some(value) => self.number(name, value, range),
            None => Err(self.missing(name, &whole(&range))),
        }
    }

    fn whole(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, BadSettings> {
        self.fields.get(name).map_or(Ok(default), |value| self.number(name, value, range))
    }

    fn number(
        &self,
        name: &str,
        value: &Value,
        range: RangeInclusive<u64>,
    ) -> Result<u64, BadSettings> {
        let number = value.as_u64().filter(|number| range.contains(number));
        number.ok_or_else(|| self.refused(name, value, &whole(&range)))
    }

    fn policy(&self) -> Result<Exhaustion, BadSettings> {
        const ALL: [Exhaustion; 3] =
            [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap];
        let allowed = "\"reject\", \"overwriteOldest\" or \"growToCap\"";
        let value = self.fields.get("policy").ok_or_else(|| self.missing("policy", allowed))?;
        let named = |policy: &Exhaustion| value.as_str() == Some(&policy.to_string());
        ALL.into_iter().find(named).ok_or_else(|| self.refused("policy", value, allowed))
    }

    fn missing(&self, name: &str, allowed: &str) -> BadSettings {
        BadSettings::file(self.file, format!("{name} is missing, allowed: {allowed}"))
    }

    fn refused(&self, name: &str, value: &Value, allowed: &str) -> BadSettings {
        let value = shortened(value.to_string());
        BadSettings::file(self.file, format!("{name} is {value}, allowed: {allowed}"))
    }
}

fn whole(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// A value is shown as it stands in the file, but not a page of it.
fn shortened(value: String) -> String {
    match value.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &value[..end]),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        parse("a.json", json).expect_err("the settings are wrong").to_string()
    }

    #[test]
    fn settings_of_both_scenes_parse() {
        let seed = Settings::seed_scene();
        assert_eq!((seed.capacity, seed.max_capacity), (64, 96));
        assert_eq!((seed.burst_per_frame, seed.active_frames, seed.warmup_acquires), (20, 30, 64));
        assert_eq!((seed.policy, seed.seed), (Exhaustion::GrowToCap, 20_261_012));
        let limits =
            [Limits::reject(64), Limits::overwrite_oldest(64), Limits::grow_to_cap(64, 96)];
        assert_eq!(seed.limits(), limits);
        assert!(Settings::large_scene().capacity > 1000);
    }

    #[test]
    fn absent_fields_take_what_fits_the_capacity_and_unknown_ones_are_left_alone() {
        let few = parse("a.json", "\u{feff}{\"capacity\":7,\"policy\":\"reject\",\"else\":[1]}");
        let few = few.expect("enough");
        assert_eq!((few.max_capacity, few.warmup_acquires, few.burst_per_frame), (7, 7, 20));
    }

    #[test]
    fn number_that_is_not_allowed_is_refused_with_field_value_and_range() {
        let allowed = "allowed: a whole number from 1 to 1000000";
        for wrong in ["-1", "1.5", "64.0", "0", "1000001", "18446744073709551616", "\"64\"", "null"]
        {
            let message = refusal(&format!(r#"{{"capacity":{wrong},"policy":"reject"}}"#));
            let (head, tail) = message.split_once(", ").expect("two parts");
            assert!(head.starts_with("a.json: capacity is "), "{message}");
            assert_eq!(tail, allowed);
        }
        assert!(refusal(r#"{"capacity":-1,"policy":"reject"}"#).contains("capacity is -1, "));
        assert!(refusal(r#"{"capacity":1.5,"policy":"reject"}"#).contains("capacity is 1.5, "));
        let more = |field| refusal(&format!(r#"{{"capacity":1,"policy":"reject",{field}}}"#));
        assert_eq!(
            more(r#""burstPerFrame":0"#),
            "a.json: burstPerFrame is 0, allowed: a whole number from 1 to 100000",
        );
        assert!(more(r#""seed":-3"#).contains("seed is -3, allowed: a whole number from 0 to "));
        assert!(more(r#""activeFrames":2.5"#).contains("activeFrames is 2.5, "));
        assert!(more(r#""warmupAcquires":"all""#).contains("warmupAcquires is \"all\", "));
    }

    #[test]
    fn max_below_the_capacity_is_refused_with_the_capacity_as_the_least() {
        assert_eq!(
            refusal(r#"{"capacity":64,"maxCapacity":63,"policy":"growToCap"}"#),
            "a.json: maxCapacity is 63, allowed: a whole number from 64 to 1000000",
        );
    }

    #[test]
    fn unknown_policy_is_refused_with_its_value_and_the_names() {
        let allowed = r#"allowed: "reject", "overwriteOldest" or "growToCap""#;
        for wrong in [r#""drop""#, r#""Reject""#, "3", "null"] {
            let message = refusal(&format!(r#"{{"capacity":1,"policy":{wrong}}}"#));
            assert_eq!(message, format!("a.json: policy is {wrong}, {allowed}"));
        }
    }

    #[test]
    fn missing_field_is_named() {
        assert!(refusal("{}").starts_with("a.json: capacity is missing, allowed: a whole"));
        assert!(refusal(r#"{"capacity":1}"#).starts_with("a.json: policy is missing, allowed: "));
    }

    #[test]
    fn file_that_is_no_object_is_refused_in_one_line() {
        assert!(refusal("").starts_with("a.json: not JSON: "));
        assert_eq!(refusal("[64]"), "a.json: not an object of settings");
        assert_eq!(refusal("{\"capacity\":").lines().count(), 1);
        let long = "9".repeat(500);
        assert!(refusal(&format!("{{\"capacity\":\"{long}\"}}")).len() < 200);
        let absent = Settings::read(Path::new("no/such.json")).expect_err("it is not there");
        assert!(absent.to_string().starts_with("no/such.json: cannot read: "));
    }
}

//! Scenarios: what was asked for is what is understood, and any other value anywhere is told.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Map, Value, json};

use super::{FILE, config, plain, recorded, shown, soup};
use crate::csv;
use crate::recording::Op;
use crate::scenario::{Kind, Scenario, parse, understand};

/// Playing more than this would take the tests too long.
const FEW: f64 = 2_000.0;
const DAY_MILLIS: u64 = 86_400_000;

fn text() -> impl Strategy<Value = String> {
    let any = any::<String>().prop_map(|text| text.replace(char::is_control, "").trim().to_owned());
    let any = any.prop_filter("empty", |text| !text.is_empty());
    prop_oneof![2 => prop::sample::select(&["Whelp", "a,b", "\"", "兵"][..]).prop_map(str::to_owned), 1 => any]
}

fn span() -> impl Strategy<Value = (u64, u64)> {
    let end = || prop_oneof![3 => 0..5_000u64, 1 => 0..=DAY_MILLIS, 1 => Just(DAY_MILLIS)];
    (end(), end()).prop_map(|(one, other)| (one.min(other), one.max(other)))
}

fn unit() -> impl Strategy<Value = Kind> {
    let waves = (0..4u64, 0..6u64);
    // Quarters, so that what is born in a whole number of seconds is a whole number.
    let rate = (0..8u32).prop_map(|quarters| f64::from(quarters) / 4.0);
    (text(), 0..5u64, rate, waves, span(), span(), 0..=1_000u64).prop_map(
        |(kind, at_start, per_second, waves, build_millis, life_millis, cancel_permille)| Kind {
            kind,
            at_start,
            per_second,
            wave_every_seconds: waves.0,
            wave_size: waves.1,
            build_millis,
            life_millis,
            cancel_permille,
        },
    )
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let units = prop::collection::vec(unit(), 1..4);
    (text(), any::<u64>(), 1..4u64, 1..20u64, units).prop_map(
        |(name, seed, games, seconds, units)| Scenario { name, seed, games, seconds, units },
    )
}

/// As a file says it; what is as if it were left out may be left out.
fn written(scenario: &Scenario, spelt_out: bool) -> Value {
    let object = |fields: Vec<(&str, Value, Option<Value>)>| {
        let fields = fields.into_iter();
        let said =
            fields.filter(|(_, value, default)| spelt_out || default.as_ref() != Some(value));
        Value::Object(said.map(|(name, value, _)| (name.to_owned(), value)).collect())
    };
    let zero = Some(json!(0));
    let units = scenario.units.iter().map(|unit| {
        object(vec![
            ("kind", json!(unit.kind), None),
            ("atStart", json!(unit.at_start), zero.clone()),
            ("perSecond", json!(unit.per_second), Some(json!(0.0))),
            ("waveEverySeconds", json!(unit.wave_every_seconds), zero.clone()),
            ("waveSize", json!(unit.wave_size), zero.clone()),
            ("buildMillis", json!(unit.build_millis), Some(json!([0, 0]))),
            ("lifeMillis", json!(unit.life_millis), None),
            ("cancelPermille", json!(unit.cancel_permille), zero.clone()),
        ])
    });
    let units: Vec<Value> = units.collect();
    object(vec![
        ("name", json!(scenario.name), Some(json!("scenario"))),
        ("seed", json!(scenario.seed), Some(json!(1))),
        ("games", json!(scenario.games), Some(json!(1))),
        ("seconds", json!(scenario.seconds), None),
        ("units", json!(units), None),
    ])
}

/// Any JSON, what is nearly right more often.
fn any_json() -> impl Strategy<Value = Value> {
    let edges = [
        json!(null),
        json!(true),
        json!(0),
        json!(-0.0),
        json!(1),
        json!(-1),
        json!(1.0),
        json!(0.5),
        json!(1_000),
        json!(1_001),
        json!(10_000),
        json!(10_000.5),
        json!(86_400),
        json!(86_401),
        json!(1_000_000),
        json!(1_000_001),
        json!(DAY_MILLIS),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(1e300),
        json!(f64::MIN_POSITIVE),
        json!(""),
        json!(" "),
        json!("a\nb"),
        json!("\u{0}"),
        json!("7"),
        json!([]),
        json!({}),
        json!([0, 0]),
        json!([2, 1]),
        json!([0, DAY_MILLIS + 1]),
        json!([0]),
        json!([0, 1, 2]),
        json!([1.0, 2]),
        json!([null]),
        json!({"kind": "a"}),
        json!([{"kind": "a", "lifeMillis": [0, 0]}]),
    ];
    let leaf = prop_oneof![
        6 => prop::sample::select(edges.to_vec()),
        1 => any::<u64>().prop_map(|number| json!(number)),
        1 => any::<i32>().prop_map(|eighths| json!(f64::from(eighths) / 8.0)),
        1 => any::<String>().prop_map(Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
            prop::collection::vec((any::<String>(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Whether a value is allowed in a field, the rules read off the documentation once more.
fn allowed(field: &str, value: &Value) -> bool {
    let whole = |from, to| value.as_u64().is_some_and(|whole| from <= whole && whole <= to);
    match field {
        "name" | "kind" => value.as_str().is_some_and(|text| {
            !text.is_empty() && text == text.trim() && !text.chars().any(char::is_control)
        }),
        "seed" => value.is_u64(),
        "games" => whole(1, 1_000),
        "seconds" => whole(1, 86_400),
        "waveEverySeconds" => whole(0, 86_400),
        "atStart" | "waveSize" => whole(0, 1_000_000),
        "cancelPermille" => whole(0, 1_000),
        "perSecond" => value.as_f64().is_some_and(|rate| (0.0..=10_000.0).contains(&rate)),
        "buildMillis" | "lifeMillis" => {
            let ends = value.as_array().filter(|ends| ends.len() == 2);
            let ends: Option<Vec<u64>> =
                ends.and_then(|ends| ends.iter().map(Value::as_u64).collect());
            ends.is_some_and(|ends| ends[0] <= ends[1] && ends[1] <= DAY_MILLIS)
        }
        field => panic!("{field} is no field"),
    }
}

/// The fields of `value`: of the whole, or of one unit.
fn place(value: &mut Value, unit: Option<usize>) -> (String, &mut Map<String, Value>) {
    let (path, value) = match unit {
        None => (String::new(), value),
        Some(index) => (format!("units[{index}]."), &mut value["units"][index]),
    };
    (path, value.as_object_mut().expect("it was written as an object"))
}

/// Understood, and played when that is little; or told in a line.
fn check_any(bytes: &[u8]) {
    match understand(FILE, bytes) {
        Ok(scenario) if scenario.births() * scenario.games as f64 <= FEW => {
            parse(FILE, bytes).map_or_else(
                |bad| drop(plain(&bad, FILE)),
                |played| {
                    csv::parse(FILE, &recorded(&played)).expect("what is recorded can be read");
                },
            );
        }
        Ok(_) => {}
        Err(bad) => assert!(plain(&bad, FILE).is_some(), "{bad}"),
    }
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn scenario_is_understood_as_it_was_written(
        scenario in scenario(),
        spelt_out in any::<bool>(),
        pretty in any::<bool>(),
        mark in any::<bool>(),
    ) {
        let value = written(&scenario, spelt_out);
        let text = if pretty { format!("{value:#}\r\n") } else { value.to_string() };
        let bytes = if mark { format!("\u{feff}{text}") } else { text }.into_bytes();
        prop_assert_eq!(&understand(FILE, &bytes).unwrap(), &scenario);

        let births = |unit: &Kind| {
            let steady = (unit.per_second * scenario.seconds as f64) as u64;
            let waves = scenario.seconds.checked_div(unit.wave_every_seconds).unwrap_or(0);
            unit.at_start + steady + waves * unit.wave_size
        };
        let births: u64 = scenario.units.iter().map(births).sum();
        let played = match parse(FILE, &bytes) {
            Ok(played) => played,
            Err(bad) => {
                prop_assert_eq!((plain(&bad, FILE), births), (None, 0));
                return Ok(());
            }
        };
        prop_assert_eq!(played.births(), births * scenario.games);
        prop_assert_eq!((played.games.len() as u64, &played.name), (scenario.games, &scenario.name));
        for game in &played.games {
            let in_time = |row: &crate::recording::Row| row.time_us <= scenario.seconds * 1_000_000;
            prop_assert!(game.rows.iter().all(in_time));
            prop_assert!(game.rows.is_sorted_by_key(|row| row.time_us));
            // Each lives once: born first, in play at most once after that, dead at most once.
            let mut lived = vec![None; game.keys.len()];
            for row in &game.rows {
                let before = lived[row.key as usize].replace(row.op);
                let right = match row.op {
                    Op::Spawn => before.is_none(),
                    Op::Activate => before == Some(Op::Spawn),
                    Op::Kill => matches!(before, Some(Op::Spawn | Op::Activate)),
                };
                prop_assert!(right, "{:?} after {:?}", row, before);
            }
        }
        let again = csv::parse(FILE, &recorded(&played)).unwrap();
        prop_assert_eq!((again.rows(), again.out_of_order), (played.rows(), 0));
        prop_assert_eq!(recorded(&again), recorded(&played));
    }

    #[test]
    fn any_value_in_any_field_is_understood_or_told_with_its_path(
        scenario in scenario(),
        unit in prop::option::of(any::<Index>()),
        field in any::<Index>(),
        new in prop::option::weighted(0.9, any_json()),
    ) {
        let mut value = written(&scenario, true);
        let unit = unit.map(|unit| unit.index(scenario.units.len()));
        let (path, fields) = place(&mut value, unit);
        let field = fields.keys().nth(field.index(fields.len())).unwrap().clone();
        let path = path + &field;
        match &new {
            Some(new) => fields.insert(field.clone(), new.clone()),
            None => fields.remove(&field),
        };
        let bytes = value.to_string().into_bytes();
        check_any(&bytes);
        let told = understand(FILE, &bytes).map_err(|bad| plain(&bad, FILE).unwrap());
        match new {
            // A list of anything has its own faults, at places below.
            Some(Value::Array(items)) if field == "units" && !items.is_empty() => {
                prop_assert!(told.is_ok() || told.unwrap_err().0.starts_with("units["));
            }
            Some(new) if field == "units" => {
                prop_assert_eq!(told, Err((path, shown(&new.to_string()))));
            }
            None if ["seconds", "units", "kind", "lifeMillis"].contains(&field.as_str()) => {
                prop_assert_eq!(told, Err((path, "nothing".to_owned())));
            }
            None => prop_assert!(told.is_ok()),
            Some(new) if allowed(&field, &new) => {
                // Many units a game may be too many in all games.
                let right = told.as_ref().map_or_else(|(place, _)| place == "units", |_| true);
                prop_assert!(right, "{:?}", told);
            }
            Some(new) => prop_assert_eq!(told, Err((path, shown(&new.to_string())))),
        }
    }

    #[test]
    fn unknown_field_is_told_with_its_path(
        scenario in scenario(),
        unit in prop::option::of(any::<Index>()),
        name in prop_oneof![any::<String>(), "[a-z.]{0,200}", "[\\x00-\\x1f]{1,90}"],
        new in any_json(),
    ) {
        let mut value = written(&scenario, true);
        let unit = unit.map(|unit| unit.index(scenario.units.len()));
        let (path, fields) = place(&mut value, unit);
        let name = format!("{name}{}", if fields.contains_key(&name) { "?" } else { "" });
        fields.insert(name.clone(), new.clone());
        let bad = understand(FILE, value.to_string().as_bytes()).unwrap_err();
        let name = if name.is_empty() { "\"\"".into() } else { shown(&name).escape_debug().to_string() };
        prop_assert_eq!(plain(&bad, FILE), Some((path + &name, shown(&new.to_string()))));
    }

    #[test]
    fn any_json_is_understood_or_told(value in any_json()) {
        check_any(value.to_string().as_bytes());
    }

    #[test]
    fn damaged_scenario_is_understood_or_told(
        scenario in scenario(),
        at in any::<Index>(),
        piece in prop::collection::vec(any::<u8>(), 0..4),
        cut in 0..6usize,
        truncated in any::<bool>(),
    ) {
        let mut bytes = format!("{:#}", written(&scenario, true)).into_bytes();
        let at = at.index(bytes.len());
        let end = if truncated { bytes.len() } else { bytes.len().min(at + cut) };
        bytes.splice(at..end, piece);
        check_any(&bytes);
    }

    #[test]
    fn anything_is_understood_or_told_as_a_scenario(
        bytes in soup(&[
            "{", "}", "[", "]", ":", ",", "\"units\"", "\"seconds\"", "\"kind\"", "1", "1e999",
            "-", "\"", "\\u0000", "\\ud800", "null", "\n", " ", "\u{feff}",
        ]),
    ) {
        check_any(&bytes);
    }
}

#[test]
fn deep_nesting_is_told_and_does_not_overflow_the_stack() {
    for (open, close) in [("[", "]"), ("{\"units\":", "}"), ("[{\"a\":", "}]")] {
        let text = open.repeat(100_000) + "1" + &close.repeat(100_000);
        let bad = understand(FILE, text.as_bytes()).unwrap_err();
        let (place, _) = plain(&bad, FILE).unwrap();
        assert!(place.starts_with("line 1, column "), "{bad}");
        assert!(bad.to_string().contains("recursion limit exceeded"), "{bad}");
    }
}

/// A scenario in which everything that is not said is the most that is allowed.
fn extreme(games: u64, more: &str) -> String {
    let unit = format!(r#"{{"kind": "a", "lifeMillis": [0, {DAY_MILLIS}]{more}}}"#);
    let seed = u64::MAX;
    format!(r#"{{"games": {games}, "seconds": 86400, "seed": {seed}, "units": [{unit}]}}"#)
}

#[test]
fn more_births_than_are_allowed_in_all_are_told_before_they_are_played() {
    for (games, more) in [
        (1_000, r#", "atStart": 1000000"#),
        (1_000, r#", "perSecond": 10000"#),
        (1, r#", "perSecond": 10000.0"#),
        (1_000, r#", "waveEverySeconds": 1, "waveSize": 1000000"#),
        (1_000, r#", "atStart": 5001"#),
        (1, r#", "waveEverySeconds": 17280, "waveSize": 1000000, "atStart": 1"#),
    ] {
        let bad = parse(FILE, extreme(games, more).as_bytes()).unwrap_err();
        let (place, value) = plain(&bad, FILE).unwrap();
        assert_eq!(place, "units", "{bad}");
        assert!(value.ends_with(&format!("births in each of {games} games")), "{bad}");
        assert!(bad.to_string().ends_with("allowed: 5000000 births in all"), "{bad}");
    }
}

/// What takes no births takes no time either, however often it happens.
#[test]
fn waves_of_nobody_and_slow_trickles_are_played_at_once() {
    let empty = r#", "waveEverySeconds": 1, "waveSize": 0, "atStart": 1"#;
    let unit = format!(r#"{{"kind": "a", "lifeMillis": [0, 0]{empty}}}"#);
    let units = vec![unit; 50].join(",");
    let text = format!(r#"{{"games": 1000, "seconds": 86400, "units": [{units}]}}"#);
    assert_eq!(parse(FILE, text.as_bytes()).unwrap().births(), 50_000);
    let trickle = extreme(1_000, r#", "perSecond": 5e-324, "atStart": 1"#);
    assert_eq!(parse(FILE, trickle.as_bytes()).unwrap().births(), 1_000);
    let last = extreme(1, r#", "perSecond": 0.000011574074074074074"#);
    let played = parse(FILE, last.as_bytes());
    assert!(played.is_err() || played.unwrap().births() == 1);
}

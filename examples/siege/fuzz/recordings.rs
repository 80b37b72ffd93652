//! Recordings: what was written is what is read, and what is damaged is told.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::Index;

use super::{FILE, config, plain, recorded, shown, soup};
use crate::csv::{HEADER, parse};
use crate::recording::{Op, Recording};
use crate::skills;

const COLUMNS: [&str; 5] = ["scene", "time_us", "op", "kind", "key"];

/// A row as it is written, and how.
#[derive(Clone, Debug)]
struct Written {
    scene: u64,
    time_us: u64,
    op: Op,
    kind: String,
    key: u64,
    quoted: bool,
    padding: &'static str,
}

#[derive(Clone, Debug)]
struct Format {
    mark: bool,
    windows: bool,
    /// Blank lines after the last row, whose own end may be missing.
    blank: usize,
    ended: bool,
}

#[derive(Clone, Debug)]
struct Text {
    rows: Vec<Written>,
    format: Format,
}

/// Small numbers meet each other, large ones meet the limits.
fn number(least: u64) -> impl Strategy<Value = u64> {
    prop_oneof![6 => least..least + 4, 1 => (0..3u64).prop_map(|below| u64::MAX - below), 1 => least..]
}

fn kind() -> impl Strategy<Value = String> {
    let any = any::<String>().prop_map(|kind| kind.replace('\n', "").trim().to_owned());
    let known = ["Marine", "", "a,b", "say \"hi\"", "\"", ",", "\u{feff}", "Zerg\rling", "兵"];
    prop_oneof![3 => prop::sample::select(known.to_vec()).prop_map(str::to_owned), 1 => any]
}

fn written() -> impl Strategy<Value = Written> {
    let op = prop::sample::select(&[Op::Spawn, Op::Activate, Op::Kill][..]);
    let padding = prop_oneof![4 => Just(""), 1 => Just(" "), 1 => Just("\t ")];
    let row = (number(1), number(0), op, kind(), number(0), any::<bool>(), padding);
    row.prop_map(|(scene, time_us, op, kind, key, quoted, padding)| Written {
        scene,
        time_us,
        op,
        kind,
        key,
        quoted,
        padding,
    })
}

fn text() -> impl Strategy<Value = Text> {
    let format = (any::<bool>(), any::<bool>(), 0..3usize, any::<bool>())
        .prop_map(|(mark, windows, blank, ended)| Format { mark, windows, blank, ended });
    (prop::collection::vec(written(), 1..40), format)
        .prop_map(|(rows, format)| Text { rows, format })
}

impl Written {
    fn fields(&self) -> Vec<String> {
        let field = |text: String, quoted: bool| {
            let text = if quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text };
            format!("{0}{text}{0}", self.padding)
        };
        let quoted = self.quoted || self.kind.contains([',', '"']);
        vec![
            field(self.scene.to_string(), false),
            field(self.time_us.to_string(), self.quoted),
            field(self.op.name().to_owned(), false),
            field(self.kind.clone(), quoted),
            field(self.key.to_string(), false),
        ]
    }
}

impl Format {
    /// The lines of a file, the header first, as one.
    fn join(&self, lines: &[Vec<u8>]) -> Vec<u8> {
        let end: &[u8] = if self.windows { b"\r\n" } else { b"\n" };
        let mut bytes = if self.mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
        bytes.extend(lines.join(end));
        if self.ended {
            bytes.extend(end.repeat(1 + self.blank));
        }
        bytes
    }
}

impl Text {
    fn lines(&self) -> Vec<Vec<u8>> {
        let rows = self.rows.iter().map(|row| row.fields().join(",").into_bytes());
        std::iter::once(HEADER.as_bytes().to_vec()).chain(rows).collect()
    }

    fn bytes(&self) -> Vec<u8> {
        self.format.join(&self.lines())
    }
}

/// Time, op, kind of a spawn, key.
type Said = (u64, Op, Option<String>, u64);

/// What the rows say of each scene, in the order of time.
fn meant(rows: &[Written]) -> BTreeMap<u64, Vec<Said>> {
    let mut scenes: BTreeMap<u64, Vec<Said>> = BTreeMap::new();
    for row in rows {
        let kind = (row.op == Op::Spawn).then(|| row.kind.clone());
        scenes.entry(row.scene).or_default().push((row.time_us, row.op, kind, row.key));
    }
    scenes.values_mut().for_each(|rows| rows.sort_by_key(|row| row.0));
    scenes
}

fn understood(recording: &Recording) -> BTreeMap<u64, Vec<Said>> {
    let games = recording.games.iter().map(|game| {
        let rows = game.rows.iter().map(|row| {
            let kind = || recording.kinds[row.kind as usize].clone();
            let kind = (row.op == Op::Spawn).then(kind);
            (row.time_us, row.op, kind, game.keys[row.key as usize])
        });
        (game.number, rows.collect())
    });
    games.collect()
}

/// Read or refused; a refusal names a line of the file and something that stands in it.
#[track_caller]
fn check_any(bytes: &[u8]) {
    let bad = match parse(FILE, bytes) {
        Ok(recording) => {
            assert!(recording.rows() > 0);
            let again = parse(FILE, &recorded(&recording)).expect("what is recorded can be read");
            assert_eq!(understood(&again), understood(&recording));
            return;
        }
        Err(bad) => bad,
    };
    let Some((place, value)) = plain(&bad, FILE) else { return };
    let (line, column) =
        place.strip_prefix("line ").and_then(|place| place.split_once(": ")).expect("a line");
    assert!(["header", "row"].contains(&column) || COLUMNS.contains(&column), "{place}");
    let line: usize = line.parse().expect("the number of a line");
    let line = bytes.split(|&byte| byte == b'\n').nth(line - 1).expect("a line of the file");
    // A value is shown without the quotes that it was in.
    let bare = |text: &str| text.replace('"', "");
    let line = bare(&String::from_utf8_lossy(line));
    assert!(line.contains(&bare(value.strip_suffix("...").unwrap_or(&value))), "{bad}");
}

/// What stands in a row instead of something allowed.
fn wrong_value() -> impl Strategy<Value = (usize, String)> {
    let numbers = [
        "",
        " ",
        "-1",
        "+1",
        "1.5",
        "1e3",
        "0x10",
        "1_000",
        "٤",
        "18446744073709551616",
        "99999999999999999999999999",
        "NaN",
        "\0",
        "1 2",
        "1\0",
        "nothing",
    ];
    let ops = ["", "spwan", "Spawn", "KILL", "spawn\0", "0", "activate kill"];
    let column = prop::sample::select(&[0usize, 1, 4][..]);
    prop_oneof![
        4 => (column, prop::sample::select(numbers.to_vec()))
            .prop_map(|(column, value)| (column, value.to_owned())),
        1 => Just((0, "0".to_owned())),
        1 => prop::sample::select(ops.to_vec()).prop_map(|value| (2, value.to_owned())),
        1 => ("[a-z]{1,90}", 0..3usize).prop_map(|(text, column)| (column, text + "!")),
    ]
}

#[derive(Clone, Debug)]
enum Damage {
    Flipped(u8),
    Removed(usize),
    Inserted(Vec<u8>),
    Truncated,
}

fn damage() -> impl Strategy<Value = Damage> {
    let pieces: &[&[u8]] = &[b"\0", b"\xff", b"\x80", b"\xc3", b"\"", b",", b"\n", b"\r", b"-"];
    prop_oneof![
        3 => (1..=u8::MAX).prop_map(Damage::Flipped),
        1 => (1..30usize).prop_map(Damage::Removed),
        3 => prop::sample::select(pieces).prop_map(|piece| Damage::Inserted(piece.to_vec())),
        1 => prop::collection::vec(any::<u8>(), 1..8).prop_map(Damage::Inserted),
        1 => Just(Damage::Truncated),
    ]
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn recording_is_read_as_it_was_written(text in text()) {
        let recording = parse(FILE, &text.bytes()).unwrap();
        prop_assert_eq!(understood(&recording), meant(&text.rows));
        let births = text.rows.iter().filter(|row| row.op == Op::Spawn).count();
        prop_assert_eq!(recording.births(), births as u64);
        // In `--record`'s own format it is the same, and in order.
        let again = parse(FILE, &recorded(&recording)).unwrap();
        prop_assert_eq!(understood(&again), meant(&text.rows));
        prop_assert_eq!((again.out_of_order, again.peak()), (0, recording.peak()));
        // What is worked out of it before a run bears the largest times, too.
        for game in &recording.games {
            prop_assert!(skills::plan(game).iter().all(|cast| cast.time_us >= game.start_us()));
        }
    }

    #[test]
    fn wrong_value_is_told_with_its_line_and_column(
        text in text(),
        at in any::<Index>(),
        (column, value) in wrong_value(),
    ) {
        let (mut lines, at) = (text.lines(), at.index(text.rows.len()));
        let mut fields = text.rows[at].fields();
        fields[column].clone_from(&value);
        lines[at + 1] = fields.join(",").into_bytes();
        let bad = parse(FILE, &text.format.join(&lines)).expect_err("a wrong value");
        let allowed = match column {
            2 => "spawn, activate, kill".to_owned(),
            _ => format!("a whole number from {} to {}", u64::from(column == 0), u64::MAX),
        };
        let (line, column, value) = (at + 2, COLUMNS[column], shown(&value));
        let told = format!("line {line}: {column}: {value:?} is not allowed; allowed: {allowed}");
        plain(&bad, FILE);
        prop_assert_eq!(bad.to_string(), format!("{FILE}: {told}"));
    }

    #[test]
    fn row_of_another_length_is_told_with_its_line(
        text in text(),
        at in any::<Index>(),
        column in 0..5usize,
        removed in any::<bool>(),
    ) {
        let (mut lines, at) = (text.lines(), at.index(text.rows.len()));
        let mut fields = text.rows[at].fields();
        match removed {
            true => drop(fields.remove(column)),
            false => fields.insert(column, fields[column].clone()),
        }
        let row = fields.join(",");
        lines[at + 1] = row.clone().into_bytes();
        let bad = parse(FILE, &text.format.join(&lines)).expect_err("a row of another length");
        prop_assert_eq!(plain(&bad, FILE), Some((format!("line {}: row", at + 2), shown(&row))));
        let told = format!("allowed: 5 values, {HEADER} (found {})", fields.len());
        prop_assert!(bad.to_string().ends_with(&told), "{}", bad);
    }

    #[test]
    fn damaged_recording_is_read_or_told(
        text in text(),
        at in any::<Index>(),
        damage in damage(),
    ) {
        let mut bytes = text.bytes();
        let at = at.index(bytes.len());
        match damage {
            Damage::Flipped(bits) => bytes[at] ^= bits,
            Damage::Removed(many) => drop(bytes.drain(at..bytes.len().min(at + many))),
            Damage::Inserted(piece) => drop(bytes.splice(at..at, piece)),
            Damage::Truncated => bytes.truncate(at),
        }
        check_any(&bytes);
    }

    #[test]
    fn anything_is_read_or_told_as_a_recording(
        bytes in soup(&[
            ",", ",", ",", "\n", "\r\n", "\"", "1", "0", "spawn", "kill", "1,2,spawn,a,3\n", " ",
            "\u{feff}", "\0", "-", HEADER,
        ]),
        headed in any::<bool>(),
    ) {
        let header = if headed { format!("{HEADER}\n") } else { String::new() };
        check_any(&[header.as_bytes(), &bytes].concat());
    }
}

#[test]
fn more_scenes_than_there_are_ids_are_told() {
    let row = |scene: u64| format!("{scene},0,spawn,a,1\n");
    let rows: String = (1..=1 << 16).map(row).collect();
    let told = |more: u64| {
        let text = format!("{HEADER}\n{rows}{}", row(more));
        parse(FILE, text.as_bytes()).map(|recording| recording.games.len())
    };
    assert_eq!(told(7).unwrap(), 1 << 16);
    let bad = told(1 << 17).unwrap_err();
    let place = "line 65538: scene".to_owned();
    assert_eq!(plain(&bad, FILE), Some((place, "131072".to_owned())));
}

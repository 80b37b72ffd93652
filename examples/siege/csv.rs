//! Reads a recording from its file: `scene,time_us,op,kind,key`.
//!
//! What is malformed is refused, with its line, its column, its value and what is allowed. What
//! is well formed but odd (a kill of a key that was never born, two births of one key) is let
//! through: real servers write such rows, and the siege counts them.

use std::borrow::Cow;
use std::path::Path;

use crate::input::BadInput;
use crate::recording::{Builder, Op, Recording};

/// The first line of a recording, also of those that `--record` writes.
pub(crate) const HEADER: &str = "scene,time_us,op,kind,key";

/// Each game gets a store of its own, and a process has this many scene ids.
const MOST_GAMES: usize = 1 << 16;

/// Reads `path`.
pub(crate) fn read(path: &Path) -> Result<Recording, BadInput> {
    let bytes = std::fs::read(path).map_err(|error| BadInput::unusable(path, "read it", error))?;
    let mut recording = parse(&path.display().to_string(), &bytes)?;
    // Errors have the whole path, the report does not need it.
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    recording.name = name.unwrap_or(recording.name);
    Ok(recording)
}

pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Recording, BadInput> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = Lines { file, rest: Some(bytes), number: 0 };
    match lines.next_filled()? {
        None => return Err(empty(file, format!("the first line of a recording is {HEADER}"))),
        Some(line) if line.text.trim() == HEADER => {}
        Some(line) => return Err(line.error("header", line.text, HEADER.to_owned())),
    }
    let mut builder = Builder::default();
    while let Some(line) = lines.next_filled()? {
        push_row(&mut builder, &line)?;
    }
    if builder.games() == 0 {
        return Err(empty(file, "at least one row is needed after the header".to_owned()));
    }
    Ok(builder.build(file.to_owned()))
}

fn empty(file: &str, allowed: String) -> BadInput {
    BadInput::Empty { file: file.to_owned(), allowed }
}

fn push_row(builder: &mut Builder, line: &Line<'_>) -> Result<(), BadInput> {
    let fields = line.fields()?;
    let [scene, time, op, kind, key] = fields.as_slice() else {
        let allowed = format!("5 values, {HEADER} (found {})", fields.len());
        return Err(line.error("row", line.text, allowed));
    };
    let scene = line.whole("scene", scene, 1)?;
    let time_us = line.whole("time_us", time, 0)?;
    let op = line.op(op)?;
    let key = line.whole("key", key, 0)?;
    builder.push(scene, time_us, op, kind.trim(), key);
    if builder.games() > MOST_GAMES {
        let allowed = format!("at most {MOST_GAMES} different scenes in a file");
        return Err(line.error("scene", &scene.to_string(), allowed));
    }
    Ok(())
}

/// The lines of a file that need not be text, counted from 1.
struct Lines<'a> {
    file: &'a str,
    rest: Option<&'a [u8]>,
    number: usize,
}

impl<'a> Lines<'a> {
    /// The next line that is not blank.
    fn next_filled(&mut self) -> Result<Option<Line<'a>>, BadInput> {
        while let Some(rest) = self.rest {
            let end = rest.iter().position(|&byte| byte == b'\n');
            let bytes = &rest[..end.unwrap_or(rest.len())];
            self.rest = end.map(|end| &rest[end + 1..]);
            self.number += 1;
            let line = Line { file: self.file, number: self.number, text: "" };
            let text = std::str::from_utf8(bytes).map_err(|_| {
                line.error("row", &String::from_utf8_lossy(bytes), "UTF-8 text".to_owned())
            })?;
            if !text.trim().is_empty() {
                // The carriage return of a file from Windows is not part of the last value.
                let text = text.strip_suffix('\r').unwrap_or(text);
                return Ok(Some(Line { text, ..line }));
            }
        }
        Ok(None)
    }
}

/// One line, and where it stands.
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn error(&self, column: &str, value: &str, allowed: String) -> BadInput {
        BadInput::value(self.file, format!("line {}: {column}", self.number), value, allowed)
    }

    fn whole(&self, column: &str, value: &str, least: u64) -> Result<u64, BadInput> {
        // `parse` would take a sign, and the format has none.
        let digits = value.trim();
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok());
        number.flatten().filter(|&number| number >= least).ok_or_else(|| {
            self.error(column, value, format!("a whole number from {least} to {}", u64::MAX))
        })
    }

    fn op(&self, value: &str) -> Result<Op, BadInput> {
        let known = Op::NAMES.iter().find(|(name, _)| *name == value.trim());
        let allowed = || "spawn, activate, kill".to_owned();
        known.map(|&(_, op)| op).ok_or_else(|| self.error("op", value, allowed()))
    }

    /// Splits at commas; a value in double quotes may hold commas, and doubled double quotes.
    fn fields(&self) -> Result<Vec<Cow<'a, str>>, BadInput> {
        if !self.text.contains('"') {
            return Ok(self.text.split(',').map(Cow::Borrowed).collect());
        }
        let (mut fields, mut field, mut quoted) = (Vec::new(), String::new(), false);
        let mut chars = self.text.chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                '"' if quoted && chars.next_if_eq(&'"').is_some() => field.push('"'),
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(Cow::Owned(std::mem::take(&mut field))),
                char => field.push(char),
            }
        }
        if quoted {
            return Err(self.error(
                "row",
                self.text,
                "a row in which every double quote is closed".to_owned(),
            ));
        }
        fields.push(Cow::Owned(field));
        Ok(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8]) -> String {
        parse("f.csv", text).map(|_| "accepted".to_owned()).unwrap_or_else(|bad| bad.to_string())
    }

    #[test]
    fn malformed_row_names_line_column_value_and_what_is_allowed() {
        let row = |row: &str| said(format!("{HEADER}\n{row}\n").as_bytes());
        assert_eq!(
            row("1,5,spwan,Marine,7"),
            "f.csv: line 2: op: \"spwan\" is not allowed; allowed: spawn, activate, kill"
        );
        assert!(row("0,5,spawn,Marine,7").starts_with("f.csv: line 2: scene: \"0\""));
        assert!(row("1,-5,spawn,Marine,7").starts_with("f.csv: line 2: time_us: \"-5\""));
        assert!(row("1,5,spawn,Marine,18446744073709551616").contains("line 2: key"));
        assert!(row("1,5,spawn,Marine").ends_with("(found 4)"));
        assert!(
            row("1,5,spawn,\"Marine,7").ends_with("a row in which every double quote is closed")
        );
        assert!(said(b"scene,op\n").starts_with("f.csv: line 1: header"));
        assert!(said(b"").starts_with("f.csv: nothing to replay"));
        assert!(said(&[HEADER.as_bytes(), b"\n\xff\n"].concat()).ends_with("UTF-8 text"));
    }

    #[test]
    fn windows_line_ends_blank_lines_and_quotes_are_read() {
        let text =
            format!("\u{feff}{HEADER}\r\n\r\n2,9,kill,,7\r\n1,0,spawn,\"a,\"\"b\",7\r\n\r\n");
        let recording = parse("f.csv", text.as_bytes()).unwrap();
        assert_eq!(recording.games.len(), 2);
        assert_eq!(recording.kinds, ["a,\"b"]);
    }

    #[test]
    fn rows_out_of_order_are_put_in_the_order_of_time() {
        let text = format!("{HEADER}\n1,9,kill,,7\n1,3,spawn,a,7\n1,3,activate,,7\n");
        let recording = parse("f.csv", text.as_bytes()).unwrap();
        let ops: Vec<Op> = recording.games[0].rows.iter().map(|row| row.op).collect();
        assert_eq!(ops, [Op::Spawn, Op::Activate, Op::Kill]);
        assert_eq!(recording.out_of_order, 1);
    }
}

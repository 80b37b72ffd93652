//! `--record`: writes what a run did in the format of a recording, so that it can be replayed.
//!
//! Of each game it is the first copy's first pass: the rows that the store carried out. Births
//! that were refused, and rows that changed nothing, are not in it.

use std::io::{self, BufWriter, Write};

use crate::csv::HEADER;
use crate::recording::{Op, Recording};

/// Writes the rows in `logs` of each game to `file`.
pub(crate) fn write(file: impl Write, recording: &Recording, logs: &[Vec<u32>]) -> io::Result<()> {
    let mut out = BufWriter::new(file);
    writeln!(out, "{HEADER}")?;
    for (game, log) in recording.games.iter().zip(logs) {
        for &index in log {
            let row = game.rows[index as usize];
            let kind = if row.op == Op::Spawn { &recording.kinds[row.kind as usize] } else { "" };
            let (kind, key) = (quoted(kind), game.keys[row.key as usize]);
            writeln!(out, "{},{},{},{kind},{key}", game.number, row.time_us, row.op.name())?;
        }
    }
    out.flush()
}

fn quoted(kind: &str) -> String {
    if kind.contains([',', '"']) {
        format!("\"{}\"", kind.replace('"', "\"\""))
    } else {
        kind.to_owned()
    }
}

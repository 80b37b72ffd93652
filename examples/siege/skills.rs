//! Plans the skills of a game: at whom each is aimed, and when.
//!
//! A skill is in the air for 300 ms, and what matters is what it finds when it lands. So the plan
//! looks into the recording's future: for every life with a death in it, one skill is aimed in
//! the last 300 ms before that death; for every life without, one at some moment of it.

use crate::recording::{Game, Op};

/// How long a skill is in the air, in game time.
pub(crate) const FLIGHT_US: u64 = 300_000;

/// One skill, aimed at a key just before a row of its game.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cast {
    /// How many rows have happened.
    pub(crate) row: u32,
    pub(crate) time_us: u64,
    pub(crate) key: u32,
}

/// The skills of `game`, in the order in which they are aimed.
pub(crate) fn plan(game: &Game) -> Vec<Cast> {
    let mut shown: Vec<Option<u64>> = vec![None; game.keys.len()];
    let mut casts = Vec::new();
    for (index, row) in game.rows.iter().enumerate() {
        let shown = &mut shown[row.key as usize];
        match row.op {
            Op::Activate => *shown = shown.or(Some(row.time_us)),
            Op::Kill => casts.extend(shown.take().map(|from| doomed(game, index, from))),
            Op::Spawn => {}
        }
    }
    let left = shown.iter().enumerate().filter_map(|(key, shown)| shown.map(|from| (key, from)));
    casts.extend(left.map(|(key, from)| survivor(game, key, from)));
    casts.sort_unstable();
    casts
}

/// Aimed at who dies in row `death`, so late that it lands on a dead target.
fn doomed(game: &Game, death: usize, shown_us: u64) -> Cast {
    let row = game.rows[death];
    let early = chance(death as u64) % FLIGHT_US;
    let time_us = row.time_us.saturating_sub(early).max(shown_us);
    // Before the death, even when it falls into the same microsecond.
    let at = rows_until(game, time_us).min(death);
    Cast { row: at as u32, time_us, key: row.key }
}

/// Aimed at who outlives the game.
fn survivor(game: &Game, key: usize, shown_us: u64) -> Cast {
    let left = game.start_us() + game.duration_us() - shown_us;
    let time_us = shown_us + chance(key as u64) % left.saturating_add(1);
    Cast { row: rows_until(game, time_us) as u32, time_us, key: key as u32 }
}

fn rows_until(game: &Game, time_us: u64) -> usize {
    game.rows.partition_point(|row| row.time_us <= time_us)
}

/// The same plan in every run: nothing here may depend on who runs it.
fn chance(seed: u64) -> u64 {
    crate::payload::mix(seed ^ 0x5EED)
}

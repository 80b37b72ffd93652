//! A recording: games, each a list of rows in the order of time.
//!
//! Keys are numbered densely within a game, so that whoever replays it keeps an array and not a
//! hash map. Nothing is judged here: a kill of a key that was never born is a row like another.

use std::collections::{BTreeMap, HashMap};

/// What a row says happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// Allocated, not yet in play.
    Spawn,
    /// In play.
    Activate,
    /// Dead.
    Kill,
}

impl Op {
    pub(crate) const NAMES: [(&'static str, Op); 3] =
        [("spawn", Op::Spawn), ("activate", Op::Activate), ("kill", Op::Kill)];

    pub(crate) fn name(self) -> &'static str {
        Op::NAMES[self as usize].0
    }
}

/// One row of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) time_us: u64,
    /// Index into [`Game::keys`].
    pub(crate) key: u32,
    /// Index into [`Recording::kinds`]; only meaningful on a spawn.
    pub(crate) kind: u32,
    pub(crate) op: Op,
}

/// One game.
#[derive(Debug)]
pub(crate) struct Game {
    /// Its number in the file.
    pub(crate) number: u64,
    pub(crate) rows: Vec<Row>,
    /// The keys as they stand in the file.
    pub(crate) keys: Vec<u64>,
}

impl Game {
    /// When the first row happens.
    pub(crate) fn start_us(&self) -> u64 {
        self.rows.first().map_or(0, |row| row.time_us)
    }

    /// How long it lasts.
    pub(crate) fn duration_us(&self) -> u64 {
        self.rows.last().map_or(0, |row| row.time_us - self.start_us())
    }

    /// How many are alive at once at most, births that stand for living keys left out.
    pub(crate) fn peak(&self) -> usize {
        let mut alive = vec![false; self.keys.len()];
        let (mut now, mut peak) = (0_usize, 0);
        for row in &self.rows {
            let was = &mut alive[row.key as usize];
            match row.op {
                Op::Spawn if !*was => (*was, now) = (true, now + 1),
                Op::Kill if *was => (*was, now) = (false, now - 1),
                _ => {}
            }
            peak = peak.max(now);
        }
        peak
    }
}

/// A whole recording, read once and shared by all who replay it.
#[derive(Debug)]
pub(crate) struct Recording {
    /// What the report calls it.
    pub(crate) name: String,
    pub(crate) games: Vec<Game>,
    pub(crate) kinds: Vec<String>,
    /// Rows that stood before an earlier one of their game, and were put in the order of time.
    pub(crate) out_of_order: u64,
}

impl Recording {
    pub(crate) fn rows(&self) -> usize {
        self.games.iter().map(|game| game.rows.len()).sum()
    }

    pub(crate) fn births(&self) -> u64 {
        let rows = self.games.iter().flat_map(|game| &game.rows);
        rows.filter(|row| row.op == Op::Spawn).count() as u64
    }

    pub(crate) fn peak(&self) -> usize {
        self.games.iter().map(Game::peak).sum()
    }
}

/// Takes rows in any order of games and makes a [`Recording`] of them.
#[derive(Default)]
pub(crate) struct Builder {
    games: BTreeMap<u64, GameBuilder>,
    kinds: Vec<String>,
    kind_numbers: HashMap<String, u32>,
}

#[derive(Default)]
struct GameBuilder {
    rows: Vec<Row>,
    keys: Vec<u64>,
    key_numbers: HashMap<u64, u32>,
}

impl Builder {
    pub(crate) fn games(&self) -> usize {
        self.games.len()
    }

    pub(crate) fn push(&mut self, game: u64, time_us: u64, op: Op, kind: &str, key: u64) {
        let kind = if op == Op::Spawn { self.kind(kind) } else { 0 };
        let game = self.games.entry(game).or_default();
        let key = *game.key_numbers.entry(key).or_insert_with(|| {
            game.keys.push(key);
            u32::try_from(game.keys.len() - 1).expect("a game has fewer than 2^32 rows")
        });
        game.rows.push(Row { time_us, key, kind, op });
    }

    pub(crate) fn build(self, name: String) -> Recording {
        let mut out_of_order = 0;
        let games = self.games.into_iter().map(|(number, game)| {
            let mut rows = game.rows;
            out_of_order += rows.windows(2).filter(|two| two[1].time_us < two[0].time_us).count();
            // Stable: what happened in one microsecond keeps the order of the file.
            rows.sort_by_key(|row| row.time_us);
            Game { number, rows, keys: game.keys }
        });
        let games = games.collect();
        Recording { name, games, kinds: self.kinds, out_of_order: out_of_order as u64 }
    }

    fn kind(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.kind_numbers.get(name) {
            return number;
        }
        let number = u32::try_from(self.kinds.len()).expect("fewer than 2^32 kinds");
        self.kinds.push(name.to_owned());
        self.kind_numbers.insert(name.to_owned(), number);
        number
    }
}

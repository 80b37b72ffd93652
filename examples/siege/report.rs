//! The report: what is printed at the end, and what `--json` writes.

use std::fmt::{self, Write as _};

use serde::Serialize;

use crate::compare::Compared;
use crate::meters::Quantiles;
use crate::oracle::Checkpoints;
use crate::plan::Speed;
use crate::readers::Stalled;
use crate::recording::Recording;
use crate::siege::Outcome;
use crate::soak::{self, Holds, Pins, Soaked};
use crate::tally::Tally;
use crate::watch::Memory;

/// Everything that is said of a run. The names are those in the JSON file.
#[derive(Serialize)]
pub(crate) struct Report {
    pub(crate) passed: bool,
    pub(crate) violations: u64,
    /// The first few, in words.
    violations_told: Vec<String>,
    recording: String,
    games: usize,
    rows: usize,
    rows_out_of_order: u64,
    copies: usize,
    threads: usize,
    seconds: f64,
    /// Absent at full speed.
    speed: Option<f64>,
    busy: f64,
    capacity: Option<usize>,
    #[serde(flatten)]
    tally: Tally,
    lives_per_second: f64,
    landed_on_dead: u64,
    checkpoints: Checkpoints,
    constructed: u64,
    dropped: u64,
    memory_at_10_percent: Memory,
    memory_at_20_percent: Memory,
    memory_at_100_percent: Memory,
    /// 100 % by 20 %.
    stores_ratio: f64,
    resident_ratio: Option<f64>,
    stalled_reader: Option<Stalled>,
    /// With `--soak`, and by how many bytes all stores may grow then from 10 % to 100 %: absent
    /// without a capacity.
    soak: Option<Soaked>,
    soak_allows_growth: Option<usize>,
    latency: Latency,
    compared: Option<Compared>,
}

#[derive(Serialize)]
struct Latency {
    spawn: Quantiles,
    look_up: Quantiles,
    kill: Quantiles,
    reap: Quantiles,
    last_hold: Quantiles,
}

impl Report {
    pub(crate) fn new(
        recording: &Recording,
        outcome: &Outcome,
        compared: Option<Compared>,
    ) -> Report {
        let Outcome { plan, tally, meters, watched, .. } = outcome;
        let (early, late) = (watched.at_20_percent, watched.at_100_percent);
        let ratio = |late: usize, early: usize| late as f64 / early.max(1) as f64;
        let resident = late.resident.zip(early.resident);
        Report {
            passed: outcome.violations == 0,
            violations: outcome.violations,
            violations_told: outcome.told.clone(),
            recording: recording.name.clone(),
            games: recording.games.len(),
            rows: recording.rows(),
            rows_out_of_order: recording.out_of_order,
            copies: outcome.copies,
            threads: plan.threads,
            seconds: outcome.seconds,
            speed: match plan.speed {
                Speed::Max => None,
                Speed::Times(times) => Some(times),
            },
            busy: watched.busy,
            capacity: plan.capacity,
            tally: *tally,
            lives_per_second: tally.births as f64 / outcome.seconds,
            landed_on_dead: tally.dying + tally.stale + tally.not_found,
            checkpoints: outcome.checkpoints,
            constructed: outcome.constructed,
            dropped: outcome.dropped,
            memory_at_10_percent: watched.at_10_percent,
            memory_at_20_percent: early,
            memory_at_100_percent: late,
            stores_ratio: ratio(late.stores, early.stores),
            resident_ratio: resident.map(|(late, early)| ratio(late, early)),
            stalled_reader: outcome.stalled,
            soak: outcome.soaked,
            soak_allows_growth: outcome
                .soaked
                .and(plan.capacity)
                .map(|_| soak::allowed_growth(recording.games.len())),
            latency: Latency {
                spawn: meters.spawn.quantiles(),
                look_up: meters.look_up.quantiles(),
                kill: meters.kill.quantiles(),
                reap: meters.reap.quantiles(),
                last_hold: meters.last_hold.quantiles(),
            },
            compared,
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.verdict(f)?;
        self.skills(f)?;
        self.lives(f)?;
        self.odd_rows(f)?;
        self.limits(f)?;
        if let Some(soaked) = &self.soak {
            self.soaked(f, soaked)?;
        }
        self.latencies(f)?;
        if let Some(compared) = &self.compared {
            writeln!(f, "\n{compared}")?;
        }
        Ok(())
    }
}

impl Report {
    fn verdict(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed { "PASS" } else { "FAIL" };
        let speed = match self.speed {
            Some(times) => format!("{} times as fast as played", decimal(times)),
            None => "at full speed".to_owned(),
        };
        writeln!(
            f,
            "{verdict}  {} of {}, {} of each, {speed}, for {:.1} s on {} ({:.0} % busy): {}",
            counted(self.games as u64, "game"),
            self.recording,
            counted_as(self.copies as u64, "copy", "copies"),
            self.seconds,
            counted(self.threads as u64, "worker"),
            self.busy * 100.0,
            counted(self.violations, "violation"),
        )?;
        self.violations_told.iter().try_for_each(|violation| writeln!(f, "      {violation}"))
    }

    fn skills(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { landings, dying, not_found, stale, .. } = self.tally;
        writeln!(
            f,
            "skills       {} of {} landed on a dead target ({} dying, {} not found, {} stale)",
            thousands(self.landed_on_dead),
            thousands(landings),
            thousands(dying),
            thousands(not_found),
            thousands(stale),
        )?;
        writeln!(
            f,
            "             an id without generation would have let {} hit a stranger, hatchery {}",
            thousands(self.tally.strangers_avoided),
            thousands(self.tally.strangers_hit),
        )
    }

    fn lives(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { births, kills, cancels, survivors, .. } = self.tally;
        writeln!(
            f,
            "lives        {}, {} a second ({} killed and settled, {} cancelled, {} survivors)",
            thousands(births),
            thousands(self.lives_per_second as u64),
            thousands(kills),
            thousands(cancels),
            thousands(survivors),
        )?;
        let Checkpoints { rounds, agreed, stores, pending, active, dying, .. } = self.checkpoints;
        writeln!(
            f,
            "checkpoints  {agreed} of {rounds} agreed ({} stores, {} pending, {} active, {} dying; \
             longest pause {} µs)",
            thousands(stores),
            thousands(pending),
            thousands(active),
            thousands(dying),
            thousands(self.checkpoints.longest_pause_us),
        )?;
        let same = if self.constructed == self.dropped { "=" } else { "is not" };
        let (constructed, dropped) = (thousands(self.constructed), thousands(self.dropped));
        writeln!(f, "payloads     {constructed} constructed {same} {dropped} dropped")?;
        self.memory(f)
    }

    fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (early, late) = (&self.memory_at_20_percent, &self.memory_at_100_percent);
        let (first, from) = (mib(self.memory_at_10_percent.stores), mib(early.stores));
        let to = mib(late.stores);
        write!(f, "memory       stores {first} at 10 %, {from} at 20 %, {to} at 100 % ")?;
        write!(f, "({:.3})", self.stores_ratio)?;
        if let (Some(early), Some(late)) = (early.resident, late.resident) {
            let ratio = self.resident_ratio.unwrap_or(1.0);
            write!(f, "; resident from 20 % {}, {} ({ratio:.3})", mib(early), mib(late))?;
        }
        writeln!(f)
    }

    /// Only when there are any: most recordings have none.
    fn odd_rows(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tally = &self.tally;
        let odd = [
            (tally.unknown_keys, "keys that were never born"),
            (tally.births_of_living, "births of living keys"),
            (tally.repeated_activations, "activations of active keys"),
            (tally.rows_after_death, "rows of dead keys"),
            (self.rows_out_of_order, "rows that were not in the order of time"),
        ];
        let odd: Vec<String> = odd
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", thousands(*count)))
            .collect();
        if odd.is_empty() {
            return Ok(());
        }
        writeln!(f, "odd rows     {}", odd.join(", "))
    }

    /// Only with `--capacity` and `--stall-reader`.
    fn limits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { refused, refused_exhausted, refused_reclaiming, skipped_rows, .. } = self.tally;
        if self.capacity.is_some() || refused > 0 {
            writeln!(
                f,
                "refused      {} births ({} Exhausted, {} Reclaiming), and {} rows of theirs",
                thousands(refused),
                thousands(refused_exhausted),
                thousands(refused_reclaiming),
                thousands(skipped_rows),
            )?;
        }
        if let Some(stalled) = self.stalled_reader {
            writeln!(
                f,
                "stalled      a reader of game {} kept {} references, {} slots ({} Dead), {}",
                stalled.game,
                thousands(stalled.references as u64),
                thousands(stalled.slots as u64),
                thousands(stalled.dead as u64),
                mib(stalled.bytes),
            )?;
        }
        Ok(())
    }

    fn soaked(&self, f: &mut fmt::Formatter<'_>, soaked: &Soaked) -> fmt::Result {
        let Pins { pins, references, references_of_dead } = soaked.pins;
        let (pins, references) = (thousands(pins), thousands(references));
        let of_dead = thousands(references_of_dead);
        writeln!(
            f,
            "soak         {pins} pins; {references} references kept, {of_dead} beyond death"
        )?;
        let Holds { taken, clones, of_dying, outlasting, most_at_once, .. } = soaked.holds;
        writeln!(
            f,
            "             {} holds ({} clones, {} of the dying), {} at once; {} outlasted settlement, \
             {} at checkpoints",
            thousands(taken),
            thousands(clones),
            thousands(of_dying),
            thousands(most_at_once),
            thousands(outlasting),
            thousands(self.checkpoints.outlasting),
        )?;
        let (early, late) = (self.memory_at_10_percent.stores, self.memory_at_100_percent.stores);
        let (from, to) = (thousands(early as u64), thousands(late as u64));
        let judged = match self.soak_allows_growth {
            Some(bytes) => format!("{} more are allowed", thousands(bytes as u64)),
            None => "not judged without --capacity".to_owned(),
        };
        writeln!(f, "             {from} bytes at 10 %, {to} at 100 %; {judged}")
    }

    fn latencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Latency { spawn, look_up, kill, reap, last_hold } = &self.latency;
        writeln!(f, "\n{:<12} {:>10} {:>10} {:>10}", "nanoseconds", "p50", "p99", "p99.9")?;
        let rows = [
            ("spawn", spawn),
            ("look-up", look_up),
            ("kill", kill),
            ("reap", reap),
            ("last hold", last_hold),
        ];
        for (name, Quantiles { p50_ns, p99_ns, p999_ns, .. }) in rows {
            let [p50, p99, p999] = [p50_ns, p99_ns, p999_ns].map(|nanos| thousands(*nanos));
            writeln!(f, "{name:<12} {p50:>10} {p99:>10} {p999:>10}")?;
        }
        Ok(())
    }
}

/// 1234567 as "1 234 567".
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

fn decimal(number: f64) -> String {
    if number >= 100.0 { thousands(number.round() as u64) } else { format!("{number:.2}") }
}

fn mib(bytes: usize) -> String {
    let mut text = String::new();
    write!(text, "{:.2} MiB", bytes as f64 / 1_048_576.0).expect("a string takes everything");
    text
}

fn counted(number: u64, what: &str) -> String {
    counted_as(number, what, &format!("{what}s"))
}

fn counted_as(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", thousands(number), if number == 1 { one } else { many })
}

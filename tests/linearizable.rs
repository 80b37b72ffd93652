//! Histories of real threads on small stores, each checked against the sequential specification:
//! there must be an order of steps, within the times of the calls, that explains every answer.
//!
//! `LINEARIZABLE_HISTORIES=20000` checks so many of each kind, `LINEARIZABLE_SEED=7` others. The
//! calls depend on the seed alone, how they meet on the machine: a history that was refused is
//! printed whole.

#[path = "linearizable/checker.rs"]
mod checker;
#[path = "linearizable/history.rs"]
mod history;
#[path = "linearizable/refusals.rs"]
mod refusals;
#[path = "linearizable/spec.rs"]
mod spec;
mod support;
#[path = "linearizable/workload.rs"]
mod workload;

use support::Dice;
use workload::Setup;

/// Scene ids that were used with few generations are spent, and a process has 65 536 of them.
const MOST_HISTORIES: u64 = 20_000;

fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// Checks histories of setups that `vary` makes of dice.
fn check_histories(kind: u64, vary: impl Fn(&mut Dice, Setup) -> Setup) {
    let default = if cfg!(debug_assertions) { 1_200 } else { 4_000 };
    let histories = from_environment("LINEARIZABLE_HISTORIES", default).min(MOST_HISTORIES);
    let first = from_environment("LINEARIZABLE_SEED", 1) << 24 | kind << 20;
    let (mut calls, mut concurrent, mut states) = (0, 0, 0);
    for seed in first..first + histories {
        let mut dice = Dice::new(seed);
        let setup = Setup {
            seed,
            threads: 2 + dice.roll(8).saturating_sub(5) as usize,
            calls_each: 4 + dice.roll(16) as usize,
            capacity: None,
            backlog: None,
            last_generation: if dice.roll(3) == 0 { 2 + dice.roll(4) as u32 } else { u32::MAX },
            shards: 1 << dice.roll(2),
            pins: false,
        };
        let setup = vary(&mut dice, setup);
        let history = workload::run(setup);
        match checker::check(&history) {
            Ok(looked_at) => states += looked_at,
            Err(refused) => panic!("{setup:?}\n{refused:?}"),
        }
        calls += history.calls.len();
        concurrent += history.concurrent_calls();
    }
    println!("{histories} histories, {calls} calls, {concurrent} concurrent, {states} states");
    // A machine that runs one thread after the other would show nothing.
    assert!(concurrent * 20 > calls, "only {concurrent} of {calls} calls met another");
}

fn bounded(dice: &mut Dice, setup: Setup) -> Setup {
    let backlog = [None, Some(0), Some(1), Some(2)][dice.roll(4) as usize];
    Setup { capacity: Some(1 + dice.roll(4) as usize), backlog, ..setup }
}

#[test]
fn store_with_a_capacity_and_no_pin_is_linearizable() {
    check_histories(1, bounded);
}

#[test]
fn store_with_a_capacity_and_pins_is_linearizable() {
    check_histories(2, |dice, setup| Setup { pins: true, ..bounded(dice, setup) });
}

#[test]
fn store_without_a_limit_is_linearizable() {
    check_histories(3, |dice, setup| Setup { pins: dice.roll(2) == 0, ..setup });
}

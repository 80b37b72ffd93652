//! Histories of real threads on small stores, each checked against the sequential specification:
//! there must be an order of steps, within the times of the calls, that explains every answer.
//!
//! `LINEARIZABLE_HISTORIES=20000` checks so many of each kind, `LINEARIZABLE_SEED=7` others. The
//! calls depend on the seed alone, how they meet on the machine: a history that was refused is
//! printed whole.

#[path = "linearizable/calls.rs"]
mod calls;
#[path = "linearizable/checker.rs"]
mod checker;
#[path = "linearizable/draft.rs"]
mod draft;
#[path = "linearizable/history.rs"]
mod history;
#[path = "linearizable/payload.rs"]
mod payload;
#[path = "linearizable/refusals.rs"]
mod refusals;
#[path = "linearizable/spec.rs"]
mod spec;
mod support;
#[path = "linearizable/worker.rs"]
mod worker;
#[path = "linearizable/workload.rs"]
mod workload;
#[path = "linearizable/world.rs"]
mod world;

use std::collections::BTreeMap;

use history::Answer;
use support::{Dice, take_turn};
use workload::Setup;

/// Scene ids that were used with few generations are spent, and a process has 65 536 of them.
const MOST_HISTORIES: u64 = 20_000;

fn from_environment(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// The answers that every kind of history must have given at some time: what never happens is not
/// checked.
const ALWAYS_MET: [&str; 16] = [
    "Spawned(Ok",
    "Read(Ok",
    "Read(Err(NotFound",
    "Read(Err(Stale",
    "Read(Err(SceneMismatch",
    "Held(Ok",
    "Held(Err(Lookup",
    "Held(Err(ReapRequested",
    "Stepped(Ok(None",
    "Stepped(Ok(Some(Done",
    "Stepped(Ok(Some(Deferred",
    "Stepped(Err(Lookup",
    "Stepped(Err(Illegal",
    "Stepped(Err(WrongState",
    "Stepped(Err(Guarded",
    "Stepped(Err(ReapRequested",
];

/// An answer without the values in it.
fn variant(answer: &Answer) -> String {
    let answer = format!("{answer:?}");
    let ends = [answer.find("Handle("), answer.find([' ', '[', ','])];
    let variant = &answer[..ends.into_iter().flatten().min().unwrap_or(answer.len())];
    variant.trim_end_matches(|c: char| c.is_ascii_digit() || c == ')').into()
}

/// Checks histories of setups that `vary` makes of dice.
fn check_histories(kind: u64, also_met: &[&str], vary: impl Fn(&mut Dice, Setup) -> Setup) {
    // One kind after the other: the threads that are to meet need the processors at the same time.
    let _turn = take_turn();
    let default = if cfg!(debug_assertions) { 1_000 } else { 5_000 };
    let histories = from_environment("LINEARIZABLE_HISTORIES", default).min(MOST_HISTORIES);
    let first = from_environment("LINEARIZABLE_SEED", 1) << 24 | kind << 20;
    let (mut calls, mut concurrent, mut states) = (0, 0, 0);
    let mut met: BTreeMap<String, usize> = BTreeMap::new();
    for seed in first..first + histories {
        let mut dice = Dice::new(seed);
        let setup = Setup {
            seed,
            threads: 2 + dice.roll(8).saturating_sub(5) as usize,
            rounds: 1 + dice.roll(8) as usize,
            capacity: None,
            grows_from: None,
            backlog: None,
            last_generation: if dice.roll(3) == 0 { 2 + dice.roll(4) as u32 } else { u32::MAX },
            shards: 1 << dice.roll(2),
            pins: false,
            stranger: dice.roll(3) == 0,
        };
        let setup = vary(&mut dice, setup);
        let history = workload::run(setup);
        match checker::check(&history) {
            Ok(looked_at) => states += looked_at,
            Err(refused) => panic!("{setup:?}\n{refused:?}"),
        }
        calls += history.calls.len();
        concurrent += history.concurrent_calls();
        for call in &history.calls {
            *met.entry(variant(&call.answer)).or_default() += 1;
        }
    }
    println!("{histories} histories, {calls} calls, {concurrent} concurrent, {states} states");
    println!("{met:?}");
    // A machine that runs one thread after the other would show nothing.
    assert!(concurrent * 50 > calls, "only {concurrent} of {calls} calls met another");
    for answer in ALWAYS_MET.iter().chain(also_met) {
        let seen = met.keys().any(|variant| variant.starts_with(answer));
        assert!(histories < default || seen, "no call answered {answer}..: {met:?}");
    }
}

fn bounded(dice: &mut Dice, setup: Setup) -> Setup {
    let backlog = [None, Some(0), Some(1), Some(2)][dice.roll(4) as usize];
    Setup { capacity: Some(1 + dice.roll(4) as usize), backlog, ..setup }
}

#[test]
fn store_with_a_capacity_and_no_pin_is_linearizable() {
    check_histories(1, &["Spawned(Err(Exhausted"], bounded);
}

#[test]
fn store_with_a_capacity_and_pins_is_linearizable() {
    let reads = ["Read(Err(Pending", "Read(Err(Dying"];
    let refusals = ["Spawned(Err(Exhausted", "Spawned(Err(Reclaiming"];
    check_histories(2, &[reads, refusals].concat(), |dice, setup| Setup {
        pins: true,
        ..bounded(dice, setup)
    });
}

#[test]
fn store_that_grows_to_a_cap_is_linearizable() {
    check_histories(4, &["Spawned(Err(Exhausted"], |dice, setup| {
        let setup = Setup { pins: dice.roll(3) == 0, ..bounded(dice, setup) };
        let most = setup.capacity.unwrap_or(1);
        Setup { grows_from: Some(1 + dice.roll(most as u64) as usize), ..setup }
    });
}

#[test]
fn store_without_a_limit_is_linearizable() {
    check_histories(3, &["Read(Err(Pending", "Read(Err(Dying"], |dice, setup| Setup {
        pins: dice.roll(2) == 0,
        ..setup
    });
}

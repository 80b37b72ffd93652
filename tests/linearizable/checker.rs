//! Whether a history is one that the specification allows.
//!
//! Just-in-time linearization after Lowe, "Testing for linearizability" (2017), over calls of
//! several steps: every state that the store may be in is carried through the events in the order
//! of time. When a call returns, the calls in progress may take steps until it has finished; where
//! no way leads there the history is refused. States that two ways lead to are met once, so the
//! work is bounded by the states and not by the orders.
//!
//! Written here because the crates that there are cannot say what this specification needs:
//! `todc-utils` (Wing and Gong with Lowe's memory; one release, 2023) and `stateright`'s
//! `LinearizabilityTester` (no memory of states) let a call take effect at one moment alone, and
//! invariant 9 is about what calls have in their hands between two.

use std::collections::HashSet;
use std::fmt;

use crate::history::{Call, History};
use crate::spec::{Meanwhile, Progress, Spec};
use crate::world::World;

/// Beyond this a history is too wide to be checked in the time that there is.
const MOST_STATES: usize = 200_000;

/// A state that the store may be in, and how far the calls in progress have come then.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Possible {
    world: World,
    open: Vec<(usize, Progress)>,
}

/// A history that no order of steps explains.
pub struct Refused {
    /// The calls until then, in the order in which they began, and the one without an explanation.
    calls: Vec<Call>,
    wrong: Call,
    /// What the store may have been just before it returned.
    before: Vec<World>,
}

/// How many states were looked at, or where there was none left.
pub fn check(history: &History) -> Result<usize, Box<Refused>> {
    let spec = Spec::of(history);
    let during: Vec<Meanwhile> =
        history.calls.iter().map(|call| meanwhile(history, call)).collect();
    let mut possible = HashSet::new();
    possible.insert(Possible { world: World::empty(history), open: Vec::new() });
    let mut looked_at = 0;
    for (call, ends) in events(history) {
        if !ends {
            possible = possible.into_iter().map(|state| state.begin(call)).collect();
            continue;
        }
        let after = finish(&spec, history, &during, &possible, call, &mut looked_at);
        if after.is_empty() {
            return Err(Box::new(Refused::new(history, call, &possible)));
        }
        possible = after;
    }
    Ok(looked_at)
}

fn meanwhile(history: &History, call: &Call) -> Meanwhile {
    Meanwhile { pinned: history.pinned_during(call), under_way: history.under_way_during(call) }
}

/// The beginnings and ends of all calls, by number, in the order of time.
fn events(history: &History) -> Vec<(usize, bool)> {
    let mut events: Vec<(u64, usize, bool)> = Vec::new();
    for (at, call) in history.calls.iter().enumerate() {
        events.extend([(call.began, at, false), (call.ended, at, true)]);
    }
    events.sort_unstable();
    events.into_iter().map(|(_, call, ends)| (call, ends)).collect()
}

/// Every state after which the call has finished. Other calls take no step that it did not need:
/// they may take it at the next return as well.
fn finish(
    spec: &Spec,
    history: &History,
    during: &[Meanwhile],
    before: &HashSet<Possible>,
    call: usize,
    looked_at: &mut usize,
) -> HashSet<Possible> {
    let mut met = before.clone();
    let mut waiting: Vec<Possible> = before.iter().cloned().collect();
    let mut after = HashSet::new();
    while let Some(state) = waiting.pop() {
        *looked_at += 1;
        assert!(met.len() < MOST_STATES, "too many calls at once to be checked");
        if state.open.iter().any(|(at, progress)| *at == call && progress.is_done()) {
            after.insert(state.end(call));
            continue;
        }
        for (position, (other, progress)) in state.open.iter().enumerate() {
            if progress.is_done() {
                continue;
            }
            let step = spec.step(&state.world, &history.calls[*other], during[*other], *progress);
            let Some((world, progress)) = step else { continue };
            let mut next = Possible { world, open: state.open.clone() };
            next.open[position].1 = progress;
            if met.insert(next.clone()) {
                waiting.push(next);
            }
        }
    }
    after
}

impl Possible {
    fn begin(mut self, call: usize) -> Possible {
        self.open.push((call, Progress::default()));
        self
    }

    fn end(mut self, call: usize) -> Possible {
        self.open.retain(|(at, _)| *at != call);
        self
    }
}

impl Refused {
    fn new(history: &History, call: usize, before: &HashSet<Possible>) -> Refused {
        let wrong = history.calls[call].clone();
        let mut calls: Vec<Call> = history.calls.clone();
        calls.retain(|other| other.began < wrong.ended);
        calls.sort_unstable_by_key(|other| other.began);
        Refused { calls, wrong, before: before.iter().map(|state| state.world.clone()).collect() }
    }

    pub fn wrong(&self) -> &Call {
        &self.wrong
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Call { thread, began, ended, op, answer } in &self.calls {
            let mark = if *began == self.wrong.began { "->" } else { "  " };
            writeln!(f, "{mark} [{began:4} ..{ended:4}] {thread}: {op:?} = {answer:?}")?;
        }
        writeln!(f, "no order of steps explains the call with the arrow; the store was one of")?;
        self.before.iter().take(8).try_for_each(|world| writeln!(f, "   {world:?}"))
    }
}

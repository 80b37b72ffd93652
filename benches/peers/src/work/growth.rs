//! Growth from nothing, and the bytes that an entity takes in the end.

use std::hint::black_box;
use std::process::Command;

use super::{SESSION, sessions};
use crate::allocator::{bytes_of, resident};
use crate::candidates::{EMPTY, held, named};
use crate::measure::{Amount, Run, Timing, timed};
use crate::report::{Report, Setting};
use crate::stores::{Store, payload};

fn fill<S: Store<N>, const N: usize>(store: &S, entities: usize) {
    let mut session = store.session();
    for part in sessions(entities, SESSION) {
        for n in 0..part {
            black_box(store.insert(&mut session, payload(n as u64)));
        }
        session = store.repin(session);
    }
}

/// So many entities on each thread, from an empty store.
pub fn grow<S: Store<N>, const N: usize>(threads: usize, entities: usize) -> Timing {
    let store = S::with_room(threads * entities);
    timed(threads, entities, |_, start| {
        start.wait();
        fill(&store, entities);
    })
}

/// Bytes an entity, with so many alive.
pub fn bytes_each<S: Store<N>, const N: usize>(entities: usize) -> f64 {
    let before = resident();
    let (store, bytes) = bytes_of(|| {
        let store = S::with_room(entities);
        fill(&store, entities);
        store
    });
    let mapped = if S::MAPS_MEMORY { resident().saturating_sub(before) } else { 0 };
    drop(store);
    (bytes + mapped) as f64 / entities as f64
}

/// The same, in a process of its own: the garbage of others, which collectors that are shared free
/// at any time, is not counted.
fn bytes_apart(name: &str, entities: usize) -> Option<f64> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args([BYTES, name, &entities.to_string()]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// The argument of that process.
const BYTES: &str = "--bytes-of";

/// Whether this is such a process: then it has answered.
pub fn answered(arguments: &[String]) -> bool {
    let [flag, name, entities] = arguments else { return false };
    let asked = (flag == BYTES).then(|| named(name)).flatten().zip(entities.parse().ok());
    if let Some((candidate, entities)) = asked {
        println!("{}", (candidate.bytes)(entities));
    }
    asked.is_some()
}

pub fn run(report: &mut Report) {
    let entities = report.plan.size(4_000_000, 100_000);
    report.section(
        "growth",
        "Growth",
        "An empty store grows to 4M entities of 64 bytes. Bytes an entity: what was asked of \
             the allocator and not given back, without what the allocator adds to each box; of \
             mapped memory what became resident.",
    );
    for threads in [1, 2] {
        let runs = held()
            .iter()
            .map(|candidate| {
                let grow = candidate.grow;
                let run: Run<'_> = Box::new(move |entities| grow(threads, entities));
                (candidate.name, run)
            })
            .collect();
        let amount = Amount::Fixed(entities / threads);
        report.measure("growth", Setting::of("to 4M", threads), amount, runs);
    }
    report.table("growth", "an insertion");
    let mut bytes: Vec<(&'static str, f64)> = Vec::new();
    for candidate in held() {
        if candidate.name != EMPTY {
            bytes.extend(bytes_apart(candidate.name, entities).map(|each| (candidate.name, each)));
        }
    }
    report.head(&["candidate", "bytes an entity of 64"]);
    for (name, bytes) in &bytes {
        report.row(&[name, &format!("{bytes:.0}")]);
    }
    report.bytes = bytes;
    report.end();
}

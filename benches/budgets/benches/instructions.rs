//! The hot operations, and what they take of their budgets: see the package's README.

use std::env;
use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;

use hatchery::pool::Pool;
use hatchery::{Handle, Limits, Store, StoreBuilder};
use hatchery_budgets::count::{self, counted};
use hatchery_budgets::table::{Table, Verdict};

/// What an entity carries: 64 bytes.
type Payload = [u64; 8];

/// Entities alive all the while.
const LIVE: usize = 1024;
/// How often each of them has its turn; a session is repinned after each time.
const TURNS: usize = 98;

/// Does an operation `LIVE * TURNS` times within [`counted`].
struct Operation {
    name: &'static str,
    run: fn(),
}

const OPERATIONS: [Operation; 12] = [
    Operation { name: "get, live", run: get_live },
    Operation { name: "get, stale", run: get_stale },
    Operation { name: "Store::pin, get, drop", run: pin_get },
    Operation { name: "hold, drop", run: hold },
    Operation { name: "iter, for each entity", run: iter },
    Operation { name: "spawn_active, despawn", run: two_steps },
    Operation { name: "spawn, activate, kill, reap", run: four_steps },
    Operation { name: "Store::spawn_active, Store::despawn", run: two_pins },
    Operation { name: "spawn_active, despawn, with a capacity", run: bounded },
    Operation { name: "spawn_batch, despawn_batch", run: batches },
    Operation { name: "spawn_recycled, despawn", run: recycled },
    Operation { name: "Pool::acquire, with, release", run: pool },
];

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/budgets.txt");

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        [count::ONE, name] => {
            let named = OPERATIONS.iter().find(|operation| operation.name == name);
            (named.expect("an operation of this name").run)();
        }
        // Under `cargo test`: that they run is all.
        _ if !arguments.contains(&"--bench") => OPERATIONS.iter().for_each(|each| (each.run)()),
        _ if !hatchery_valgrind::possible() => {
            println!("valgrind is not installed: no instruction was counted, no budget compared");
        }
        _ => match compare(arguments.contains(&"--write")) {
            Ok(true) => {}
            Ok(false) => return ExitCode::FAILURE,
            Err(error) => {
                eprintln!("{error}");
                return ExitCode::FAILURE;
            }
        },
    }
    ExitCode::SUCCESS
}

/// Measures every operation beside its budget, and says whether all are kept.
fn compare(write: bool) -> Result<bool, String> {
    let text = fs::read_to_string(TABLE).map_err(|error| format!("{TABLE}: {error}"))?;
    let table = Table::read(&text)?;
    let (rustc, target) = (env!("BUDGETS_RUSTC"), env!("BUDGETS_TARGET"));
    let foreign = table.foreign(rustc, target, env!("BUDGETS_FLAGS"));
    let profiles = Path::new(env!("CARGO_TARGET_TMPDIR"));

    println!("instructions an operation, rustc {rustc}, {target}\n");
    println!("{:<40} | {:>8} | {:>8} | {:>8} |", "", "measured", "budget", "");
    let (mut measured, mut kept) = (Vec::new(), true);
    for Operation { name, .. } in OPERATIONS {
        let instructions = count::instructions(name, profiles)? as f64 / (LIVE * TURNS) as f64;
        measured.push((name, instructions));
        let Some(budget) = table.of(name) else {
            println!("{name:<40} | {instructions:8.2} | no budget");
            kept = false;
            continue;
        };
        let verdict = budget.judge(instructions);
        let more = (1000.0 * (instructions / budget.instructions - 1.0)).round() / 10.0 + 0.0;
        let told = if foreign.is_none() { verdict.to_string() } else { String::new() };
        let line = format!(
            "{name:<40} | {instructions:8.2} | {:8.2} | {more:+6.1} % | {told}",
            budget.instructions
        );
        println!("{}", line.trim_end());
        kept &= verdict != Verdict::Exceeded;
    }
    for budget in &table.budgets {
        if !OPERATIONS.iter().any(|operation| operation.name == budget.name) {
            println!("{:<40} | no such operation", budget.name);
            kept = false;
        }
    }
    println!("\nThe profiles are in {}.", profiles.display());

    if let Some(why) = foreign {
        println!("Not compared{}: {why}.", if write { ", not written" } else { "" });
        return Ok(!write);
    }
    if write {
        fs::write(TABLE, Table::renewed(&text, &measured)).map_err(|error| error.to_string())?;
        println!("Wrote the new budgets to {TABLE}.");
        return Ok(true);
    }
    if !kept {
        println!("Not as budgeted: benches/budgets/README.md says what to do.");
    }
    Ok(kept)
}

/// As many shards on every machine.
fn builder() -> StoreBuilder<Payload> {
    Store::builder().shards(2)
}

fn populated(builder: StoreBuilder<Payload>) -> (Store<Payload>, Vec<Handle>) {
    let store = builder.build().unwrap();
    let mut handles: Vec<Handle> =
        (0..LIVE).map(|n| store.spawn_active([n as u64; 8]).unwrap()).collect();
    // Every one, not in a row.
    for n in 0..LIVE {
        handles.swap(n, n.wrapping_mul(0x9e37_79b9) % LIVE);
    }
    (store, handles)
}

/// A life for each of the handles, so that there are ended ones in every stage of being reused.
fn renew(store: &Store<Payload>, handles: &mut [Handle]) {
    for handle in handles {
        store.despawn(*handle).unwrap();
        *handle = store.spawn_active([1; 8]).unwrap();
    }
}

fn warm(builder: StoreBuilder<Payload>) -> (Store<Payload>, Vec<Handle>) {
    let (store, mut handles) = populated(builder);
    (0..4).for_each(|_| renew(&store, &mut handles));
    (store, handles)
}

fn get_live() {
    let (store, handles) = warm(builder());
    let mut pinned = store.pin();
    counted(&mut || {
        let mut sum = 0;
        for _ in 0..TURNS {
            for handle in &handles {
                sum += pinned.get(*handle).unwrap()[0];
            }
            pinned.repin();
        }
        sum
    });
}

fn get_stale() {
    let (store, mut handles) = warm(builder());
    let stale = handles.clone();
    renew(&store, &mut handles);
    let mut pinned = store.pin();
    counted(&mut || {
        let mut errors = 0;
        for _ in 0..TURNS {
            for handle in &stale {
                errors += u64::from(pinned.get(*handle).is_err());
            }
            pinned.repin();
        }
        errors
    });
}

fn pin_get() {
    let (store, handles) = warm(builder());
    counted(&mut || {
        let mut sum = 0;
        for _ in 0..TURNS {
            for handle in &handles {
                sum += store.pin().get(*handle).unwrap()[0];
            }
        }
        sum
    });
}

fn hold() {
    let (store, handles) = warm(builder());
    let mut pinned = store.pin();
    counted(&mut || {
        let mut sum = 0;
        for _ in 0..TURNS {
            for handle in &handles {
                sum += pinned.hold(*handle).unwrap()[0];
            }
            pinned.repin();
        }
        sum
    });
}

/// Every slot has a live entity.
fn iter() {
    let (store, _handles) = populated(builder());
    let mut pinned = store.pin();
    counted(&mut || {
        let mut sum = 0;
        for _ in 0..TURNS {
            for (handle, payload) in pinned.iter() {
                black_box(handle);
                sum += payload[0];
            }
            pinned.repin();
        }
        sum
    });
}

fn two_steps() {
    churn(builder());
}

/// Room for twice as many as there are.
fn bounded() {
    churn(builder().limits(Limits::reject(2 * LIVE)));
}

fn churn(builder: StoreBuilder<Payload>) {
    let (store, mut handles) = warm(builder);
    let mut pinned = store.pin();
    counted(&mut || {
        for turn in 0..TURNS {
            for handle in &mut handles {
                pinned.despawn(*handle).unwrap();
                *handle = pinned.spawn_active([turn as u64; 8]).unwrap();
            }
            pinned.repin();
        }
        0
    });
}

/// All of them in one batch.
fn batches() {
    let (store, mut handles) = warm(builder());
    let mut pinned = store.pin();
    counted(&mut || {
        for turn in 0..TURNS {
            assert_eq!(pinned.despawn_batch(&handles), LIVE);
            pinned.repin();
            handles = pinned.spawn_batch((0..LIVE).map(|_| [turn as u64; 8])).unwrap();
        }
        0
    });
}

fn four_steps() {
    let (store, mut handles) = warm(builder());
    let mut pinned = store.pin();
    counted(&mut || {
        for turn in 0..TURNS {
            for handle in &mut handles {
                pinned.kill(*handle).unwrap();
                pinned.reap(*handle).unwrap();
                *handle = pinned.spawn([turn as u64; 8]).unwrap().activate();
            }
            pinned.repin();
        }
        0
    });
}

fn two_pins() {
    let (store, mut handles) = warm(builder());
    counted(&mut || {
        for turn in 0..TURNS {
            for handle in &mut handles {
                store.despawn(*handle).unwrap();
                *handle = store.spawn_active([turn as u64; 8]).unwrap();
            }
        }
        0
    });
}

fn recycled() {
    let (store, mut handles) = warm(builder().retain(LIVE));
    let mut pinned = store.pin();
    counted(&mut || {
        for turn in 0..TURNS {
            for handle in &mut handles {
                pinned.despawn(*handle).unwrap();
                let spawned = pinned.spawn_recycled(|payload| payload[0] = turn as u64);
                *handle = spawned.unwrap().activate();
            }
            pinned.repin();
        }
        0
    });
}

/// As many leases as there are entities elsewhere; the oldest goes back for the next.
fn pool() {
    let pool = Pool::<Payload>::new(Limits::reject(2 * LIVE)).unwrap();
    let mut leases: Vec<_> = (0..LIVE).map(|_| pool.acquire().unwrap()).collect();
    counted(&mut || {
        for turn in 0..TURNS {
            for oldest in &mut leases {
                let mut lease = pool.acquire().unwrap();
                lease.with(|payload| payload[0] = turn as u64).unwrap();
                assert!(pool.release(std::mem::replace(oldest, lease)));
            }
        }
        0
    });
}

//! Running the driver under valgrind, its trace straight into the simulation.

use std::env;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use clap::ValueEnum;

use crate::drive::Drive;
use crate::simulation::{Outcome, Simulation};
use crate::trace::{Event, Next, each_line};

/// Lines that are not of the trace, of which as many are kept to be shown when it fails.
const TOLD: usize = 20;

/// Traces one run of the driver, which is `program`, and simulates it.
///
/// # Errors
///
/// When valgrind or the driver fails.
pub fn traced(program: &str, drive: Drive) -> Result<Outcome, String> {
    let mut child = command(program, drive)
        .spawn()
        .map_err(|error| format!("valgrind does not run: {error}"))?;
    let outcome = simulated(&mut child);
    // What is left to do for the driver after its last mark nobody needs.
    let _ = child.kill();
    let _ = child.wait();
    outcome.map_err(|error| format!("{drive}: {error}"))
}

/// This program, which is the driver too.
///
/// # Errors
///
/// When it has no path.
pub fn this_program() -> Result<String, String> {
    let path = env::current_exe().map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|path| format!("{path:?} is no text"))
}

fn command(program: &str, drive: Drive) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=lackey", "--basic-counts=no", "--trace-mem=yes"]);
    // Threads run in the order in which they ask to: see `baton`.
    valgrind.args(["--fair-sched=try", program, "drive"]);
    let work = drive.work.to_possible_value();
    let work = work.as_ref().map_or("", |value| value.get_name());
    valgrind.args(["--work", work]);
    let numbers = [
        ("--threads", drive.threads),
        ("--shards", drive.shards),
        ("--warm", drive.warm),
        ("--measured", drive.measured),
    ];
    for (name, number) in numbers {
        valgrind.args([name, &number.to_string()]);
    }
    // glibc makes eight arenas a core: more than threads, if there are as many cores as threads.
    valgrind.env("MALLOC_ARENA_MAX", "512");
    valgrind.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    valgrind
}

fn simulated(child: &mut Child) -> Result<Outcome, String> {
    let (Some(mut input), Some(output), Some(trace)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err("valgrind has no pipes".to_string());
    };
    let page = OnceLock::new();
    thread::scope(|scope| {
        // The trace has to be read while the driver is on its way to say where its page of marks
        // is. It waits for an answer before it writes the first.
        scope.spawn(|| {
            let mut line = String::new();
            if BufReader::new(output).read_line(&mut line).is_ok()
                && let Ok(at) = line.trim().parse::<u64>()
            {
                page.get_or_init(|| at);
                let _ = input.write_all(b"\n");
            }
        });
        let mut simulation: Option<Simulation> = None;
        let mut told: Vec<String> = Vec::new();
        let read = each_line(trace, |line| {
            match (Event::read(line), &mut simulation) {
                (Some(event), Some(simulation)) => return simulation.take(event),
                (Some(_), none) => *none = page.get().map(|page| Simulation::new(*page)),
                (None, _) if told.len() < TOLD => {
                    told.push(String::from_utf8_lossy(line).into_owned());
                }
                (None, _) => {}
            }
            Next::Go
        });
        read.map_err(|error| format!("the trace cannot be read: {error}"))?;
        let outcome = simulation.map(Simulation::outcome).unwrap_or_default();
        if outcome.done {
            Ok(outcome)
        } else {
            // It ends when valgrind does, or is about to.
            let status = child.wait().map_err(|error| error.to_string())?;
            Err(format!("the trace has no end, {status}\n{}", told.join("\n")))
        }
    })
}

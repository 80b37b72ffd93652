//! What the main thread does during a run: shows how far it is, samples it for the plot, weighs
//! the memory, and adds copies until the workers are busy.

use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::report::thousands;
use crate::siege::Siege;
use crate::tally;

/// Samples for the plot in a run; fewer in a short one.
const SAMPLES: u32 = 400;

/// When copies are added, as parts of the run: well before memory is weighed that the end is
/// compared with.
const RAISED_AT: [f64; 4] = [0.02, 0.04, 0.07, 0.1];

/// With `--soak`, whose comparison begins earlier, they are added so much earlier.
const RAISED_EARLIER: f64 = 0.5;

/// When memory is weighed, beside at the end.
const WEIGHED_AT: [f64; 2] = [0.1, 0.2];

/// One moment of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    pub(crate) alive: usize,
    /// Births since the start.
    pub(crate) births: u64,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
pub(crate) struct Memory {
    /// `stats().bytes` of all stores.
    pub(crate) stores: usize,
    /// That of the largest.
    pub(crate) largest_store: usize,
    /// Their slots, and how many of those wait for readers.
    pub(crate) slots: usize,
    pub(crate) dead: usize,
    /// What the process has in memory, where the system tells.
    pub(crate) resident: Option<usize>,
}

/// What was seen of a run.
pub(crate) struct Watched {
    pub(crate) samples: Vec<Sample>,
    pub(crate) at_10_percent: Memory,
    pub(crate) at_20_percent: Memory,
    pub(crate) at_100_percent: Memory,
    /// The share of their time in which the workers were not asleep, after copies were raised.
    pub(crate) busy: f64,
}

/// Watches until the time is over, and until all that is to be done in it is done.
pub(crate) fn watch(siege: &Siege<'_>, oracle_is_done: impl Fn() -> bool) -> Watched {
    let time = siege.plan.time;
    let bar = progress_bar(time);
    let pause = (time / SAMPLES).max(Duration::from_millis(20));
    let mut samples = Vec::with_capacity(2 * SAMPLES as usize);
    let mut weighed = Vec::with_capacity(WEIGHED_AT.len());
    let mut busy = Busy::new(siege);
    let earlier = if siege.plan.soak { RAISED_EARLIER } else { 1.0 };
    let mut raises = RAISED_AT.iter().map(|at| at * earlier).peekable();
    while !is_done(siege, &oracle_is_done) {
        std::thread::sleep(pause);
        let sample = sample(siege);
        if samples.len() < samples.capacity() {
            samples.push(sample);
        }
        show(siege, &bar, sample);
        let part = sample.seconds / time.as_secs_f64();
        if WEIGHED_AT.get(weighed.len()).is_some_and(|&at| part >= at) {
            weighed.push(weigh(siege));
        }
        if raises.next_if(|&at| part >= at).is_some() {
            busy.raise_copies(siege);
        }
    }
    let at_100_percent = weigh(siege);
    bar.finish_and_clear();
    let mut weighed = weighed.into_iter();
    Watched {
        samples,
        at_10_percent: weighed.next().unwrap_or(at_100_percent),
        at_20_percent: weighed.next().unwrap_or(at_100_percent),
        at_100_percent,
        busy: busy.share(siege),
    }
}

/// Until all games were replayed once, a run may last half as long again, and two seconds.
fn is_done(siege: &Siege<'_>, oracle_is_done: &impl Fn() -> bool) -> bool {
    let (now, time) = (siege.elapsed(), siege.plan.time);
    let late = now >= time + time / 2 + Duration::from_secs(2);
    let unfinished = siege.plan.finish_first_pass && !late && {
        let first_passes = siege.arenas.iter().map(|arena| &arena.first_passes);
        first_passes.map(|left| left.load(Ordering::Relaxed)).sum::<usize>() > 0
    };
    now >= time && !unfinished && oracle_is_done()
}

/// How busy the workers were since it last looked.
struct Busy {
    since_ns: u64,
    slept_ns: u64,
    births: u64,
}

impl Busy {
    fn new(siege: &Siege<'_>) -> Busy {
        Busy { since_ns: siege.elapsed_ns(), slept_ns: slept_ns(siege), births: 0 }
    }

    fn share(&self, siege: &Siege<'_>) -> f64 {
        let slept_ns = slept_ns(siege) - self.slept_ns;
        (1.0 - slept_ns as f64 / self.whole_ns(siege).max(1) as f64).max(0.0)
    }

    /// Adds the copies with which the workers would be busy, as far as that can be told from what
    /// they have done since it last looked.
    fn raise_copies(&mut self, siege: &Siege<'_>) {
        let births = tally::sum(&siege.pulses, |pulse| &pulse.births);
        let busy_ns = self.share(siege) * self.whole_ns(siege) as f64;
        let copies = siege.copies.load(Ordering::Relaxed);
        let wanted = siege.plan.copies_for(copies, busy_ns as u64, births - self.births);
        siege.copies.store(wanted, Ordering::Relaxed);
        *self = Busy { births, ..Busy::new(siege) };
    }

    fn whole_ns(&self, siege: &Siege<'_>) -> u64 {
        (siege.elapsed_ns() - self.since_ns) * siege.plan.threads as u64
    }
}

fn slept_ns(siege: &Siege<'_>) -> u64 {
    tally::sum(&siege.pulses, |pulse| &pulse.slept_ns)
}

fn sample(siege: &Siege<'_>) -> Sample {
    Sample {
        seconds: siege.elapsed().as_secs_f64(),
        alive: siege.arenas.iter().map(|arena| arena.store.len()).sum(),
        births: tally::sum(&siege.pulses, |pulse| &pulse.births),
    }
}

fn weigh(siege: &Siege<'_>) -> Memory {
    let mut memory = Memory { resident: resident(), ..Memory::default() };
    for stats in siege.arenas.iter().map(|arena| arena.store.stats()) {
        memory.stores += stats.bytes;
        memory.largest_store = memory.largest_store.max(stats.bytes);
        memory.slots += stats.slots;
        memory.dead += stats.dead;
    }
    memory
}

/// `VmRSS` of this process; only Linux has it.
fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

fn progress_bar(time: Duration) -> ProgressBar {
    let bar = ProgressBar::new(time.as_millis() as u64);
    let style = ProgressStyle::with_template("{wide_bar} {percent:>3} %  {msg}");
    bar.set_style(style.expect("a valid template"));
    bar
}

fn show(siege: &Siege<'_>, bar: &ProgressBar, sample: Sample) {
    let landings = tally::sum(&siege.pulses, |pulse| &pulse.landings);
    bar.set_position((sample.seconds * 1_000.0) as u64);
    bar.set_message(format!(
        "{} lives, {} alive, {} skills landed, {} violations",
        thousands(sample.births),
        thousands(sample.alive as u64),
        thousands(landings),
        siege.violations.count(),
    ));
}

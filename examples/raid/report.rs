//! The figures of a raid that is over.

use std::fmt;
use std::time::Duration;

use crate::meters::PHASES;
use crate::raid::{Closed, Met, Plan};
use crate::spawner::Pace;

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Plan { seed, actors, threads, pace } = self.plan;
        let threads = threads.map_or("one a core".to_owned(), |threads| threads.to_string());
        let pace = if pace == Pace::Free { "free" } else { "in step" };
        writeln!(
            f,
            "raid      of {actors} at first, seed {seed}, threads {threads}, spawners {pace}",
        )?;
        let (told, deeds, pool) = (&self.told, &self.books.deeds, &self.pool);
        let Met { frame, alive, pending, missiles, tickets } = self.met;
        writeln!(
            f,
            "shut down after frame {frame} with {alive} actors alive, {pending} pending, \
             {missiles} missiles in the air, {tickets} tickets out",
        )?;
        let (created, killed, destroyed) = (told.created, told.killed, told.destroyed);
        writeln!(
            f,
            "actors    {created} created, {killed} killed, {destroyed} destroyed, {} cancelled, \
             {} refused",
            self.store.cancelled, told.refused,
        )?;
        writeln!(
            f,
            "fight     {} fell, {} revived, {} bosses felled, {} calls for help, {} experience",
            deeds.fallen.get(),
            deeds.revived.get(),
            deeds.bosses.get(),
            deeds.calls.get(),
            deeds.experience.get(),
        )?;
        writeln!(f, "loot      {} dropped, {} collected", deeds.loot.get(), deeds.collected.get())?;
        let (shots, held) = (deeds.shots.get(), deeds.held_fire.get());
        writeln!(
            f,
            "missiles  {shots} shots, {held} held for want of one; pool: {} made, {} on lease at \
             most, {} ‰ hits",
            pool.created,
            pool.peak_live,
            pool.hit_rate_permille(),
        )?;
        let remote = self.spawners;
        writeln!(
            f,
            "spawners  {} created, {} refused, {} turned away, {} dismissed, {} tickets",
            remote.created, remote.refused, remote.turned_away, remote.dismissed, remote.tickets,
        )?;
        self.write_times(f)?;
        writeln!(
            f,
            "balanced  every created hook has its destroyed hook, every lease is home, and the \
             store is empty",
        )
    }
}

impl Closed {
    fn write_times(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let meters = &self.meters;
        if meters.frames() == 0 {
            return Ok(());
        }
        writeln!(
            f,
            "frames    {} measured: median {}, p99 {}, longest {}; the first, in which all come, \
             {}",
            meters.frames(),
            milliseconds(meters.percentile(50.0)),
            milliseconds(meters.percentile(99.0)),
            milliseconds(meters.longest()),
            milliseconds(meters.muster()),
        )?;
        let phases = PHASES.iter().zip(meters.phases());
        let phases = phases.map(|(name, took)| format!("{name} {}", milliseconds(took)));
        writeln!(f, "phases    mean: {}", Vec::from_iter(phases).join(", "))
    }
}

pub(crate) fn milliseconds(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

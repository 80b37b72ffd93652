//! The frame: its phases in their order, and the actors in parallel.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use super::actor::Core;
use super::component::tick_all;
use super::context::{Seen, TickContext};
use super::frame::Frame;
use super::panics::Panics;
use super::phase::Phase;
use super::prefetch::ask_for;
use super::random::{Dice, Drawer};
use super::registry::Entry;
use super::remote::Request;
use super::time::FrameReport;
use super::work::Work;
use super::{Scene, trace};

/// The fewest actors in a part: fewer are not worth a change of thread.
const SMALLEST_PART: usize = 64;
/// How many parts there are per thread, so that all need not wait for one that takes longer.
const PARTS_EACH: usize = 8;

/// The results of a part of the actors.
pub(super) struct Part<C: Core> {
    asked: RefCell<Vec<Work<C>>>,
    panics: Panics,
}

impl<C: Core> Part<C> {
    fn new() -> Part<C> {
        Part { asked: RefCell::new(Vec::new()), panics: Panics::default() }
    }
}

/// Runs a phase, given by its place in the report, and returns how long it took.
fn timed(place: usize, work: impl FnOnce()) -> Duration {
    let _span = trace::phase(place);
    let begun = Instant::now();
    work();
    begun.elapsed()
}

impl<C: Core> Scene<C> {
    /// One frame of `dt` scaled seconds.
    pub(super) fn run_frame(&mut self, dt: f32) {
        self.report = FrameReport::default();
        let _span = trace::frame(self.registry.store.scene(), self.time.frame + 1);
        if self.end_if_asked() {
            return;
        }
        self.report.phases[0] = timed(0, || {
            self.sweep();
            self.admit();
        });
        self.time.frame += 1;
        if !self.time.paused {
            self.time.elapsed += f64::from(dt);
            self.run_phases(dt);
        }
        self.end_if_asked();
    }

    /// Runs the phases. After a panic its own phase finishes, and no later one begins.
    fn run_phases(&mut self, dt: f32) {
        let mut phases = Phase::ALL.into_iter();
        for slot in 1..self.report.phases.len() {
            if self.panics.any() {
                return;
            }
            // The actor phase comes after Pre.
            let took = match slot {
                2 => timed(slot, || self.tick_actors(dt)),
                _ => match phases.next() {
                    Some(phase) => timed(slot, || self.tick_systems(phase, dt)),
                    None => return,
                },
            };
            self.report.phases[slot] = took;
        }
    }

    /// Takes in what other threads have asked for.
    fn admit(&mut self) {
        for request in self.link.take() {
            self.queue.push_back(match request {
                Request::Admit(newborn) => Work::Introduce(newborn),
                Request::Kill(handle) => Work::RemoteKill(handle),
            });
        }
        self.drain();
    }

    fn tick_systems(&mut self, phase: Phase, dt: f32) {
        let mut number = 0;
        while let Some(place) = self.hub.place(phase, number) {
            number += 1;
            let dice = Dice::new(self.seed, Drawer::System, place as u64, self.time.frame);
            let Scene { registry, services, time, report, queue, hub, panics, .. } = self;
            if let Some(system) = hub.ticking(place) {
                let mut frame = Frame { registry, services, time, report, queue, dice };
                panics.contain(|| system.tick(&mut frame, dt));
            }
            self.drain();
        }
    }

    /// Publishes every Active actor, ticks each of them, and then does what they have asked for, in
    /// order of creation.
    fn tick_actors(&mut self, dt: f32) {
        self.published.grow_to(self.registry.store.slots());
        let Scene { registry, services, time, published, workers, parts, seed, .. } = self;
        let published = &*published;
        let entries = registry.entries();
        let size = entries.len().div_ceil(workers.count() * PARTS_EACH).max(SMALLEST_PART);
        let needed = entries.len().div_ceil(size);
        if needed > parts.len() {
            parts.resize_with(needed, Part::new);
        }
        workers.deal(entries, size, parts, |entries, part| {
            each(entries, &mut part.panics, |entry, _| {
                // SAFETY: this worker was dealt the entry, and nobody reads before all have
                // published (invariant 16).
                unsafe { published.publish(entry) };
            });
        });
        let store = &registry.store;
        let seen = &Seen { store, published, services, time, seed: *seed };
        workers.deal(entries, size, parts, |entries, part| {
            let Part { asked, panics } = part;
            let mut cx = TickContext::new(seen, asked, dt);
            each(entries, panics, |entry, coming| {
                // SAFETY: this worker was dealt all of them, and it is nobody's turn (invariant
                // 16).
                unsafe { ask_for(coming) };
                // SAFETY: this worker was dealt the entry, of which the actor has one; others see
                // what is published, which is apart (invariant 16).
                let Some(actor) = (unsafe { entry.cell.active_mut() }) else { return };
                cx.turn_to(entry.birth);
                C::tick(actor, &cx, dt);
                if actor.ticks {
                    tick_all(actor, &cx);
                }
            });
        });
        for part in &mut self.parts {
            self.queue.extend(part.asked.get_mut().drain(..));
            self.panics.take_over(&mut part.panics);
        }
        self.drain();
    }
}

/// Calls `work` for each entry, with the entries after it. A panic ends only the call in which it
/// happens.
fn each<C: Core>(
    entries: &[Entry<C>],
    panics: &mut Panics,
    mut work: impl FnMut(&Entry<C>, &[Entry<C>]),
) {
    let mut coming = entries;
    let mut go_on = || {
        while let Some((entry, rest)) = coming.split_first() {
            coming = rest;
            work(entry, rest);
        }
    };
    while !panics.contain(&mut go_on) {}
}

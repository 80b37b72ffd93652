//! The feature `tracing`: spans of frames, phases and the shutdown, and events of lifecycles and
//! refusals.
#![cfg(feature = "tracing")]

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::fmt::{Debug, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hatchery::scene::{Actor, Phase};
use hatchery::{Handle, Limits, SceneId};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::with_default;
use tracing::{Event, Metadata, Subscriber};
use world::*;

/// Writes down what it is told, each span when it is made.
struct Scribe {
    log: Log,
    spans: AtomicU64,
}

/// The fields of a span or an event, on one line; the message first, since it comes first.
struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.0, " {value:?}"),
            name => write!(self.0, " {name}={value:?}"),
        };
        written.unwrap();
    }
}

impl Line {
    fn of(metadata: &Metadata<'_>) -> Line {
        assert_eq!(metadata.target(), "hatchery::scene");
        Line(metadata.level().to_string())
    }
}

impl Subscriber for Scribe {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut line = Line::of(attributes.metadata());
        write!(line.0, " {{ {}", attributes.metadata().name()).unwrap();
        attributes.record(&mut line);
        self.log.note(line.0);
        Id::from_u64(self.spans.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::of(event.metadata());
        event.record(&mut line);
        self.log.note(line.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {
        self.log.note("}");
    }
}

/// What is told while `code` runs.
fn told(code: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    with_default(Scribe { log: log.clone(), spans: AtomicU64::new(0) }, code);
    log.take()
}

/// The lines, with names in the place of handles.
fn named(lines: Vec<String>, names: &[(Handle, &str)]) -> Vec<String> {
    let rename =
        |line: String, (handle, name): &(Handle, &str)| line.replace(&handle.to_string(), name);
    lines.into_iter().map(|line| names.iter().fold(line, rename)).collect()
}

#[test]
fn frame_tells_of_its_phases_and_of_whom_it_creates_kills_and_ends() {
    let quiet = Log::default();
    let plan = Plan::new(&quiet, "");
    let mut victim = None;
    let make = doing(Phase::Main, {
        let plan = plan.clone();
        move |frame, _| {
            let _ = frame.create_actor([0.0; 2], &plan, |_| ());
            victim = victim.or_else(|| frame.actors().next().map(Actor::handle));
            let _ = frame.kill_actor(victim.unwrap());
        }
    });
    let builder = scene().scene(SceneId(930)).limits(Limits::reject(2)).tick_system(make);
    let mut scene = builder.build().unwrap();
    let mut names = Vec::new();
    let lines = told(|| {
        names.push((scene.create_actor([0.0; 2], &plan, |_| ()).unwrap(), "orc"));
        scene.tick(0.1);
        names.push((scene.alive_actors().last().map(Actor::handle).unwrap(), "elf"));
        let ticket = scene.settle(names[0].0).unwrap();
        scene.tick(0.1);
        drop(ticket);
        scene.set_paused(true);
        scene.tick(0.1);
        scene.shutdown();
        scene.shutdown();
    });
    let first = [
        "TRACE actor created actor=orc",
        "DEBUG { frame scene=930 number=1",
        "DEBUG { sweep",
        "}",
        "DEBUG { pre",
        "}",
        "DEBUG { actors",
        "}",
        "DEBUG { main",
        "TRACE actor killed actor=orc",
        "TRACE actor created actor=elf",
        "}",
        "DEBUG { post",
        "}",
        "DEBUG { presentation",
        "}",
        "}",
    ];
    let refused = [
        "DEBUG { frame scene=930 number=2",
        "DEBUG { sweep",
        "}",
        "DEBUG { pre",
        "}",
        "DEBUG { actors",
        "}",
        "DEBUG { main",
        "WARN creation refused scene=930 reason=all 2 places are taken: reap an entity or raise the capacity",
        "DEBUG kill refused actor=orc reason=orc: illegal transition dying -> dying, dying can become active or dead",
        "}",
        "DEBUG { post",
        "}",
        "DEBUG { presentation",
        "}",
        "}",
    ];
    let paused = [
        "DEBUG { frame scene=930 number=3",
        "DEBUG { sweep",
        "TRACE actor destroyed actor=orc reason=Killed",
        "}",
        "}",
    ];
    let ended =
        ["DEBUG { shutdown scene=930", "TRACE actor destroyed actor=elf reason=Shutdown", "}"];
    assert_eq!(named(lines, &names), [&first[..], &refused, &paused, &ended].concat());
}

#[test]
fn creation_that_panics_and_one_that_is_never_admitted_are_told_as_cancelled() {
    let quiet = Log::default();
    let mut scene = scene().scene(SceneId(931)).build().unwrap();
    let mut names = Vec::new();
    let lines = told(|| {
        let broken = Plan::new(&quiet, "").created(|_, _| panic!("no resources"));
        let create = || {
            scene.create_actor([0.0; 2], &broken, |actor| names.push((actor.handle(), "broken")))
        };
        assert!(catch_unwind(AssertUnwindSafe(create)).is_err());
        let late = Arc::new(Plan::new(&quiet, ""));
        names.push((scene.remote().create_actor([0.0; 2], late, |_| ()).unwrap(), "late"));
        drop(scene);
    });
    let expected = [
        "ERROR panic contained panic=no resources",
        "WARN creation cancelled actor=broken reason=Cancelled",
        "DEBUG { shutdown scene=931",
        "WARN creation cancelled actor=late reason=Shutdown",
        "}",
    ];
    assert_eq!(named(lines, &names), expected);
}

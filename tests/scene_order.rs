//! Creation and end in strict order: construct, init, configure, created hooks, tick;
//! pending-destroy hooks, destroyed hooks, cleanup, drop.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use hatchery::scene::{Actor, Core, Phase, Scene, TickContext};
use hatchery::{Handle, LookupError, State};
use world::*;

#[test]
fn creation_and_end_run_in_order() {
    let log = Log::default();
    let (first, second) = (Hearing(log.clone(), "first"), Hearing(log.clone(), "second"));
    let mut scene = scene().system(first).system(second).build().unwrap();
    let orc = scene
        .create_actor([0.0; 2], &Plan::new(&log, "orc"), |actor| {
            actor.core.log.note("configure");
            actor.add_component(Noting("shield"));
            actor.add_tick_component(Ticking(0));
        })
        .unwrap();
    let created = [
        "init orc",
        "configure",
        "created orc",
        "  shield created",
        "  ticking created",
        "first hears created orc",
        "second hears created orc",
    ];
    assert_eq!(log.take(), created);
    assert_eq!(scene.state(orc), Ok(State::Active));
    assert_eq!(scene.last_frame().created, 1);

    scene.tick(0.1);
    assert_eq!(log.take(), ["tick orc", "  ticking tick"]);

    scene.kill_actor(orc).unwrap();
    let killed = [
        "pending destroy orc",
        "  shield pending destroy",
        "first hears pending destroy orc",
        "second hears pending destroy orc",
    ];
    assert_eq!(log.take(), killed);
    assert_eq!(scene.state(orc), Ok(State::Dying));
    assert_eq!(scene.actor(orc).unwrap().core.name, "orc");
    assert_eq!(scene.alive_actors().count(), 1);
    assert!(scene.kill_actor(orc).is_err(), "killed once");

    scene.tick(0.1);
    let destroyed = [
        "  shield destroyed",
        "  ticking destroyed",
        "first hears destroyed orc Killed",
        "second hears destroyed orc Killed",
        "cleanup orc Killed",
        "drop orc",
    ];
    assert_eq!(log.take(), destroyed);
    assert_eq!(scene.actor(orc).map(drop), Err(LookupError::NotFound { handle: orc }));
    assert!(scene.state(orc).is_err());
    assert_eq!((scene.alive_actors().count(), scene.store_stats().dead), (0, 0));
}

#[test]
fn phases_run_in_order_and_systems_of_one_in_order_of_registration() {
    let log = Log::default();
    let phase = |phase, name: &'static str| {
        let log = log.clone();
        doing(phase, move |_, _| log.note(name))
    };
    let mut scene = scene()
        .tick_system(phase(Phase::Presentation, "presentation"))
        .tick_system(phase(Phase::Main, "main 1"))
        .tick_system(phase(Phase::Pre, "pre"))
        .tick_system(phase(Phase::Main, "main 2"))
        .tick_system(phase(Phase::Post, "post"))
        .build()
        .unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    log.take();
    scene.tick(0.1);
    assert_eq!(log.take(), ["pre", "tick orc", "main 1", "main 2", "post", "presentation"]);
}

#[test]
fn actor_created_in_pre_ticks_in_the_same_frame_and_in_main_in_the_next() {
    let log = Log::default();
    let make = |phase, name: &'static str| {
        let plan = Plan::new(&log, name);
        let mut made = false;
        doing(phase, move |frame, _| {
            if !std::mem::replace(&mut made, true) {
                let handle = frame.create_actor([0.0; 2], &plan, |_| ()).unwrap();
                assert!(frame.actor(handle).is_err(), "Pending until the tick returns");
            }
        })
    };
    let builder = scene().tick_system(make(Phase::Pre, "early"));
    let mut scene = builder.tick_system(make(Phase::Main, "late")).build().unwrap();
    scene.tick(0.1);
    assert_eq!((log.count("tick early"), log.count("tick late")), (1, 0));
    scene.tick(0.1);
    assert_eq!((log.count("tick early"), log.count("tick late")), (2, 1));
}

#[test]
fn paused_frame_sweeps_and_counts_and_no_more() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "elf"), |_| ()).unwrap();
    scene.kill_actor(orc).unwrap();
    log.take();
    scene.set_paused(true);
    scene.tick(0.5);
    assert_eq!(log.take(), ["cleanup orc Killed", "drop orc"]);
    assert_eq!((scene.time().frame, scene.time().elapsed), (1, 0.0));
    scene.set_paused(false);
    scene.set_time_scale(2.0);
    scene.tick(0.5);
    assert_eq!(log.take(), ["tick elf"]);
    assert_eq!((scene.time().frame, scene.time().elapsed), (2, 1.0));
}

/// "An actor ticks in the first actor phase that begins after its created hooks are done."
#[test]
fn actor_ticks_first_in_the_phase_that_begins_after_its_created_hooks() {
    let log = Log::default();
    let child = |name| Arc::new(Plan::new(&log, name));
    let (by_hook, by_actor, admitted) = (child("by hook"), child("by actor"), child("admitted"));
    let parent = Plan::new(&log, "parent")
        .created(move |_, cx| cx.create_actor([0.0; 2], Arc::clone(&by_hook), |_| ()))
        .ticked(move |actor, cx| {
            if actor.core.ticks == 1 {
                cx.create_actor([0.0; 2], Arc::clone(&by_actor), |_| ());
            }
        });
    let mut made = false;
    let pre = doing(Phase::Pre, move |frame, _| {
        if !std::mem::replace(&mut made, true) {
            frame.create_actor([0.0; 2], &parent, |_| ()).unwrap();
        }
    });
    let mut scene = scene().tick_system(pre).build().unwrap();
    scene.remote().create_actor([0.0; 2], admitted, |_| ()).unwrap();
    scene.tick(0.1);
    let ticks = |name: &str| log.count(&format!("tick {name}"));
    let names = ["parent", "by hook", "admitted", "by actor"];
    assert_eq!(names.map(ticks), [1, 1, 1, 0]);
    assert_eq!(log.count("created by actor"), 1);
    scene.tick(0.1);
    assert_eq!(names.map(ticks), [2, 2, 2, 1]);
}

/// "A kill asked for in the actor phase takes effect after it."
#[test]
fn actor_killed_before_its_phase_does_not_tick_and_one_killed_in_it_does() {
    let log = Log::default();
    let mut scene = {
        let first = doing(Phase::Pre, |frame, _| {
            let first = frame.actors().next().map(Actor::handle);
            if let Some(first) = first {
                let _ = frame.kill_actor(first);
                assert!(frame.actor(first).is_ok(), "it can still be looked up");
            }
        });
        scene().tick_system(first).build().unwrap()
    };
    let before = scene.create_actor([0.0; 2], &Plan::new(&log, "before"), |_| ()).unwrap();
    let victim = Arc::new(OnceLock::new());
    let killer = Plan::new(&log, "killer").ticked({
        let victim = Arc::clone(&victim);
        move |_, cx| {
            let victim = *victim.get().unwrap();
            cx.kill_actor(victim);
            assert!(cx.is_alive(victim) && !cx.is_alive(before) && cx.public(before).is_none());
        }
    });
    scene.create_actor([0.0; 2], &killer, |_| ()).unwrap();
    let during = scene.create_actor([0.0; 2], &Plan::new(&log, "during"), |_| ()).unwrap();
    victim.set(during).unwrap();
    scene.tick(0.1);
    let ticks = |name: &str| log.count(&format!("tick {name}"));
    assert_eq!(["before", "killer", "during"].map(ticks), [0, 1, 1]);
    assert_eq!((scene.state(before), scene.state(during)), (Ok(State::Dying), Ok(State::Dying)));
    assert_eq!(scene.last_frame().killed, 2);
}

#[test]
fn time_that_is_no_time_is_refused_before_anything_has_changed() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    scene.kill_actor(orc).unwrap();
    let (time, report) = (*scene.time(), *scene.last_frame());
    log.take();
    for wrong in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.1, f32::MIN] {
        assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(wrong))).is_err(), "dt {wrong}");
        let scale = || scene.set_time_scale(wrong);
        assert!(catch_unwind(AssertUnwindSafe(scale)).is_err(), "scale {wrong}");
    }
    assert_eq!((*scene.time(), *scene.last_frame(), log.take()), (time, report, vec![]));
    scene.set_time_scale(2.0);
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(f32::MAX))).is_err());
    assert_eq!((scene.time().frame, scene.state(orc)), (0, Ok(State::Dying)));
    scene.tick(-0.0);
    assert_eq!((scene.time().frame, scene.time().elapsed), (1, 0.0));
}

/// A time scale of zero is no pause: everything is called, and no time passes.
#[test]
fn time_that_stands_still_calls_everybody() {
    let log = Log::default();
    let noting = log.clone();
    let main = doing(Phase::Main, move |_, dt| noting.note(format!("main {dt}")));
    let mut scene = scene().tick_system(main).build().unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    log.take();
    scene.set_time_scale(0.0);
    scene.tick(0.5);
    assert_eq!(log.take(), ["tick orc", "main 0"]);
    assert_eq!((scene.time().frame, scene.time().elapsed), (1, 0.0));
}

#[test]
fn system_can_tell_who_is_pending_active_or_dying() {
    let log = Log::default();
    let plan = Plan::new(&log, "recruit");
    let seen = Log::default();
    let sergeant = doing(Phase::Post, {
        let seen = seen.clone();
        move |frame, _| {
            let recruit = frame.create_actor([0.0; 2], &plan, |_| ()).unwrap();
            let veteran = frame.actors().next().unwrap().handle();
            let before = frame.state(veteran).unwrap();
            frame.kill_actor(veteran).unwrap();
            let states = [frame.state(recruit).unwrap(), before, frame.state(veteran).unwrap()];
            seen.note(states.map(|state| state.to_string()).join(" "));
        }
    });
    let mut scene = scene().tick_system(sergeant).build().unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "veteran"), |_| ()).unwrap();
    scene.tick(0.1);
    assert_eq!(seen.take(), ["pending active dying"]);
}

/// Of `()` nothing is kept; each is asked all the same, and the others see it of who is Active.
#[test]
fn nothing_is_published_like_anything_else() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    struct Quiet(Option<Handle>, Option<bool>);
    impl Core for Quiet {
        type Definition = ();
        type Position = Option<Handle>;
        type Public = ();
        fn construct(other: Option<Handle>) -> Quiet {
            Quiet(other, None)
        }
        fn init(_: &mut Actor<Quiet>, (): &()) {}
        fn publish(_: &Actor<Quiet>) {
            ASKED.fetch_add(1, Ordering::Relaxed);
        }
        fn tick(actor: &mut Actor<Quiet>, cx: &TickContext<'_, Quiet>, _: f32) {
            actor.core.1 = actor.core.0.map(|other| cx.public(other).is_some());
        }
    }
    let mut scene = Scene::<Quiet>::builder().threads(1).build().unwrap();
    let first = scene.create_actor(None, &(), |_| ()).unwrap();
    let second = scene.create_actor(Some(first), &(), |_| ()).unwrap();
    scene.tick(0.1);
    assert_eq!(scene.actor(second).unwrap().core.1, Some(true));
    assert_eq!(ASKED.load(Ordering::Relaxed), 2);
    scene.kill_actor(first).unwrap();
    scene.tick(0.1);
    assert_eq!(scene.actor(second).unwrap().core.1, Some(false));
    assert_eq!(ASKED.load(Ordering::Relaxed), 3);
}

//! Creation and end in strict order: construct, init, configure, created hooks, tick; pending-destroy
//! hooks, destroyed hooks, cleanup, drop.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use hatchery::scene::Phase;
use hatchery::{LookupError, State};
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

//! Shutdown in two phases, once, whatever is alive, pending or dying.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::num::NonZeroU32;
use std::sync::{Arc, OnceLock};

use hatchery::scene::{
    Actor, Commands, Component, CreateError, Phase, Scene, SceneRemote, Settlement, System,
    Teardown, TickComponent, TickContext,
};
use hatchery::{EndReason, Handle, SceneId, State};
use world::*;

/// A remote for those who were registered before there was one.
type Line = Arc<OnceLock<SceneRemote<Unit>>>;

/// Tries everything that may not happen any more.
struct Late(Log, Line);

impl Late {
    fn assert_refused(&self, handle: Handle) {
        let remote = self.1.get().unwrap();
        let plan = Arc::new(Plan::new(&self.0, "late"));
        let refused = remote.create_actor([0.0; 2], plan, |_| ()).unwrap_err();
        assert!(matches!(refused, CreateError::Shutdown { .. }));
        assert!(!remote.kill_actor(handle) && remote.settle(handle).is_err());
        assert!(remote.state(handle).is_err() && remote.is_shutdown());
        remote.shutdown();
    }
}

impl System<Unit> for Late {
    fn on_actor_destroyed(&mut self, actor: &mut Actor<Unit>, end: &Teardown<'_>) {
        if end.reason() == EndReason::Shutdown {
            self.assert_refused(actor.handle());
        }
    }
    fn on_scene_shutdown(&mut self, end: &Teardown<'_>) {
        assert_eq!(end.reason(), EndReason::Shutdown);
        self.assert_refused(Handle::from_bytes([1; 12]).unwrap());
        self.0.note("late refused");
    }
}

impl Component<Unit> for Late {
    fn on_destroyed(&mut self, owner: &mut Actor<Unit>, end: &Teardown<'_>) {
        assert_eq!(end.reason(), EndReason::Shutdown);
        self.assert_refused(owner.handle());
        self.0.note("  late refused");
    }
}

/// C55: actors in every state, asked for inside a frame, and hooks that create in the first phase.
#[test]
fn shutdown_ends_each_actor_once_and_refuses_late_creations() {
    let (log, line) = (Log::default(), Line::default());
    let late = || Late(log.clone(), Arc::clone(&line));
    let victim = Arc::new(OnceLock::new());
    // Pending from this very tick, Pending from another thread, and Dying from this tick.
    let end = doing(Phase::Main, {
        let (log, line, victim) = (log.clone(), Arc::clone(&line), Arc::clone(&victim));
        move |frame, _| {
            let remote = line.get().unwrap();
            let Some(victim) = victim.get() else { return };
            let newborn =
                frame.create_actor([0.0; 2], &Plan::new(&log, "newborn"), |_| ()).unwrap();
            let plan = Arc::new(Plan::new(&log, "pending"));
            let pending = remote.create_actor([0.0; 2], plan, |_| ()).unwrap();
            for handle in [newborn, pending] {
                assert_eq!(remote.state(handle), Ok(State::Pending));
            }
            frame.kill_actor(*victim).unwrap();
            assert!(remote.kill_actor(pending));
            frame.shutdown();
        }
    });
    let builder = scene().system(Hearing(log.clone(), "system")).system(late());
    let mut scene = builder.tick_system(end).build().unwrap();
    let remote = scene.remote();
    line.set(remote.clone()).unwrap();
    let mut make = |name, add: &dyn Fn(&mut Actor<Unit>)| {
        scene.create_actor([0.0; 2], &Plan::new(&log, name), |actor| add(actor)).unwrap()
    };
    let active = make("active", &|actor| actor.add_component(late()));
    let dying = make("dying", &|actor| actor.add_component(late()));
    let [held, dead] = ["held", "dead"].map(|name| make(name, &|_| ()));
    let none = Handle::new(dead.id(), NonZeroU32::MAX);
    let ticket = scene.settle(held).unwrap();
    scene.kill_actor(dead).unwrap();
    scene.kill_actor(held).unwrap();
    scene.tick(0.1);
    victim.set(dying).unwrap();
    log.take();

    scene.tick(0.1);
    let ended = [
        "tick active",
        "tick dying",
        "init newborn",
        "init pending",
        "created newborn",
        "system hears created newborn",
        "pending destroy dying",
        "system hears pending destroy dying",
        // The end: who was never Active goes without a hook.
        "drop pending",
        "system hears shutdown",
        "late refused",
        "  late refused",
        "system hears destroyed active Shutdown",
        "cleanup active Shutdown",
        "drop active",
        "  late refused",
        "system hears destroyed dying Shutdown",
        "cleanup dying Shutdown",
        "drop dying",
        "system hears destroyed held Shutdown",
        "cleanup held Shutdown",
        "drop held",
        "system hears destroyed newborn Shutdown",
        "cleanup newborn Shutdown",
        "drop newborn",
    ];
    assert_eq!(log.take(), ended);
    assert_eq!((scene.last_frame().destroyed, scene.alive_actors().count()), (4, 0));
    assert!(scene.is_shutdown() && remote.is_shutdown());
    for handle in [active, dying, held, dead, none] {
        assert!(scene.actor(handle).is_err() && scene.state(handle).is_err());
        assert!(scene.actor_mut(handle).is_err());
        assert!(scene.kill_actor(handle).is_err() && scene.settle(handle).is_err());
        assert!(!remote.kill_actor(handle) && remote.state(handle).is_err());
    }
    let late = scene.create_actor([0.0; 2], &Plan::new(&log, "late"), |_| ());
    assert!(matches!(late, Err(CreateError::Shutdown { .. })));
    let late = remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "late")), |_| ());
    assert!(matches!(late, Err(CreateError::Shutdown { .. })));
    let frame = scene.time().frame;
    scene.shutdown();
    scene.tick(0.1);
    assert_eq!((log.take(), scene.time().frame), (vec![], frame));
    assert_eq!(scene.store_stats().live, 1, "the ticket keeps its slot");
    drop(ticket);
    let stats = scene.store_stats();
    assert_eq!((stats.live, stats.spawned), (0, stats.reaped + stats.cancelled));
    drop(scene);
    assert_eq!(log.take(), Vec::<String>::new());
}

/// Who may ask for the shutdown inside a frame, wherever it is.
#[test]
fn shutdown_asked_for_anywhere_in_a_frame_comes_once_at_its_end() {
    const PLACES: [&str; 13] = [
        "created core",
        "created part",
        "created ear",
        "killed core",
        "killed part",
        "killed ear",
        "tick core",
        "tick part",
        "Pre",
        "Main",
        "Post",
        "Presentation",
        "destroyed",
    ];
    #[derive(Clone)]
    struct Asker(&'static str, Line);
    impl Asker {
        fn ask(&self, place: &str, cx: &mut Commands<'_, Unit>) {
            if self.0 == place {
                cx.shutdown();
                cx.shutdown();
            }
        }
    }
    impl Component<Unit> for Asker {
        fn on_created(&mut self, _: &mut Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            self.ask("created part", cx);
        }
        fn on_pending_destroy(&mut self, _: &Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            self.ask("killed part", cx);
        }
    }
    impl TickComponent<Unit> for Asker {
        fn tick(&mut self, _: &mut Actor<Unit>, cx: &TickContext<'_, Unit>, _: f32) {
            if self.0 == "tick part" {
                cx.shutdown();
            }
        }
    }
    impl System<Unit> for Asker {
        fn on_actor_created(&mut self, _: &mut Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            self.ask("created ear", cx);
        }
        fn on_actor_pending_destroy(&mut self, _: &Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            self.ask("killed ear", cx);
        }
        fn on_actor_destroyed(&mut self, _: &mut Actor<Unit>, _: &Teardown<'_>) {
            // In a sweep there is nothing to ask but a remote.
            if self.0 == "destroyed" {
                self.1.get().unwrap().shutdown();
            }
        }
    }
    for place in PLACES {
        let (log, line) = (Log::default(), Line::default());
        let asker = Asker(place, Arc::clone(&line));
        let (created, mourned, ticked) = (asker.clone(), asker.clone(), asker.clone());
        let plan = Plan::new(&log, "orc")
            .created(move |_, cx| created.ask("created core", cx))
            .mourned(move |_, cx| mourned.ask("killed core", cx))
            .ticked(move |_, cx| {
                if ticked.0 == "tick core" {
                    cx.shutdown()
                }
            });
        // One actor is admitted, and killed in Pre; another is made in Pre, and ticks.
        let make = doing(Phase::Pre, {
            let (plan, asker) = (plan.clone(), asker.clone());
            move |frame, _| {
                let add = |actor: &mut Actor<Unit>| actor.add_tick_component(asker.clone());
                frame.create_actor([0.0; 2], &plan, add).unwrap();
                let first = frame.actors().next().map(Actor::handle).unwrap();
                frame.kill_actor(first).unwrap();
            }
        });
        let mut builder = scene().system(asker.clone()).system(Hearing(log.clone(), "system"));
        builder = builder.tick_system(make);
        for phase in [Phase::Pre, Phase::Main, Phase::Post, Phase::Presentation] {
            let log = log.clone();
            builder = builder.tick_system(doing(phase, move |frame, _| {
                if place == format!("{phase:?}") {
                    frame.shutdown();
                }
                log.note(format!("{phase:?}"));
            }));
        }
        let mut scene = builder.build().unwrap();
        line.set(scene.remote()).unwrap();
        if place == "destroyed" {
            let swept = scene.create_actor([0.0; 2], &Plan::new(&log, "swept"), |_| ()).unwrap();
            scene.kill_actor(swept).unwrap();
        }
        let add = |actor: &mut Actor<Unit>| actor.add_component(asker.clone());
        scene.remote().create_actor([0.0; 2], Arc::new(plan), add).unwrap();
        assert!(!scene.is_shutdown(), "{place}");
        log.take();

        scene.tick(0.1);
        assert!(scene.is_shutdown(), "{place}");
        for line in ["Pre", "Main", "Post", "Presentation", "tick orc", "system hears shutdown"] {
            assert_eq!(log.count(line), 1, "{place}: {line}");
        }
        assert_eq!(log.count("cleanup orc Shutdown"), 2, "{place}");
        let lines = log.take();
        let at = |line: &str| lines.iter().position(|noted| noted == line).unwrap();
        assert!(at("Presentation") < at("system hears shutdown"), "{place}: {lines:?}");
        assert!(at("system hears shutdown") < at("cleanup orc Shutdown"), "{place}: {lines:?}");
        assert_eq!(scene.store_stats().live, 0, "{place}");
        scene.tick(0.1);
        scene.shutdown();
        drop(scene);
        assert_eq!(log.take(), Vec::<String>::new(), "{place}");
    }
}

#[test]
fn shutdown_asked_for_by_a_hook_of_a_kill_outside_a_frame_comes_when_the_call_returns() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let heir = Arc::new(Plan::new(&log, "heir"));
    let plan = Plan::new(&log, "last").mourned(move |_, cx| {
        cx.shutdown();
        cx.create_actor([0.0; 2], Arc::clone(&heir), |_| ());
    });
    let last = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
    log.take();
    scene.kill_actor(last).unwrap();
    let ended = [
        "pending destroy last",
        "init heir",
        "created heir",
        "cleanup last Shutdown",
        "drop last",
        "cleanup heir Shutdown",
        "drop heir",
    ];
    assert_eq!(log.take(), ended);
    assert!(scene.is_shutdown() && scene.kill_actor(last).is_err());
}

/// C56.
#[test]
fn empty_scene_that_never_ticked_ends_at_once() {
    let mut ended = scene().scene(SceneId(911)).build().unwrap();
    ended.shutdown();
    drop(ended);
    drop(scene().scene(SceneId(911)).build().unwrap());
    assert!(scene().scene(SceneId(911)).build().is_ok(), "the id is free");
}

#[test]
fn drop_shuts_down() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let remote = scene.remote();
    log.take();
    drop(scene);
    let ended = [
        "system hears shutdown",
        "system hears destroyed orc Shutdown",
        "cleanup orc Shutdown",
        "drop orc",
    ];
    assert_eq!(log.take(), ended);
    assert!(remote.is_shutdown());
    let late = remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "late")), |_| ());
    assert!(matches!(late, Err(CreateError::Shutdown { .. })));
}

#[test]
fn shutdown_asked_for_inside_a_frame_is_carried_out_at_its_end() {
    let log = Log::default();
    let noting = log.clone();
    let pre = doing(Phase::Pre, |frame, _| frame.shutdown());
    let show = doing(Phase::Presentation, move |_, _| noting.note("shown"));
    let mut scene: Scene<Unit> = scene().tick_system(pre).tick_system(show).build().unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    log.take();
    scene.tick(0.1);
    assert_eq!(log.take(), ["tick orc", "shown", "cleanup orc Shutdown", "drop orc"]);
    assert!(scene.is_shutdown());
}

#[test]
fn shutdown_asked_for_by_a_hook_outside_a_frame_comes_when_the_call_returns() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let plan = Plan::new(&log, "last").created(|_, cx| cx.shutdown());
    let last = scene.create_actor([0.0; 2], &plan, |_| ());
    assert!(last.is_ok() && scene.is_shutdown());
    let ended = ["init last", "created last", "cleanup last Shutdown", "drop last"];
    assert_eq!(log.take(), ended);
}

#[test]
fn shutdown_asked_for_by_a_remote_comes_with_the_next_frame() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let remote = scene.remote();
    std::thread::spawn(move || remote.shutdown()).join().unwrap();
    // Not by a call that happens to come before.
    let elf = scene.create_actor([0.0; 2], &Plan::new(&log, "elf"), |_| ()).unwrap();
    scene.kill_actor(elf).unwrap();
    assert_eq!((scene.is_shutdown(), scene.state(elf)), (false, Ok(State::Dying)));
    log.take();
    scene.tick(0.1);
    let ended = ["cleanup orc Shutdown", "drop orc", "cleanup elf Shutdown", "drop elf"];
    assert_eq!(log.take(), ended);
    assert_eq!(scene.time().frame, 0, "nothing of the frame has begun");
}

#[test]
fn ticket_that_its_own_actor_keeps_lets_go_at_the_shutdown() {
    struct Keeping(Option<Settlement>);
    impl Component<Unit> for Keeping {}
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let add = |actor: &mut Actor<Unit>| actor.add_component(Keeping(None));
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), add).unwrap();
    let ticket = scene.settle(orc).unwrap();
    scene.actor_mut(orc).unwrap().component_mut::<Keeping>().unwrap().0 = Some(ticket);
    scene.kill_actor(orc).unwrap();
    (0..3).for_each(|_| scene.tick(0.1));
    assert_eq!(scene.state(orc), Ok(State::Dying));
    scene.shutdown();
    assert_eq!(scene.store_stats().live, 0);
    assert_eq!(log.count("cleanup orc Shutdown"), 1);
}

#[test]
fn tickets_outlive_the_scene_and_its_remotes() {
    let log = Log::default();
    let mut scene = scene().scene(SceneId(913)).build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let tickets = [scene.settle(orc).unwrap(), scene.remote().settle(orc).unwrap()];
    drop(scene);
    assert_eq!(log.count("drop orc"), 1);
    for ticket in tickets {
        assert_eq!(ticket.handle(), orc);
        std::thread::spawn(move || drop(ticket)).join().unwrap();
    }
    assert!(world::scene().scene(SceneId(913)).build().is_ok(), "the id is free");
}

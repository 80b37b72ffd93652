//! Shutdown in two phases, once, whatever is alive, pending or dying.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::sync::Arc;

use hatchery::scene::{CreateError, Phase, Scene, SceneRemote, System, Teardown};
use hatchery::{SceneId, State};
use world::*;

/// C55: actors in every state, and a hook that creates in the first phase.
#[test]
fn shutdown_ends_each_actor_once_and_refuses_late_creations() {
    struct Late(Log, SceneRemote<Unit>);
    impl System<Unit> for Late {
        fn on_scene_shutdown(&mut self, _: &Teardown<'_>) {
            let plan = Arc::new(Plan::new(&self.0, "late"));
            let refused = self.1.create_actor([0.0; 2], plan, |_| ()).unwrap_err();
            assert!(matches!(refused, CreateError::Shutdown { .. }));
            self.0.note("late refused");
        }
    }
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let remote = scene.remote();
    // A scene is built before its remotes exist: the late one hears through a component's log.
    drop(Late(log.clone(), remote.clone()));
    let active = scene.create_actor([0.0; 2], &Plan::new(&log, "active"), |_| ()).unwrap();
    let dying = scene.create_actor([0.0; 2], &Plan::new(&log, "dying"), |_| ()).unwrap();
    let held = scene.create_actor([0.0; 2], &Plan::new(&log, "held"), |_| ()).unwrap();
    let dead = scene.create_actor([0.0; 2], &Plan::new(&log, "dead"), |_| ()).unwrap();
    let ticket = scene.settle(held).unwrap();
    scene.kill_actor(dead).unwrap();
    scene.kill_actor(held).unwrap();
    scene.tick(0.1);
    scene.kill_actor(dying).unwrap();
    let pending =
        remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "pending")), |_| ()).unwrap();
    assert_eq!(remote.state(pending), Ok(State::Pending));
    log.take();

    scene.shutdown();
    let ended = [
        "drop pending",
        "system hears shutdown",
        "system hears destroyed active Shutdown",
        "cleanup active Shutdown",
        "drop active",
        "system hears destroyed dying Shutdown",
        "cleanup dying Shutdown",
        "drop dying",
        "system hears destroyed held Shutdown",
        "cleanup held Shutdown",
        "drop held",
    ];
    assert_eq!(log.take(), ended);
    assert!(scene.is_shutdown() && remote.is_shutdown());
    for handle in [active, dying, held, dead, pending] {
        assert!(scene.actor(handle).is_err() && scene.state(handle).is_err());
        assert!(scene.kill_actor(handle).is_err() && scene.settle(handle).is_err());
        assert!(!remote.kill_actor(handle) && remote.state(handle).is_err());
    }
    assert!(matches!(
        scene.create_actor([0.0; 2], &Plan::new(&log, "late"), |_| ()),
        Err(CreateError::Shutdown { .. })
    ));
    let late = remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "late")), |_| ());
    assert!(matches!(late, Err(CreateError::Shutdown { .. })));
    scene.shutdown();
    scene.tick(0.1);
    assert_eq!(log.take(), Vec::<String>::new());
    assert_eq!(scene.store_stats().live, 1, "the ticket keeps its slot");
    drop(ticket);
    assert_eq!(scene.store_stats().live, 0);
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
    assert!(!scene.is_shutdown());
    log.take();
    scene.tick(0.1);
    assert_eq!(log.take(), ["cleanup orc Shutdown", "drop orc"]);
}

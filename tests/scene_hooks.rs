//! Hooks that kill, create and panic: all carried out in order of asking, and nothing recurses.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hatchery::scene::{Actor, Commands, Component, SceneRemote};
use hatchery::{Handle, LookupError, State};
use world::*;

/// C51: a hook kills its own actor, and another.
#[test]
fn hook_that_kills_itself_and_its_parent_ends_each_once() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let parent = scene.create_actor([0.0; 2], &Plan::new(&log, "parent"), |_| ()).unwrap();
    let child = Plan::new(&log, "child").mourned(move |actor, cx| {
        cx.kill_actor(actor.handle());
        cx.kill_actor(parent);
        cx.kill_actor(parent);
    });
    let child = scene.create_actor([0.0; 2], &child, |_| ()).unwrap();
    log.take();
    scene.kill_actor(child).unwrap();
    assert_eq!(log.take(), ["pending destroy child", "pending destroy parent"]);
    assert_eq!((scene.last_frame().killed, scene.last_frame().refused), (2, 2));
    scene.tick(0.1);
    let ended = ["cleanup child Killed", "drop child", "cleanup parent Killed", "drop parent"];
    assert_eq!(log.take(), ended);
}

/// C52: a hundred deaths, each of which makes an actor.
#[test]
fn hooks_that_create_make_one_actor_for_each_death() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let loot = Arc::new(Plan::new(&log, "loot"));
    let monster = Plan::new(&log, "monster").mourned(move |actor, cx| {
        cx.create_actor(actor.position, Arc::clone(&loot), |_| ());
    });
    let monsters: Vec<Handle> =
        (0..100).map(|n| scene.create_actor([n as f32; 2], &monster, |_| ()).unwrap()).collect();
    for monster in &monsters {
        scene.kill_actor(*monster).unwrap();
    }
    scene.tick(0.1);
    scene.tick(0.1);
    assert_eq!(scene.alive_actors().count(), 100);
    let positions: Vec<f32> = scene.alive_actors().map(|actor| actor.position[0]).collect();
    assert!(positions.iter().enumerate().all(|(n, position)| *position == n as f32));
    assert!(scene.alive_actors().all(|actor| scene.state(actor.handle()) == Ok(State::Active)));
    assert_eq!((log.count("created loot"), log.count("tick loot")), (100, 200));
    assert_eq!(scene.store_stats().pending, 0);
}

/// C53: readable in the pending-destroy hook, not to be found in the destroyed hook.
#[test]
fn destroyed_hook_finds_nobody_under_its_own_handle() {
    struct Asking(Log, Option<SceneRemote<Unit>>);
    impl Component<Unit> for Asking {
        fn on_pending_destroy(&mut self, owner: &Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            let remote = self.1.as_ref().unwrap();
            assert_eq!(remote.state(owner.handle()), Ok(State::Dying));
            assert!(cx.actor(owner.handle()).is_none(), "it has its owner already");
            assert_eq!(owner.position, [3.0, 4.0]);
            self.0.note("read");
        }
        fn on_destroyed(&mut self, owner: &mut Actor<Unit>, _: &hatchery::scene::Teardown<'_>) {
            let handle = owner.handle();
            let remote = self.1.as_ref().unwrap();
            assert_eq!(remote.state(handle), Err(LookupError::NotFound { handle }));
            assert!(remote.settle(handle).is_err() && !remote.kill_actor(handle));
            self.0.note("gone");
        }
    }
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let remote = scene.remote();
    let asking = Asking(log.clone(), Some(remote));
    let orc = scene
        .create_actor([3.0, 4.0], &Plan::new(&log, "orc"), |actor| actor.add_component(asking))
        .unwrap();
    scene.kill_actor(orc).unwrap();
    scene.tick(0.1);
    assert_eq!((log.count("read"), log.count("gone")), (1, 1));
}

#[test]
fn hook_that_kills_whom_a_later_hook_handles_leaves_it_whole_for_that() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "later")).build().unwrap();
    let plan = Plan::new(&log, "brief").created(|actor, cx| cx.kill_actor(actor.handle()));
    let brief = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
    let heard = [
        "init brief",
        "created brief",
        "later hears created brief",
        "pending destroy brief",
        "later hears pending destroy brief",
    ];
    assert_eq!(log.take(), heard);
    assert_eq!(scene.state(brief), Ok(State::Dying));
}

#[test]
fn created_hook_that_panics_leaves_nothing_behind() {
    struct Failing;
    impl Component<Unit> for Failing {
        fn on_created(&mut self, _: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
            panic!("no resources");
        }
    }
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let plan = Plan::new(&log, "orc");
    let failed = catch_unwind(AssertUnwindSafe(|| {
        scene.create_actor([0.0; 2], &plan, |actor| {
            actor.add_component(Noting("shield"));
            actor.add_component(Failing);
            actor.add_tick_component(Ticking(0));
        })
    }));
    assert_eq!(failed.unwrap_err().downcast_ref(), Some(&"no resources"));
    let undone = [
        "init orc",
        "created orc",
        "  shield created",
        "  shield destroyed",
        "cleanup orc Cancelled",
        "drop orc",
    ];
    assert_eq!(log.take(), undone);
    assert_eq!((scene.store_stats().live, scene.last_frame().created), (0, 0));
    scene.tick(0.1);
    assert!(scene.create_actor([0.0; 2], &plan, |_| ()).is_ok(), "the scene stays usable");
}

#[test]
fn configure_that_panics_calls_no_hook() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let plan = Plan::new(&log, "orc");
    let failed = catch_unwind(AssertUnwindSafe(|| {
        scene.create_actor([0.0; 2], &plan, |_| panic!("not today"))
    }));
    assert!(failed.is_err());
    assert_eq!(log.take(), ["init orc", "drop orc"]);
    assert_eq!(scene.store_stats().live, 0);
}

#[test]
fn tick_that_panics_lets_the_other_actors_finish() {
    struct Fragile(Arc<AtomicBool>);
    impl Component<Unit> for Fragile {}
    impl hatchery::scene::TickComponent<Unit> for Fragile {
        fn tick(
            &mut self,
            _: &mut Actor<Unit>,
            _: &hatchery::scene::TickContext<'_, Unit>,
            _: f32,
        ) {
            assert!(!self.0.load(Ordering::Relaxed), "broken");
        }
    }
    for threads in [1, 4] {
        let (log, broken) = (Log::default(), Arc::new(AtomicBool::new(true)));
        let mut scene = scene().threads(threads).build().unwrap();
        let plan = Plan::new(&log, "orc");
        let orcs: Vec<Handle> = (0..500)
            .map(|n| {
                let fragile = Fragile(Arc::clone(&broken));
                let add = |actor: &mut Actor<Unit>| {
                    if n % 100 == 7 {
                        actor.add_tick_component(fragile);
                    }
                };
                scene.create_actor([0.0; 2], &plan, add).unwrap()
            })
            .collect();
        let failed = catch_unwind(AssertUnwindSafe(|| scene.tick(0.1)));
        assert!(failed.is_err());
        assert_eq!(log.count("tick orc"), 500);
        broken.store(false, Ordering::Relaxed);
        scene.tick(0.1);
        assert_eq!(log.count("tick orc"), 1000);
        assert!(scene.actor(orcs[7]).unwrap().has_component::<Fragile>(), "back in its place");
    }
}

#[test]
#[should_panic(expected = "dt is -1, allowed is a finite number that is not negative")]
fn negative_dt_is_refused_at_the_entrance() {
    scene().build().unwrap().tick(-1.0);
}

#[test]
#[should_panic(expected = "Noting is added to")]
fn component_added_outside_configure_is_refused_by_name() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    scene.actor_mut(orc).unwrap().add_component(Noting("late"));
}

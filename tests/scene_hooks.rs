//! Hooks that kill, create and panic: all carried out in order of asking, and nothing recurses.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use hatchery::scene::{Actor, Commands, Component, Phase, SceneRemote, System, Teardown};
use hatchery::{ConfigError, Handle, Limits, LookupError, State};
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
    // Complete, and not to be found before it is Active.
    let loot = Plan::new(&log, "loot").created(|actor, cx| {
        assert!(actor.core.name == "loot" && cx.actor(actor.handle()).is_none());
    });
    let loot = Arc::new(loot);
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
        fn on_destroyed(&mut self, owner: &mut Actor<Unit>, _: &Teardown<'_>) {
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
    log.take();
    scene.kill_actor(orc).unwrap();
    assert_eq!(log.take(), ["pending destroy orc", "read"]);
    assert_eq!(scene.state(orc), Ok(State::Dying));
    scene.tick(0.1);
    assert_eq!(log.take(), ["gone", "cleanup orc Killed", "drop orc"]);
    assert_eq!(scene.state(orc), Err(LookupError::NotFound { handle: orc }));
    assert_eq!(scene.store_stats().live, 0);
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

/// The victims of a ring of hooks: each kills the next, itself and the one before.
#[test]
fn hooks_that_kill_in_cycles_end_each_once() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let ring: Arc<Mutex<Vec<Handle>>> = Arc::default();
    for n in 0..5 {
        let of = Arc::clone(&ring);
        let plan = Plan::new(&log, "link").mourned(move |actor, cx| {
            let of = of.lock().unwrap();
            for victim in [(n + 1) % 5, n, (n + 4) % 5] {
                assert_eq!(of[n], actor.handle());
                cx.kill_actor(of[victim]);
            }
        });
        let link = scene.create_actor([n as f32; 2], &plan, |_| ()).unwrap();
        ring.lock().unwrap().push(link);
    }
    let first = ring.lock().unwrap()[3];
    scene.kill_actor(first).unwrap();
    assert_eq!((scene.last_frame().killed, scene.last_frame().refused), (5, 11));
    assert_eq!(log.count("pending destroy link"), 5);
    assert!(scene.alive_actors().all(|actor| scene.state(actor.handle()) == Ok(State::Dying)));
    scene.tick(0.1);
    assert_eq!((log.count("cleanup link Killed"), log.count("drop link")), (5, 5));
    assert_eq!(log.count("tick link"), 0);
}

/// As deep as one likes, on a small stack.
#[test]
fn hooks_that_create_and_kill_one_after_the_other_do_not_recurse() {
    const MANY: usize = 20_000;
    struct Chain;
    impl System<Unit> for Chain {
        fn on_actor_created(&mut self, actor: &mut Actor<Unit>, cx: &mut Commands<'_, Unit>) {
            let next = actor.position[0] + 1.0;
            if next < MANY as f32 {
                cx.create_actor([next; 2], Arc::default(), |_| ());
            }
            cx.kill_actor(actor.handle());
        }
    }
    let run = || {
        let mut scene = scene().system(Chain).build().unwrap();
        scene.create_actor([0.0; 2], &Plan::default(), |_| ()).unwrap();
        assert_eq!((scene.last_frame().created, scene.last_frame().killed), (MANY, MANY));
        scene.tick(0.1);
        assert_eq!((scene.last_frame().destroyed, scene.store_stats().live), (MANY, 0));
    };
    std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join().unwrap();
}

#[test]
fn created_hook_that_kills_and_creates_is_carried_out_in_order_of_asking() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let old = scene.create_actor([0.0; 2], &Plan::new(&log, "old"), |_| ()).unwrap();
    let child = Arc::new(Plan::new(&log, "child"));
    let plan = Plan::new(&log, "new").created(move |actor, cx| {
        assert!(cx.actor(actor.handle()).is_none(), "Pending, and the hook has it already");
        assert_eq!(cx.actor(old).unwrap().core.name, "old");
        cx.kill_actor(old);
        cx.create_actor([0.0; 2], Arc::clone(&child), |_| ());
        cx.kill_actor(actor.handle());
        cx.kill_actor(old);
    });
    log.take();
    let new = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
    let done = [
        "init new",
        "created new",
        "system hears created new",
        "pending destroy old",
        "system hears pending destroy old",
        "init child",
        "created child",
        "system hears created child",
        "pending destroy new",
        "system hears pending destroy new",
    ];
    assert_eq!(log.take(), done);
    assert_eq!((scene.state(old), scene.state(new)), (Ok(State::Dying), Ok(State::Dying)));
    let report = scene.last_frame();
    assert_eq!((report.created, report.killed, report.refused), (3, 2, 1));
}

/// C48: a system kills the current, the next and the current again, and makes one, as it walks.
#[test]
fn system_that_kills_and_creates_while_walking_ends_each_once() {
    let log = Log::default();
    let plan = Plan::new(&log, "orc");
    let mut walked = false;
    let walk = doing(Phase::Main, {
        let plan = plan.clone();
        move |frame, _| {
            if std::mem::replace(&mut walked, true) {
                return;
            }
            let orcs: Vec<Handle> = frame.actors().map(Actor::handle).collect();
            for pair in orcs.windows(2) {
                let dying = frame.kill_actor(pair[0]).is_err();
                assert_eq!(dying, pair[0] != orcs[0], "the walk before has killed it as its next");
                frame.kill_actor(pair[1]).unwrap();
                let made = frame.create_actor([0.0; 2], &plan, |_| ()).unwrap();
                assert!(frame.kill_actor(made).is_err(), "Pending: nobody's to kill");
                assert!(frame.actors().all(|actor| actor.handle() != made));
            }
            assert_eq!(frame.actors().count(), orcs.len(), "those that are Dying included");
        }
    });
    let mut scene = scene().tick_system(walk).build().unwrap();
    let _orcs = [(); 10].map(|()| scene.create_actor([0.0; 2], &plan, |_| ()).unwrap());
    scene.tick(0.1);
    let report = scene.last_frame();
    assert_eq!((report.created, report.killed, report.refused), (9, 10, 8 + 9));
    scene.tick(0.1);
    assert_eq!((scene.last_frame().destroyed, scene.alive_actors().count()), (10, 9));
    assert_eq!(log.count("pending destroy orc"), 10);
}

/// What another thread has made is Pending, and no hook's to kill.
#[test]
fn hook_that_kills_somebody_pending_is_refused() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let plan = Arc::new(Plan::new(&log, "pending"));
    let pending = scene.remote().create_actor([0.0; 2], plan, |_| ()).unwrap();
    let killer = Plan::new(&log, "killer").created(move |_, cx| {
        assert!(cx.actor(pending).is_none());
        cx.kill_actor(pending);
    });
    scene.create_actor([0.0; 2], &killer, |_| ()).unwrap();
    assert_eq!((scene.last_frame().killed, scene.last_frame().refused), (0, 1));
    scene.tick(0.1);
    assert_eq!(scene.state(pending), Ok(State::Active));
}

/// An actor has its place until the sweep, so its successor finds none before that.
#[test]
fn hook_that_creates_in_a_full_scene_is_refused_until_the_sweep() {
    let log = Log::default();
    let heir = Arc::new(Plan::new(&log, "heir"));
    let plan = Plan::new(&log, "only").mourned(move |_, cx| {
        cx.create_actor([0.0; 2], Arc::clone(&heir), |_| unreachable!("there is no room"));
    });
    for limits in [Limits::reject(1), Limits::grow_to_cap(1, 1)] {
        let mut scene = scene().limits(limits).build().unwrap();
        for _ in 0..100 {
            let only = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
            scene.kill_actor(only).unwrap();
            assert_eq!((scene.last_frame().killed, scene.last_frame().refused), (1, 1));
            scene.set_paused(true);
            scene.tick(0.1);
            assert_eq!((scene.last_frame().destroyed, scene.store_stats().live), (1, 0));
        }
        assert_eq!(log.count("init heir"), 0);
    }
}

#[test]
fn hook_that_creates_in_a_scene_that_may_grow_finds_room_up_to_the_cap() {
    let log = Log::default();
    let heir = Arc::new(Plan::new(&log, "heir"));
    let plan = Plan::new(&log, "only").mourned(move |_, cx| {
        (0..3).for_each(|_| cx.create_actor([0.0; 2], Arc::clone(&heir), |_| ()));
    });
    let mut scene = scene().limits(Limits::grow_to_cap(1, 3)).build().unwrap();
    let only = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
    scene.kill_actor(only).unwrap();
    let report = scene.last_frame();
    assert_eq!((report.created, report.killed, report.refused), (3, 1, 1));
    assert_eq!(scene.alive_actors().count(), 3);
}

/// Creations that are cancelled one after the other take the room of one.
#[test]
fn hook_that_asks_for_many_that_are_cancelled_finds_room_for_the_last() {
    let log = Log::default();
    let doomed = Arc::new(Plan::new(&log, "doomed").created(|_, _| panic!("not today")));
    let heir = Arc::new(Plan::new(&log, "heir"));
    let plan = Plan::new(&log, "only").mourned(move |_, cx| {
        (0..100).for_each(|_| cx.create_actor([0.0; 2], Arc::clone(&doomed), |_| ()));
        cx.create_actor([0.0; 2], Arc::clone(&heir), |_| ());
    });
    let mut scene = scene().limits(Limits::reject(2)).build().unwrap();
    let only = scene.create_actor([0.0; 2], &plan, |_| ()).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| scene.kill_actor(only))).is_err());
    assert_eq!((scene.last_frame().refused, log.count("created heir")), (0, 1));
}

#[test]
fn scene_that_would_end_its_oldest_is_refused_by_the_builder() {
    let refused = scene().limits(Limits::overwrite_oldest(1)).build().unwrap_err();
    assert!(matches!(refused, ConfigError::ScenePolicy { .. }), "{refused}");
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

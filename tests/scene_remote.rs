//! Other threads create, kill and settle while the scene ticks.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

use hatchery::scene::{Actor, Component, CreateError, Phase, SceneRemote};
use hatchery::{HoldError, Limits, LookupError, SpawnFailure, State};
use world::*;

#[test]
fn remote_actor_is_pending_until_a_frame_admits_it_paused_or_not() {
    let log = Log::default();
    let mut scene = scene().system(Hearing(log.clone(), "system")).build().unwrap();
    let remote = scene.remote();
    let plan = Arc::new(Plan::new(&log, "orc"));
    let orc = {
        let remote = remote.clone();
        let spawner = move || remote.create_actor([1.0; 2], plan, |_| ()).unwrap();
        thread::spawn(spawner).join().unwrap()
    };
    assert_eq!(log.take(), ["init orc"]);
    assert_eq!(remote.state(orc), Ok(State::Pending));
    assert_eq!(scene.actor(orc).map(drop), Err(LookupError::Pending { handle: orc }));
    assert!(matches!(remote.settle(orc), Err(HoldError::Lookup(LookupError::Pending { .. }))));
    scene.set_paused(true);
    scene.tick(0.1);
    assert_eq!(log.take(), ["created orc", "system hears created orc"]);
    assert_eq!(remote.state(orc), Ok(State::Active));

    assert!(remote.kill_actor(orc));
    assert_eq!(scene.state(orc), Ok(State::Active), "not before the next frame");
    scene.tick(0.1);
    assert_eq!(scene.state(orc), Ok(State::Dying));
    assert!(!remote.kill_actor(orc), "killed already");
    scene.tick(0.1);
    assert!(remote.state(orc).is_err() && !remote.kill_actor(orc));
}

#[test]
fn remote_into_a_full_scene_is_told_so() {
    let log = Log::default();
    let scene = scene().limits(Limits::reject(1)).build().unwrap();
    let remote = scene.remote();
    let plan = Arc::new(Plan::new(&log, "orc"));
    assert!(remote.create_actor([0.0; 2], Arc::clone(&plan), |_| ()).is_ok());
    let full = remote.create_actor([0.0; 2], plan, |_| ()).unwrap_err();
    assert_eq!(full, CreateError::Spawn(SpawnFailure::Exhausted { capacity: 1 }));
}

#[test]
fn ticket_keeps_a_killed_actor_through_sweeps() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let (first, second) = (scene.settle(orc).unwrap(), scene.remote().settle(orc).unwrap());
    scene.kill_actor(orc).unwrap();
    log.take();
    for _ in 0..3 {
        scene.tick(0.1);
    }
    assert_eq!((scene.state(orc), scene.alive_actors().count()), (Ok(State::Dying), 1));
    drop(first);
    scene.tick(0.1);
    assert!(scene.actor(orc).is_ok());
    thread::spawn(move || drop(second)).join().unwrap();
    assert_eq!(log.take(), Vec::<String>::new(), "hooks run on the scene's thread");
    scene.tick(0.1);
    assert_eq!(log.take(), ["cleanup orc Killed", "drop orc"]);
    assert_eq!(scene.store_stats().live, 0);
}

#[test]
fn remote_outlives_its_scene_and_keeps_nothing() {
    let log = Log::default();
    let mut scene = scene().scene(hatchery::SceneId(912)).build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    let remote = scene.remote();
    drop(scene);
    assert!(remote.is_shutdown() && remote.clone().is_shutdown());
    assert!(!remote.kill_actor(orc));
    assert_eq!(remote.state(orc), Err(LookupError::NotFound { handle: orc }));
    let gone = HoldError::Lookup(LookupError::NotFound { handle: orc });
    assert_eq!(remote.settle(orc).map(drop), Err(gone));
    remote.shutdown();
    let plan = Arc::new(Plan::new(&log, "orc"));
    let scene = hatchery::SceneId(912);
    let refused = remote.create_actor([0.0; 2], plan, |_| ());
    assert_eq!(refused, Err(CreateError::Shutdown { scene }));
    assert!(world::scene().scene(scene).build().is_ok(), "the id is free");
}

/// Whoever is told of a handle while its actor is made may be faster than the maker.
#[test]
fn kill_ahead_of_the_admission_is_carried_out_after_it() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let remote = scene.remote();
    let early = remote.clone();
    let kill = move |actor: &mut Actor<Unit>| assert!(early.kill_actor(actor.handle()));
    let orc = remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "orc")), kill).unwrap();
    scene.tick(0.1);
    assert_eq!((scene.state(orc), log.count("created orc")), (Ok(State::Active), 1));
    scene.tick(0.1);
    assert_eq!((scene.state(orc), scene.last_frame().killed), (Ok(State::Dying), 1));
    scene.tick(0.1);
    assert_eq!((scene.last_frame().refused, scene.store_stats().live), (0, 0));
}

#[test]
fn remote_constructor_that_panics_leaves_nothing_and_tells_the_scene_nothing() {
    let log = Log::default();
    let mut scene = scene().limits(Limits::reject(1)).build().unwrap();
    let remote = scene.remote();
    let plan = Arc::new(Plan::new(&log, "orc"));
    for _ in 0..3 {
        let (remote, plan) = (remote.clone(), Arc::clone(&plan));
        let fail = move || remote.create_actor([0.0; 2], plan, |_| panic!("not today"));
        assert!(thread::spawn(fail).join().is_err());
    }
    scene.tick(0.1);
    assert_eq!((scene.store_stats().live, scene.last_frame().created), (0, 0));
    assert!(remote.create_actor([0.0; 2], plan, |_| ()).is_ok());
}

#[test]
fn remote_kill_of_nobody_is_refused_at_once_and_of_somebody_twice_in_the_frame() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let remote = scene.remote();
    assert!(!remote.kill_actor(hatchery::Handle::from_bytes([7; 12]).unwrap()));
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), |_| ()).unwrap();
    assert!(remote.kill_actor(orc) && remote.kill_actor(orc), "Active still");
    scene.tick(0.1);
    assert_eq!((scene.last_frame().killed, scene.last_frame().refused), (1, 1));
    assert_eq!(log.count("pending destroy orc"), 1);
}

/// C47: whatever keeps a remote, the scene and its actors go all the same.
#[test]
fn remotes_kept_by_components_services_and_systems_keep_nothing() {
    struct Keeping(SceneRemote<Unit>);
    impl Component<Unit> for Keeping {}
    type Service = Arc<Mutex<Option<SceneRemote<Unit>>>>;
    let (log, service) = (Log::default(), Service::default());
    let id = hatchery::SceneId(914);
    let kept = Arc::clone(&service);
    let keep = doing(Phase::Pre, move |_, _| assert!(kept.lock().unwrap().is_some()));
    let builder = scene().scene(id).service(Arc::clone(&service)).tick_system(keep);
    let mut scene = builder.build().unwrap();
    *service.lock().unwrap() = Some(scene.remote());
    let own = Keeping(scene.remote());
    let orc = Plan::new(&log, "orc");
    scene.create_actor([0.0; 2], &orc, |actor| actor.add_component(own)).unwrap();
    scene.tick(0.1);
    assert!(!scene.alive_actors().any(|a| a.component::<Keeping>().unwrap().0.is_shutdown()));
    drop(scene);
    assert_eq!((log.count("drop orc"), Arc::strong_count(&service)), (1, 1));
    assert!(world::scene().scene(id).build().is_ok(), "the id is free");
}

/// What the scene's thread keeps for itself is no more than it uses: remotes find the rest.
#[test]
fn slots_that_remotes_have_filled_serve_remotes_again() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let (remote, plan) = (scene.remote(), Arc::new(Plan::new(&log, "orc")));
    for _ in 0..200 {
        for _ in 0..50 {
            let orc = remote.create_actor([0.0; 2], Arc::clone(&plan), |_| ()).unwrap();
            assert!(remote.kill_actor(orc));
        }
        (0..3).for_each(|_| scene.tick(0.1));
        assert_eq!(scene.store_stats().live, 0);
        log.take();
    }
    let stats = scene.store_stats();
    assert!(stats.spawned == 10_000 && stats.slots <= 1024, "{stats:?}");
}

#[test]
fn remotes_create_and_kill_while_the_scene_ticks_and_nothing_is_lost() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..3)
        .map(|number: usize| {
            let (remote, stop) = (scene.remote(), Arc::clone(&stop));
            let plan = Arc::new(Plan::new(&log, ""));
            thread::spawn(move || {
                let (mut made, mut kept) = (0_usize, Vec::new());
                // Bounded: the more there are, the longer a frame takes, in which more are made.
                while made < 1000 && !stop.load(Ordering::Relaxed) {
                    match remote.create_actor([number as f32; 2], Arc::clone(&plan), |_| ()) {
                        Ok(handle) => kept.push(handle),
                        Err(CreateError::Shutdown { .. }) => break,
                        Err(other) => panic!("{other}"),
                    }
                    made += 1;
                    if made % 3 == 0 {
                        remote.kill_actor(kept.swap_remove(made % kept.len()));
                    }
                    thread::yield_now();
                }
                made
            })
        })
        .collect();
    let (mut created, mut destroyed) = (0, 0);
    for frame in 0..200 {
        scene.tick(0.01);
        created += scene.last_frame().created;
        destroyed += scene.last_frame().destroyed;
        assert_eq!(scene.alive_actors().count(), created - destroyed, "frame {frame}");
        log.take();
    }
    scene.shutdown();
    stop.store(true, Ordering::Relaxed);
    let made: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
    assert!(made >= created);
    assert_eq!(scene.store_stats().live, 0);
    let stats = scene.store_stats();
    assert_eq!(stats.spawned, stats.cancelled + stats.reaped);
}

#[test]
fn creation_that_comes_too_late_is_refused_and_dropped_where_it_was_made() {
    let log = Log::default();
    let mut scene = scene().build().unwrap();
    let remote = scene.remote();
    let (made, shut) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let spawner = thread::spawn({
        let (made, shut, log) = (Arc::clone(&made), Arc::clone(&shut), log.clone());
        move || {
            let created = remote.create_actor([0.0; 2], Arc::new(Plan::new(&log, "late")), |_| {
                made.wait();
                shut.wait();
            });
            assert!(matches!(created, Err(CreateError::Shutdown { .. })));
            assert_eq!(log.take(), ["init late", "drop late"]);
        }
    });
    made.wait();
    scene.shutdown();
    shut.wait();
    spawner.join().unwrap();
    assert_eq!(scene.store_stats().live, 0);
}

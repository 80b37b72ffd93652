//! User code that panics, in every event and at every place in it: the others are called all the
//! same, the panic reaches the caller, and the scene goes on.

#[path = "scene/world.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hatchery::scene::{
    Actor, Commands, Component, Core, Phase, Scene, System, Teardown, TickComponent, TickContext,
};
use hatchery::{Handle, State};
use world::*;

/// Goes off once, where an event reaches somebody.
#[derive(Clone)]
struct Bomb {
    log: Log,
    event: &'static str,
    place: &'static str,
    armed: Arc<AtomicBool>,
}

impl Bomb {
    fn new(event: &'static str, place: &'static str) -> Bomb {
        Bomb { log: Log::default(), event, place, armed: Arc::new(AtomicBool::new(true)) }
    }

    fn reach(&self, event: &str, place: &str) {
        self.log.note(format!("{event}: {place}"));
        if (event, place) == (self.event, self.place) && self.armed.swap(false, Ordering::Relaxed) {
            panic!("bomb");
        }
    }

    /// What was called since this was asked for last, of the lines that bombs write.
    fn reached(&self) -> Vec<String> {
        self.log.take()
    }

    fn scene(&self) -> Scene<Unit> {
        let (first, second) = (Ear("first ear", self.clone()), Ear("second ear", self.clone()));
        scene().system(first).system(second).build().unwrap()
    }

    /// The units' own lines go elsewhere.
    fn plan(&self) -> Plan {
        let [created, mourned, ticked, cleaned] = std::array::from_fn(|_| self.clone());
        Plan::new(&Log::default(), "")
            .created(move |_, _| created.reach("created", "core"))
            .mourned(move |_, _| mourned.reach("killed", "core"))
            .ticked(move |_, _| ticked.reach("tick", "core"))
            .cleaned(move |_| cleaned.reach("destroyed", "core"))
    }

    fn configure(&self) -> impl FnOnce(&mut Actor<Unit>) + use<> {
        let (first, second) =
            (Part::<1>("first part", self.clone()), Part::<2>("second part", self.clone()));
        move |actor| {
            actor.add_tick_component(first);
            actor.add_tick_component(second);
        }
    }

    fn create(&self, scene: &mut Scene<Unit>) -> Handle {
        scene.create_actor([0.0; 2], &self.plan(), self.configure()).unwrap()
    }
}

struct Part<const N: usize>(&'static str, Bomb);

impl<const N: usize> Component<Unit> for Part<N> {
    fn on_created(&mut self, _: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.1.reach("created", self.0);
    }
    fn on_pending_destroy(&mut self, _: &Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.1.reach("killed", self.0);
    }
    fn on_destroyed(&mut self, _: &mut Actor<Unit>, _: &Teardown<'_>) {
        self.1.reach("destroyed", self.0);
    }
}

impl<const N: usize> TickComponent<Unit> for Part<N> {
    fn tick(&mut self, _: &mut Actor<Unit>, _: &TickContext<'_, Unit>, _: f32) {
        self.1.reach("tick", self.0);
    }
}

struct Ear(&'static str, Bomb);

impl System<Unit> for Ear {
    fn on_actor_created(&mut self, _: &mut Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.1.reach("created", self.0);
    }
    fn on_actor_pending_destroy(&mut self, _: &Actor<Unit>, _: &mut Commands<'_, Unit>) {
        self.1.reach("killed", self.0);
    }
    fn on_actor_destroyed(&mut self, _: &mut Actor<Unit>, _: &Teardown<'_>) {
        self.1.reach("destroyed", self.0);
    }
    fn on_scene_shutdown(&mut self, _: &Teardown<'_>) {
        self.1.reach("shutdown", self.0);
    }
}

/// Everybody, in the order of the created and pending-destroy hooks.
const ALL: [&str; 5] = ["core", "first part", "second part", "first ear", "second ear"];
/// In the order of the destroyed hooks.
const LEAVING: [&str; 5] = ["first part", "second part", "first ear", "second ear", "core"];

fn lines(event: &str, places: &[&str]) -> Vec<String> {
    places.iter().map(|place| format!("{event}: {place}")).collect()
}

/// Whether the bomb has gone off in `code`.
fn goes_off(code: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(code)) {
        Ok(()) => false,
        Err(panic) => {
            assert_eq!(panic.downcast_ref(), Some(&"bomb"));
            true
        }
    }
}

/// The scene is whole: an actor can be made, ticks, and ends.
fn assert_usable(scene: &mut Scene<Unit>, bomb: &Bomb) {
    bomb.reached();
    let before = scene.store_stats().live;
    let actor = bomb.create(scene);
    scene.tick(0.1);
    scene.kill_actor(actor).unwrap();
    scene.tick(0.1);
    assert!(scene.state(actor).is_err());
    let reached = bomb.reached();
    for event in ["created", "killed", "destroyed"] {
        assert_eq!(reached.iter().filter(|line| line.starts_with(event)).count(), 5, "{reached:?}");
    }
    assert_eq!(scene.store_stats().live, before);
}

#[test]
fn created_hook_that_panics_ends_the_creation_for_those_who_were_told() {
    for (at, place) in ALL.into_iter().enumerate() {
        let bomb = Bomb::new("created", place);
        let mut scene = bomb.scene();
        let create = || {
            bomb.create(&mut scene);
        };
        assert!(goes_off(create), "{place}");
        let told = &ALL[..=at];
        let told_of_the_end: Vec<&str> =
            LEAVING.into_iter().filter(|place| told.contains(place)).collect();
        assert_eq!(
            bomb.reached(),
            [lines("created", told), lines("destroyed", &told_of_the_end)].concat()
        );
        assert_eq!((scene.store_stats().live, scene.last_frame().created), (0, 0));
        assert_usable(&mut scene, &bomb);
    }
}

#[test]
fn pending_destroy_hook_that_panics_keeps_no_other_from_being_called() {
    for place in ALL {
        let bomb = Bomb::new("killed", place);
        let mut scene = bomb.scene();
        let actor = bomb.create(&mut scene);
        bomb.reached();
        assert!(goes_off(|| scene.kill_actor(actor).unwrap()), "{place}");
        assert_eq!(bomb.reached(), lines("killed", &ALL));
        assert_eq!((scene.state(actor), scene.last_frame().killed), (Ok(State::Dying), 1));
        scene.tick(0.1);
        assert_eq!(bomb.reached(), lines("destroyed", &LEAVING));
        assert_usable(&mut scene, &bomb);
    }
}

#[test]
fn destroyed_hook_that_panics_in_a_sweep_keeps_nobody() {
    for place in LEAVING {
        let bomb = Bomb::new("destroyed", place);
        let mut scene = bomb.scene();
        let (actor, other) = (bomb.create(&mut scene), bomb.create(&mut scene));
        scene.kill_actor(actor).unwrap();
        scene.kill_actor(other).unwrap();
        bomb.reached();
        assert!(goes_off(|| scene.tick(0.1)), "{place}");
        assert_eq!(
            bomb.reached(),
            [lines("destroyed", &LEAVING), lines("destroyed", &LEAVING)].concat()
        );
        assert_eq!((scene.store_stats().live, scene.last_frame().destroyed), (0, 2));
        assert_usable(&mut scene, &bomb);
    }
}

#[test]
fn hooks_that_panic_in_a_shutdown_keep_nobody() {
    let destroyed = LEAVING.map(|place| ("destroyed", place));
    let shutdown = [("shutdown", "first ear"), ("shutdown", "second ear")];
    for (event, place) in destroyed.into_iter().chain(shutdown) {
        for dropped in [false, true] {
            let bomb = Bomb::new(event, place);
            let mut scene = bomb.scene();
            bomb.create(&mut scene);
            let dying = bomb.create(&mut scene);
            scene.kill_actor(dying).unwrap();
            bomb.reached();
            let ended = [
                lines("shutdown", &["first ear", "second ear"]),
                lines("destroyed", &LEAVING),
                lines("destroyed", &LEAVING),
            ];
            if dropped {
                assert!(goes_off(|| drop(scene)), "{event} {place}");
                assert_eq!(bomb.reached(), ended.concat());
                continue;
            }
            assert!(goes_off(|| scene.shutdown()), "{event} {place}");
            assert_eq!(bomb.reached(), ended.concat());
            assert_eq!((scene.store_stats().live, scene.is_shutdown()), (0, true));
            scene.shutdown();
            scene.tick(0.1);
            drop(scene);
            assert_eq!(bomb.reached(), Vec::<String>::new());
        }
    }
}

/// A second panic while the first unwinds would end the process.
#[test]
fn scene_dropped_by_a_panic_is_shut_down_though_hooks_panic_too() {
    for (event, place) in
        [("destroyed", "first part"), ("destroyed", "core"), ("shutdown", "first ear")]
    {
        let bomb = Bomb::new(event, place);
        let outer = catch_unwind(AssertUnwindSafe(|| {
            let mut scene = bomb.scene();
            bomb.create(&mut scene);
            bomb.reached();
            panic!("outer");
        }));
        assert_eq!(outer.unwrap_err().downcast_ref(), Some(&"outer"));
        let ended = [lines("shutdown", &["first ear", "second ear"]), lines("destroyed", &LEAVING)];
        assert_eq!(bomb.reached(), ended.concat());
    }
}

#[test]
fn tick_that_panics_ends_its_own_turn_alone_and_later_phases_wait() {
    for (at, place) in ["core", "first part", "second part"].into_iter().enumerate() {
        let bomb = Bomb::new("tick", place);
        let shown = bomb.clone();
        let show = doing(Phase::Main, move |_, _| shown.reach("main", "system"));
        let mut scene = scene().tick_system(show).build().unwrap();
        let _two = [(); 2].map(|()| bomb.create(&mut scene));
        bomb.reached();
        assert!(goes_off(|| scene.tick(0.1)), "{place}");
        let whole = ["core", "first part", "second part"];
        assert_eq!(bomb.reached(), [lines("tick", &whole[..=at]), lines("tick", &whole)].concat());
        scene.tick(0.1);
        let second = [lines("tick", &whole), lines("tick", &whole), lines("main", &["system"])];
        assert_eq!(bomb.reached(), second.concat());
        assert_eq!(scene.time().frame, 2);
    }
}

#[test]
fn system_that_panics_lets_its_phase_finish_and_what_it_asked_for_happens() {
    let phases = [Phase::Pre, Phase::Main, Phase::Post, Phase::Presentation];
    for (at, broken) in phases.into_iter().enumerate() {
        let bomb = Bomb::new("tick", "");
        let mut builder = scene();
        for phase in phases {
            for number in 0..2 {
                let (bomb, plan) = (bomb.clone(), bomb.plan());
                builder = builder.tick_system(doing(phase, move |frame, _| {
                    bomb.log.note(format!("{phase:?} {number}"));
                    if phase == broken && number == 0 && bomb.armed.swap(false, Ordering::Relaxed) {
                        frame.create_actor([0.0; 2], &plan, |_| ()).unwrap();
                        panic!("bomb");
                    }
                }));
            }
        }
        let mut scene = builder.build().unwrap();
        assert!(goes_off(|| scene.tick(0.1)), "{broken:?}");
        let reached = bomb.reached();
        let of_systems: Vec<&String> = reached.iter().filter(|line| !line.contains(':')).collect();
        let expected: Vec<String> = phases[..=at]
            .iter()
            .flat_map(|phase| [0, 1].map(|n| format!("{phase:?} {n}")))
            .collect();
        assert_eq!(of_systems, expected.iter().collect::<Vec<_>>());
        assert_eq!((scene.alive_actors().count(), scene.last_frame().created), (1, 1));
        assert!(!reached.contains(&"tick: core".to_owned()), "the actor phase has not begun");
        scene.tick(0.1);
        assert_eq!(bomb.reached().iter().filter(|line| !line.contains(':')).count(), 8);
    }
}

#[test]
fn created_hook_that_panics_in_an_admission_reaches_the_caller_of_tick() {
    let bomb = Bomb::new("created", "first ear");
    let mut scene = bomb.scene();
    let remote = scene.remote();
    let make = || remote.create_actor([0.0; 2], Arc::new(bomb.plan()), bomb.configure()).unwrap();
    let (broken, whole) = (make(), make());
    assert!(goes_off(|| scene.tick(0.1)));
    assert!(remote.state(broken).is_err());
    assert_eq!(remote.state(whole), Ok(State::Active));
    assert_eq!(scene.alive_actors().count(), 1);
    assert_usable(&mut scene, &bomb);
}

/// What it is made from and what it publishes panic when they are dropped.
struct Brittle;
struct Glass(bool);

impl Drop for Glass {
    fn drop(&mut self) {
        assert!(!self.0, "glass");
    }
}

impl Core for Brittle {
    type Definition = Glass;
    type Position = bool;
    type Public = Glass;

    fn construct(_: bool) -> Brittle {
        Brittle
    }
    fn init(_: &mut Actor<Brittle>, _: &Glass) {}
    fn publish(actor: &Actor<Brittle>) -> Glass {
        Glass(actor.position)
    }
    fn tick(actor: &mut Actor<Brittle>, cx: &TickContext<'_, Brittle>, _: f32) {
        if !actor.position && actor.tags.is_empty() {
            actor.tags.insert("Made.One");
            cx.create_actor(true, Arc::new(Glass(true)), |actor| {
                actor.tags.insert("Made");
            });
        }
    }
}

#[test]
fn published_value_that_panics_when_dropped_keeps_no_actor_from_its_end() {
    let mut scene = Scene::<Brittle>::builder().threads(1).build().unwrap();
    let brittle: Vec<Handle> =
        (0..5).map(|_| scene.create_actor(true, &Glass(false), |_| ()).unwrap()).collect();
    scene.tick(0.1);
    scene.kill_actor(brittle[0]).unwrap();
    scene.kill_actor(brittle[1]).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(0.1))).is_err());
    assert_eq!((scene.store_stats().live, scene.alive_actors().count()), (3, 3));
    assert!(catch_unwind(AssertUnwindSafe(|| scene.shutdown())).is_err());
    assert_eq!(scene.store_stats().live, 0);
    drop(scene);
}

#[test]
fn definition_that_panics_when_dropped_leaves_the_actor_and_the_queue_whole() {
    let mut scene = Scene::<Brittle>::builder().threads(1).build().unwrap();
    let _two = [(); 2].map(|()| scene.create_actor(false, &Glass(false), |_| ()).unwrap());
    assert!(catch_unwind(AssertUnwindSafe(|| scene.tick(0.1))).is_err());
    assert_eq!(scene.alive_actors().count(), 4);
    assert_eq!(scene.store_stats().pending, 0);
}

/// Two components of one actor are two users' code: what panics in one is over before the other.
#[test]
fn components_that_all_panic_when_dropped_end_with_their_actor_and_no_more() {
    struct Shatters<const N: usize>(#[expect(dead_code, reason = "it counts")] Counted);
    impl<const N: usize> Component<Unit> for Shatters<N> {}
    impl<const N: usize> Drop for Shatters<N> {
        fn drop(&mut self) {
            panic!("bomb");
        }
    }
    fn brittle(count: &Arc<AtomicUsize>) -> impl Fn(&mut Actor<Unit>) {
        let count = Arc::clone(count);
        move |actor| {
            actor.add_component(Shatters::<1>(Counted::new(&count)));
            actor.add_component(Shatters::<2>(Counted::new(&count)));
            actor.add_component(Shatters::<3>(Counted::new(&count)));
        }
    }
    let (log, count) = (Log::default(), Arc::new(AtomicUsize::new(0)));
    let mut scene = scene().build().unwrap();
    let orc = scene.create_actor([0.0; 2], &Plan::new(&log, "orc"), brittle(&count)).unwrap();
    scene.kill_actor(orc).unwrap();
    assert!(goes_off(|| scene.tick(0.1)));
    assert_eq!((count.load(Ordering::Relaxed), scene.store_stats().live), (0, 0));

    let cancelled = Plan::new(&log, "orc").created(|_, _| panic!("bomb"));
    assert!(goes_off(|| _ = scene.create_actor([0.0; 2], &cancelled, brittle(&count))));
    let plan = Plan::new(&log, "orc");
    let configured = |actor: &mut Actor<Unit>| {
        brittle(&count)(actor);
        panic!("bomb");
    };
    assert!(goes_off(|| _ = scene.create_actor([0.0; 2], &plan, configured)));
    assert_eq!((count.load(Ordering::Relaxed), scene.store_stats().live), (0, 0));

    scene.create_actor([0.0; 2], &plan, brittle(&count)).unwrap();
    assert!(goes_off(|| scene.shutdown()));
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

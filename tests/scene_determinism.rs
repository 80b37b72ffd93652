//! The same seed and input give the same world with any number of threads, bit for bit and handle
//! for handle.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hatchery::scene::{
    Actor, Commands, Component, Core, Frame, Phase, Scene, System, TickComponent, TickContext,
    TickSystem,
};
use hatchery::{Handle, Limits};

struct Cell {
    energy: u64,
    last_seen: u64,
}

impl Core for Cell {
    type Definition = u64;
    type Position = u64;
    type Public = (u64, Handle);

    fn construct(_: u64) -> Cell {
        Cell { energy: 0, last_seen: 0 }
    }

    fn init(actor: &mut Actor<Cell>, energy: &u64) {
        actor.core.energy = *energy;
    }

    fn publish(actor: &Actor<Cell>) -> (u64, Handle) {
        (actor.core.energy, actor.handle())
    }

    fn tick(actor: &mut Actor<Cell>, cx: &TickContext<'_, Cell>, _: f32) {
        let drawn = cx.random();
        actor.core.energy = actor.core.energy.wrapping_mul(31).wrapping_add(drawn);
        match drawn % 16 {
            0 => cx.kill_actor(actor.handle()),
            1 | 2 => cx.create_actor(drawn, Arc::new(drawn ^ actor.position), |actor| {
                actor.add_tick_component(Wander(1));
            }),
            _ => {}
        }
    }

    fn on_pending_destroy(actor: &Actor<Cell>, cx: &mut Commands<'_, Cell>) {
        if cx.random().is_multiple_of(2) {
            cx.create_actor(cx.random(), Arc::new(actor.core.energy), |_| ());
        }
    }
}

struct Wander(u64);

impl Component<Cell> for Wander {
    fn on_created(&mut self, _: &mut Actor<Cell>, cx: &mut Commands<'_, Cell>) {
        self.0 = cx.random();
    }
}

impl TickComponent<Cell> for Wander {
    fn tick(&mut self, owner: &mut Actor<Cell>, cx: &TickContext<'_, Cell>, _: f32) {
        owner.position = owner.position.wrapping_add(self.0 ^ cx.random());
        if let Some((energy, _)) = cx.public(owner.handle()) {
            owner.core.last_seen = *energy;
        }
    }
}

/// Culls and makes some, by its own random numbers.
struct Keeper;

impl System<Cell> for Keeper {}

impl TickSystem<Cell> for Keeper {
    fn phase(&self) -> Phase {
        Phase::Main
    }

    fn tick(&mut self, frame: &mut Frame<'_, Cell>, _: f32) {
        let (offset, many) = (frame.random() % 7, frame.actors().count());
        if many > 900 {
            let culled: Vec<Handle> =
                frame.actors().skip(offset as usize).step_by(7).map(Actor::handle).collect();
            culled.into_iter().for_each(|handle| {
                let _ = frame.kill_actor(handle);
            });
        }
        frame.create_actor(offset, &many_as(many), |actor| actor.add_component(Wander(0))).unwrap();
    }
}

fn many_as(many: usize) -> u64 {
    many as u64
}

fn hash(scene: &Scene<Cell>) -> u64 {
    let mut hasher = DefaultHasher::new();
    for actor in scene.alive_actors() {
        let wander = actor.component::<Wander>().map(|wander| wander.0);
        let place = (actor.handle().seq(), actor.handle().generation());
        (place, actor.position, actor.core.energy, actor.core.last_seen, wander).hash(&mut hasher);
    }
    hasher.finish()
}

/// The world's hash after each frame.
fn run(threads: usize, seed: u64) -> Vec<u64> {
    run_with(Limits::reject(2000), threads, seed, |_| ())
}

/// As [`run`]; what `prepare` makes of the scene is there all the time.
fn run_with<R>(
    limits: Limits,
    threads: usize,
    seed: u64,
    prepare: impl FnOnce(&Scene<Cell>) -> R,
) -> Vec<u64> {
    let builder = Scene::builder().limits(limits).seed(seed).threads(threads);
    let mut scene = builder.tick_system(Keeper).build().unwrap();
    let _prepared = prepare(&scene);
    for n in 0..600 {
        scene.create_actor(n, &n, |actor| actor.add_tick_component(Wander(n))).unwrap();
    }
    let hashes = (0..60)
        .map(|_| {
            scene.tick(1.0 / 30.0);
            hash(&scene)
        })
        .collect();
    assert!(scene.alive_actors().count() > 300, "the world lives");
    hashes
}

#[test]
fn worlds_are_the_same_with_one_two_and_eight_threads() {
    let world = run(1, 7);
    assert_eq!(run(2, 7), world);
    assert_eq!(run(8, 7), world);
    assert_eq!(run(1, 7), world);
}

/// Slots serve in another order there.
#[test]
fn worlds_without_a_capacity_are_the_same_with_any_threads_and_an_idle_remote() {
    let world = run_with(Limits::UNBOUNDED, 1, 7, |_| ());
    assert_eq!(run_with(Limits::UNBOUNDED, 2, 7, |_| ()), world);
    assert_eq!(run_with(Limits::UNBOUNDED, 8, 7, |_| ()), world);
    assert_eq!(run_with(Limits::UNBOUNDED, 2, 7, Scene::remote), world);
}

#[test]
fn worlds_of_other_seeds_are_others() {
    assert_ne!(run(1, 8), run(1, 7));
}

/// Kills those that are not Dying already.
fn kill(scene: &mut Scene<Cell>, handles: Vec<Handle>) {
    for handle in handles {
        let _ = scene.kill_actor(handle);
    }
}

#[test]
fn slots_serve_again_after_the_sweep() {
    let mut scene = Scene::<Cell>::builder().limits(Limits::reject(10)).threads(1).build().unwrap();
    for round in 0..200 {
        let handles: Vec<Handle> =
            (0..10).map(|n| scene.create_actor(n, &n, |_| ()).unwrap()).collect();
        assert!(scene.create_actor(0, &0, |_| ()).is_err(), "round {round}: full");
        for handle in handles {
            scene.kill_actor(handle).unwrap();
        }
        scene.set_paused(true);
        scene.tick(0.0);
        // Those that hooks have made.
        let rest: Vec<Handle> = scene.alive_actors().map(Actor::handle).collect();
        kill(&mut scene, rest);
        while scene.alive_actors().next().is_some() {
            let rest: Vec<Handle> = scene.alive_actors().map(Actor::handle).collect();
            scene.tick(0.0);
            kill(&mut scene, rest);
        }
    }
    assert!(scene.store_stats().slots <= 128, "{:?}", scene.store_stats());
}

/// Bare: what counts is which slot serves when.
struct Pebble;

impl Core for Pebble {
    type Definition = ();
    type Position = ();
    type Public = ();

    fn construct((): ()) -> Pebble {
        Pebble
    }
    fn init(_: &mut Actor<Pebble>, (): &()) {}
    fn publish(_: &Actor<Pebble>) {}
    fn tick(_: &mut Actor<Pebble>, _: &TickContext<'_, Pebble>, _: f32) {}
}

/// What is done beside the frames that must not change a handle.
#[derive(Clone, Copy)]
struct Beside {
    /// The frames that another thread runs, and a new one each.
    elsewhere: fn(usize) -> bool,
    /// How often the state of an actor is asked for in a frame.
    looks: usize,
}

const NOTHING: Beside = Beside { elsewhere: |_| false, looks: 0 };

/// The handles of a scene in which waves come and go.
fn waves(limits: Limits, wave: usize, beside: Beside) -> Vec<(u64, u32)> {
    let mut scene = Scene::<Pebble>::builder().threads(1).limits(limits).build().unwrap();
    let mut handles = Vec::new();
    let frame = |number: usize, scene: &mut Scene<Pebble>, handles: &mut Vec<(u64, u32)>| {
        for _ in 0..if number.is_multiple_of(8) { wave } else { 20 } {
            let Ok(handle) = scene.create_actor((), &(), |_| ()) else { break };
            handles.push((handle.seq(), handle.generation().get()));
        }
        let all: Vec<Handle> = scene.alive_actors().map(Actor::handle).collect();
        (0..beside.looks).for_each(|_| _ = scene.state(all[0]));
        let (killed, step) = if number % 8 == 3 { (wave, 1) } else { (20, 2) };
        for &handle in all.iter().step_by(step).take(killed) {
            scene.kill_actor(handle).unwrap();
        }
        scene.tick(0.1);
    };
    for number in 0..60 {
        let (scene, handles) = (&mut scene, &mut handles);
        if (beside.elsewhere)(number) {
            std::thread::scope(|scope| scope.spawn(move || frame(number, scene, handles)).join())
                .unwrap();
        } else {
            frame(number, scene, handles);
        }
    }
    handles
}

#[test]
fn handles_follow_neither_who_drives_the_scene_nor_who_looks() {
    let settings = [
        (Limits::UNBOUNDED, 40),
        (Limits::UNBOUNDED, 1000),
        (Limits::reject(50), 1000),
        (Limits::reject(5000), 1000),
        (Limits::grow_to_cap(100, 3000), 700),
    ];
    for (limits, wave) in settings {
        let handles = waves(limits, wave, NOTHING);
        for looks in [1, 50] {
            assert_eq!(waves(limits, wave, Beside { looks, ..NOTHING }), handles, "{limits:?}");
        }
        let elsewhere: [fn(usize) -> bool; 3] = [|n| n == 3, |n| n % 3 == 1, |_| true];
        for elsewhere in elsewhere {
            assert_eq!(waves(limits, wave, Beside { elsewhere, ..NOTHING }), handles, "{limits:?}");
        }
    }
}

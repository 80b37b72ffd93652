//! A warm frame without births and deaths allocates nothing, and a life asks for no block of its
//! own where as many are born as die.
//!
//! With threads of the scene's own there is one exception that is not the scene's: rayon puts the
//! two steps of the actor phase into a queue whose blocks have room for some 63 jobs, and so
//! allocates one block in some 31 frames.

#[path = "support/counting.rs"]
#[allow(dead_code, reason = "each file of tests uses a part of it")]
mod counting;

use counting::{Counting, blocks, local_bytes, take_local_blocks, take_turn};
use hatchery::Handle;
use hatchery::scene::{
    Actor, Component, Core, Frame, Phase, Scene, System, TickComponent, TickContext, TickSystem,
};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An actor that looks at its neighbour.
struct Walker {
    neighbour: Option<Handle>,
    seen: f32,
}

impl Core for Walker {
    type Definition = str;
    type Position = f32;
    type Public = (f32, Handle);

    fn construct(_: f32) -> Walker {
        Walker { neighbour: None, seen: 0.0 }
    }

    fn init(actor: &mut Actor<Walker>, tag: &str) {
        actor.tags.insert(tag);
    }

    fn publish(actor: &Actor<Walker>) -> (f32, Handle) {
        (actor.position, actor.handle())
    }

    fn tick(actor: &mut Actor<Walker>, cx: &TickContext<'_, Walker>, dt: f32) {
        actor.position += dt * (cx.random() % 3) as f32;
        if let Some((position, _)) = actor.core.neighbour.and_then(|there| cx.public(there)) {
            actor.core.seen = *position;
        }
        assert!(actor.tags.contains("Actor.Kind") && !actor.tags.contains("Actor.Life.Dead"));
    }
}

struct Motor(f32);
struct Clock([f64; 4]);

impl Component<Walker> for Motor {}
impl Component<Walker> for Clock {}

impl TickComponent<Walker> for Motor {
    fn tick(&mut self, owner: &mut Actor<Walker>, _: &TickContext<'_, Walker>, dt: f32) {
        owner.position += self.0 * dt;
        if let Some(clock) = owner.component_mut::<Clock>() {
            clock.0[1] += 1.0;
        }
    }
}

impl TickComponent<Walker> for Clock {
    fn tick(&mut self, _: &mut Actor<Walker>, cx: &TickContext<'_, Walker>, _: f32) {
        self.0[0] = cx.time().elapsed + f64::from(*cx.service::<f32>().unwrap());
    }
}

/// Walks over everybody in its phase.
struct Walking(Phase);

impl System<Walker> for Walking {}

impl TickSystem<Walker> for Walking {
    fn phase(&self) -> Phase {
        self.0
    }

    fn tick(&mut self, frame: &mut Frame<'_, Walker>, dt: f32) {
        let push = dt * (frame.random() % 2) as f32;
        frame.actors_mut().for_each(|actor| actor.position += push);
        let first = frame.actors().next().map(Actor::handle).unwrap();
        assert!(frame.actor(first).is_ok());
    }
}

/// Blocks that this thread has allocated during `frames` warm frames, and all threads together.
fn allocated(threads: usize, frames: usize) -> (usize, usize) {
    let mut builder = Scene::<Walker>::builder().threads(threads).service(0.5_f32);
    for phase in [Phase::Pre, Phase::Main, Phase::Post, Phase::Presentation] {
        builder = builder.tick_system(Walking(phase));
    }
    let mut scene = builder.build().unwrap();
    let mut last = None;
    for n in 0..1000 {
        let walker = scene.create_actor(n as f32, "Actor.Kind.Walker", |actor| {
            actor.core.neighbour = last;
            actor.add_tick_component(Motor(1.0));
            actor.add_tick_component(Clock([0.0; 4]));
        });
        last = Some(walker.unwrap());
    }
    // Some births and deaths before, so that the lists of the sweep are there; none afterwards.
    for _ in 0..10 {
        let brief = scene.create_actor(0.0, "Actor.Kind.Walker", |_| ()).unwrap();
        scene.tick(0.1);
        scene.kill_actor(brief).unwrap();
    }
    (0..50).for_each(|_| scene.tick(0.1));
    take_local_blocks();
    let before = blocks();
    (0..frames).for_each(|_| scene.tick(0.1));
    let allocated = (take_local_blocks().0, blocks() - before);
    assert_eq!(scene.alive_actors().count(), 1000);
    assert!(scene.alive_actors().skip(1).all(|actor| actor.core.seen > 0.0));
    allocated
}

#[test]
fn warm_frame_on_one_thread_allocates_nothing() {
    let _turn = take_turn();
    let (here, _) = allocated(1, 100);
    assert_eq!(here, 0);
}

#[test]
fn warm_frame_on_two_threads_allocates_nothing_but_the_queue_of_rayon() {
    let _turn = take_turn();
    let frames = 310;
    let (_, all) = allocated(2, frames);
    // Two jobs a frame, 63 to a block, and one block may be begun. The rest is for the threads of
    // the test harness, which are counted as well.
    assert!(all <= 2 * frames / 63 + 1 + 5, "{all} blocks in {frames} frames");
}

/// An actor that owns nothing but its components.
struct Brief;

impl Core for Brief {
    type Definition = ();
    type Position = ();
    type Public = ();

    fn construct((): ()) -> Brief {
        Brief
    }
    fn init(_: &mut Actor<Brief>, (): &()) {}
    fn publish(_: &Actor<Brief>) {}
    fn tick(_: &mut Actor<Brief>, _: &TickContext<'_, Brief>, _: f32) {}
}

impl Component<Brief> for Motor {}
impl Component<Brief> for Clock {}

#[test]
fn life_asks_for_no_block_where_as_many_are_born_as_die_and_idle_ones_are_given_back() {
    let _turn = take_turn();
    let mut scene = Scene::<Brief>::builder().threads(1).build().unwrap();
    let lives = 1000;
    let mut frame = || {
        let create = |_| {
            let configure = |actor: &mut Actor<Brief>| {
                actor.add_component(Motor(1.0));
                actor.add_component(Clock([0.0; 4]));
            };
            scene.create_actor((), &(), configure).unwrap()
        };
        let brief: Vec<Handle> = (0..lives).map(create).collect();
        brief.into_iter().for_each(|handle| scene.kill_actor(handle).unwrap());
        scene.tick(0.1);
    };
    (0..20).for_each(|_| frame());
    take_local_blocks();
    (0..20).for_each(|_| frame());
    let (blocks, _) = take_local_blocks();
    // Batches of slots in limbo, and the list of this test.
    assert!(blocks < 20 * lives / 50, "{blocks} blocks in {} lives", 20 * lives);
    let full = local_bytes();
    (0..40).for_each(|_| scene.tick(0.1));
    let given_back = full - local_bytes();
    // Less what boxes take, in which the slots of the dead go to the store.
    assert!(given_back >= lives as isize * 96, "{given_back} bytes");
}

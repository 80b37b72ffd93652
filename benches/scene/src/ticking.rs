//! A frame of many actors with eight components, each of which does a little.

use std::hint::black_box;

use bevy_ecs::bundle::Bundle;
use bevy_ecs::schedule::{MultiThreadedExecutor, Schedule, SingleThreadedExecutor};
use bevy_ecs::system::Query;
use bevy_ecs::world::World;
use bevy_tasks::{ComputeTaskPool, TaskPoolBuilder};
use hatchery::scene::{Actor, Scene};

use crate::measure::{Case, Plan, Run, timed};
use crate::part::{Bare, Part, work};

/// Does something for each of the eight types.
macro_rules! each_part {
    ($call:ident!) => {
        $call!(0, 1, 2, 3, 4, 5, 6, 7)
    };
}

/// The eight components of a peer's entity.
macro_rules! peer_parts {
    ($($number:literal),*) => { ($(&'static mut Part<$number>,)*) };
}
type PeerParts = each_part!(peer_parts!);

/// With so many threads.
pub fn case(plan: &Plan, threads: usize) -> Case {
    let actors = plan.size(100_000, 1000);
    let mut ours = Ours::new(actors, threads);
    let mut eight = Theirs::new(actors, threads, Systems::Eight);
    let mut one = Theirs::new(actors, threads, Systems::One);
    let runs: Vec<(&str, Run<'_>)> = vec![
        (OURS, Box::new(|| timed(|| ours.frame()))),
        (EIGHT, Box::new(|| timed(|| eight.frame()))),
        (ONE, Box::new(|| timed(|| one.frame()))),
    ];
    let case = Case::measure(&name(threads), actors, plan, runs);
    black_box((ours.sum(), eight.sum(), one.sum()));
    case
}

pub const OURS: &str = "hatchery";
pub const EIGHT: &str = "bevy_ecs, eight systems";
pub const ONE: &str = "bevy_ecs, one query over all eight";

/// The name of the case.
pub fn name(threads: usize) -> String {
    format!("a frame of an actor with 8 components, {threads} T")
}

/// A scene.
struct Ours(Scene<Bare>);

impl Ours {
    fn new(actors: usize, threads: usize) -> Ours {
        let mut scene = Scene::builder().threads(threads).build().unwrap();
        for entity in 0..actors {
            let configure = |actor: &mut Actor<Bare>| {
                macro_rules! add {
                    ($($number:literal),*) => {
                        $(actor.add_tick_component(Part::<$number>::of(entity));)*
                    };
                }
                each_part!(add!);
            };
            scene.create_actor((), &(), configure).unwrap();
        }
        Ours(scene)
    }

    fn frame(&mut self) {
        self.0.tick(0.1);
    }

    fn sum(&self) -> u64 {
        let of_actor = |actor: &Actor<Bare>| {
            macro_rules! sum {
                ($($number:literal),*) => {
                    0_u64 $(.wrapping_add(actor.component::<Part<$number>>().map_or(0, Part::sum)))*
                };
            }
            each_part!(sum!)
        };
        self.0.alive_actors().map(of_actor).fold(0, u64::wrapping_add)
    }
}

#[derive(Clone, Copy, Debug)]
enum Systems {
    /// A system and a query for each component.
    Eight,
    /// One query over all of them.
    One,
}

/// A world, and a schedule of what is done in a frame.
struct Theirs {
    world: World,
    schedule: Schedule,
}

impl Theirs {
    fn new(actors: usize, threads: usize, systems: Systems) -> Theirs {
        let pool = || TaskPoolBuilder::new().num_threads(threads).build();
        assert_eq!(ComputeTaskPool::get_or_init(pool).thread_num(), threads);
        let mut world = World::new();
        for entity in 0..actors {
            world.spawn(parts(entity));
        }
        let mut schedule = Schedule::default();
        if threads == 1 {
            // The other one would use the thread of the pool beside this one.
            schedule.set_executor(SingleThreadedExecutor::new());
        } else {
            schedule.set_executor(MultiThreadedExecutor::new());
        }
        match systems {
            Systems::Eight => {
                macro_rules! add {
                    ($($number:literal),*) => { schedule.add_systems(($(tick_one::<$number>,)*)) };
                }
                each_part!(add!);
            }
            Systems::One => {
                schedule.add_systems(tick_all);
            }
        }
        Theirs { world, schedule }
    }

    fn frame(&mut self) {
        self.schedule.run(&mut self.world);
        self.world.clear_trackers();
    }

    fn sum(&mut self) -> u64 {
        let mut sum = 0_u64;
        macro_rules! sum {
            ($($number:literal),*) => {
                $(for part in self.world.query::<&Part<$number>>().iter(&self.world) {
                    sum = sum.wrapping_add(part.sum());
                })*
            };
        }
        each_part!(sum!);
        sum
    }
}

fn parts(entity: usize) -> impl Bundle {
    macro_rules! parts {
        ($($number:literal),*) => { ($(Part::<$number>::of(entity),)*) };
    }
    each_part!(parts!)
}

fn tick_one<const N: usize>(mut parts: Query<'_, '_, &mut Part<N>>) {
    parts.par_iter_mut().for_each(|mut part| work(&mut part.0));
}

fn tick_all(mut entities: Query<'_, '_, PeerParts>) {
    entities.par_iter_mut().for_each(|(mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h)| {
        work(&mut a.0);
        work(&mut b.0);
        work(&mut c.0);
        work(&mut d.0);
        work(&mut e.0);
        work(&mut f.0);
        work(&mut g.0);
        work(&mut h.0);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_both_sides_leave_the_same_values() {
        // One number of threads: bevy's pool is this process's.
        let (actors, threads) = (1000, 2);
        let mut ours = Ours::new(actors, threads);
        let before = ours.sum();
        let mut theirs = [Systems::Eight, Systems::One].map(|it| Theirs::new(actors, threads, it));
        for frame in 0..5 {
            for peer in &mut theirs {
                assert_eq!(ours.sum(), peer.sum(), "after {frame} frames");
                peer.frame();
            }
            ours.frame();
        }
        assert_ne!(ours.sum(), before);
    }
}

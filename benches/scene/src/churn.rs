//! Many actors are created and killed in a frame, and somebody hears of each.

use std::hint::black_box;
use std::sync::{Arc, Mutex, PoisonError};

use bevy_ecs::entity::Entity;
use bevy_ecs::lifecycle::{Add, Despawn, Remove};
use bevy_ecs::observer::On;
use bevy_ecs::resource::Resource;
use bevy_ecs::system::ResMut;
use bevy_ecs::world::World;
use hatchery::Handle;
use hatchery::scene::{Actor, Commands, Scene, System, Teardown};

use crate::measure::{Case, Plan, Run, timed};
use crate::part::{Bare, Part};

/// On one thread.
pub fn case(plan: &Plan) -> Case {
    let (lives, others) = (plan.size(10_000, 100), plan.size(10_000, 100));
    let mut ours = Ours::new(lives, others);
    let mut two = Theirs::new(lives, others, Hooks::Two);
    let mut three = Theirs::new(lives, others, Hooks::Three);
    let runs: Vec<(&str, Run<'_>)> = vec![
        (OURS, Box::new(|| timed(|| ours.frame()))),
        (TWO, Box::new(|| timed(|| two.frame()))),
        (THREE, Box::new(|| timed(|| three.frame()))),
    ];
    let case = Case::measure(NAME, lives, plan, runs);
    black_box((ours.end(), two.end(), three.end()));
    case
}

pub const NAME: &str = "create and kill, with hooks";
pub const OURS: &str = "hatchery, three hooks";
pub const TWO: &str = "bevy_ecs, two observers";
pub const THREE: &str = "bevy_ecs, three observers";

/// How often each hook was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Resource)]
struct Counts {
    created: u64,
    /// The pending-destroy hook, or what is called as an entity is despawned.
    pending: u64,
    destroyed: u64,
}

/// Counts, and shows what it has counted at the end.
struct Counting {
    counts: Counts,
    shown: Arc<Mutex<Counts>>,
}

impl System<Bare> for Counting {
    fn on_actor_created(&mut self, _: &mut Actor<Bare>, _: &mut Commands<'_, Bare>) {
        self.counts.created += 1;
    }
    fn on_actor_pending_destroy(&mut self, _: &Actor<Bare>, _: &mut Commands<'_, Bare>) {
        self.counts.pending += 1;
    }
    fn on_actor_destroyed(&mut self, _: &mut Actor<Bare>, _: &Teardown<'_>) {
        self.counts.destroyed += 1;
    }
    fn on_scene_shutdown(&mut self, _: &Teardown<'_>) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = self.counts;
    }
}

/// A scene.
struct Ours {
    scene: Scene<Bare>,
    counts: Arc<Mutex<Counts>>,
    handles: Vec<Handle>,
    lives: usize,
}

impl Ours {
    fn new(lives: usize, others: usize) -> Ours {
        let counts = Arc::new(Mutex::new(Counts::default()));
        let counting = Counting { counts: Counts::default(), shown: Arc::clone(&counts) };
        let scene = Scene::builder().threads(1).system(counting).build().unwrap();
        let mut ours = Ours { scene, counts, handles: Vec::with_capacity(lives), lives };
        for entity in 0..others {
            ours.create(entity);
        }
        ours
    }

    fn create(&mut self, entity: usize) -> Handle {
        let configure = |actor: &mut Actor<Bare>| {
            actor.add_component(Part::<0>::of(entity));
            actor.add_component(Part::<1>::of(entity));
        };
        self.scene.create_actor((), &(), configure).unwrap()
    }

    fn frame(&mut self) {
        for entity in 0..self.lives {
            let handle = self.create(entity);
            self.handles.push(handle);
        }
        for handle in self.handles.drain(..) {
            self.scene.kill_actor(handle).unwrap();
        }
        self.scene.tick(0.1);
    }

    /// What was counted, and how many are alive.
    fn end(mut self) -> (Counts, usize) {
        let alive = self.scene.alive_actors().count();
        self.scene.shutdown();
        (*self.counts.lock().unwrap_or_else(PoisonError::into_inner), alive)
    }
}

#[derive(Clone, Copy, Debug)]
enum Hooks {
    /// One as an entity begins, and one as it ends.
    Two,
    /// One more as it ends, so that there are as many as a scene has.
    Three,
}

/// A world.
struct Theirs {
    world: World,
    entities: Vec<Entity>,
    lives: usize,
}

impl Theirs {
    fn new(lives: usize, others: usize, hooks: Hooks) -> Theirs {
        let mut world = World::new();
        world.init_resource::<Counts>();
        world.add_observer(|_: On<'_, '_, Add<Part<0>>>, mut counts: ResMut<'_, Counts>| {
            counts.created += 1;
        });
        world.add_observer(|_: On<'_, '_, Despawn<Part<0>>>, mut counts: ResMut<'_, Counts>| {
            counts.pending += 1;
        });
        if matches!(hooks, Hooks::Three) {
            world.add_observer(|_: On<'_, '_, Remove<Part<0>>>, mut counts: ResMut<'_, Counts>| {
                counts.destroyed += 1;
            });
        }
        for entity in 0..others {
            world.spawn((Part::<0>::of(entity), Part::<1>::of(entity)));
        }
        Theirs { world, entities: Vec::with_capacity(lives), lives }
    }

    fn frame(&mut self) {
        for entity in 0..self.lives {
            let parts = (Part::<0>::of(entity), Part::<1>::of(entity));
            self.entities.push(self.world.spawn(parts).id());
        }
        for entity in self.entities.drain(..) {
            self.world.despawn(entity);
        }
        self.world.clear_trackers();
    }

    /// What was counted, and how many are alive.
    fn end(mut self) -> (Counts, usize) {
        let alive = self.world.query::<&Part<0>>().iter(&self.world).count();
        (*self.world.resource::<Counts>(), alive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_both_sides_are_called_as_often() {
        let (lives, others, frames) = (30, 20, 4);
        let mut ours = Ours::new(lives, others);
        let mut theirs = [Hooks::Two, Hooks::Three].map(|hooks| Theirs::new(lives, others, hooks));
        for _ in 0..frames {
            ours.frame();
            theirs.iter_mut().for_each(Theirs::frame);
        }
        let ended = (lives * frames) as u64;
        let counts = Counts { created: ended + 20, pending: ended, destroyed: ended };
        let [two, three] = theirs.map(Theirs::end);
        assert_eq!(two, (Counts { destroyed: 0, ..counts }, others));
        assert_eq!(three, (counts, others));
        // Those that a shutdown destroys are told of after the systems.
        assert_eq!(ours.end(), three);
    }
}

//! The hash of a world, actor for actor in the order of creation.
//!
//! A hash of its own, since what the standard library's makes may differ from version to version.

use hatchery::scene::Scene;
use hatchery::{Handle, State};

use crate::components::{Ai, Movement, Shield, Treasure};
use crate::world::Fighter;

/// A hash to which words are added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub(crate) const fn new() -> Fingerprint {
        Fingerprint(0x243f_6a88_85a3_08d3)
    }

    pub(crate) fn word(&mut self, word: u64) {
        // A multiplication carries upwards alone; the rotation brings it down again.
        let mixed = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }

    /// Without the scene, whose id is another for each one in a process.
    fn handle(&mut self, handle: Handle) {
        self.word(handle.seq());
        self.word(u64::from(handle.generation().get()));
    }

    fn pair(&mut self, high: u32, low: u32) {
        self.word(u64::from(high) << 32 | u64::from(low));
    }

    /// Everything that a frame leaves behind.
    pub(crate) fn of_world(scene: &Scene<Fighter>) -> Fingerprint {
        let mut print = Fingerprint::new();
        print.word(scene.time().frame);
        print.word(scene.time().elapsed.to_bits());
        for actor in scene.alive_actors() {
            let core = &actor.core;
            print.handle(actor.handle());
            let dying = scene.state(actor.handle()) == Ok(State::Dying);
            print.pair(core.figures.role as u32, u32::from(dying));
            print.pair(actor.position[0].to_bits(), actor.position[1].to_bits());
            print.pair(core.velocity[0].to_bits(), core.velocity[1].to_bits());
            print.pair(core.health as u32, core.down_for);
            print.pair(core.experience, core.gold);
            // No place in a scene has this number: it stands for nobody.
            [core.target, core.bane].into_iter().for_each(|other| match other {
                Some(other) => print.handle(other),
                None => print.word(u64::MAX),
            });
            actor.tags.iter().flat_map(str::bytes).for_each(|byte| print.word(u64::from(byte)));
            print.pair(
                actor.component::<Ai>().map_or(0, |ai| ai.rest),
                actor.component::<Movement>().map_or(0, |movement| movement.steps),
            );
            print.pair(
                actor.component::<Shield>().map_or(0, |shield| shield.left as u32),
                actor.component::<Treasure>().map_or(0, |treasure| treasure.age),
            );
        }
        print
    }
}

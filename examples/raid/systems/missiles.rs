//! Missiles: too short-lived to be actors, so they are objects of a pool, each under a lease.

use std::sync::Arc;

use hatchery::pool::{Lease, Pool};
use hatchery::scene::{Frame, Phase, System, Teardown, TickSystem};
use hatchery::{Handle, Recycle};

use super::hurt;
use super::watch::{Dot, Glyph, Picture};
use crate::books::Books;
use crate::world::{Act, Fighter, Place, apart, is_down, towards};

/// In a second.
const SPEED: f32 = 22.0;
/// Frames that one flies at most.
const FLIES: u32 = 60;

/// One shot on its way.
#[derive(Debug, Default)]
pub(crate) struct Missile {
    place: Place,
    flight: Option<Flight>,
    age: u32,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    by: Handle,
    to: Handle,
    force: i32,
}

impl Recycle for Missile {}

/// Launches, flies and ends missiles.
#[derive(Debug)]
pub(crate) struct Missiles {
    pool: Pool<Missile>,
    flying: Vec<Lease<Missile>>,
}

impl Missiles {
    pub(crate) fn new(pool: &Pool<Missile>) -> Missiles {
        Missiles { pool: pool.clone(), flying: Vec::new() }
    }

    fn launch(&mut self, frame: &mut Frame<'_, Fighter>) {
        let (mut shots, mut held_fire) = (0, 0);
        for actor in frame.actors_mut() {
            let shot = actor.core.intent.take_if(|intent| intent.act == Act::Shoot);
            let Some(intent) = shot else { continue };
            let Ok(mut lease) = self.pool.acquire() else {
                held_fire += 1;
                continue;
            };
            shots += 1;
            let flight = Flight { by: actor.handle(), to: intent.to, force: intent.force };
            lease.with(|missile| {
                (missile.place, missile.flight) = (actor.position, Some(flight));
            });
            self.flying.push(lease);
        }
        if let Some(books) = frame.service::<Arc<Books>>() {
            books.deeds.shots.add(shots);
            books.deeds.held_fire.add(held_fire);
        }
    }

    fn show(&mut self, frame: &Frame<'_, Fighter>) {
        let picture = frame.service::<Arc<Picture>>();
        if let Some(mut dots) = picture.and_then(|picture| picture.open()) {
            let places = self.flying.iter_mut().filter_map(|lease| lease.with(|m| m.place));
            dots.extend(places.map(|place| Dot { place, glyph: Glyph::Missile }));
        }
    }
}

impl Missile {
    /// One step; whether it flies on.
    fn fly(&mut self, frame: &mut Frame<'_, Fighter>, dt: f32) -> bool {
        self.age += 1;
        let Some(Flight { by, to, force }) = self.flight else { return false };
        // A target that is gone or dead is no target; its handle leads to nobody else.
        let Ok(target) = frame.actor_mut(to) else { return false };
        if is_down(target) || self.age > FLIES {
            return false;
        }
        let step = SPEED * dt;
        if apart(self.place, target.position) <= step * step {
            hurt(target, force, by);
            return false;
        }
        let [x, y] = towards(self.place, target.position, step);
        self.place = [self.place[0] + x, self.place[1] + y];
        true
    }
}

impl System<Fighter> for Missiles {
    /// They are no actors: the scene does not know of them.
    fn on_scene_shutdown(&mut self, _: &Teardown<'_>) {
        self.flying.clear();
    }
}

impl TickSystem<Fighter> for Missiles {
    fn phase(&self) -> Phase {
        Phase::Main
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, dt: f32) {
        // A lease that ends is given back by its drop.
        self.flying.retain_mut(|lease| lease.with(|m| m.fly(frame, dt)).unwrap_or(false));
        self.launch(frame);
        self.show(frame);
    }
}

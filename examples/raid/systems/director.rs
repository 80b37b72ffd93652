//! Who comes when: the raid at the beginning, adds as the boss weakens, and one boss after another.

use std::sync::Arc;

use hatchery::Handle;
use hatchery::scene::{Frame, Phase, System, TickSystem};

use crate::books::Books;
use crate::components::{Shield, equip};
use crate::world::{Arena, Balance, Fighter, Place, Role};

/// At these quarters of its health the boss calls for help.
const CALLS_AT: [i32; 3] = [3, 2, 1];
/// For each call, one add for so many of the crowd.
const CROWD_PER_ADD: u32 = 25;
/// Frames without a boss.
const RESPITE: u32 = 90;

/// The part of the raid that heals: one of so many.
pub(crate) const HEALER_OF: u32 = 9;

/// Creates all but what the spawners and hooks do.
#[derive(Debug)]
pub(crate) struct Director {
    crowd: u32,
    mustered: bool,
    boss: Option<Handle>,
    /// Calls of this boss so far.
    calls: usize,
    /// Frames since the last boss was seen.
    respite: u32,
}

impl Director {
    pub(crate) fn new(crowd: u32) -> Director {
        Director { crowd, mustered: false, boss: None, calls: 0, respite: 0 }
    }

    /// Everybody who is there from the first frame on.
    fn muster(&mut self, frame: &mut Frame<'_, Fighter>) {
        self.send_boss(frame);
        for number in 1..self.crowd {
            let raid = number * 2 > self.crowd;
            let role = match (raid, number % HEALER_OF) {
                (false, _) => Role::Monster,
                (true, 0) => Role::Healer,
                (true, _) => Role::Raider,
            };
            let (from, to) = if raid { (0.4, 0.9) } else { (0.05, 0.38) };
            let _ = create(frame, role, from, to);
        }
    }

    fn send_boss(&mut self, frame: &mut Frame<'_, Fighter>) {
        (self.boss, self.calls, self.respite) = (create(frame, Role::Boss, 0.0, 0.05), 0, 0);
    }

    /// What the boss does about its wounds; whether there is a boss.
    fn attend(&mut self, frame: &mut Frame<'_, Fighter>) -> bool {
        let Some(boss) = self.boss.and_then(|boss| frame.actor_mut(boss).ok()) else {
            return false;
        };
        let (health, full) = (boss.core.health, boss.core.figures.health);
        let calls = CALLS_AT.get(self.calls).is_some_and(|quarters| health * 4 <= full * quarters);
        if !calls || health <= 0 {
            return true;
        }
        self.calls += 1;
        if let Some(shield) = boss.component_mut::<Shield>() {
            shield.renew();
        }
        if self.calls == CALLS_AT.len() {
            boss.core.figures.rest /= 2;
        }
        let around = boss.position;
        for _ in 0..self.crowd / CROWD_PER_ADD {
            let place = Arena { half: 6.0 }.in_ring(0.5, 1.0, || frame.random());
            let _ = create_at(frame, Role::Monster, [around[0] + place[0], around[1] + place[1]]);
        }
        if let Some(books) = frame.service::<Arc<Books>>() {
            books.deeds.calls.add(1);
        }
        true
    }
}

/// Nobody, where there is no room: it is counted as refused.
fn create(frame: &mut Frame<'_, Fighter>, role: Role, from: f32, to: f32) -> Option<Handle> {
    let arena = frame.service::<Arena>()?;
    let place = arena.in_ring(from, to, || frame.random());
    create_at(frame, role, place)
}

fn create_at(frame: &mut Frame<'_, Fighter>, role: Role, place: Place) -> Option<Handle> {
    let (arena, balance) = (frame.service::<Arena>()?, frame.service::<Arc<Balance>>()?);
    frame.create_actor(arena.within(place), balance.blueprint(role), equip).ok()
}

impl System<Fighter> for Director {}

impl TickSystem<Fighter> for Director {
    fn phase(&self) -> Phase {
        Phase::Pre
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        if !self.mustered {
            self.mustered = true;
            self.muster(frame);
        } else if !self.attend(frame) {
            self.respite += 1;
            if self.respite > RESPITE {
                self.send_boss(frame);
            }
        }
    }
}

//! How an actor gets from one place to another.

use hatchery::scene::{Actor, Commands, Component, Teardown, TickComponent, TickContext};

use crate::world::{Arena, Fighter, is_down};

/// How far a step strays, in units in a second.
const STRAY: f32 = 0.6;

/// Carries an actor along its velocity, within the walls.
#[derive(Debug, Default)]
pub(crate) struct Movement {
    /// Steps so far.
    pub(crate) steps: u32,
}

impl Component<Fighter> for Movement {
    fn on_created(&mut self, _: &mut Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_created(cx);
    }

    fn on_pending_destroy(&mut self, _: &Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_mourned(cx);
    }

    fn on_destroyed(&mut self, _: &mut Actor<Fighter>, end: &Teardown<'_>) {
        super::note_ended(end);
    }
}

impl TickComponent<Fighter> for Movement {
    fn tick(&mut self, owner: &mut Actor<Fighter>, cx: &TickContext<'_, Fighter>, dt: f32) {
        if is_down(owner) {
            return;
        }
        let drawn = cx.random();
        // A crowd in step would stand in one point.
        let stray = |bits: u64| ((bits & 0xffff) as f32 / 32768.0 - 1.0) * STRAY;
        let [x, y] = owner.core.velocity;
        let step = [(x + stray(drawn)) * dt, (y + stray(drawn >> 16)) * dt];
        let place = [owner.position[0] + step[0], owner.position[1] + step[1]];
        owner.position = cx.service::<Arena>().map_or(place, |arena| arena.within(place));
        self.steps += 1;
    }
}

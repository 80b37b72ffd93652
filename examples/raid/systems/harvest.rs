//! Who gets the loot.

use std::sync::Arc;

use hatchery::Handle;
use hatchery::scene::{Frame, Phase, System, TickSystem};

use crate::books::Books;
use crate::world::{Act, Fighter, Intent, is_down, is_in_play};

/// Gives loot to whoever it has given itself to.
#[derive(Debug, Default)]
pub(crate) struct Harvest {
    /// Of this frame; kept for its memory.
    given: Vec<(Handle, Intent)>,
}

impl System<Fighter> for Harvest {}

impl TickSystem<Fighter> for Harvest {
    fn phase(&self) -> Phase {
        Phase::Post
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let gives = |intent: &mut Intent| intent.act == Act::Give;
        self.given.extend(
            frame
                .actors_mut()
                .filter(|actor| is_in_play(actor))
                .filter_map(|actor| Some((actor.handle(), actor.core.intent.take_if(gives)?))),
        );
        let mut collected = 0;
        for (loot, Intent { to, force, .. }) in self.given.drain(..) {
            // Who has died in this frame takes nothing: it lies on for another.
            let Ok(taker) = frame.actor_mut(to) else { continue };
            if is_down(taker) {
                continue;
            }
            taker.core.gold += force as u32;
            collected += u64::from(frame.kill_actor(loot).is_ok());
        }
        if let Some(books) = frame.service::<Arc<Books>>() {
            books.deeds.collected.add(collected);
        }
    }
}

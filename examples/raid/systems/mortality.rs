//! Death, which is a tag, and the end of existence, which is a kill some time after it.

use std::sync::Arc;

use hatchery::Handle;
use hatchery::scene::{Frame, Phase, System, TickSystem};

use crate::books::Books;
use crate::world::{DEAD, Fighter, Role, is_down, is_in_play};

/// Says who is dead, and ends who was so for too long.
#[derive(Debug, Default)]
pub(crate) struct Mortality {
    /// Of this frame; kept for its memory.
    over: Vec<Handle>,
}

impl System<Fighter> for Mortality {}

impl TickSystem<Fighter> for Mortality {
    fn phase(&self) -> Phase {
        Phase::Post
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let (mut fallen, mut bosses) = (0, 0);
        for actor in frame.actors_mut().filter(|actor| is_in_play(actor)) {
            if is_down(actor) {
                if actor.core.down_for >= actor.core.figures.lies {
                    self.over.push(actor.handle());
                }
            } else if actor.core.health <= 0 {
                actor.tags.insert(DEAD);
                (actor.core.health, actor.core.down_for) = (0, 0);
                fallen += 1;
                bosses += u64::from(actor.core.figures.role == Role::Boss);
            }
        }
        for handle in self.over.drain(..) {
            // Whoever is in play is Active, so none of these is refused.
            let _ = frame.kill_actor(handle);
        }
        if let Some(books) = frame.service::<Arc<Books>>() {
            books.deeds.fallen.add(fallen);
            books.deeds.bosses.add(bosses);
        }
    }
}

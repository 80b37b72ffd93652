//! What whoever fells somebody learns by it.
//!
//! A hook may look at other actors, and not change them: so it notes what is due, and the tick
//! pays.

use std::sync::Arc;

use hatchery::Handle;
use hatchery::scene::{Actor, Commands, Frame, Phase, System, TickSystem};

use crate::books::Books;
use crate::world::{Fighter, Side, is_down};

/// Settles deaths.
#[derive(Debug, Default)]
pub(crate) struct Experience {
    due: Vec<(Handle, u32)>,
}

impl System<Fighter> for Experience {
    /// Called at a kill and never at a shutdown, so there is somebody to be paid.
    fn on_actor_pending_destroy(&mut self, actor: &Actor<Fighter>, _: &mut Commands<'_, Fighter>) {
        let (worth, died) = (actor.core.figures.experience, is_down(actor));
        if let Some(bane) = actor.core.bane.filter(|_| worth > 0 && died) {
            self.due.push((bane, worth));
        }
    }
}

impl TickSystem<Fighter> for Experience {
    fn phase(&self) -> Phase {
        Phase::Post
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let mut paid = 0;
        for (handle, worth) in self.due.drain(..) {
            // Gone itself, perhaps: the handle leads to nobody else.
            let Ok(actor) = frame.actor_mut(handle) else { continue };
            if actor.core.figures.role.side() == Side::Raid {
                actor.core.experience += worth;
                paid += u64::from(worth);
            }
        }
        if let Some(books) = frame.service::<Arc<Books>>() {
            books.deeds.experience.add(paid);
        }
    }
}

//! Loot on the ground: for whoever comes near, and not for ever.

use std::sync::Arc;

use hatchery::scene::{Actor, Commands, Component, Teardown, TickComponent, TickContext};

use crate::books::Books;
use crate::world::{Act, Fighter, Intent, apart};

/// Frames before it is gone.
const LASTS: u32 = 240;

/// What makes an actor loot.
#[derive(Debug, Default)]
pub(crate) struct Treasure {
    worth: i32,
    pub(crate) age: u32,
}

impl Component<Fighter> for Treasure {
    fn on_created(&mut self, _: &mut Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_created(cx);
        if let Some(books) = cx.service::<Arc<Books>>() {
            books.deeds.loot.add(1);
        }
        self.worth = 1 + (cx.random() % 20) as i32;
    }

    fn on_pending_destroy(&mut self, _: &Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_mourned(cx);
    }

    fn on_destroyed(&mut self, _: &mut Actor<Fighter>, end: &Teardown<'_>) {
        super::note_ended(end);
    }
}

impl TickComponent<Fighter> for Treasure {
    fn tick(&mut self, owner: &mut Actor<Fighter>, cx: &TickContext<'_, Fighter>, _: f32) {
        self.age += 1;
        let near = |target: &_| {
            let place = cx.public(*target).filter(|sight| !sight.down).map(|sight| sight.place);
            let reach = owner.core.figures.reach;
            place.is_some_and(|place| apart(owner.position, place) <= reach * reach)
        };
        if let Some(to) = owner.core.target.filter(near) {
            owner.core.intent = Some(Intent { act: Act::Give, to, force: self.worth });
        } else if self.age > LASTS {
            cx.kill_actor(owner.handle());
        }
    }
}

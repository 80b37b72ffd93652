//! What actors have beside their core, by type.

mod ai;
mod hoard;
mod movement;
mod shield;
mod treasure;

use std::sync::Arc;

use hatchery::scene::{Actor, Commands, Teardown};

pub(crate) use self::ai::Ai;
pub(crate) use self::hoard::Hoard;
pub(crate) use self::movement::Movement;
pub(crate) use self::shield::Shield;
pub(crate) use self::treasure::Treasure;
use crate::books::Books;
use crate::world::{Fighter, Role};

/// Gives an actor what its role has: for `configure`, on whatever thread.
pub(crate) fn equip(actor: &mut Actor<Fighter>) {
    let figures = actor.core.figures;
    match figures.role {
        Role::Loot => return actor.add_tick_component(Treasure::default()),
        Role::Boss => actor.add_component(Hoard::of_boss()),
        Role::Monster => actor.add_component(Hoard::of_monster()),
        Role::Raider | Role::Healer => {}
    }
    if figures.shield > 0 {
        actor.add_component(Shield::new(figures.shield));
    }
    // It makes up its mind, and then goes.
    actor.add_tick_component(Ai::default());
    actor.add_tick_component(Movement::default());
}

fn note_created(cx: &Commands<'_, Fighter>) {
    if let Some(books) = cx.service::<Arc<Books>>() {
        books.components.created.add(1);
    }
}

fn note_mourned(cx: &Commands<'_, Fighter>) {
    if let Some(books) = cx.service::<Arc<Books>>() {
        books.components.mourned.add(1);
    }
}

fn note_ended(end: &Teardown<'_>) {
    if let Some(books) = end.service::<Arc<Books>>() {
        books.components.ended.add(1);
    }
}

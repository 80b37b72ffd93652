//! The core of an actor: fields, and no decisions. Those are its components', and the systems'.

use std::cell::Cell;

use hatchery::Handle;
use hatchery::scene::{Actor, Commands, Core, Teardown, TickContext};

use super::{Blueprint, Figures, Place, Role};
use crate::books::Entry;

/// The tag of business death. An actor that has it exists, and may be raised again.
pub(crate) const DEAD: &str = "Actor.Life.Dead";

/// What somebody does to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Shoot,
    Strike,
    /// Strikes everybody around.
    Slam,
    /// Heals, and raises who is dead.
    Mend,
    /// Loot, to whoever comes for it.
    Give,
}

/// What an actor has made up its mind to do: a later phase carries it out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent {
    pub(crate) act: Act,
    pub(crate) to: Handle,
    pub(crate) force: i32,
}

/// The core components.
#[derive(Debug, Default)]
pub(crate) struct Fighter {
    pub(crate) figures: Figures,
    pub(crate) health: i32,
    /// Units in a second.
    pub(crate) velocity: Place,
    pub(crate) target: Option<Handle>,
    pub(crate) intent: Option<Intent>,
    /// Frames that it has been dead.
    pub(crate) down_for: u32,
    /// Who has hurt it last.
    pub(crate) bane: Option<Handle>,
    pub(crate) experience: u32,
    pub(crate) gold: u32,
    /// Killed, perhaps by another thread, and still to be seen by systems. A cell, because the hook
    /// that hears of it may only look at the actor.
    leaving: Cell<bool>,
    entry: Option<Entry>,
}

/// What others see.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight {
    pub(crate) place: Place,
    pub(crate) role: Role,
    pub(crate) health: i32,
    /// What its health is when it is whole.
    pub(crate) full: i32,
    pub(crate) down: bool,
}

impl Fighter {
    /// Whether a healer would come for it, if it is not dead.
    pub(crate) fn is_hurt(&self) -> bool {
        is_hurt(self.health, self.figures.health)
    }
}

impl Sight {
    /// Whether a healer has something to do.
    pub(crate) fn is_ailing(&self) -> bool {
        self.down || is_hurt(self.health, self.full)
    }
}

/// Below two thirds.
fn is_hurt(health: i32, full: i32) -> bool {
    health * 3 < full * 2
}

/// Whether it is dead in the game.
pub(crate) fn is_down(actor: &Actor<Fighter>) -> bool {
    actor.tags.contains(DEAD)
}

/// Whether it exists for more than its last frame, dead or not.
pub(crate) fn is_in_play(actor: &Actor<Fighter>) -> bool {
    !actor.core.leaving.get()
}

impl Core for Fighter {
    type Definition = Blueprint;
    type Position = Place;
    type Public = Sight;

    fn construct(_: Place) -> Fighter {
        // Fields only: what it is comes with the definition.
        Fighter::default()
    }

    fn init(actor: &mut Actor<Fighter>, blueprint: &Blueprint) {
        actor.core.figures = blueprint.figures;
        actor.core.health = blueprint.figures.health;
        actor.core.entry = Some(Entry::new(&blueprint.books));
    }

    fn publish(actor: &Actor<Fighter>) -> Sight {
        let core = &actor.core;
        Sight {
            place: actor.position,
            role: core.figures.role,
            health: core.health,
            full: core.figures.health,
            down: is_down(actor),
        }
    }

    fn tick(actor: &mut Actor<Fighter>, _: &TickContext<'_, Fighter>, _: f32) {
        if is_down(actor) {
            actor.core.down_for += 1;
        }
    }

    fn on_created(actor: &mut Actor<Fighter>, _: &mut Commands<'_, Fighter>) {
        if let Some(entry) = &actor.core.entry {
            entry.books().core.created.add(1);
        }
    }

    fn on_pending_destroy(actor: &Actor<Fighter>, _: &mut Commands<'_, Fighter>) {
        actor.core.leaving.set(true);
        if let Some(entry) = &actor.core.entry {
            entry.books().core.mourned.add(1);
        }
    }

    fn cleanup(actor: &mut Actor<Fighter>, _: &Teardown<'_>) {
        if let Some(entry) = &actor.core.entry {
            entry.books().core.ended.add(1);
        }
    }
}

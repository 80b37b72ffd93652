//! What an actor makes up its mind to do, by what it sees of others.

use hatchery::Handle;
use hatchery::scene::{Actor, Commands, Component, Teardown, TickComponent, TickContext};

use crate::world::{Act, Fighter, Intent, Role, Sight, apart, is_down, towards};

/// The part of its reach that an actor keeps away from who it acts on.
const COMFORT: f32 = 0.9;
/// Experience for one more point of force.
const LESSON: u32 = 30;

/// Goes to its target, and acts on it, when it is rested.
#[derive(Debug, Default)]
pub(crate) struct Ai {
    /// Frames before the next act.
    pub(crate) rest: u32,
}

impl Component<Fighter> for Ai {
    /// Not all at once.
    fn on_created(&mut self, owner: &mut Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_created(cx);
        self.rest = (cx.random() % u64::from(owner.core.figures.rest.max(1))) as u32;
    }

    fn on_pending_destroy(&mut self, _: &Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_mourned(cx);
    }

    fn on_destroyed(&mut self, _: &mut Actor<Fighter>, end: &Teardown<'_>) {
        super::note_ended(end);
    }
}

impl TickComponent<Fighter> for Ai {
    fn tick(&mut self, owner: &mut Actor<Fighter>, cx: &TickContext<'_, Fighter>, _: f32) {
        self.rest = self.rest.saturating_sub(1);
        owner.core.velocity = [0.0; 2];
        if is_down(owner) {
            return;
        }
        let figures = owner.core.figures;
        let Some(target) = owner.core.target else {
            // To where the boss is or will be, at leisure.
            owner.core.velocity = towards(owner.position, [0.0; 2], figures.speed / 2.0);
            return;
        };
        let worth_it = |sight: &&Sight| is_worth_it(sight, figures.role);
        let Some(sight) = cx.public(target).filter(worth_it) else {
            owner.core.target = None;
            return;
        };
        let far = apart(owner.position, sight.place);
        if far > (figures.reach * COMFORT).powi(2) {
            owner.core.velocity = towards(owner.position, sight.place, figures.speed);
        }
        if far <= figures.reach.powi(2) && self.rest == 0 {
            self.rest = figures.rest;
            owner.core.intent = Some(intent(&owner.core, target, cx.random()));
        }
    }
}

fn is_worth_it(sight: &Sight, role: Role) -> bool {
    let friend = sight.role.side() == role.side();
    if role == Role::Healer { friend && sight.is_ailing() } else { !friend && !sight.down }
}

fn intent(core: &Fighter, to: Handle, drawn: u64) -> Intent {
    let act = match core.figures.role {
        Role::Raider => Act::Shoot,
        Role::Healer => Act::Mend,
        Role::Boss => Act::Slam,
        Role::Monster | Role::Loot => Act::Strike,
    };
    let luck = drawn % (core.figures.power as u64 / 2 + 1);
    let force = core.figures.power + luck as i32 + (core.experience / LESSON) as i32;
    Intent { act, to, force }
}

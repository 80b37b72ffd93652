//! Who is near to whom: written into the actors, since the actor phase sees no index.

use hatchery::Handle;
use hatchery::scene::{Actor, Frame, Phase, System, TickSystem};

use super::grid::{Grid, Seat};
use crate::world::{Arena, Fighter, Place, Role, Side, is_down, is_in_play};

/// Frames after which everybody thinks its target over, one part of them in each.
const ATTENTION: u64 = 8;
/// How far they see.
const SIGHT: f32 = 22.0;
/// How far loot calls.
const LURE: f32 = 3.0;
/// One raider of so many looks at nobody but the boss.
const BOSS_HUNTER_OF: u64 = 4;

/// Some actors in a grid.
#[derive(Debug, Default)]
struct Index {
    seats: Vec<Seat>,
    grid: Grid,
}

impl Index {
    fn fill(&mut self, arena: &Arena) {
        self.grid.fill(arena, &self.seats);
    }
}

/// Chooses targets.
#[derive(Debug, Default)]
pub(crate) struct Targeting {
    /// Who can be hurt, on each side.
    horde: Index,
    raid: Index,
    /// Of the raid, who needs a healer.
    ailing: Index,
    boss: Option<Handle>,
}

impl Targeting {
    fn look(&mut self, frame: &Frame<'_, Fighter>, arena: &Arena) {
        let Targeting { horde, raid, ailing, boss } = self;
        [&mut *horde, raid, ailing].into_iter().for_each(|index| index.seats.clear());
        *boss = None;
        for actor in frame.actors().filter(|actor| is_in_play(actor)) {
            let seat = Seat { place: actor.position, handle: actor.handle() };
            let (role, down) = (actor.core.figures.role, is_down(actor));
            match role.side() {
                Side::Horde if !down => horde.seats.push(seat),
                Side::Raid => {
                    if !down {
                        raid.seats.push(seat);
                    }
                    if down || actor.core.is_hurt() {
                        ailing.seats.push(seat);
                    }
                }
                _ => {}
            }
            if role == Role::Boss && !down {
                *boss = Some(actor.handle());
            }
        }
        [horde, raid, ailing].into_iter().for_each(|index| index.fill(arena));
    }

    fn choose(&self, role: Role, place: Place, me: Handle) -> Option<Handle> {
        match role {
            Role::Raider if me.seq().is_multiple_of(BOSS_HUNTER_OF) && self.boss.is_some() => {
                self.boss
            }
            Role::Raider => self.horde.grid.near(place, me, SIGHT).or(self.boss),
            Role::Healer => self.ailing.grid.near(place, me, SIGHT),
            Role::Monster | Role::Boss => self.raid.grid.near(place, me, SIGHT),
            Role::Loot => self.raid.grid.near(place, me, LURE),
        }
    }
}

impl System<Fighter> for Targeting {}

impl TickSystem<Fighter> for Targeting {
    fn phase(&self) -> Phase {
        Phase::Pre
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let Some(arena) = frame.service::<Arena>() else { return };
        self.look(frame, arena);
        let turn = frame.time().frame % ATTENTION;
        let thinking = |actor: &&mut Actor<Fighter>| actor.handle().seq() % ATTENTION == turn;
        for actor in frame.actors_mut().filter(thinking) {
            let (role, me) = (actor.core.figures.role, actor.handle());
            actor.core.target = self.choose(role, actor.position, me);
        }
    }
}

//! What is done hand to hand: strikes, slams, and a healer's help.

use std::sync::Arc;

use hatchery::Handle;
use hatchery::scene::{Frame, Phase, System, TickSystem};

use super::hurt;
use crate::books::Books;
use crate::world::{Act, DEAD, Fighter, Intent, Place, Side, apart, is_down, is_in_play};

/// How far a slam goes.
const SLAM: f32 = 7.0;

/// Carries out what actors have made up their minds to.
#[derive(Debug, Default)]
pub(crate) struct Blows {
    /// Of this frame; kept for its memory.
    due: Vec<Blow>,
}

#[derive(Clone, Copy, Debug)]
struct Blow {
    by: Handle,
    from: Place,
    intent: Intent,
}

impl System<Fighter> for Blows {}

impl TickSystem<Fighter> for Blows {
    fn phase(&self) -> Phase {
        Phase::Main
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let mut due = std::mem::take(&mut self.due);
        let hand_to_hand =
            |intent: &mut Intent| matches!(intent.act, Act::Strike | Act::Slam | Act::Mend);
        due.extend(frame.actors_mut().filter_map(|actor| {
            let intent = actor.core.intent.take_if(hand_to_hand)?;
            Some(Blow { by: actor.handle(), from: actor.position, intent })
        }));
        for blow in due.drain(..) {
            match blow.intent.act {
                Act::Slam => slam(frame, &blow),
                Act::Mend => mend(frame, &blow),
                _ => strike(frame, &blow),
            }
        }
        self.due = due;
    }
}

fn strike(frame: &mut Frame<'_, Fighter>, blow: &Blow) {
    if let Ok(victim) = frame.actor_mut(blow.intent.to) {
        hurt(victim, blow.intent.force, blow.by);
    }
}

fn slam(frame: &mut Frame<'_, Fighter>, blow: &Blow) {
    for actor in frame.actors_mut() {
        let hit = apart(actor.position, blow.from) <= SLAM * SLAM;
        if hit && actor.core.figures.role.side() == Side::Raid {
            hurt(actor, blow.intent.force, blow.by);
        }
    }
}

/// Heals; the dead it raises: the tag comes off, and nothing else has to happen.
fn mend(frame: &mut Frame<'_, Fighter>, blow: &Blow) {
    let books = frame.service::<Arc<Books>>();
    // Who is on its way out cannot be helped.
    let Ok(friend) = frame.actor_mut(blow.intent.to) else { return };
    if !is_in_play(friend) {
        return;
    }
    let full = friend.core.figures.health;
    if is_down(friend) {
        friend.tags.remove(DEAD);
        friend.core.health = full / 2;
        if let Some(books) = books {
            books.deeds.revived.add(1);
        }
    } else {
        friend.core.health = (friend.core.health + blow.intent.force).min(full);
    }
}

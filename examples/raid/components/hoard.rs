//! What somebody leaves behind: settled by the pending-destroy hook, so at a death and never at a
//! shutdown.

use std::sync::Arc;

use hatchery::scene::{Actor, Commands, Component, Teardown};

use super::equip;
use crate::world::{Arena, Balance, Fighter, Role, is_down};

/// How far loot rolls.
const ROLL: f32 = 2.0;

/// Becomes loot when its owner goes.
#[derive(Debug)]
pub(crate) struct Hoard {
    /// Pieces of loot that there may be.
    pieces: u32,
    /// Of a hundred, how often there is one.
    luck: u64,
}

impl Hoard {
    pub(crate) fn of_boss() -> Hoard {
        Hoard { pieces: 40, luck: 100 }
    }

    pub(crate) fn of_monster() -> Hoard {
        Hoard { pieces: 1, luck: 40 }
    }
}

impl Component<Fighter> for Hoard {
    fn on_created(&mut self, _: &mut Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_created(cx);
    }

    fn on_pending_destroy(&mut self, owner: &Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_mourned(cx);
        // Who is sent home takes it along.
        if !is_down(owner) {
            return;
        }
        let (Some(balance), Some(arena)) = (cx.service::<Arc<Balance>>(), cx.service::<Arena>())
        else {
            return;
        };
        let (blueprint, arena) = (Arc::clone(balance.blueprint(Role::Loot)), *arena);
        for _ in 0..self.pieces {
            if cx.random() % 100 >= self.luck {
                continue;
            }
            let [x, y] = Arena { half: ROLL }.in_ring(0.0, 1.0, || cx.random());
            let place = arena.within([owner.position[0] + x, owner.position[1] + y]);
            cx.create_actor(place, Arc::clone(&blueprint), equip);
        }
    }

    fn on_destroyed(&mut self, _: &mut Actor<Fighter>, end: &Teardown<'_>) {
        super::note_ended(end);
    }
}

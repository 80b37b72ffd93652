//! What takes a blow before its owner does.

use hatchery::scene::{Actor, Commands, Component, Teardown};

use crate::world::Fighter;

/// It does nothing by itself: who hurts its owner asks it.
#[derive(Debug)]
pub(crate) struct Shield {
    full: i32,
    pub(crate) left: i32,
}

impl Shield {
    pub(crate) fn new(full: i32) -> Shield {
        Shield { full, left: full }
    }

    /// What of a blow comes through.
    pub(crate) fn absorb(&mut self, force: i32) -> i32 {
        let taken = self.left.min(force);
        self.left -= taken;
        force - taken
    }

    pub(crate) fn renew(&mut self) {
        self.left = self.full;
    }
}

impl Component<Fighter> for Shield {
    fn on_created(&mut self, _: &mut Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_created(cx);
    }

    fn on_pending_destroy(&mut self, _: &Actor<Fighter>, cx: &mut Commands<'_, Fighter>) {
        super::note_mourned(cx);
    }

    fn on_destroyed(&mut self, _: &mut Actor<Fighter>, end: &Teardown<'_>) {
        super::note_ended(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shield_absorbs_what_it_can_and_lets_the_rest_through() {
        let mut shield = Shield::new(10);
        assert_eq!([shield.absorb(4), shield.absorb(9), shield.absorb(5)], [0, 3, 5]);
        shield.renew();
        assert_eq!(shield.absorb(10), 0);
    }
}

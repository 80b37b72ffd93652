//! Who stands where, in cells: so that the nearest is found without asking everybody.

use hatchery::Handle;

use crate::world::{Arena, Place, apart};

/// The side of a cell.
const CELL: f32 = 4.0;

/// Somebody at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seat {
    pub(crate) place: Place,
    pub(crate) handle: Handle,
}

/// Seats, sorted by cell.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    half: f32,
    /// Cells in a row.
    row: usize,
    /// Where each cell begins in `seats`, and the end.
    begins: Vec<usize>,
    seats: Vec<Seat>,
}

impl Grid {
    /// Takes everybody in again. Who is in one cell stays in the order given.
    pub(crate) fn fill(&mut self, arena: &Arena, seats: &[Seat]) {
        self.half = arena.half;
        self.row = (2.0 * arena.half / CELL) as usize + 1;
        self.begins.clear();
        self.begins.resize(self.row * self.row + 1, 0);
        for seat in seats {
            let cell = self.cell(seat.place);
            self.begins[cell] += 1;
        }
        // Ends first, then down to the beginnings as the seats are taken, from the last.
        let mut end = 0;
        for begin in &mut self.begins {
            end += *begin;
            *begin = end;
        }
        self.seats.clear();
        self.seats.extend_from_slice(seats);
        for seat in seats.iter().rev() {
            let cell = self.cell(seat.place);
            self.begins[cell] -= 1;
            self.seats[self.begins[cell]] = *seat;
        }
    }

    fn column(&self, along: f32) -> usize {
        (((along + self.half) / CELL) as usize).min(self.row - 1)
    }

    fn cell(&self, place: Place) -> usize {
        self.column(place[1]) * self.row + self.column(place[0])
    }

    /// Who is near, no farther than `reach`, and not `me`: to each the one that is nearest in its
    /// own eyes. If all went for the very nearest, a crowd would fight one enemy.
    pub(crate) fn near(&self, place: Place, me: Handle, reach: f32) -> Option<Handle> {
        let mut best: Option<(f32, Handle)> = None;
        let rings = (reach / CELL).ceil() as usize;
        let home = [self.column(place[0]), self.column(place[1])];
        for ring in 0..=rings {
            // What is in this ring is at least so far, and never seems nearer than it is.
            let least = (ring.saturating_sub(1) as f32 * CELL).powi(2);
            if best.is_some_and(|(far, _)| far <= least) {
                break;
            }
            self.look_around(home, ring, |seat| {
                let far = apart(place, seat.place);
                if far > reach * reach || seat.handle == me {
                    return;
                }
                let far = far * dislike(me, seat.handle);
                if best.is_none_or(|(best, _)| far < best) {
                    best = Some((far, seat.handle));
                }
            });
        }
        best.map(|(_, handle)| handle)
    }

    /// The cells whose larger distance to `home` is `ring`.
    fn look_around(&self, home: [usize; 2], ring: usize, mut look: impl FnMut(&Seat)) {
        let span = |at: usize| at.saturating_sub(ring)..=(at + ring).min(self.row - 1);
        let mut look_in = |x: usize, y: usize| {
            let cell = y * self.row + x;
            self.seats[self.begins[cell]..self.begins[cell + 1]].iter().for_each(&mut look);
        };
        for y in span(home[1]) {
            if y.abs_diff(home[1]) == ring {
                span(home[0]).for_each(|x| look_in(x, y));
            } else {
                // Between is the inside of the ring.
                let right = Some(home[0] + ring).filter(|x| *x < self.row);
                let ends = [home[0].checked_sub(ring), right];
                ends.into_iter().flatten().for_each(|x| look_in(x, y));
            }
        }
    }
}

/// From 1 to 4: what somebody makes of the square of a distance to another.
fn dislike(me: Handle, other: Handle) -> f32 {
    let mixed = (me.seq() << 24 ^ other.seq()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1.0 + (mixed >> 40) as f32 * (3.0 / (1 << 24) as f32)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use hatchery::{EntityId, SceneId};

    use super::*;

    fn handle(number: u64) -> Handle {
        let id = EntityId::new(SceneId(1), number).expect("it is small");
        Handle::new(id, NonZeroU32::MIN)
    }

    #[test]
    fn near_is_who_a_search_of_all_finds() {
        let mut drawn = 7_u64;
        let mut place = || {
            drawn = drawn.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let along = |bits: u64| (bits & 0xffff) as f32 / 65536.0 * 60.0 - 30.0;
            [along(drawn >> 20), along(drawn >> 40)]
        };
        let seats = Vec::from_iter((0..80).map(|n| Seat { place: place(), handle: handle(n) }));
        let mut grid = Grid::default();
        grid.fill(&Arena { half: 30.0 }, &seats);
        for (at, reach) in (0..200).map(|n| (place(), 2.0 + n as f32 / 8.0)) {
            let me = handle(3);
            let far = |seat: &&Seat| apart(at, seat.place);
            let seems = |seat: &&Seat| far(seat) * dislike(me, seat.handle);
            let others = seats.iter().filter(|seat| far(seat) <= reach * reach);
            let others = others.filter(|seat| seat.handle != me);
            let found = others.min_by(|a, b| seems(a).total_cmp(&seems(b)));
            assert_eq!(grid.near(at, me, reach), found.map(|seat| seat.handle), "{at:?} {reach}");
        }
    }

    #[test]
    fn grid_of_nobody_has_nobody() {
        let mut grid = Grid::default();
        grid.fill(&Arena { half: 5.0 }, &[]);
        assert_eq!(grid.near([0.0; 2], handle(0), 100.0), None);
    }
}

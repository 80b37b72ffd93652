//! Where the fight is: a square around the boss's place, as large as its crowd needs.
//!
//! Positions are made with the four operations and the root alone, which are exact by the standard
//! of floating point: so a run's hash depends on no library of sines.

/// A place, from the middle of the arena.
pub(crate) type Place = [f32; 2];

/// The arena, a service.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arena {
    /// From the middle to a wall.
    pub(crate) half: f32,
}

impl Arena {
    /// Four units of ground for each of so many.
    pub(crate) fn for_crowd(actors: u32) -> Arena {
        Arena { half: (actors as f32).sqrt() }
    }

    /// The place within the walls that is nearest.
    pub(crate) fn within(&self, place: Place) -> Place {
        place.map(|along| along.clamp(-self.half, self.half))
    }

    /// A place at random whose distance from the middle is between two parts of the half.
    pub(crate) fn in_ring(&self, from: f32, to: f32, mut random: impl FnMut() -> u64) -> Place {
        loop {
            let drawn = random();
            // Two halves of one number, each as a part of the way from wall to wall.
            let [x, y] = [drawn as u32, (drawn >> 32) as u32].map(part_of);
            let [x, y] = [2.0 * x - 1.0, 2.0 * y - 1.0];
            let far = x * x + y * y;
            if (from * from..=to * to).contains(&far) {
                return [x * self.half, y * self.half];
            }
        }
    }
}

/// A number from 0 to 1.
fn part_of(drawn: u32) -> f32 {
    // So many bits are exact.
    (drawn >> 8) as f32 / (1 << 24) as f32
}

/// The square of the distance.
pub(crate) fn apart(a: Place, b: Place) -> f32 {
    let [x, y] = [b[0] - a[0], b[1] - a[1]];
    x * x + y * y
}

/// What leads from one place to another at a speed; nothing when they are one.
pub(crate) fn towards(from: Place, to: Place, speed: f32) -> Place {
    let far = apart(from, to).sqrt();
    if far == 0.0 {
        return [0.0; 2];
    }
    [(to[0] - from[0]) / far * speed, (to[1] - from[1]) / far * speed]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_in_a_ring_is_in_the_ring() {
        let arena = Arena::for_crowd(400);
        let mut drawn = 1_u64;
        for _ in 0..100 {
            let place = arena.in_ring(0.5, 0.9, || {
                drawn = drawn.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
                drawn ^ (drawn >> 29)
            });
            let far = apart(place, [0.0; 2]).sqrt();
            assert!((9.99..=18.01).contains(&far), "{place:?}");
        }
        assert_eq!(arena.within([30.0, -3.0]), [20.0, -3.0]);
    }

    #[test]
    fn way_to_where_one_is_leads_nowhere() {
        assert_eq!(towards([3.0, 4.0], [3.0, 4.0], 5.0), [0.0; 2]);
        assert_eq!(towards([0.0, 0.0], [3.0, 4.0], 5.0), [3.0, 4.0]);
    }
}

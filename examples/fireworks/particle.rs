//! What the pools lend: a spark with its trail, or a number that floats up.

use hatchery::Recycle;

/// A place in the sky: x from -100 to 100, y from 0, the ground, to 100.
pub(crate) type Place = [f32; 2];

/// Places of a trail that are kept, the youngest last.
const TRAIL: usize = 3;
/// What a frame adds to the speed of a spark, and the part of it that the air leaves.
const GRAVITY: f32 = -0.22;
const DRAG: f32 = 0.93;

/// One short-lived object.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Particle {
    pub(crate) place: Place,
    pub(crate) speed: Place,
    pub(crate) trail: Vec<Place>,
    /// One of the colours.
    pub(crate) hue: u8,
    /// A floating number shows it; 0 is a spark.
    pub(crate) number: u32,
    pub(crate) age: u32,
    /// In frames.
    pub(crate) life: u32,
}

/// The trail is what makes it worth while to use a particle again: it keeps its memory.
impl Recycle for Particle {
    fn recycle(&mut self) {
        // A new field is not forgotten: this does not compile without it.
        let Particle { place, speed, trail, hue, number, age, life } = self;
        Recycle::recycle(place);
        Recycle::recycle(speed);
        Recycle::recycle(trail);
        Recycle::recycle(hue);
        Recycle::recycle(number);
        Recycle::recycle(age);
        Recycle::recycle(life);
    }
}

impl Particle {
    /// One frame later; whether it is still to be seen.
    pub(crate) fn step(&mut self) -> bool {
        self.age += 1;
        if self.age >= self.life {
            return false;
        }
        if self.number == 0 {
            self.leave_trail();
            self.speed = [self.speed[0] * DRAG, self.speed[1] * DRAG + GRAVITY];
        }
        self.place = [self.place[0] + self.speed[0], self.place[1] + self.speed[1]];
        true
    }

    fn leave_trail(&mut self) {
        if self.trail.len() == TRAIL {
            self.trail.remove(0);
        } else if self.trail.is_empty() {
            self.trail.reserve_exact(TRAIL);
        }
        self.trail.push(self.place);
    }

    /// How hot it still is: 1 as it is born, towards 0.
    pub(crate) fn heat(&self) -> f32 {
        1.0 - self.age as f32 / self.life.max(1) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spark() -> Particle {
        Particle { speed: [1.0, 3.0], hue: 2, life: 20, ..Particle::default() }
    }

    #[test]
    fn recycled_particle_equals_a_new_one_and_keeps_the_memory_of_its_trail() {
        let mut used = spark();
        (0..10).for_each(|_| assert!(used.step()));
        used.number = 7;
        used.recycle();
        assert_eq!(used, Particle::default());
        assert!(used.trail.capacity() >= TRAIL);
    }

    #[test]
    fn spark_lives_for_its_life_and_falls() {
        let mut spark = spark();
        assert_eq!((0..30).position(|_| !spark.step()), Some(19));
        assert!(spark.speed[1] < 0.0 && spark.trail.len() == TRAIL);
        assert!(spark.heat() <= 0.05);
    }

    #[test]
    fn number_floats_up_without_a_trail() {
        let mut number = Particle { number: 20, ..spark() };
        (0..10).for_each(|_| assert!(number.step()));
        assert_eq!((number.place, number.trail.len()), ([10.0, 30.0], 0));
    }
}

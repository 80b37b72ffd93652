//! The programme of a show: what is lit in which frame.
//!
//! First the load of the pool document: so many sparks a frame, each gone in the next. Then, for
//! one frame, the warm-up: a flash that takes as many objects as the settings say. Then rockets
//! that rise on a thin tail and burst, and the bursts overlap, so that they want more than the
//! capacity.
//!
//! All that is born in one frame lives equally long. So how many objects come back in a frame
//! depends on how many went out, not on which thread got one and which was refused, and the table
//! of a run is the same each time.

use std::f32::consts::TAU;

use crate::chance::Chance;
use crate::particle::{Particle, Place};
use crate::settings::Settings;

/// Colours of sparks.
pub(crate) const HUES: u64 = 6;
/// Rockets that rise at once, at most.
const MOST_ROCKETS: usize = 4;
/// One spark of a tail for so many of a burst.
const TAIL: u32 = 10;
/// A dot of a terminal is about so much wider than high, in the places of the sky.
const WIDE: f32 = 1.5;

/// What the scenes differ in.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rockets: u32,
    /// Frames from one burst to the next, and those in which the rockets rise.
    period: u64,
    rise: u64,
    /// Sizes of bursts, in turn, in the burst size of the settings.
    sizes: &'static [u32],
}

const SEED: Shape = Shape { rockets: 1, period: 18, rise: 9, sizes: &[2, 3, 4, 5] };
const LARGE: Shape = Shape { rockets: 4, period: 12, rise: 8, sizes: &[1, 1, 2, 3] };

/// The programme.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    shape: Shape,
    chance: Chance,
    active_frames: u64,
    warmup: u32,
}

/// What one frame lights: so many wishes, numbered from 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bill {
    pub(crate) wishes: u32,
    life: u32,
    act: Act,
    chance: Chance,
    rockets: [Rocket; MOST_ROCKETS],
    /// Wishes of one rocket.
    share: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Sparkler,
    Warmup,
    Tail,
    Burst,
    Rest,
}

#[derive(Clone, Copy, Debug, Default)]
struct Rocket {
    place: Place,
    hue: u8,
}

impl Program {
    pub(crate) fn seed_scene(settings: &Settings) -> Program {
        Program::new(SEED, settings)
    }

    pub(crate) fn large_scene(settings: &Settings) -> Program {
        Program::new(LARGE, settings)
    }

    fn new(shape: Shape, settings: &Settings) -> Program {
        let (active_frames, warmup) = (settings.active_frames, settings.warmup_acquires);
        Program { shape, chance: Chance::new(settings.seed), active_frames, warmup }
    }

    /// What is lit in a frame, with this size of bursts.
    pub(crate) fn bill(&self, frame: u64, burst: u32) -> Bill {
        let Shape { rockets, period, rise, sizes } = self.shape;
        let chance = self.chance.of(frame);
        let bill = |act, wishes, life, share, rockets| Bill {
            wishes,
            life,
            act,
            chance,
            rockets,
            share: u32::max(share, 1),
        };
        let Some(since) = frame.checked_sub(self.active_frames) else {
            return bill(Act::Sparkler, burst, 1, burst, [sparkler(frame); MOST_ROCKETS]);
        };
        let Some(since) = since.checked_sub(1) else {
            return bill(Act::Warmup, self.warmup, 1, 1, Default::default());
        };
        let (round, step) = (since / period, since % period);
        let rising = self.rockets(round, (step as f32 / rise as f32).min(1.0));
        if step < rise {
            let share = burst.div_ceil(TAIL);
            bill(Act::Tail, share * rockets, 5, share, rising)
        } else if step == rise {
            let share = burst * sizes[round as usize % sizes.len()];
            let life = 17 + chance.below(9) as u32;
            bill(Act::Burst, share * rockets, life, share, rising)
        } else {
            bill(Act::Rest, 0, 1, 1, rising)
        }
    }

    /// The rockets of a round, so far up.
    fn rockets(&self, round: u64, way: f32) -> [Rocket; MOST_ROCKETS] {
        let mut rockets = [Rocket::default(); MOST_ROCKETS];
        let count = self.shape.rockets as usize;
        for (number, rocket) in rockets.iter_mut().take(count).enumerate() {
            let chance = self.chance.of(u64::MAX - round).of(number as u64);
            let lane = 150.0 / count as f32;
            let x = -75.0 + lane * (number as f32 + chance.of(0).within(0.15, 0.85));
            let top = chance.of(1).within(58.0, 84.0);
            *rocket = Rocket {
                place: [x * (0.7 + 0.3 * way), top * way],
                hue: chance.of(2).below(HUES) as u8,
            };
        }
        rockets
    }
}

/// Where the sparkler of the first frames is: it is swung in a lying eight.
fn sparkler(frame: u64) -> Rocket {
    let turn = frame as f32 * TAU / 30.0;
    Rocket {
        place: [70.0 * turn.sin(), 52.0 + 22.0 * (2.0 * turn).sin()],
        hue: (frame / 5 % HUES) as u8,
    }
}

impl Bill {
    /// Makes the object of one wish of it; the object is as its default makes it.
    pub(crate) fn light(&self, wish: u32, particle: &mut Particle) {
        let chance = self.chance.of(u64::from(wish));
        let rocket = self.rockets[(wish / self.share) as usize % MOST_ROCKETS];
        let turn = chance.of(0).within(0.0, TAU);
        let [dx, dy] = [WIDE * turn.cos(), turn.sin()];
        let pull = chance.of(1).within(0.0, 1.0);
        (particle.place, particle.hue, particle.life) = (rocket.place, rocket.hue, self.life);
        let [x, y] = rocket.place;
        match self.act {
            // The last wish of a burst is the number that says how many they are: who refuses what
            // comes late does without it, and who overwrites keeps it.
            Act::Burst if wish % self.share == self.share - 1 => {
                (particle.number, particle.speed) = (self.share, [0.0, 0.5]);
            }
            Act::Burst => {
                // A shell, with some sparks inside.
                let speed = if pull < 0.7 { 2.3 + 0.4 * pull } else { 2.4 * (1.0 - pull) / 0.3 };
                particle.speed = [dx * speed, dy * speed + 0.5];
            }
            Act::Tail => particle.speed = [dx * 0.4, -0.8 * pull],
            Act::Sparkler => {
                particle.place = [x + dx * (2.0 + 16.0 * pull), y + dy * (2.0 + 16.0 * pull)]
            }
            Act::Warmup | Act::Rest => {
                particle.place = [dx * 55.0 * pull.sqrt(), 50.0 + dy * 45.0 * pull.sqrt()];
                particle.hue = chance.of(2).below(HUES) as u8;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs() -> [(Program, Settings); 2] {
        let (seed, large) = (Settings::seed_scene(), Settings::large_scene());
        [(Program::seed_scene(&seed), seed), (Program::large_scene(&large), large)]
    }

    #[test]
    fn document_s_load_comes_first_and_then_the_warm_up() {
        let [(program, settings), _] = programs();
        assert!((0..30).all(|frame| program.bill(frame, settings.burst_per_frame).wishes == 20));
        assert!((0..30).all(|frame| program.bill(frame, 20).life == 1));
        assert_eq!(program.bill(30, 20).wishes, 64);
    }

    #[test]
    fn bursts_overlap_beyond_the_cap() {
        for (program, settings) in programs() {
            let bills: Vec<_> =
                (0..200).map(|frame| program.bill(frame, settings.burst_per_frame)).collect();
            let alive = |frame: usize| {
                let lives = |born: usize| frame - born < bills[born].life as usize;
                (0..=frame).filter(|&born| lives(born)).map(|born| bills[born].wishes).sum::<u32>()
            };
            let most = (40..200).map(alive).max().expect("some frames");
            assert!(most as usize > settings.max_capacity, "{most} is no burst");
        }
    }

    #[test]
    fn wish_is_lit_alike_each_time_with_one_life_a_frame() {
        for (program, settings) in programs() {
            for frame in 0..100 {
                let bill = program.bill(frame, settings.burst_per_frame);
                let light = |wish| {
                    let mut particle = Particle::default();
                    bill.light(wish, &mut particle);
                    particle
                };
                for wish in 0..bill.wishes {
                    let particle = light(wish);
                    assert_eq!(particle, light(wish));
                    assert_eq!(particle.life, bill.life);
                    let [x, y] = particle.place;
                    assert!(
                        (-105.0..=105.0).contains(&x) && (-1.0..=100.0).contains(&y),
                        "{x} {y}"
                    );
                }
            }
        }
    }
}

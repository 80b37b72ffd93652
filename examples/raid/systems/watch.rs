//! What is to be seen of the fight: counts for everybody, dots for the screen, and the books of one
//! system's hooks.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use hatchery::scene::{Actor, Commands, Frame, Phase, System, Teardown, TickSystem};

use crate::books::Books;
use crate::world::{Fighter, Place, Role, is_down, is_in_play};

/// How many there are of each role, as the last frame ended. A service, and the spawners have it.
#[derive(Debug, Default)]
pub(crate) struct Census {
    up: [AtomicU32; Role::ALL.len()],
    down: [AtomicU32; Role::ALL.len()],
    /// Of the boss's health, in thousandths.
    boss: AtomicU32,
}

impl Census {
    // Relaxed, here and below: figures, each for itself; a spawner that sees them a little late
    // brings a few too many.
    pub(crate) fn up(&self, role: Role) -> u32 {
        self.up[role as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn down(&self, role: Role) -> u32 {
        self.down[role as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn boss_permille(&self) -> u32 {
        self.boss.load(Ordering::Relaxed)
    }
}

/// What a dot stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glyph {
    Actor(Role),
    Dead,
    Missile,
}

/// Somebody or something on the screen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dot {
    pub(crate) place: Place,
    pub(crate) glyph: Glyph,
}

/// The picture of a frame, a service: taken only while somebody looks at it.
#[derive(Debug, Default)]
pub(crate) struct Picture {
    wanted: AtomicBool,
    dots: Mutex<Vec<Dot>>,
}

impl Picture {
    /// From now on pictures are taken.
    pub(crate) fn want(&self) {
        // Relaxed: the thread that asks is the one that drives the scene.
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// What was taken since this was asked for last.
    pub(crate) fn take(&self) -> Vec<Dot> {
        std::mem::take(&mut *self.lock())
    }

    /// The dots, to add to them, if anybody wants them.
    pub(super) fn open(&self) -> Option<MutexGuard<'_, Vec<Dot>>> {
        self.wanted.load(Ordering::Relaxed).then(|| self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Dot>> {
        // Dots are whole, whoever has panicked.
        self.dots.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Counts and looks, when everything is settled.
#[derive(Debug)]
pub(crate) struct Watch {
    books: Arc<Books>,
}

impl Watch {
    pub(crate) fn new(books: &Arc<Books>) -> Watch {
        Watch { books: Arc::clone(books) }
    }
}

impl System<Fighter> for Watch {
    fn on_actor_created(&mut self, _: &mut Actor<Fighter>, _: &mut Commands<'_, Fighter>) {
        self.books.systems.created.add(1);
    }

    fn on_actor_pending_destroy(&mut self, _: &Actor<Fighter>, _: &mut Commands<'_, Fighter>) {
        self.books.systems.mourned.add(1);
    }

    fn on_actor_destroyed(&mut self, _: &mut Actor<Fighter>, _: &Teardown<'_>) {
        self.books.systems.ended.add(1);
    }
}

impl TickSystem<Fighter> for Watch {
    fn phase(&self) -> Phase {
        Phase::Presentation
    }

    fn tick(&mut self, frame: &mut Frame<'_, Fighter>, _: f32) {
        let (mut up, mut down, mut boss) = ([0; Role::ALL.len()], [0; Role::ALL.len()], 0);
        let picture = frame.service::<Arc<Picture>>();
        let mut dots = picture.and_then(|picture| picture.open());
        for actor in frame.actors().filter(|actor| is_in_play(actor)) {
            let (role, dead) = (actor.core.figures.role, is_down(actor));
            let counts = if dead { &mut down } else { &mut up };
            counts[role as usize] += 1;
            if role == Role::Boss {
                let (health, full) = (actor.core.health.max(0), actor.core.figures.health.max(1));
                boss = (i64::from(health) * 1000 / i64::from(full)) as u32;
            }
            if let Some(dots) = &mut dots {
                let glyph = if dead { Glyph::Dead } else { Glyph::Actor(role) };
                dots.push(Dot { place: actor.position, glyph });
            }
        }
        if let Some(census) = frame.service::<Arc<Census>>() {
            for (counted, cells) in [(up, &census.up), (down, &census.down)] {
                counted.iter().zip(cells).for_each(|(n, cell)| cell.store(*n, Ordering::Relaxed));
            }
            census.boss.store(boss, Ordering::Relaxed);
        }
    }
}

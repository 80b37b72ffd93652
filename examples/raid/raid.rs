//! The raid: a scene with its systems and services, a pool, two spawners, and the order of their
//! beginning and end.

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use hatchery::pool::Pool;
use hatchery::scene::Scene;
use hatchery::{Limits, Stats};

use crate::audit::{Account, Imbalance, ensure};
use crate::books::Books;
use crate::meters::{Meters, Totals};
use crate::spawner::{Orders, Pace, Spawner, Tally, gates};
use crate::systems::{
    Blows, Census, Director, Experience, Harvest, Missile, Missiles, Mortality, Picture, Targeting,
    Watch,
};
use crate::world::{Arena, Balance, Fighter, Role};

/// Seconds of a frame.
pub(crate) const STEP: f32 = 1.0 / 30.0;

/// What a raid is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    /// Who is there at the beginning.
    pub(crate) actors: u32,
    /// As many as there are cores, if nobody says.
    pub(crate) threads: Option<usize>,
    pub(crate) pace: Pace,
}

/// A raid, until its end.
#[derive(Debug)]
pub(crate) struct Raid {
    plan: Plan,
    arena: Arena,
    scene: Scene<Fighter>,
    pool: Pool<Missile>,
    books: Arc<Books>,
    census: Arc<Census>,
    picture: Arc<Picture>,
    spawners: Vec<Spawner>,
    told: Totals,
    meters: Meters,
}

/// A raid that is over, and whose books balance.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) plan: Plan,
    pub(crate) books: Arc<Books>,
    pub(crate) told: Totals,
    pub(crate) meters: Meters,
    pub(crate) store: Stats,
    pub(crate) pool: Stats,
    pub(crate) spawners: Tally,
    /// What the shutdown met.
    pub(crate) met: Met,
}

/// What was there when the scene was shut down.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Met {
    pub(crate) frame: u64,
    pub(crate) alive: usize,
    pub(crate) pending: usize,
    pub(crate) missiles: usize,
    pub(crate) tickets: usize,
}

impl Raid {
    pub(crate) fn new(plan: Plan) -> Result<Raid, Box<dyn Error>> {
        let books = Arc::new(Books::default());
        let (census, picture) = (Arc::new(Census::default()), Arc::new(Picture::default()));
        let (arena, actors) = (Arena::for_crowd(plan.actors), plan.actors as usize);
        let balance = Arc::new(Balance::for_crowd(plan.actors, &books));
        let pool = Pool::new(Limits::grow_to_cap(actors.div_ceil(10), actors.div_ceil(2)))?;
        let mut builder = Scene::builder()
            .limits(Limits::reject(actors + actors.div_ceil(4)))
            .seed(plan.seed)
            .service(arena)
            .service(Arc::clone(&balance))
            .service(Arc::clone(&books))
            .service(Arc::clone(&census))
            .service(Arc::clone(&picture))
            .tick_system(Director::new(plan.actors))
            .tick_system(Targeting::default())
            .tick_system(Blows::default())
            .tick_system(Missiles::new(&pool))
            .tick_system(Mortality::default())
            .tick_system(Harvest::default())
            .tick_system(Experience::default())
            .tick_system(Watch::new(&books));
        if let Some(threads) = plan.threads {
            builder = builder.threads(threads);
        }
        let scene = builder.build()?;
        let start = |role| {
            let orders = Orders {
                role,
                wanted: plan.actors / 2,
                batch: plan.actors.div_ceil(80),
                gates: gates(role, &arena),
                balance: Arc::clone(&balance),
                census: Arc::clone(&census),
            };
            Spawner::start(scene.remote(), orders, plan.pace)
        };
        let spawners = vec![start(Role::Raider)?, start(Role::Monster)?];
        let (told, meters) = (Totals::default(), Meters::new());
        Ok(Raid { plan, arena, scene, pool, books, census, picture, spawners, told, meters })
    }

    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }

    pub(crate) fn scene(&self) -> &Scene<Fighter> {
        &self.scene
    }

    pub(crate) fn books(&self) -> &Books {
        &self.books
    }

    pub(crate) fn census(&self) -> &Census {
        &self.census
    }

    pub(crate) fn picture(&self) -> &Picture {
        &self.picture
    }

    pub(crate) fn pool_stats(&self) -> Stats {
        self.pool.stats()
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        self.scene.set_paused(paused);
    }

    /// One frame.
    pub(crate) fn tick(&mut self) {
        // A report tells of what came after its frame as well, so it is read when the next begins.
        self.told.add(self.scene.last_frame());
        let begun = Instant::now();
        self.scene.tick(STEP);
        let took = begun.elapsed();
        let time = self.scene.time();
        if !time.paused {
            self.meters.add(time.frame, took, self.scene.last_frame());
        }
    }

    /// Has the spawners in step act, one after the other.
    pub(crate) fn hand_over(&self) {
        self.spawners.iter().for_each(Spawner::act);
    }

    /// Shuts the raid down, in the middle of whatever goes on, and checks that nothing is left.
    pub(crate) fn close(mut self) -> Result<Closed, Imbalance> {
        // Requests that no frame will admit, and tickets that are out.
        self.hand_over();
        let store = self.scene.store_stats();
        let met = Met {
            frame: self.scene.time().frame,
            alive: store.active + store.dying,
            pending: store.pending,
            missiles: self.pool.stats().live,
            tickets: store.holds,
        };
        self.scene.shutdown();
        self.told.add(self.scene.last_frame());
        // These find the scene closed.
        self.hand_over();
        let Raid { plan, scene, pool, books, spawners, told, meters, .. } = self;
        let started = spawners.len() as u64;
        let tallies = Vec::from_iter(spawners.into_iter().filter_map(Spawner::end));
        ensure("spawners that did not panic == spawners", tallies.len() as u64, started)?;
        let spawners = tallies.into_iter().fold(Tally::default(), Tally::plus);
        let (store, pool) = (scene.store_stats(), pool.stats());
        // What a spawner cancelled itself, too late for the inbox, may lie in its slot until now.
        drop(scene);
        Account { books: &books, told: &told, store, pool }.check()?;
        Ok(Closed { plan, books, told, meters, store, pool, spawners, met })
    }
}

/// Whether a run failed because of what it checks, and not of what it was given.
pub(crate) fn is_broken(error: &(dyn Error + 'static)) -> bool {
    error.is::<Imbalance>()
}

//! The show: one programme, given to three pools that differ in their policy alone.

use std::fmt;

use hatchery::Exhaustion;

use crate::crew::Crew;
use crate::program::Program;
use crate::settings::Settings;
use crate::stage::{Stage, Trouble};

/// Which show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Scene {
    /// The load of the pool document, then bursts beyond its capacity
    Seed,
    /// Four rockets at once, thousands of sparks, and two threads that take and give back
    Large,
}

impl Scene {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scene::Seed => "seed",
            Scene::Large => "large",
        }
    }

    /// The settings when the user names none.
    pub(crate) fn settings(self) -> Settings {
        match self {
            Scene::Seed => Settings::seed_scene(),
            Scene::Large => Settings::large_scene(),
        }
    }
}

/// A claim that does not hold, or a thread that ended: the show is over.
#[derive(Debug)]
pub(crate) struct Failure {
    frame: u64,
    policy: Exhaustion,
    trouble: Trouble,
}

impl Failure {
    /// A claim, by its words.
    pub(crate) fn broken(frame: u64, policy: Exhaustion, claim: String) -> Failure {
        Failure { frame, policy, trouble: Trouble::Broken(claim) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { frame, policy, trouble } = self;
        write!(f, "frame {frame}, {policy}: ")?;
        match trouble {
            Trouble::Broken(claim) => write!(f, "a claim does not hold: {claim}"),
            Trouble::WorkerGone => f.write_str("a worker panicked"),
        }
    }
}

impl std::error::Error for Failure {}

/// The three pools and where the programme is.
#[derive(Debug)]
pub(crate) struct Show {
    scene: Scene,
    settings: Settings,
    program: Program,
    crew: Crew,
    stages: Vec<Stage>,
    /// Frames that are over.
    frame: u64,
    burst: u32,
}

impl Show {
    pub(crate) fn new(
        scene: Scene,
        settings: Settings,
    ) -> Result<Show, Box<dyn std::error::Error>> {
        let (program, crew) = match scene {
            Scene::Seed => (Program::seed_scene(&settings), Crew::alone()),
            Scene::Large => (Program::large_scene(&settings), Crew::of_two()?),
        };
        let stages = settings.limits().map(|limits| Stage::new(limits, &crew));
        let stages = stages.into_iter().collect::<Result<_, _>>()?;
        let burst = settings.burst_per_frame;
        Ok(Show { scene, settings, program, crew, stages, frame: 0, burst })
    }

    pub(crate) fn scene(&self) -> Scene {
        self.scene
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn stages(&self) -> &[Stage] {
        &self.stages
    }

    pub(crate) fn stages_mut(&mut self) -> &mut [Stage] {
        &mut self.stages
    }

    pub(crate) fn frame(&self) -> u64 {
        self.frame
    }

    pub(crate) fn burst(&self) -> u32 {
        self.burst
    }

    /// One frame of every pool.
    pub(crate) fn tick(&mut self) -> Result<(), Failure> {
        let bill = self.program.bill(self.frame, self.burst);
        self.each(|stage, crew, frame| stage.frame(crew, frame, bill))?;
        self.frame += 1;
        Ok(())
    }

    /// Ends every lease, and checks that nothing is lost.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        self.each(|stage, crew, _| stage.close(crew))
    }

    fn each(
        &mut self,
        act: impl Fn(&mut Stage, &Crew, u64) -> Result<(), Trouble>,
    ) -> Result<(), Failure> {
        let frame = self.frame;
        for stage in &mut self.stages {
            let policy = stage.limits().policy;
            let failed = |trouble| Failure { frame, policy, trouble };
            act(stage, &self.crew, frame).map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn reset(&mut self) {
        self.stages.iter_mut().for_each(Stage::reset);
    }

    /// Makes bursts larger by a quarter of what the settings say, or smaller.
    pub(crate) fn change_burst(&mut self, larger: bool) {
        let normal = self.settings.burst_per_frame;
        let step = (normal / 4).max(1);
        let changed = if larger { self.burst + step } else { self.burst.saturating_sub(step) };
        self.burst = changed.clamp(step, normal * 8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::{self, Counting};

    #[global_allocator]
    static ALLOCATOR: Counting = Counting;

    fn show(scene: Scene) -> Show {
        Show::new(scene, scene.settings()).expect("the settings are legal")
    }

    fn tick(show: &mut Show, frames: u64) {
        (0..frames).for_each(|_| show.tick().expect("every claim holds"));
    }

    /// An overwriting pool lists its oldest leases now and then, and so allocates a little.
    #[test]
    fn warm_frame_of_one_thread_allocates_nothing_for_its_objects() {
        let settings = Settings::seed_scene();
        let (program, crew) = (Program::seed_scene(&settings), Crew::alone());
        for limits in settings.limits() {
            let mut stage = Stage::new(limits, &crew).expect("the settings are legal");
            let mut play = |frames: std::ops::Range<u64>| {
                for frame in frames {
                    let bill = program.bill(frame, settings.burst_per_frame);
                    stage.frame(&crew, frame, bill).expect("every claim holds");
                }
                (counting::take_local_blocks().0 as u64, stage.last().stats.overwritten)
            };
            let (_, overwritten_before) = play(0..300);
            let (blocks, overwritten) = play(300..600);
            assert!(blocks * 8 <= overwritten - overwritten_before, "{blocks} blocks, {limits:?}");
        }
    }

    #[test]
    fn reset_in_the_middle_of_a_burst_leaves_every_claim_true() {
        for scene in [Scene::Seed, Scene::Large] {
            let mut show = show(scene);
            for _ in 0..20 {
                tick(&mut show, 13);
                show.reset();
                for stage in show.stages() {
                    let stats = stage.last().stats;
                    assert_eq!((stats.live, stats.acquired, stats.overwritten), (0, 0, 0));
                }
            }
            tick(&mut show, 50);
        }
    }

    #[test]
    fn bursts_change_within_bounds_and_every_claim_stays_true() {
        let mut show = show(Scene::Seed);
        (0..100).for_each(|_| show.change_burst(true));
        assert_eq!(show.burst(), 160);
        tick(&mut show, 100);
        (0..100).for_each(|_| show.change_burst(false));
        assert_eq!(show.burst(), 5);
        tick(&mut show, 100);
    }
}

//! A run without a terminal: frames, claims, and the figures at the end.

use std::error::Error;
use std::fmt::Write;

use crate::claims;
use crate::show::{Failure, Show};
use crate::stage::Sample;
use crate::table::Table;

/// What a run leaves behind.
#[derive(Debug)]
pub(crate) struct Run {
    /// The tables, with a line of explanation each.
    pub(crate) report: String,
    /// For each pool what its frames did, or nothing if nobody asked.
    pub(crate) history: Vec<Vec<Sample>>,
}

/// Runs so many frames; an error is a claim that does not hold.
pub(crate) fn run(show: &mut Show, frames: u64, record: bool) -> Result<Run, Box<dyn Error>> {
    let mut report = String::new();
    let mut history = vec![Vec::new(); show.stages().len()];
    let active = show.settings().active_frames;
    for frame in 0..frames {
        show.tick()?;
        if record {
            let samples = show.stages().iter().map(|stage| *stage.last());
            history.iter_mut().zip(samples).for_each(|(line, sample)| line.push(sample));
        }
        if frame + 1 == active {
            check_document(show)?;
            let burst = show.settings().burst_per_frame;
            write_table(&mut report, show, &format!("After {active} frames of {burst} each"))?;
        }
    }
    write_table(&mut report, show, &format!("After frame {frames}"))?;
    show.close()?;
    writeln!(report, "All claims held in every frame, and at the end every object was at rest.")?;
    Ok(Run { report, history })
}

/// The document's load fits the capacity; with other settings nothing is claimed of it.
fn check_document(show: &Show) -> Result<(), Failure> {
    let settings = show.settings();
    let burst = u64::from(settings.burst_per_frame);
    if burst > settings.capacity as u64 {
        return Ok(());
    }
    for stage in show.stages() {
        let policy = stage.limits().policy;
        let claim = claims::of_document(&stage.last().stats, burst, settings.active_frames);
        claim.map_err(|claim| Failure::broken(show.frame(), policy, claim))?;
    }
    Ok(())
}

fn write_table(report: &mut String, show: &Show, title: &str) -> std::fmt::Result {
    let pools = show.stages().iter().map(|stage| (stage.limits().policy, stage.last().stats));
    let table = Table::new(pools, show.settings().policy);
    let (scene, seed) = (show.scene().name(), show.settings().seed);
    writeln!(report, "{title} (scene {scene}, seed {seed}; * is the policy of the settings):\n")?;
    writeln!(report, "{table}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use crate::show::Scene;

    fn shown(scene: Scene, settings: Settings, frames: u64) -> (Show, Run) {
        let mut show = Show::new(scene, settings).expect("the settings are legal");
        let run = run(&mut show, frames, true).expect("every claim holds");
        (show, run)
    }

    #[test]
    fn both_scenes_run_and_print_the_same_table_each_time() {
        for (scene, tables) in [(Scene::Seed, 2), (Scene::Large, 1)] {
            let (show, run) = shown(scene, scene.settings(), 150);
            assert!(run.history.iter().all(|line| line.len() == 150));
            assert_eq!(run.report.matches("| reject ").count(), tables);
            assert_eq!(run.report, shown(scene, scene.settings(), 150).1.report);
            for stage in show.stages() {
                let stats = stage.last().stats;
                assert_eq!(stats.peak_live, stats.capacity, "{} fills", stage.limits().policy);
                assert!(stats.rejected + stats.overwritten > 0);
            }
        }
    }

    #[test]
    fn document_s_load_creates_in_the_first_frame_alone() {
        let (show, _) = shown(Scene::Seed, Settings::seed_scene(), 30);
        for stage in show.stages() {
            let stats = stage.last().stats;
            assert_eq!((stats.created, stats.hits, stats.peak_live), (20, 580, 20));
            assert_eq!(stats.hit_rate_permille(), 966);
        }
    }

    #[test]
    fn small_and_odd_pools_run_in_both_scenes() {
        for scene in [Scene::Seed, Scene::Large] {
            for capacity in [1, 2, 3, 20] {
                let max_capacity = capacity + 1;
                let mut settings = Settings { capacity, max_capacity, ..Settings::seed_scene() };
                shown(scene, settings.clone(), 60);
                (settings.active_frames, settings.warmup_acquires) = (0, 0);
                shown(scene, settings, 60);
            }
        }
    }

    #[test]
    fn claim_that_fails_names_the_frame_and_the_policy() {
        let failure = Failure::broken(7, hatchery::Exhaustion::Reject, "1 is not 2".to_owned());
        let text = failure.to_string();
        assert_eq!(text, "frame 7, reject: a claim does not hold: 1 is not 2");
    }
}

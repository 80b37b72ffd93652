//! What the scene tells of its frames, summed, and how long they took.

use std::time::Duration;

use hatchery::scene::FrameReport;
use hdrhistogram::Histogram;

/// In the order of [`FrameReport::phases`].
pub(crate) const PHASES: [&str; 6] = ["sweep", "Pre", "actors", "Main", "Post", "Presentation"];

/// A minute, in nanoseconds: a frame that takes longer is counted as one.
const LONGEST: u64 = 60_000_000_000;

/// Sums of frame reports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) created: u64,
    pub(crate) killed: u64,
    pub(crate) destroyed: u64,
    pub(crate) refused: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, report: &FrameReport) {
        self.created += report.created as u64;
        self.killed += report.killed as u64;
        self.destroyed += report.destroyed as u64;
        self.refused += report.refused as u64;
    }
}

/// Times of frames.
#[derive(Clone, Debug)]
pub(crate) struct Meters {
    /// In nanoseconds.
    frames: Histogram<u64>,
    phases: [Duration; PHASES.len()],
    /// The first frame, in which everybody comes: it is not like the others.
    muster: Duration,
}

impl Meters {
    pub(crate) fn new() -> Meters {
        let Ok(frames) = Histogram::new_with_bounds(1, LONGEST, 3) else {
            unreachable!("the bounds and three digits are allowed")
        };
        Meters { frames, phases: [Duration::ZERO; PHASES.len()], muster: Duration::ZERO }
    }

    /// A frame that was not paused.
    pub(crate) fn add(&mut self, frame: u64, took: Duration, report: &FrameReport) {
        if frame == 1 {
            self.muster = took;
            return;
        }
        self.frames.saturating_record(took.as_nanos().min(u128::from(u64::MAX)) as u64);
        self.phases.iter_mut().zip(report.phases).for_each(|(sum, phase)| *sum += phase);
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames.len()
    }

    pub(crate) fn muster(&self) -> Duration {
        self.muster
    }

    /// What so many of a hundred frames do not exceed.
    pub(crate) fn percentile(&self, percent: f64) -> Duration {
        Duration::from_nanos(self.frames.value_at_percentile(percent))
    }

    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.frames.max())
    }

    /// How long each phase takes in the mean.
    pub(crate) fn phases(&self) -> [Duration; PHASES.len()] {
        let frames = u32::try_from(self.frames.len().max(1)).unwrap_or(u32::MAX);
        self.phases.map(|sum| sum / frames)
    }
}

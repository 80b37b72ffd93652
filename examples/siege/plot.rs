//! `--plot`: population and throughput over the time of the run, one above the other.

use std::error::Error;
use std::path::Path;

use plotters::coord::Shift;
use plotters::prelude::*;

use crate::report::thousands;
use crate::siege::Outcome;
use crate::watch::Sample;

const SIZE: (u32, u32) = (960, 640);
const POPULATION: RGBColor = RGBColor(0x2F, 0x6D, 0xB3);
const THROUGHPUT: RGBColor = RGBColor(0xB8, 0x4A, 0x2A);

/// A point of a curve: seconds, and what is drawn.
type Point = (f64, f64);

/// Draws the run into `file`.
pub(crate) fn draw(file: &Path, outcome: &Outcome) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (upper, lower) = root.split_vertically(SIZE.1 / 2);
    let samples = &outcome.watched.samples;
    let alive = samples.iter().map(|sample| (sample.seconds, sample.alive as f64)).collect();
    let alive = Chart { title: "population", unit: "alive", color: POPULATION, points: alive };
    let births = throughput(samples);
    let births = Chart { title: "throughput", unit: "lives/s", color: THROUGHPUT, points: births };
    alive.draw(&upper, outcome.seconds)?;
    births.draw(&lower, outcome.seconds)?;
    root.present()?;
    Ok(())
}

/// Births a second, over a hundredth of the run at a time: a sample alone is mostly noise.
fn throughput(samples: &[Sample]) -> Vec<Point> {
    let step = samples.len().div_ceil(100).max(1);
    let rate = |from: &Sample, to: &Sample| {
        let seconds = (to.seconds - from.seconds).max(f64::EPSILON);
        (to.seconds, (to.births - from.births) as f64 / seconds)
    };
    let start = Sample { seconds: 0.0, alive: 0, births: 0 };
    let taken: Vec<&Sample> =
        std::iter::once(&start).chain(samples.iter().skip(step - 1).step_by(step)).collect();
    taken.windows(2).map(|two| rate(two[0], two[1])).collect()
}

struct Chart {
    title: &'static str,
    unit: &'static str,
    color: RGBColor,
    points: Vec<Point>,
}

impl Chart {
    fn draw(
        self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        seconds: f64,
    ) -> Result<(), Box<dyn Error>> {
        let highest = self.points.iter().map(|point| point.1).fold(1.0, f64::max);
        let mut chart = ChartBuilder::on(area)
            .caption(self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(36)
            .y_label_area_size(90)
            .build_cartesian_2d(0.0..seconds, 0.0..highest * 1.08)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("seconds")
            .y_desc(self.unit)
            .x_label_formatter(&|seconds| format!("{seconds:.1}"))
            .y_label_formatter(&|value| thousands(*value as u64))
            .draw()?;
        chart.draw_series(
            AreaSeries::new(self.points, 0.0, self.color.mix(0.15))
                .border_style(self.color.stroke_width(2)),
        )?;
        Ok(())
    }
}

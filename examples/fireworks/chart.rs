//! `--svg`: what the frames did to the pools, a column for each policy and a row for each measure.
//!
//! A row has one scale, so that the policies can be compared along it; rejected and overwritten are
//! sums, whose steps are the bursts.

use std::error::Error;
use std::path::Path;

use hatchery::{Exhaustion, Stats};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::stage::Sample;

const SIZE: (u32, u32) = (1200, 920);
const HEAD: u32 = 84;
/// The left-most charts are wider by the name of their measure.
const NAME_WIDTH: u32 = 24;
const NUMBERS_WIDTH: u32 = 54;
/// A curve of more points is no clearer.
const MOST_POINTS: usize = 800;

const GREY: RGBColor = RGBColor(0x80, 0x80, 0x80);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One row of charts.
struct Measure {
    /// What is drawn, and how the legend calls it.
    name: &'static str,
    unit: &'static str,
    color: RGBColor,
    of: fn(&Stats) -> u64,
    /// Whether the capacity is drawn as well.
    bound: bool,
}

const MEASURES: [Measure; 4] = [
    Measure {
        name: "live",
        unit: "objects",
        color: RGBColor(0x2F, 0x6D, 0xB3),
        of: |stats| stats.live as u64,
        bound: true,
    },
    Measure {
        name: "hit rate",
        unit: "hits of 1000",
        color: RGBColor(0x2E, 0x8B, 0x57),
        of: |stats| stats.hit_rate_permille(),
        bound: false,
    },
    Measure {
        name: "rejected",
        unit: "rejected, in all",
        color: RGBColor(0xB8, 0x4A, 0x2A),
        of: |stats| stats.rejected,
        bound: false,
    },
    Measure {
        name: "overwritten",
        unit: "overwritten, in all",
        color: RGBColor(0x8A, 0x4F, 0xA8),
        of: |stats| stats.overwritten,
        bound: false,
    },
];

/// A pool's frames, under the name of its policy.
pub(crate) struct Column<'a> {
    pub(crate) policy: Exhaustion,
    pub(crate) samples: &'a [Sample],
}

/// Draws them into `file`.
pub(crate) fn draw(file: &Path, title: &str, columns: &[Column<'_>]) -> Result<(), Box<dyn Error>> {
    let root = SVGBackend::new(file, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let (head, body) = root.split_vertically(HEAD);
    draw_head(&head, title)?;
    let rows = body.split_evenly((MEASURES.len(), 1));
    for (number, (row, measure)) in rows.iter().zip(&MEASURES).enumerate() {
        let place = Place { first: number == 0, last: number + 1 == MEASURES.len() };
        draw_row(row, measure, columns, place)?;
    }
    root.present()?;
    Ok(())
}

fn draw_head(area: &Area<'_>, title: &str) -> Result<(), Box<dyn Error>> {
    area.draw(&Text::new(title.to_owned(), (20, 14), ("sans-serif", 22)))?;
    let bound = ("capacity", GREY);
    let entries = MEASURES.iter().map(|measure| (measure.name, measure.color));
    for (number, (name, color)) in std::iter::once(bound).chain(entries).enumerate() {
        let x = 20 + 130 * number as i32;
        area.draw(&Rectangle::new([(x, 56), (x + 24, 60)], color.filled()))?;
        area.draw(&Text::new(name, (x + 32, 50), ("sans-serif", 15)))?;
    }
    Ok(())
}

/// Where a row stands: the first names the policies, the last what goes to the right.
#[derive(Clone, Copy)]
struct Place {
    first: bool,
    last: bool,
}

fn draw_row(
    row: &Area<'_>,
    measure: &Measure,
    columns: &[Column<'_>],
    place: Place,
) -> Result<(), Box<dyn Error>> {
    let stats = || columns.iter().flat_map(|column| column.samples).map(|sample| &sample.stats);
    let bound = |stats: &Stats| if measure.bound { stats.capacity as u64 } else { 0 };
    let highest = stats().map(|stats| (measure.of)(stats).max(bound(stats))).max();
    let highest = highest.unwrap_or(0).max(1) as f64 * 1.1;
    let width = (SIZE.0 - NAME_WIDTH) / columns.len() as u32;
    let mut rest = row.clone();
    for (number, column) in columns.iter().enumerate() {
        let name = if number == 0 { NAME_WIDTH } else { 0 };
        let (area, right) = rest.split_horizontally(width + name);
        let chart = Chart { measure, column, highest, named: number == 0, place };
        chart.draw(&area)?;
        rest = right;
    }
    Ok(())
}

struct Chart<'a> {
    measure: &'a Measure,
    column: &'a Column<'a>,
    highest: f64,
    named: bool,
    place: Place,
}

impl Chart<'_> {
    fn draw(&self, area: &Area<'_>) -> Result<(), Box<dyn Error>> {
        let Chart { measure, column, highest, named, place } = *self;
        let samples = column.samples;
        let mut builder = ChartBuilder::on(area);
        builder.margin_right(18).margin_top(10).margin_bottom(6).margin_left(4);
        builder.x_label_area_size(if place.last { 40 } else { 22 });
        builder.y_label_area_size(NUMBERS_WIDTH + if named { NAME_WIDTH } else { 0 });
        if place.first {
            builder.caption(column.policy.to_string(), ("sans-serif", 18));
        }
        let frames = samples.len().max(2) as f64;
        let mut chart = builder.build_cartesian_2d(1.0..frames, 0.0..highest)?;
        let height = |value: &f64| label(*value, highest);
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .label_style(("sans-serif", 13))
            .axis_desc_style(("sans-serif", 14))
            .x_labels(6)
            .y_labels(5)
            .x_label_formatter(&|frame| format!("{frame:.0}"))
            .y_label_formatter(&height);
        if named {
            mesh.y_desc(measure.unit);
        }
        if place.last {
            mesh.x_desc("frame");
        }
        mesh.draw()?;
        let curve = |of: &dyn Fn(&Stats) -> u64| {
            Vec::from_iter(points(samples).map(|(frame, stats)| (frame, of(stats) as f64)))
        };
        let filled = AreaSeries::new(curve(&measure.of), 0.0, measure.color.mix(0.15));
        chart.draw_series(filled.border_style(measure.color.stroke_width(2)))?;
        if measure.bound {
            let line = curve(&|stats| stats.capacity as u64);
            chart.draw_series(LineSeries::new(line, GREY.stroke_width(2)))?;
        }
        Ok(())
    }
}

/// Frames from 1, thinned out if they are many; the last is always there.
fn points(samples: &[Sample]) -> impl Iterator<Item = (f64, &Stats)> {
    let step = samples.len().div_ceil(MOST_POINTS).max(1);
    let last = samples.len();
    let kept = move |frame: &usize| (frame - 1).is_multiple_of(step) || *frame == last;
    let frames = (1..=last).filter(kept);
    frames.map(|frame| (frame as f64, &samples[frame - 1].stats))
}

/// Numbers that fit beside the axis, and differ from their neighbours.
fn label(value: f64, highest: f64) -> String {
    match highest {
        ..5.0 => format!("{value:.1}"),
        ..100_000.0 => format!("{value:.0}"),
        ..10_000_000.0 => format!("{:.0}k", value / 1e3),
        _ => format!("{:.0}M", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_few_and_keep_both_ends() {
        for frames in [1, 2, 799, 800, 801, 12_345] {
            let samples = vec![Sample::default(); frames];
            let frames_kept = Vec::from_iter(points(&samples).map(|(frame, _)| frame as usize));
            assert_eq!((frames_kept[0], frames_kept.last()), (1, Some(&frames)));
            assert!(frames_kept.len() <= MOST_POINTS + 1);
            assert!(frames_kept.windows(2).all(|two| two[0] < two[1]));
        }
    }

    #[test]
    fn chart_of_any_length_has_every_policy_and_measure() {
        for frames in [0, 1, 2, 5000] {
            let samples = vec![Sample::default(); frames];
            let policies = [Exhaustion::Reject, Exhaustion::OverwriteOldest, Exhaustion::GrowToCap];
            let columns = policies.map(|policy| Column { policy, samples: &samples });
            let name = format!("fireworks-{}-{frames}.svg", std::process::id());
            let file = std::env::temp_dir().join(name);
            draw(&file, "a title", &columns).expect("it can be written");
            let svg = std::fs::read_to_string(&file).expect("it was written");
            std::fs::remove_file(&file).expect("it is there");
            let lines = Vec::from_iter(svg.lines().map(str::trim));
            for name in ["reject", "overwriteOldest", "growToCap", "live", "capacity", "frame"] {
                assert!(lines.contains(&name), "{name} in {frames} frames");
            }
            assert!(MEASURES.iter().all(|measure| lines.contains(&measure.unit)));
        }
    }
}

//! Charts of the run: bars on a logarithmic scale, on white, legible on pages of any colour.

use std::error::Error;
use std::fs;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Report, digits};

const WIDTH: i32 = 880;
/// Where the bars begin and end.
const LEFT: i32 = 236;
const RIGHT: i32 = 808;
const TOP: i32 = 84;
const BAR: i32 = 13;
const GAP: i32 = 10;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const GRID: RGBColor = RGBColor(0xD4, 0xD4, 0xD4);
/// Told apart by everybody, in print as well.
const COLORS: [RGBColor; 3] =
    [RGBColor(0x1B, 0x5E, 0xA8), RGBColor(0xD9, 0x7A, 0x1E), RGBColor(0x4F, 0x8F, 0x5B)];

/// What a chart shows.
struct Chart {
    file: &'static str,
    title: &'static str,
    unit: &'static str,
    /// A name for each bar of a row.
    legend: Vec<String>,
    /// A name, and a value for each bar.
    rows: Vec<(&'static str, Vec<f64>)>,
}

/// Draws everything that there is figures for; the files and their titles.
pub fn draw(
    report: &Report,
    folder: &Path,
) -> Result<Vec<(&'static str, &'static str)>, Box<dyn Error>> {
    fs::create_dir_all(folder)?;
    let mut drawn = Vec::new();
    for chart in of(report) {
        if !chart.rows.is_empty() {
            chart.draw(&folder.join(chart.file))?;
            drawn.push((chart.file, chart.title));
        }
    }
    Ok(drawn)
}

fn of(report: &Report) -> Vec<Chart> {
    let core_time = "nanoseconds of core time, logarithmic";
    let churn = Chart {
        file: "churn.svg",
        title: "Insert and remove, 1024 live a thread, 64 bytes",
        unit: core_time,
        legend: vec!["1 thread".into(), "2 threads".into(), "8 threads".into()],
        rows: rows(report, "churn", &[("window 1024", 1), ("window 1024", 2), ("window 1024", 8)]),
    };
    let lookup = Chart {
        file: "lookup.svg",
        title: "Look-up, 2 threads, 64 bytes",
        unit: core_time,
        legend: vec!["1k live".into(), "1M live".into(), "one hot key".into()],
        rows: rows(report, "lookup", &[("1k live", 2), ("1M live", 2), ("one hot key", 2)]),
    };
    let mix = Chart {
        file: "mix.svg",
        title: "90 % look-ups, 5 % insertions, 5 % removals, 100k live",
        unit: core_time,
        legend: vec!["1 thread".into(), "2 threads".into(), "8 threads".into()],
        rows: rows(report, "mix", &[("90/5/5", 1), ("90/5/5", 2), ("90/5/5", 8)]),
    };
    let latencies = report.latencies.iter();
    let latency = Chart {
        file: "latency.svg",
        title: "How long an operation of the mix takes, 2 threads",
        unit: "nanoseconds with the clock, logarithmic",
        legend: vec!["p50".into(), "p99".into(), "p99.9".into()],
        rows: latencies.map(|row| (row.name, row.percentiles[3].to_vec())).collect(),
    };
    vec![churn, lookup, mix, latency]
}

/// The candidates of a workload, each with its times in these settings.
fn rows(report: &Report, work: &str, settings: &[(&str, usize)]) -> Vec<(&'static str, Vec<f64>)> {
    let cases = settings.iter().map(|(name, threads)| report.case(work, name, *threads, 64));
    let Some(cases) = cases.collect::<Option<Vec<_>>>() else { return Vec::new() };
    let names = cases.first().map_or(&[][..], |case| &case.names);
    let row = |name: &&'static str| {
        let times = cases.iter().map(|case| case.time(name)).collect::<Option<_>>()?;
        Some((*name, times))
    };
    names.iter().filter_map(row).collect()
}

impl Chart {
    fn row_height(&self) -> i32 {
        BAR * self.legend.len() as i32 + GAP
    }

    /// The powers of ten that the scale begins and ends with.
    fn decades(&self) -> (i32, i32) {
        let values = || self.rows.iter().flat_map(|row| &row.1).copied().filter(|v| *v > 0.0);
        let lowest = values().fold(f64::MAX, f64::min).log10().floor() as i32;
        let highest = values().fold(f64::MIN_POSITIVE, f64::max).log10().ceil() as i32;
        (lowest, highest.max(lowest + 1))
    }

    fn draw(&self, file: &Path) -> Result<(), Box<dyn Error>> {
        let bottom = TOP + self.row_height() * self.rows.len() as i32;
        let size = (WIDTH as u32, (bottom + 48) as u32);
        let root = SVGBackend::new(file, size).into_drawing_area();
        root.fill(&WHITE)?;
        let text = |words: &str, at: (i32, i32), size: f64, h: HPos| {
            let style = ("sans-serif", size).into_font().color(&INK).pos(Pos::new(h, VPos::Center));
            Text::new(words.to_owned(), at, style)
        };
        root.draw(&text(self.title, (16, 24), 19.0, HPos::Left))?;
        for (at, name) in self.legend.iter().enumerate() {
            let left = 16 + 130 * at as i32;
            let square = [(left, 46), (left + 12, 58)];
            root.draw(&Rectangle::new(square, COLORS[at].filled()))?;
            root.draw(&text(name, (left + 18, 52), 13.0, HPos::Left))?;
        }
        let (lowest, highest) = self.decades();
        let x = |value: f64| {
            let part = (value.max(1e-9).log10() - f64::from(lowest)) / f64::from(highest - lowest);
            LEFT + (part.max(0.0) * f64::from(RIGHT - LEFT)) as i32
        };
        for decade in lowest..=highest {
            let value = 10_f64.powi(decade);
            let line = vec![(x(value), TOP - 4), (x(value), bottom)];
            root.draw(&PathElement::new(line, GRID.stroke_width(1)))?;
            let label = if decade < 0 { format!("{value}") } else { format!("{value:.0}") };
            root.draw(&text(&label, (x(value), bottom + 12), 12.0, HPos::Center))?;
        }
        root.draw(&text(self.unit, ((LEFT + RIGHT) / 2, bottom + 32), 13.0, HPos::Center))?;
        for (number, (name, values)) in self.rows.iter().enumerate() {
            let top = TOP + self.row_height() * number as i32;
            let middle = top + (self.row_height() - GAP) / 2;
            root.draw(&text(name, (LEFT - 8, middle), 13.0, HPos::Right))?;
            for (at, value) in values.iter().enumerate() {
                let (above, end) = (top + BAR * at as i32, x(*value).max(LEFT + 1));
                let bar = [(LEFT, above), (end, above + BAR - 2)];
                root.draw(&Rectangle::new(bar, COLORS[at].filled()))?;
                let at_end = (end + 5, above + BAR / 2 - 1);
                root.draw(&text(&digits(*value), at_end, 11.0, HPos::Left))?;
            }
        }
        root.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::candidates::held;
    use crate::measure::{Amount, Plan, Run, Timing};
    use crate::report::Setting;

    #[test]
    fn chart_has_a_white_ground_and_every_candidate_with_its_values() {
        let plan = Plan { quick: true, rounds: 1, span: Duration::ZERO };
        let mut report = Report::new(plan);
        for threads in [1, 2, 8] {
            let names = held().into_iter().map(|candidate| candidate.name);
            let run = |(at, name): (usize, &'static str)| -> (&'static str, Run<'static>) {
                let nanoseconds = 2.5 * (1.0 + (at * at * threads) as f64);
                (name, Box::new(move |_| Timing { nanoseconds, ..Timing::default() }))
            };
            let runs = names.enumerate().map(run).collect();
            report.measure("churn", Setting::of("window 1024", threads), Amount::Fixed(1), runs);
        }
        let folder = std::env::temp_dir().join(format!("hatchery-charts-{}", std::process::id()));
        let drawn = draw(&report, &folder).unwrap();
        assert_eq!(drawn.iter().map(|(file, _)| *file).collect::<Vec<_>>(), ["churn.svg"]);
        let svg = fs::read_to_string(folder.join("churn.svg")).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(svg.contains("fill=\"#FFFFFF\""), "a white ground");
        for candidate in held() {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == ' ';
            let word = candidate.name.split(|c| !plain(c)).find(|word| !word.is_empty());
            assert!(svg.contains(word.unwrap()), "{}", candidate.name);
        }
        assert!(svg.contains("12.5") && svg.contains("2.50"));
    }
}

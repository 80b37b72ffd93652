//! The show on a screen of any size: three columns where there is room, else three bands, of one
//! line each if need be.

use hatchery::{Exhaustion, Stats};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Gauge, Paragraph};

use crate::show::Show;
use crate::sky::Sky;
use crate::stage::{Sample, Stage};

/// Columns need so much; below it, the policies are bands.
const COLUMNS_WIDTH: u16 = 66;
const COLUMNS_HEIGHT: u16 = 12;
/// A column's sky has at least so many lines; counters give way.
const SKY_HEIGHT: u16 = 4;
/// A band below this width has short names and the most important figures.
const SHORT_WIDTH: u16 = 44;

/// What is on the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    skies: Vec<Sky>,
}

impl Screen {
    pub(crate) fn new(show: &Show) -> Screen {
        Screen { skies: show.stages().iter().map(|_| Sky::default()).collect() }
    }

    /// Looks at the show again.
    pub(crate) fn watch(&mut self, show: &mut Show) {
        self.skies.iter_mut().zip(show.stages_mut()).for_each(|(sky, stage)| sky.watch(stage));
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, show: &Show, paused: bool) {
        let area = frame.area();
        // The figures come first: where there is no room for all, the key line goes, then the head.
        let head = u16::from(area.height >= 4);
        let foot = u16::from(area.height >= 5);
        let rows = [Constraint::Length(head), Constraint::Fill(1), Constraint::Length(foot)];
        let [top, body, bottom] = Layout::vertical(rows).areas(area);
        frame.render_widget(headline(show, paused, area.width), top);
        frame.render_widget(keys(area.width), bottom);
        let columns = body.width >= COLUMNS_WIDTH && body.height >= COLUMNS_HEIGHT;
        let parts = show.stages().iter().map(|_| Constraint::Fill(1));
        let layout = if columns { Layout::horizontal(parts) } else { Layout::vertical(parts) };
        let chosen = show.settings().policy;
        let parts = layout.split(body);
        for ((stage, sky), &area) in show.stages().iter().zip(&self.skies).zip(parts.iter()) {
            let draw = if columns { column } else { band };
            draw(frame, area, stage, sky, chosen);
        }
    }
}

fn headline(show: &Show, paused: bool, width: u16) -> Line<'static> {
    let state = if paused { "paused" } else { "" };
    let (scene, frame, burst) = (show.scene().name(), show.frame(), show.burst());
    if width < SHORT_WIDTH {
        return Line::from(format!("{scene} {frame} {state}")).bold();
    }
    Line::from(vec![
        Span::from(" fireworks ").bold(),
        Span::from(state).yellow().bold(),
        Span::from(format!("  scene {scene}   frame {frame}   burst {burst}")),
    ])
}

fn keys(width: u16) -> Line<'static> {
    let all = " q quit   space pause   + - burst   r reset";
    Line::from(if width < SHORT_WIDTH { "q spc + - r" } else { all }).dim()
}

fn color(policy: Exhaustion) -> Color {
    match policy {
        Exhaustion::OverwriteOldest => Color::LightMagenta,
        Exhaustion::GrowToCap => Color::LightGreen,
        _ => Color::LightCyan,
    }
}

/// The policy that the settings ask for has a star.
fn star(policy: Exhaustion, chosen: Exhaustion) -> &'static str {
    if policy == chosen { "*" } else { "" }
}

/// Sky, bar and counters, one under another.
fn column(frame: &mut Frame<'_>, area: Rect, stage: &Stage, sky: &Sky, chosen: Exhaustion) {
    let policy = stage.limits().policy;
    let title = Line::from(format!(" {policy}{} ", star(policy, chosen))).bold();
    let block = Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(color(policy))
        .title(title.centered());
    let inner = block.inner(area);
    frame.render_widget(block, area);
    let counters = counters(stage.last(), inner.width);
    let room = inner.height.saturating_sub(SKY_HEIGHT + 1).min(counters.len() as u16);
    let rows = [Constraint::Fill(1), Constraint::Length(1), Constraint::Length(room)];
    let [above, bar, below] = Layout::vertical(rows).areas(inner);
    sky.draw(frame, above);
    draw_bar(frame, bar, &stage.last().stats, color(policy));
    frame.render_widget(Paragraph::new(counters), below);
}

/// Live of capacity.
fn draw_bar(frame: &mut Frame<'_>, area: Rect, stats: &Stats, color: Color) {
    let Stats { live, capacity, .. } = *stats;
    let full = (live as f64 / capacity.max(1) as f64).clamp(0.0, 1.0);
    let gauge = Gauge::default()
        .ratio(full)
        .label(format!("live {live} / {capacity}"))
        .use_unicode(true)
        .gauge_style(Style::new().fg(color).bg(Color::Indexed(236)));
    frame.render_widget(gauge, area);
}

/// A line for each counter, in the order in which they give way to a low screen, the last first.
fn counters(sample: &Sample, width: u16) -> Vec<Line<'static>> {
    let stats = &sample.stats;
    let line = |name: &str, value: u64, eager: bool| {
        let width = usize::from(width).saturating_sub(name.chars().count() + 2);
        let text = format!(" {name}{value:>width$}");
        if eager { Line::from(text).bold() } else { Line::from(text) }
    };
    vec![
        line("hit rate (‰)", stats.hit_rate_permille(), false),
        line("rejected", stats.rejected, sample.rejected > 0),
        line("overwritten", stats.overwritten, sample.overwritten > 0),
        line("grown", stats.grown, false),
        line("peak", stats.peak_live as u64, false),
        line("acquired", stats.acquired, false),
        line("hits", stats.hits, false),
        line("created", stats.created, false),
    ]
}

/// One line of figures, and what is left for the sky.
fn band(frame: &mut Frame<'_>, area: Rect, stage: &Stage, sky: &Sky, chosen: Exhaustion) {
    let rows = [Constraint::Length(1), Constraint::Fill(1)];
    let [line, rest] = Layout::vertical(rows).areas(area);
    let policy = stage.limits().policy;
    let stats = stage.last().stats;
    let Stats { live, capacity, rejected, overwritten, grown, peak_live, .. } = stats;
    let rate = stats.hit_rate_permille();
    let star = star(policy, chosen);
    let text = if area.width < SHORT_WIDTH {
        let name = match policy {
            Exhaustion::OverwriteOldest => "oldest",
            Exhaustion::GrowToCap => "grow",
            _ => "reject",
        };
        format!("{name:<6}{live:>4}/{capacity:<4}{rate:>4}‰")
    } else {
        // What is cut off at the end matters least.
        format!(
            "{policy}{star} {live}/{capacity}  {rate}‰  rej {rejected}  ovw {overwritten}  \
             grown {grown}  peak {peak_live}",
        )
    };
    frame.render_widget(Line::from(text).fg(color(policy)), line);
    sky.draw(frame, rest);
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::show::Scene;

    fn drawn(scene: Scene, frames: u64, width: u16, height: u16) -> String {
        let mut show = Show::new(scene, scene.settings()).expect("the settings are legal");
        (0..frames).for_each(|_| show.tick().expect("every claim holds"));
        let mut screen = Screen::new(&show);
        screen.watch(&mut show);
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("no real one");
        terminal.draw(|frame| screen.draw(frame, &show, true)).expect("it cannot fail");
        let text = terminal.backend().to_string();
        println!("{width} x {height}\n{text}");
        text
    }

    #[test]
    fn screen_of_usual_size_shows_every_counter_of_every_policy() {
        for (scene, name) in [(Scene::Seed, "scene seed"), (Scene::Large, "scene large")] {
            for (width, height) in [(80, 24), (120, 40), (66, 20)] {
                let text = drawn(scene, 70, width, height);
                let counters = ["hit rate (‰)", "rejected", "overwritten", "grown", "peak"];
                for counter in counters.into_iter().chain(["acquired", "hits", "created"]) {
                    assert_eq!(text.matches(&format!(" {counter} ")).count(), 3, "{counter}");
                }
                for shown in [name, "frame 70", "paused", "growToCap*", "live ", "q quit"] {
                    assert!(text.contains(shown), "{shown}");
                }
                assert!(text.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), "no spark");
            }
        }
    }

    #[test]
    fn narrow_and_low_screens_show_the_three_policies() {
        for (width, height) in [(60, 20), (50, 8), (120, 10), (30, 12), (20, 5), (20, 3)] {
            let text = drawn(Scene::Seed, 40, width, height);
            let short = width < SHORT_WIDTH;
            let names = if short {
                ["reject", "oldest", "grow"]
            } else {
                ["reject", "overwriteOldest", "growToCap"]
            };
            names.into_iter().for_each(|name| assert!(text.contains(name), "{name}"));
            assert_eq!(text.matches("‰").count(), 3);
        }
    }

    #[test]
    fn screen_of_any_size_is_drawn() {
        let mut show = Show::new(Scene::Seed, Scene::Seed.settings()).expect("legal");
        (0..45).for_each(|_| show.tick().expect("every claim holds"));
        let mut screen = Screen::new(&show);
        screen.watch(&mut show);
        let heights = [0, 1, 2, 3, 4, 5, 9, 13, 14, 18, 30];
        let widths = [0, 1, 2, 3, 19, 20, 43, 44, 65, 66, 67, 90];
        for (width, height) in widths.into_iter().flat_map(|w| heights.map(|h| (w, h))) {
            let backend = TestBackend::new(width, height);
            let mut terminal = Terminal::new(backend).expect("no real one");
            terminal.draw(|frame| screen.draw(frame, &show, false)).expect("it cannot fail");
        }
    }
}

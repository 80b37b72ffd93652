//! The raid on a screen of any size: the arena, and beside it, where there is room, the figures.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Gauge, Paragraph, Wrap};

use crate::field;
use crate::meters::PHASES;
use crate::raid::{Closed, Raid};
use crate::systems::{Dot, Glyph};
use crate::world::Role;

/// The figures need so much; below it, there is the arena alone.
const SIDE_WIDTH: u16 = 34;
const FIELD_WIDTH: u16 = 36;
/// What a new frame counts for in the times that are shown, so that they can be read.
const SMOOTHING: f64 = 0.1;
/// What a frame may take at 60 a second: a bar of this length is full.
const BUDGET: f64 = 1.0 / 60.0;

/// What is on the screen.
#[derive(Debug)]
pub(crate) struct Screen {
    half: f32,
    dots: Vec<Dot>,
    /// In seconds, smoothed.
    phases: [f64; PHASES.len()],
    head: String,
    boss: u32,
    counts: Vec<(Glyph, String)>,
    figures: Vec<(&'static str, u64)>,
}

impl Screen {
    pub(crate) fn new(raid: &Raid) -> Screen {
        raid.picture().want();
        Screen {
            half: raid.arena().half,
            dots: Vec::new(),
            phases: [0.0; PHASES.len()],
            head: String::new(),
            boss: 0,
            counts: Vec::new(),
            figures: Vec::new(),
        }
    }

    /// Looks at the raid again, after a frame.
    pub(crate) fn watch(&mut self, raid: &Raid) {
        let (scene, census) = (raid.scene(), raid.census());
        let time = scene.time();
        let state = if time.paused { "  paused" } else { "" };
        let store = scene.store_stats();
        let (frame, actors) = (time.frame, store.live);
        self.head = format!("frame {frame}  {:.1} s  {actors} actors{state}", time.elapsed);
        if !time.paused {
            // A paused frame takes no picture: the old one stays.
            self.dots = raid.picture().take();
            let took = scene.last_frame().phases.map(|phase| phase.as_secs_f64());
            let smooth = |(shown, took): (&mut f64, f64)| *shown += (took - *shown) * SMOOTHING;
            self.phases.iter_mut().zip(took).for_each(smooth);
        }
        self.boss = census.boss_permille();
        let missiles = raid.pool_stats();
        let counted = |role: Role| {
            let (up, down) = (census.up(role), census.down(role));
            let down = if down == 0 { String::new() } else { format!(", {down} dead") };
            (Glyph::Actor(role), format!("{:<9}{up}{down}", role.name()))
        };
        self.counts = Vec::from_iter(Role::ALL.map(counted));
        self.counts.push((Glyph::Missile, format!("missiles {}", missiles.live)));
        let deeds = &raid.books().deeds;
        self.figures = vec![
            ("revived", deeds.revived.get()),
            ("fell", deeds.fallen.get()),
            ("bosses felled", deeds.bosses.get()),
            ("loot collected", deeds.collected.get()),
            ("shots", deeds.shots.get()),
            ("pool hits ‰", missiles.hit_rate_permille()),
            ("actors destroyed", raid.books().core.ended.get()),
            ("tickets out", store.holds as u64),
        ];
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>) {
        let [head, body, foot] = bands(frame.area());
        frame.render_widget(headline(&self.head), head);
        frame.render_widget(Line::from(" space pause   s shutdown   q quit").dim(), foot);
        let side = if body.width >= SIDE_WIDTH + FIELD_WIDTH { SIDE_WIDTH } else { 0 };
        let parts = [Constraint::Fill(1), Constraint::Length(side)];
        let [arena, side] = Layout::horizontal(parts).areas(body);
        let block = Block::bordered().border_type(BorderType::Rounded).dim();
        let inner = block.inner(arena);
        frame.render_widget(block, arena);
        field::draw(frame, inner, self.half, &self.dots);
        self.draw_side(frame, side);
    }

    fn draw_side(&self, frame: &mut Frame<'_>, area: Rect) {
        let rows = [
            Constraint::Length(1),
            Constraint::Length(self.counts.len() as u16 + 1),
            Constraint::Length(PHASES.len() as u16 + 2),
            Constraint::Fill(1),
        ];
        let [boss, counts, phases, figures] = Layout::vertical(rows).areas(area);
        let gauge = Gauge::default()
            .ratio((f64::from(self.boss) / 1000.0).clamp(0.0, 1.0))
            .label(format!("boss {} %", self.boss / 10))
            .gauge_style(Style::new().fg(Color::Magenta).bg(Color::Indexed(236)));
        frame.render_widget(gauge, boss);
        let counted = self.counts.iter().map(|(glyph, text)| {
            Line::from(vec![Span::from(" ● ").fg(field::color(*glyph)), Span::from(text.as_str())])
        });
        frame.render_widget(Paragraph::new(Vec::from_iter(counted)), counts);
        frame.render_widget(Paragraph::new(self.bars(area.width)), phases);
        let lines = self.figures.iter().map(|(name, value)| {
            let width = usize::from(area.width).saturating_sub(name.chars().count() + 2);
            Line::from(format!(" {name}{value:>width$}"))
        });
        frame.render_widget(Paragraph::new(Vec::from_iter(lines)), figures);
    }

    /// A bar for each phase, and the sum.
    fn bars(&self, width: u16) -> Vec<Line<'static>> {
        let room = f64::from(width.saturating_sub(25));
        let bar = |name: &str, took: f64| {
            let long = (took / BUDGET * room).round().clamp(0.0, room) as usize;
            let shown = Duration::from_secs_f64(took.max(0.0)).as_secs_f64() * 1e3;
            Line::from(vec![
                Span::from(format!(" {name:<13}{shown:>6.2} ms ")),
                Span::from("█".repeat(long)).fg(Color::Blue),
            ])
        };
        let mut lines =
            Vec::from_iter(PHASES.iter().zip(self.phases).map(|(name, took)| bar(name, took)));
        lines.push(bar("all", self.phases.iter().sum()).bold());
        lines
    }
}

/// What is left of a raid: the report.
pub(crate) fn draw_closed(frame: &mut Frame<'_>, closed: &Closed) {
    let [head, body, foot] = bands(frame.area());
    frame.render_widget(headline("shut down, and nothing is left"), head);
    frame.render_widget(Line::from(" q quit").dim(), foot);
    let text = Paragraph::new(closed.to_string()).wrap(Wrap { trim: true });
    frame.render_widget(text, body);
}

fn headline(text: &str) -> Line<'_> {
    Line::from(vec![Span::from(" raid  ").bold(), Span::from(text)])
}

/// A head and a foot, where there is room.
fn bands(area: Rect) -> [Rect; 3] {
    let (head, foot) = (u16::from(area.height >= 4), u16::from(area.height >= 5));
    let rows = [Constraint::Length(head), Constraint::Fill(1), Constraint::Length(foot)];
    Layout::vertical(rows).areas(area)
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::raid::Plan;
    use crate::spawner::Pace;

    fn watched(frames: u32) -> (Raid, Screen) {
        let plan = Plan { seed: 1, actors: 300, threads: Some(1), pace: Pace::InStep };
        let mut raid = Raid::new(plan).expect("the plan is allowed");
        let mut screen = Screen::new(&raid);
        (0..frames).for_each(|_| {
            raid.tick();
            screen.watch(&raid);
        });
        (raid, screen)
    }

    fn shown(width: u16, height: u16, draw: impl FnOnce(&mut Frame<'_>)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("no real one");
        terminal.draw(draw).expect("it cannot fail");
        // Nothing is no text.
        if width == 0 { String::new() } else { terminal.backend().to_string() }
    }

    #[test]
    fn screen_of_usual_size_shows_the_fight_and_every_figure() {
        let (mut raid, mut screen) = watched(40);
        let dots = screen.dots.len();
        raid.set_paused(true);
        raid.tick();
        screen.watch(&raid);
        assert_eq!(screen.dots.len(), dots, "a pause shows what there was");
        let text = shown(100, 30, |frame| screen.draw(frame));
        println!("{text}");
        for figure in ["frame 41", "paused", "boss", "raiders", "revived", "Pre", "actors", "all"] {
            assert!(text.contains(figure), "{figure}");
        }
        assert!(text.contains('B') && text.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c)));
        let closed = raid.close().expect("the books balance");
        let text = shown(100, 30, |frame| draw_closed(frame, &closed));
        assert!(text.contains("nothing is left") && text.contains("balanced"), "{text}");
    }

    #[test]
    fn screen_of_any_size_is_drawn() {
        let (_raid, screen) = watched(3);
        let sizes = [0, 1, 2, 3, 4, 5, 9, 20, 69, 70, 71, 200];
        for (width, height) in sizes.into_iter().flat_map(|w| sizes.map(|h| (w, h))) {
            shown(width, height, |frame| screen.draw(frame));
        }
    }
}

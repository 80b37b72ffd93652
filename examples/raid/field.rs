//! The arena on the screen, as dots on a canvas.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Stylize};
use ratatui::symbols::Marker;
use ratatui::text::Span;
use ratatui::widgets::canvas::{Canvas, Painter, Shape};

use crate::systems::{Dot, Glyph};
use crate::world::Role;

/// From the ground up: a cell has one colour, that of its last dot.
const LAYERS: [Glyph; 7] = [
    Glyph::Dead,
    Glyph::Actor(Role::Monster),
    Glyph::Actor(Role::Raider),
    Glyph::Actor(Role::Loot),
    Glyph::Actor(Role::Healer),
    Glyph::Missile,
    Glyph::Actor(Role::Boss),
];

pub(crate) fn color(glyph: Glyph) -> Color {
    match glyph {
        Glyph::Dead => Color::DarkGray,
        Glyph::Missile => Color::White,
        Glyph::Actor(Role::Boss) => Color::LightMagenta,
        Glyph::Actor(Role::Monster) => Color::Red,
        Glyph::Actor(Role::Raider) => Color::Cyan,
        Glyph::Actor(Role::Healer) => Color::LightGreen,
        Glyph::Actor(Role::Loot) => Color::Yellow,
    }
}

/// Draws everybody within `half` of the middle.
pub(crate) fn draw(frame: &mut Frame<'_>, area: Rect, half: f32, dots: &[Dot]) {
    if area.is_empty() {
        return;
    }
    let bounds = [f64::from(-half), f64::from(half)];
    let canvas =
        Canvas::default().marker(Marker::Braille).x_bounds(bounds).y_bounds(bounds).paint(|cx| {
            LAYERS.into_iter().for_each(|glyph| cx.draw(&Layer { glyph, dots }));
            let bosses = dots.iter().filter(|dot| dot.glyph == Glyph::Actor(Role::Boss));
            for [x, y] in bosses.map(|dot| dot.place.map(f64::from)) {
                cx.print(x, y, Span::from("B").fg(color(Glyph::Actor(Role::Boss))).bold());
            }
        });
    frame.render_widget(canvas, area);
}

struct Layer<'a> {
    glyph: Glyph,
    dots: &'a [Dot],
}

impl Shape for Layer<'_> {
    fn draw(&self, painter: &mut Painter<'_, '_>) {
        for dot in self.dots.iter().filter(|dot| dot.glyph == self.glyph) {
            let [x, y] = dot.place.map(f64::from);
            if let Some((x, y)) = painter.get_point(x, y) {
                painter.paint(x, y, color(self.glyph));
            }
        }
    }
}

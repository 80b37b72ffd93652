//! What is alive in one pool, as dots on a canvas.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use ratatui::symbols::Marker;
use ratatui::text::Span;
use ratatui::widgets::canvas::{Canvas, Painter, Shape};

use crate::particle::{Particle, Place};
use crate::program::HUES;
use crate::stage::Stage;

/// Of 256 colours, for each hue: hot, warm, and as good as out.
const COLORS: [[u8; 3]; HUES as usize] = [
    [217, 196, 88],
    [223, 208, 130],
    [230, 220, 100],
    [157, 76, 28],
    [159, 45, 24],
    [225, 207, 90],
];

/// A picture of a pool's objects. It is taken before it is drawn, because drawing only looks, and
/// to look at a leased object is to use it.
#[derive(Debug, Default)]
pub(crate) struct Sky {
    trails: Vec<Dot>,
    sparks: Vec<Dot>,
    numbers: Vec<(Place, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Dot {
    place: Place,
    color: Color,
}

impl Sky {
    /// Takes the picture again.
    pub(crate) fn watch(&mut self, stage: &mut Stage) {
        let Sky { trails, sparks, numbers } = self;
        trails.clear();
        sparks.clear();
        numbers.clear();
        stage.look(|particle| {
            if particle.number > 0 {
                numbers.push((particle.place, particle.number));
                return;
            }
            let dot = |&place, color| Dot { place, color: Color::Indexed(color) };
            let [_, _, out] = COLORS[usize::from(particle.hue) % COLORS.len()];
            trails.extend(particle.trail.iter().map(|place| dot(place, out)));
            sparks.push(dot(&particle.place, shade(particle)));
        });
    }

    pub(crate) fn draw(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.is_empty() {
            return;
        }
        let canvas = Canvas::default()
            .marker(Marker::Braille)
            .x_bounds([-100.0, 100.0])
            .y_bounds([0.0, 100.0])
            .paint(|context| {
                // A cell has one colour, that of its last dot: the sparks come last.
                context.draw(&Dots(&self.trails));
                context.draw(&Dots(&self.sparks));
                for &([x, y], number) in &self.numbers {
                    let text = Span::styled(format!("+{number}"), Style::new().bold());
                    context.print(f64::from(x) - 4.0, f64::from(y), text);
                }
            });
        frame.render_widget(canvas, area);
    }
}

fn shade(particle: &Particle) -> u8 {
    let [hot, warm, out] = COLORS[usize::from(particle.hue) % COLORS.len()];
    let heat = particle.heat();
    if heat > 0.7 {
        hot
    } else if heat > 0.3 {
        warm
    } else {
        out
    }
}

struct Dots<'a>(&'a [Dot]);

impl Shape for Dots<'_> {
    fn draw(&self, painter: &mut Painter<'_, '_>) {
        for dot in self.0 {
            let [x, y] = dot.place.map(f64::from);
            if let Some((x, y)) = painter.get_point(x, y) {
                painter.paint(x, y, dot.color);
            }
        }
    }
}

//! The raid in a terminal: frames in their time, keys, and the terminal given back as it was.

use std::error::Error;
use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::terminal::is_raw_mode_enabled;

use crate::raid::{Closed, Raid, STEP};
use crate::screen::{self, Screen};

/// There is nothing to draw on.
#[derive(Debug)]
struct NoTerminal;

impl fmt::Display for NoTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout is not a terminal: use --headless for a run without one")
    }
}

impl Error for NoTerminal {}

/// Says so if there is no terminal: before anything has begun.
pub(crate) fn check() -> Result<(), Box<dyn Error>> {
    if std::io::stdout().is_terminal() { Ok(()) } else { Err(NoTerminal.into()) }
}

/// Gives the terminal back, however the raid ends.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        // A panic has done it already, in ratatui's hook, before its message. Doing it again would
        // put the cursor on that.
        if is_raw_mode_enabled().unwrap_or(true) {
            ratatui::restore();
        }
    }
}

/// Runs the raid until the user has seen enough; then it is shut down, if it was not before.
pub(crate) fn run(raid: Raid) -> Result<Closed, Box<dyn Error>> {
    let _restore = Restore;
    let mut terminal = ratatui::try_init()?;
    let (raid, quits) = fight(&mut terminal, raid)?;
    let closed = raid.close()?;
    if !quits {
        show(&mut terminal, &closed)?;
    }
    Ok(closed)
}

/// Until somebody asks for the end; whether they have seen enough.
fn fight(terminal: &mut DefaultTerminal, mut raid: Raid) -> Result<(Raid, bool), Box<dyn Error>> {
    let mut screen = Screen::new(&raid);
    let mut due = Instant::now();
    let mut paused = false;
    loop {
        raid.set_paused(paused);
        raid.tick();
        screen.watch(&raid);
        terminal.draw(|frame| screen.draw(frame))?;
        // A raid that was held up goes on from now, and does not hurry after.
        due = (due + Duration::from_secs_f32(STEP)).max(Instant::now());
        while event::poll(due.saturating_duration_since(Instant::now()))? {
            match asked(&event::read()?) {
                Some(Asked::Quit) => return Ok((raid, true)),
                Some(Asked::Shutdown) => return Ok((raid, false)),
                Some(Asked::Pause) => paused = !paused,
                None => {}
            }
        }
    }
}

/// What is left, until somebody quits.
fn show(terminal: &mut DefaultTerminal, closed: &Closed) -> Result<(), Box<dyn Error>> {
    loop {
        terminal.draw(|frame| screen::draw_closed(frame, closed))?;
        if asked(&event::read()?) == Some(Asked::Quit) {
            return Ok(());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Quit,
    Pause,
    Shutdown,
}

fn asked(event: &Event) -> Option<Asked> {
    // Some terminals tell of releases as well.
    let key = event.as_key_press_event()?;
    match key.code {
        // In raw mode it is a key like others.
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Asked::Quit),
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Asked::Quit),
        KeyCode::Char('s' | 'S') => Some(Asked::Shutdown),
        KeyCode::Char(' ') => Some(Asked::Pause),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ratatui::crossterm::event::KeyEvent;

    use super::*;

    #[test]
    fn keys_ask_for_what_the_help_says() {
        let key = |code, modifiers| asked(&Event::Key(KeyEvent::new(code, modifiers)));
        let plain = |c| key(KeyCode::Char(c), KeyModifiers::NONE);
        assert_eq!(plain('q'), Some(Asked::Quit));
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Asked::Quit));
        assert_eq!(plain('c'), None);
        assert_eq!(plain(' '), Some(Asked::Pause));
        assert_eq!(plain('s'), Some(Asked::Shutdown));
        assert_eq!(asked(&Event::Resize(20, 5)), None);
    }
}

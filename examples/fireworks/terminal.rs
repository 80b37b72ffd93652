//! The show in a terminal: frames in their time, keys, and the terminal given back as it was.

use std::error::Error;
use std::fmt;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyModifiers};
use ratatui::crossterm::terminal::is_raw_mode_enabled;

use crate::screen::Screen;
use crate::show::Show;

const FRAME: Duration = Duration::from_millis(60);

/// There is nothing to draw on.
#[derive(Debug)]
struct NoTerminal;

impl fmt::Display for NoTerminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout is not a terminal: use --frames N for a run without one")
    }
}

impl Error for NoTerminal {}

/// Gives the terminal back, however the show ends.
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

/// Runs the show until the user has seen enough.
pub(crate) fn run(show: &mut Show) -> Result<(), Box<dyn Error>> {
    if !std::io::stdout().is_terminal() {
        return Err(NoTerminal.into());
    }
    let _restore = Restore;
    let mut terminal = ratatui::try_init()?;
    play(&mut terminal, show)
}

fn play(terminal: &mut DefaultTerminal, show: &mut Show) -> Result<(), Box<dyn Error>> {
    let mut screen = Screen::new(show);
    let mut paused = false;
    let mut due = Instant::now();
    loop {
        if !paused {
            show.tick()?;
        }
        screen.watch(show);
        terminal.draw(|frame| screen.draw(frame, show, paused))?;
        // A show that was held up goes on from now, and does not hurry after.
        due = (due + FRAME).max(Instant::now());
        while event::poll(due.saturating_duration_since(Instant::now()))? {
            match asked(&event::read()?) {
                Some(Asked::Quit) => return Ok(()),
                Some(Asked::Pause) => paused = !paused,
                Some(Asked::Burst { larger }) => show.change_burst(larger),
                Some(Asked::Reset) => show.reset(),
                None => {}
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Quit,
    Pause,
    Burst { larger: bool },
    Reset,
}

fn asked(event: &Event) -> Option<Asked> {
    // Some terminals tell of releases as well.
    let key = event.as_key_press_event()?;
    match key.code {
        // In raw mode it is a key like others.
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Asked::Quit),
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Asked::Quit),
        KeyCode::Char(' ') => Some(Asked::Pause),
        // The plus without its shift.
        KeyCode::Char('+' | '=') => Some(Asked::Burst { larger: true }),
        KeyCode::Char('-' | '_') => Some(Asked::Burst { larger: false }),
        KeyCode::Char('r' | 'R') => Some(Asked::Reset),
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
        assert_eq!(plain('+'), Some(Asked::Burst { larger: true }));
        assert_eq!(plain('-'), Some(Asked::Burst { larger: false }));
        assert_eq!(plain('r'), Some(Asked::Reset));
        assert_eq!(asked(&Event::Resize(20, 5)), None);
    }
}

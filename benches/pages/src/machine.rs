//! Where, when and of what something was measured.

use std::process::Command;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

/// One line: the machine, the date, the compiler and the commit, as they were at the first call: what
/// is measured is of a commit, even if a page has been written since.
pub fn describe() -> &'static str {
    static DESCRIPTION: OnceLock<String> = OnceLock::new();
    DESCRIPTION.get_or_init(describe_now)
}

fn describe_now() -> String {
    let date = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil(date / 86_400);
    format!(
        "{}, {} cores; {year}-{month:02}-{day:02}; {}; commit {}.",
        processor(),
        std::thread::available_parallelism().map_or(1, usize::from),
        said_by("rustc", &["--version"]),
        said_by("git", &["describe", "--always", "--dirty", "--exclude=*"]),
    )
}

fn processor() -> String {
    let all = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = all.lines().find(|line| line.starts_with("model name"));
    let name = name.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// The first line that a command prints.
fn said_by(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(command)
        .args(arguments)
        .current_dir(super::root())
        .output()
        .ok()
        .filter(|output| output.status.success());
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let first = said.as_deref().and_then(|said| said.lines().next());
    first.map_or_else(|| format!("unknown {command}"), str::to_owned)
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
fn civil(mut day: u64) -> (u64, u64, u64) {
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    let mut year = 1970;
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while day >= lengths[month] {
        day -= lengths[month];
        month += 1;
    }
    (year, month as u64 + 1, day + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_knows_leap_years() {
        assert_eq!(civil(0), (1970, 1, 1));
        assert_eq!(civil(11_016), (2000, 2, 29));
        assert_eq!(civil(11_017), (2000, 3, 1));
        assert_eq!(civil(20_787), (2026, 11, 30));
    }
}

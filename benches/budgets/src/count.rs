//! Counting instructions: the program runs itself under callgrind, once for each operation.

use std::env;
use std::fs;
use std::hint::black_box;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says to the program under callgrind which operation it is to do; the operation follows.
pub const ONE: &str = "--one";

/// Whether there is a valgrind to count with.
pub fn possible() -> bool {
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    !matches!(valgrind, Err(error) if error.kind() == ErrorKind::NotFound)
}

/// Does the work, whose instructions are those that are counted. What it returns nobody needs; it
/// makes the compiler do the work.
///
/// Callgrind knows it by its name, so it keeps that, and is there once however often it is called.
#[inline(never)]
#[unsafe(no_mangle)] // SAFETY: nothing else has such a name.
pub fn hatchery_budgets_counted(work: &mut dyn FnMut() -> u64) {
    // What is done with the result keeps the call from becoming a jump: callgrind must see this
    // function return.
    black_box(work());
}

/// How many instructions the work of an operation takes in this program.
///
/// The profile is left in `directory`, for `callgrind_annotate`.
///
/// # Errors
///
/// When valgrind fails, or counts nothing.
pub fn instructions(operation: &str, directory: &Path) -> Result<u64, String> {
    let profile = profile(operation, directory);
    let this = env::current_exe().map_err(|error| error.to_string())?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--toggle-collect=hatchery_budgets_counted"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
    let done = valgrind.arg(this).args([ONE, operation]).output();
    let done = done.map_err(|error| format!("valgrind does not run: {error}"))?;
    if !done.status.success() {
        return Err(format!("{operation}: {}", String::from_utf8_lossy(&done.stderr)));
    }
    let text = fs::read_to_string(&profile).map_err(|error| error.to_string())?;
    total(&text).ok_or_else(|| format!("{operation}: nothing was counted"))
}

/// Where the profile of an operation is.
fn profile(operation: &str, directory: &Path) -> PathBuf {
    let words =
        operation.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    directory.join(format!("{}.callgrind", words.collect::<Vec<_>>().join("-")))
}

/// The instructions of a whole profile.
fn total(profile: &str) -> Option<u64> {
    let totals = profile.lines().find_map(|line| line.strip_prefix("totals: "))?;
    totals.trim().parse().ok().filter(|total| *total > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_is_that_of_the_profile() {
        let profile = "# callgrind format\nsummary: 9\nfn=(1) x\n3 9\n\ntotals: 9\n";
        assert_eq!(total(profile), Some(9));
        assert_eq!(total("events: Ir\ntotals: 0\n"), None);
        assert_eq!(total(""), None);
    }

    #[test]
    fn profiles_have_names_for_a_shell() {
        let path = profile("get, live + `more`", Path::new("here"));
        assert_eq!(path, Path::new("here/get-live-more.callgrind"));
    }
}

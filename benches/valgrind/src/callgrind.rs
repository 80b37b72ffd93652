//! A program that runs itself under callgrind.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Totals;
use crate::marks::NAMES;

/// How callgrind is run.
#[derive(Clone, Copy, Debug)]
pub struct Callgrind<'c> {
    /// What it is told beside the rest: which events, which caches.
    pub flags: &'c [&'c str],
    /// Where the profiles are left, for `callgrind_annotate`.
    pub profiles: &'c Path,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Counted {
    /// How often each event happened.
    pub totals: Totals,
    /// What the program has printed.
    pub printed: String,
}

impl Callgrind<'_> {
    /// Runs this program with other arguments under callgrind, and counts what it does between
    /// [`begin`](crate::begin) and [`end`](crate::end). The profile is named after `what`.
    ///
    /// # Errors
    ///
    /// When valgrind fails, or counts nothing.
    pub fn count(&self, what: &str, arguments: &[&str]) -> Result<Counted, String> {
        let told = |error: std::io::Error| error.to_string();
        fs::create_dir_all(self.profiles).map_err(told)?;
        let whole = self.profiles.join(file_name(what));
        let [begin, end] = NAMES;
        let mut valgrind = Command::new("valgrind");
        valgrind.arg("--tool=callgrind").args(self.flags);
        valgrind.args([format!("--zero-before={begin}"), format!("--dump-before={end}")]);
        valgrind.arg(format!("--callgrind-out-file={}", whole.display()));
        let done = valgrind.arg(env::current_exe().map_err(told)?).args(arguments).output();
        let done = done.map_err(|error| format!("valgrind does not run: {error}"))?;
        if !done.status.success() {
            return Err(format!("{what}: {}", String::from_utf8_lossy(&done.stderr)));
        }
        // What was dumped first; the rest of the run, which nobody needs, has the name without a
        // number.
        fs::rename(numbered(&whole), &whole).map_err(|_| format!("{what}: nothing was counted"))?;
        let totals = Totals::read(&fs::read_to_string(&whole).map_err(told)?);
        let totals = totals.ok_or_else(|| format!("{what}: nothing was counted"))?;
        Ok(Counted { totals, printed: String::from_utf8_lossy(&done.stdout).into_owned() })
    }
}

fn numbered(profile: &Path) -> PathBuf {
    let mut name = profile.as_os_str().to_owned();
    name.push(".1");
    name.into()
}

/// The name of the profile of something, good for a shell.
fn file_name(what: &str) -> String {
    let words = what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    format!("{}.callgrind", words.collect::<Vec<_>>().join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_have_names_for_a_shell() {
        assert_eq!(file_name("get, live + `more`"), "get-live-more.callgrind");
    }
}

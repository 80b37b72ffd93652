//! What the benches write into the documents of the repository, and where it was measured.

mod machine;

use std::fs;
use std::path::{Path, PathBuf};

pub use machine::describe;

/// The page that the benches write into.
pub const PERFORMANCE: &str = "docs/performance.md";

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Puts `part` between its marks in a file, by its path from the root; all else is kept.
///
/// # Errors
///
/// When it cannot be read or written, or has no such marks.
pub fn rewrite(file: &str, marks: &str, part: &str) -> Result<(), String> {
    let told = |error: std::io::Error| format!("{file}: {error}");
    let path = root().join(file);
    let text = fs::read_to_string(&path).map_err(told)?;
    let text = replaced(&text, marks, part).map_err(|missing| format!("{file}: {missing}"))?;
    fs::write(&path, text).map_err(told)
}

/// `text` with `part` between its marks.
fn replaced(text: &str, marks: &str, part: &str) -> Result<String, String> {
    let [begin, end] = ["begin", "end"].map(|which| format!("<!-- {marks}: {which} -->"));
    let missing = || format!("there is no {begin} with {end} after it");
    let (before, rest) = text.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(&end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_keeps_what_is_outside_the_marks() {
        let (begin, end) = ("<!-- it: begin -->", "<!-- it: end -->");
        let text = format!("before\n{begin}\nold\n{end}\nafter\n");
        let new = replaced(&text, "it", "new\n").unwrap();
        assert_eq!(new, format!("before\n{begin}\n\nnew\n\n{end}\nafter\n"));
        assert_eq!(replaced(&new, "it", "new\n").unwrap(), new);
        assert!(replaced(&text, "other", "new").is_err());
        assert!(replaced("no marks", "it", "new").is_err());
    }

    #[test]
    fn documents_have_their_marks() {
        let marks = ["measured", "counts", "traffic", "scene"].map(|marks| (marks, PERFORMANCE));
        for (marks, file) in marks.into_iter().chain([("figures", "README.md")]) {
            let text = fs::read_to_string(root().join(file)).unwrap();
            assert!(replaced(&text, marks, "").is_ok(), "{marks} in {file}");
        }
    }
}

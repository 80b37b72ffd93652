//! `docs/performance.md`: what lies between the marks is replaced, all else is kept.

use std::fs;
use std::path::{Path, PathBuf};

const BEGIN: &str = "<!-- scene: begin -->";
const END: &str = "<!-- scene: end -->";

/// The document.
fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/performance.md")
}

/// Puts the tables into the document.
///
/// # Errors
///
/// When it cannot be read or written, or has no marks.
pub fn write(tables: &str) -> Result<(), String> {
    let page = page();
    let told = |error: std::io::Error| format!("docs/performance.md: {error}");
    let text = fs::read_to_string(&page).map_err(told)?;
    fs::write(&page, replaced(&text, tables)?).map_err(told)
}

/// `text` with `part` between its marks.
fn replaced(text: &str, part: &str) -> Result<String, String> {
    let missing = || format!("docs/performance.md has no {BEGIN} with {END} after it");
    let (before, rest) = text.split_once(BEGIN).ok_or_else(missing)?;
    let (_, after) = rest.split_once(END).ok_or_else(missing)?;
    Ok(format!("{before}{BEGIN}\n\n{}\n\n{END}{after}", part.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_keeps_what_is_outside_the_marks() {
        let text = format!("before\n{BEGIN}\nold\n{END}\nafter\n");
        let new = replaced(&text, "new\n").unwrap();
        assert_eq!(new, format!("before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"));
        assert_eq!(replaced(&new, "new\n").unwrap(), new);
        assert!(replaced("no marks", "new").is_err());
    }

    #[test]
    fn the_page_has_its_marks() {
        let text = fs::read_to_string(page()).unwrap();
        assert!(replaced(&text, "").is_ok());
    }
}

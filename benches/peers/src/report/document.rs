//! `docs/performance.md`: what lies between the marks is replaced, all else is kept.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Report, charts};

const BEGIN: &str = "<!-- measured: begin -->";
const END: &str = "<!-- measured: end -->";

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../..")
}

impl Report {
    /// Writes the page and the charts.
    pub fn write(&self) -> Result<(), Box<dyn Error>> {
        let docs = root().join("docs");
        let drawn = charts::draw(self, &docs.join("charts"))?;
        let links: String =
            drawn.iter().map(|(file, title)| format!("![{title}](charts/{file})\n\n")).collect();
        let page = docs.join("performance.md");
        let text = fs::read_to_string(&page)?;
        let text = replaced(&text, &format!("{}\n{links}", self.page))?;
        fs::write(&page, text)?;
        println!("Written: docs/performance.md and {} charts.", drawn.len());
        Ok(())
    }
}

/// `text` with `part` between its marks.
fn replaced(text: &str, part: &str) -> Result<String, String> {
    let missing = || format!("the page has no {BEGIN} with {END} after it");
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
        let text = fs::read_to_string(root().join("docs/performance.md")).unwrap();
        assert!(replaced(&text, "").is_ok());
    }
}

//! `docs/performance.md` and `README.md`: what lies between the marks is replaced, all else is kept.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Report, charts};

/// The marks of the page, and those of the README.
const MEASURED: &str = "measured";
const FIGURES: &str = "figures";

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../..")
}

impl Report {
    /// Writes the page, the README and the charts.
    pub fn write(&self) -> Result<(), Box<dyn Error>> {
        let docs = root().join("docs");
        let drawn = charts::draw(self, &docs.join("charts"))?;
        let figures = self.figures(&drawn).ok_or("the README's figures were not measured")?;
        let links: String =
            drawn.iter().map(|(file, title)| format!("![{title}](charts/{file})\n\n")).collect();
        rewrite(&docs.join("performance.md"), MEASURED, &format!("{}\n{links}", self.page))?;
        rewrite(&root().join("README.md"), FIGURES, &figures)?;
        println!("Written: docs/performance.md, README.md and {} charts.", drawn.len());
        Ok(())
    }
}

fn rewrite(file: &Path, marks: &str, part: &str) -> Result<(), Box<dyn Error>> {
    let text = replaced(&fs::read_to_string(file)?, marks, part)?;
    Ok(fs::write(file, text)?)
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
    }

    #[test]
    fn page_and_readme_have_their_marks() {
        for (file, marks) in [("docs/performance.md", MEASURED), ("README.md", FIGURES)] {
            let text = fs::read_to_string(root().join(file)).unwrap();
            assert!(replaced(&text, marks, "").is_ok(), "{file}");
        }
    }
}

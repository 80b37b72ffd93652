//! `docs/performance.md` and `README.md`: what lies between the marks is replaced, all else is
//! kept.

use std::error::Error;

use hatchery_pages::{PERFORMANCE, rewrite, root};

use super::{Report, charts};

/// The marks of the page, and those of the README.
const MEASURED: &str = "measured";
const FIGURES: &str = "figures";

impl Report {
    /// Writes the page, the README and the charts.
    pub fn write(&self) -> Result<(), Box<dyn Error>> {
        let docs = root().join("docs");
        let drawn = charts::draw(self, &docs.join("charts"))?;
        let figures = self.figures(&drawn).ok_or("the README's figures were not measured")?;
        let links: String =
            drawn.iter().map(|(file, title)| format!("![{title}](charts/{file})\n\n")).collect();
        rewrite(PERFORMANCE, MEASURED, &format!("{}\n{links}", self.page))?;
        rewrite("README.md", FIGURES, &figures)?;
        println!("Written: docs/performance.md, README.md and {} charts.", drawn.len());
        Ok(())
    }
}

//! The inputs that are kept, see `examples/siege/corpus/README.md`.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::{plain, recorded};
use crate::{csv, scenario};

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/siege/corpus");
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn ends(path: &Path, ends: &[&str]) -> bool {
    path.extension().and_then(OsStr::to_str).is_some_and(|end| ends.contains(&end))
}

#[test]
fn corpus_comes_out_as_it_says() {
    let paths = corpus();
    let inputs = paths.iter().filter(|path| ends(path, &["csv", "json"]));
    let mut told = BTreeSet::new();
    for path in inputs {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let bytes = fs::read(path).unwrap();
        let read = if ends(path, &["csv"]) { csv::parse } else { scenario::parse };
        let (prefix, out) = match read(&name, &bytes) {
            Ok(recording) => ("ok-", String::from_utf8(recorded(&recording)).unwrap()),
            Err(bad) => {
                plain(&bad, &name);
                ("bad-", format!("{bad}\n"))
            }
        };
        assert!(name.starts_with(prefix), "{name} is {prefix}: {out}");
        let expected = path.with_file_name(format!("{name}.txt"));
        let text = fs::read_to_string(&expected).unwrap_or_else(|error| {
            panic!("{}: {error}; what came out:\n{out}", expected.display())
        });
        // Git may have given it the line ends of Windows.
        assert_eq!(out, text.replace("\r\n", "\n"), "{name}");
        told.insert(expected);
    }
    let unused = paths.iter().find(|path| ends(path, &["txt"]) && !told.contains(*path));
    assert_eq!(unused, None, "it belongs to no input");
    for prefix in ["ok-", "bad-"] {
        let many = told
            .iter()
            .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(prefix));
        assert!(many.count() >= 5, "the corpus is gone");
    }
}

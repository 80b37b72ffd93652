//! The ledger of orderings, the models that must fail, and the code say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file below a folder of the repository.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    found
}

/// The texts between `open` and the next `close` after it.
fn between<'t>(text: &'t str, open: &str, close: char) -> Vec<&'t str> {
    text.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// The sides of every tag in the code: `P1.w` publishes, `P1.r` receives.
fn sides_in_code() -> BTreeSet<String> {
    let mut sides = BTreeSet::new();
    for (path, text) in sources("src") {
        if path.ends_with("sync/order.rs") {
            continue;
        }
        for operation in between(&text, "ord!(", ')') {
            let (kind, tags) = operation.split_once(':').expect("an ordering and its tags");
            let kind = kind.trim_end_matches(" + SeqCst");
            let tags = Vec::from_iter(tags.split(',').map(str::trim));
            if kind != "Acquire" {
                sides.insert(format!("{}.w", tags[0]));
            }
            match kind {
                "Acquire" => sides.extend(tags.iter().map(|tag| format!("{tag}.r"))),
                "AcqRel" => drop(sides.insert(format!("{}.r", tags[tags.len() - 1]))),
                _ => {}
            }
        }
    }
    sides
}

/// The rows of the ledger: a tag, and its other columns.
fn ledger() -> BTreeMap<String, Vec<String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ordering.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| ")).skip(2);
    rows.map(|row| {
        let mut cells = row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned());
        (cells.next().unwrap(), cells.collect())
    })
    .collect()
}

/// A table of pairs of texts in `loom-tests/must_fail.rs`.
fn table(name: &str) -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("loom-tests/must_fail.rs");
    let text = fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once(&format!("const {name}:")).unwrap();
    let (table, _) = table.split_once("];").unwrap();
    let texts: Vec<_> = table.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

/// The table of `loom-tests/README.md`: each model, and what it catches.
fn catches() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("loom-tests/README.md");
    let text = fs::read_to_string(path).unwrap();
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    let cells = rows.map(|row| Vec::from_iter(row.trim_matches('|').split('|').map(str::trim)));
    cells.map(|cells| (cells[0].trim_matches('`').to_owned(), cells[3].to_owned())).collect()
}

/// Every model, as `module::name`.
fn models() -> BTreeSet<String> {
    let mut models = BTreeSet::new();
    for (path, text) in sources("loom-tests") {
        let module = path.file_stem().unwrap().to_str().unwrap();
        let tests = between(&text, "#[test]\nfn ", '(');
        models.extend(tests.iter().map(|name| format!("{module}::{name}")));
    }
    models
}

#[test]
fn ledger_has_exactly_the_tags_of_the_code() {
    let ledger = BTreeSet::from_iter(ledger().into_keys());
    let code = sides_in_code();
    let tags = BTreeSet::from_iter(code.iter().map(|side| side[..2].to_owned()));
    assert_eq!(ledger, tags);
    for tag in tags {
        for side in ["w", "r"] {
            assert!(code.contains(&format!("{tag}.{side}")), "{tag} has no side {side}");
        }
    }
}

#[test]
fn ledger_says_for_each_tag_what_writes_reads_and_fails() {
    let models = models();
    for (tag, cells) in ledger() {
        assert_eq!(cells.len(), 4, "{tag}: what it publishes, writer, reader, model");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "{tag} has an empty cell");
        let named = between(&cells[3], "`", '`');
        let named = Vec::from_iter(named.into_iter().step_by(2));
        assert!(!named.is_empty(), "{tag} names no model");
        for model in named {
            assert!(models.contains(model), "{tag} names {model}, which does not exist");
        }
    }
}

#[test]
fn weaken_run_takes_away_each_side_in_the_code() {
    let models = models();
    let table = table("SIDES");
    let sides = BTreeSet::from_iter(table.iter().map(|(side, _)| side.clone()));
    assert_eq!(sides, sides_in_code());
    for (side, model) in table {
        assert!(models.contains(&model), "{side} names {model}, which does not exist");
    }
}

#[test]
fn fault_run_plants_each_fault_in_the_code() {
    let models = models();
    let table = table("FAULTS");
    let faults = BTreeSet::from_iter(table.iter().map(|(fault, _)| fault.clone()));
    let mut planted = BTreeSet::new();
    for (_, text) in sources("src") {
        planted.extend(between(&text, "planted(\"", '"').into_iter().map(str::to_owned));
    }
    assert_eq!(faults, planted);
    for (fault, model) in table {
        assert!(models.contains(&model), "{fault} names {model}, which does not exist");
    }
}

#[test]
fn table_of_the_models_has_each_and_what_the_runs_require_of_it() {
    let catches = catches();
    let rows = BTreeSet::from_iter(catches.keys().cloned());
    let differ = Vec::from_iter(&rows ^ &models());
    assert!(differ.is_empty(), "without a row, or without a model: {differ:#?}");
    let (faults, tags) = (table("FAULTS"), ledger());
    for (model, caught) in &catches {
        assert!(!caught.is_empty(), "{model} catches nothing");
        for name in caught.split(", ") {
            let fault = name.trim_matches('"');
            let is_planted =
                name.starts_with('"') && faults.iter().any(|(known, _)| known == fault);
            assert!(is_planted || tags.contains_key(name), "{model} names {name}: what is that?");
        }
    }
    for (fault, model) in faults {
        assert!(catches[&model].contains(&format!("\"{fault}\"")), "{model} catches {fault}");
    }
    for (side, model) in table("SIDES") {
        assert!(catches[&model].contains(&side[..2]), "{model} catches {side}");
    }
}

//! Rules of the house that a compiler does not check: what may be named where,
//! what every `unsafe` owes its reader, and that the ledger of orderings is whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

const LONGEST_FILE: usize = 450;

/// Every Rust file under `folder`, with its path from the root and its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut found, mut open) = (Vec::new(), vec![root.join(folder)]);
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        for path in paths {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "no Rust file under {folder}");
    found
}

/// `text` with comments and the insides of literals blanked: what is left is code, in its place.
fn code_only(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    while at < chars.len() {
        let end = literal_or_comment(&chars, at);
        if end > at {
            code.extend(chars[at..end].iter().map(|c| blank(*c)));
            at = end;
        } else {
            code.push(chars[at]);
            at += 1;
        }
    }
    code
}

/// Where the comment or literal that begins at `at` ends; `at` itself when none begins there.
fn literal_or_comment(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let find = |from: usize, stop: &dyn Fn(&[char]) -> bool| {
        (from..chars.len()).find(|i| stop(&chars[*i..])).unwrap_or(chars.len())
    };
    let word_before = at > 0 && (chars[at - 1].is_alphanumeric() || chars[at - 1] == '_');
    match rest {
        ['/', '/', ..] => find(at, &|c| c[0] == '\n'),
        ['/', '*', ..] => {
            let (mut depth, mut i) = (1, at + 2);
            while depth > 0 && i < chars.len() {
                match chars[i..] {
                    ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
                    ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
            }
            i
        }
        ['r', '"' | '#', ..] if !word_before => {
            let hashes = rest[1..].iter().take_while(|c| **c == '#').count();
            if rest.get(1 + hashes) != Some(&'"') {
                return at; // a raw identifier
            }
            let closes =
                |c: &[char]| c[0] == '"' && c[1..].iter().take(hashes).eq(vec![&'#'; hashes]);
            (find(at + hashes + 2, &closes) + 1 + hashes).min(chars.len())
        }
        ['"', ..] => {
            let mut i = at + 1;
            while i < chars.len() && chars[i] != '"' {
                i += if chars[i] == '\\' { 2 } else { 1 };
            }
            (i + 1).min(chars.len())
        }
        ['\'', '\\', ..] => find(at + 3, &|c| c[0] == '\'') + 1,
        ['\'', _, '\'', ..] => at + 3,
        _ => at,
    }
}

/// The words of the code, each with the number of its line, from 0.
fn words(code: &str) -> Vec<(usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let split = |line| str::split(line, move |c| !is_word(c)).filter(|word| !word.is_empty());
    code.lines().enumerate().flat_map(|(at, line)| split(line).map(move |w| (at, w))).collect()
}

#[test]
fn the_scanner_tells_code_from_comments_and_literals() {
    let text = r##"let a = "unsafe // no"; /* unsafe /* deep */ unsafe */ 'x' '\'' b'"' // unsafe
let r = r#"unsafe " still"#; fn life<'a>(x: &'a u8) { unsafe { x } }"##;
    let code = code_only(text);
    assert_eq!(code.lines().count(), text.lines().count());
    let unsafes: Vec<usize> =
        words(&code).into_iter().filter(|(_, word)| *word == "unsafe").map(|(at, _)| at).collect();
    assert_eq!(unsafes, [1], "{code}");
    assert!(code.contains("life<'a>") && !code.contains("still") && !code.contains("deep"));
}

/// The comment that ends right above a line, attributes passed over, in one string.
fn comment_above(lines: &[&str], at: usize) -> String {
    let mut comment = Vec::new();
    for line in lines[..at].iter().rev().map(|line| line.trim()) {
        if let Some(text) = line.strip_prefix("//") {
            comment.push(text.trim_start_matches(['/', '!']).trim());
        } else if !comment.is_empty() || !(line.starts_with("#[") || line.ends_with(")]")) {
            break;
        }
    }
    comment.reverse();
    comment.join(" ")
}

/// What a SAFETY comment gives as the reason, if it names an invariant of the design by number.
fn reason(comment: &str) -> Option<&str> {
    let reason = comment.split_once("SAFETY:")?.1.trim();
    let number = reason.split_once("invariant ")?.1;
    number.starts_with(|first: char| first.is_ascii_digit()).then_some(reason)
}

/// The numbers of the invariants that a reason cites.
fn cited(reason: &str) -> Vec<u32> {
    let lists = reason.match_indices("invariant ").map(|(at, word)| &reason[at + word.len()..]);
    let is_list = |c: char| c.is_ascii_digit() || c == ',' || c == ' ';
    let lists = lists.map(|rest| &rest[..rest.find(|c| !is_list(c)).unwrap_or(rest.len())]);
    lists.flat_map(|list| list.split(',').filter_map(|number| number.trim().parse().ok())).collect()
}

/// The numbers of the invariants that the design lists.
fn invariants() -> BTreeSet<u32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/design.md");
    let design = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    design.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect()
}

#[test]
fn the_invariants_that_a_reason_cites_are_all_found() {
    assert_eq!(cited("as above (invariant 2, 14). It (invariant 3) stays"), [2, 14, 3]);
    assert!(invariants().into_iter().eq(1..=19));
}

#[test]
fn every_unsafe_says_why_it_is_sound() {
    let (mut wrong, invariants) = (Vec::new(), invariants());
    for (file, text) in sources("src") {
        let code = code_only(&text);
        let lines: Vec<&str> = text.lines().collect();
        let code_lines: Vec<&str> = code.lines().collect();
        for (at, word) in words(&code) {
            let line = code_lines[at];
            if word != "unsafe" {
                continue;
            }
            let after = line[line.find("unsafe").unwrap() + "unsafe".len()..].trim_start();
            let declares = ["fn", "trait", "extern"].iter().any(|what| after.starts_with(what));
            // A comment stands above the statement that the block is part of.
            let first = (0..=at).rev().find(|i| {
                let above = i.checked_sub(1).map_or("", |i| code_lines[i].trim());
                above.is_empty() || above.ends_with(['{', ';', '}', ',', ']'])
            });
            let comments = [comment_above(&lines, at), comment_above(&lines, first.unwrap_or(at))];
            let comment = comments.join(" ");
            if declares {
                if after.starts_with("fn") && !comment.contains("# Safety") {
                    wrong.push(format!("{file}:{}: no # Safety section", at + 1));
                }
            } else if let Some(reason) = reason(&comment) {
                let unknown = cited(reason).into_iter().find(|n| !invariants.contains(n));
                wrong.extend(unknown.map(|n| format!("{file}:{}: no invariant {n}", at + 1)));
            } else {
                wrong.push(format!("{file}:{}: no SAFETY comment that names an invariant", at + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "{} in all:\n{}", wrong.len(), wrong.join("\n"));
}

/// Where `code` names one of the paths.
fn named(file: &str, code: &str, paths: &[&str]) -> Vec<String> {
    let lines = code.lines().enumerate();
    let naming = lines.filter(|(_, line)| {
        let dense: String = line.split_whitespace().collect::<Vec<_>>().join(" ");
        paths.iter().any(|path| {
            dense.match_indices(path).any(|(at, _)| {
                let before = dense[..at].chars().next_back();
                let after = dense[at + path.len()..].chars().next();
                let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
                !word(before) && (path.ends_with("::") || !word(after))
            })
        })
    });
    naming.map(|(at, line)| format!("{file}:{}: {}", at + 1, line.trim())).collect()
}

#[track_caller]
fn assert_named_only_in(home: &str, paths: &[&str]) {
    let mut elsewhere = Vec::new();
    let mut at_home = 0;
    for (file, text) in sources("src") {
        let found = named(&file, &code_only(&text), paths);
        if file.starts_with(home) {
            at_home += found.len();
        } else {
            elsewhere.extend(found);
        }
    }
    assert!(elsewhere.is_empty(), "only {home} may name {paths:?}:\n{}", elsewhere.join("\n"));
    assert!(at_home > 0, "nothing under {home} names {paths:?}: has it moved?");
}

#[test]
fn atomics_come_through_the_sync_facade() {
    // `loom` as a path; the cfg of that name may stand anywhere.
    let paths = ["std::sync::atomic", "core::sync::atomic", "sync::atomic", "atomic::Atomic"];
    assert_named_only_in("src/sync/", &paths);
    assert_named_only_in("src/sync/", &["loom::"]);
}

#[test]
fn the_epoch_scheme_comes_through_the_reclaim_facade() {
    assert_named_only_in("src/reclaim/", &["crossbeam_epoch"]);
}

#[test]
fn nothing_is_left_as_a_stub() {
    for (file, text) in sources("src") {
        let code = code_only(&text);
        let stubs: Vec<(usize, &str)> = words(&code)
            .into_iter()
            .filter(|(_, word)| ["todo", "unimplemented", "dbg"].contains(word))
            .collect();
        assert!(stubs.is_empty(), "{file}: {stubs:?}");
        for (at, line) in text.lines().enumerate() {
            let marks = ["TODO", "FIXME", "XXX"];
            assert!(!marks.iter().any(|mark| line.contains(mark)), "{file}:{}: {line}", at + 1);
        }
    }
}

#[test]
fn every_file_is_one_idea_and_short() {
    let long: Vec<String> = sources("src")
        .into_iter()
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(file, lines)| format!("{file}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "over {LONGEST_FILE} lines: {long:?}");
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    for (file, text) in sources("src") {
        assert!(text.starts_with("//!"), "{file} has no module documentation");
    }
}

/// The tags of every `ord!(..)` in the code, each with the orderings that it stands beside.
fn tags_in_source() -> BTreeMap<String, BTreeSet<String>> {
    let mut tags: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in sources("src") {
        let code = code_only(&text);
        for (at, _) in code.match_indices("ord!(") {
            let inside = &code[at + "ord!(".len()..];
            let inside = &inside[..inside.find(')').unwrap_or_else(|| panic!("{file}: open ord!"))];
            if inside.contains('$') {
                continue; // the macro's own definition
            }
            let Some((ordering, names)) = inside.split_once(':') else {
                panic!("{file}: ord!({inside}) has no tag")
            };
            let ordering = ordering.trim().trim_end_matches(" + SeqCst");
            let names: Vec<&str> = names.split(',').map(str::trim).collect();
            let sides: &[&str] = match (ordering, names.len()) {
                ("Release", 1) | ("Acquire", 1 | 2) => &[ordering][..],
                ("AcqRel", 1 | 2) => &["Release", "Acquire"],
                _ => panic!("{file}: ord!({inside}) is no ordering with its tags"),
            };
            // AcqRel: it writes for the first tag and reads for the last.
            for (at, name) in (0..sides.len().max(names.len())).zip(names.iter().cycle()) {
                let side = sides[at.min(sides.len() - 1)];
                let letters = name.chars().take_while(char::is_ascii_uppercase).count();
                let digits = &name[letters..];
                let formed = letters > 0 && digits.parse::<u32>().is_ok();
                assert!(formed, "{file}: {name:?} is no tag");
                tags.entry((*name).to_owned()).or_default().insert(side.to_owned());
            }
        }
    }
    tags
}

#[test]
fn every_tag_has_a_side_that_publishes_and_a_side_that_receives() {
    let tags = tags_in_source();
    assert!(!tags.is_empty(), "no ord!(..) in src");
    for (tag, sides) in tags {
        assert!(sides.contains("Release"), "{tag} is never published");
        assert!(sides.contains("Acquire"), "{tag} is never received");
    }
}

#[test]
fn the_ledger_of_orderings_has_a_row_for_each_tag_and_no_other() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ordering.md");
    let ledger = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let mut rows: Vec<String> = Vec::new();
    for line in ledger.lines().filter(|line| line.starts_with('|')) {
        let first = line.trim_matches('|').split('|').next().unwrap_or("").trim();
        let first = first.trim_matches(['`', '*']);
        let letters = first.chars().take_while(char::is_ascii_uppercase).count();
        if letters > 0 && first[letters..].parse::<u32>().is_ok() {
            rows.push(first.to_owned());
        }
    }
    let listed: BTreeSet<String> = rows.iter().cloned().collect();
    assert_eq!(listed.len(), rows.len(), "a tag has two rows: {rows:?}");
    assert_eq!(listed, tags_in_source().into_keys().collect(), "ledger (left), source (right)");
}

//! Shows that a check fails where it must and nowhere else.
//!
//! A fixture is one text that holds several files, each after a line `==> path`. A line that breaks rules ends in a mark
//! with their names, `//~ edge` or `#~ target`; every other line is a neighbour that the check must pass over. Owns the
//! format and the comparison.

use std::collections::BTreeSet;

use super::tree::{File, Tree};
use super::{Check, Told};

const OPENING: &str = "==> ";

/// The files of a fixture.
pub(super) fn tree(fixture: &str) -> Tree {
    let mut files: Vec<(String, String)> = Vec::new();
    for line in fixture.lines() {
        if let Some(path) = line.strip_prefix(OPENING) {
            files.push((path.trim().to_owned(), String::new()));
        } else if let Some((_, text)) = files.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    Tree::of_files(files.into_iter().map(|(path, text)| File::new(path, text)).collect())
}

/// Runs a check on a fixture: what it finds is what the fixture marks, which is something.
pub(super) fn shown(check: Check, fixture: &str) -> Result<(), Told> {
    let tree = tree(fixture);
    let marked: BTreeSet<(String, usize, String)> = tree.files().flat_map(marks).collect();
    let violations = check(&tree);
    let found: BTreeSet<(String, usize, String)> = violations.iter().map(|one| (one.file.clone(), one.line, one.rule.to_owned())).collect();
    let silent = violations.iter().filter(|one| one.what.is_empty() || one.mend.is_empty());
    let mut faults: Vec<String> = silent.map(|one| format!("says nothing: {one}")).collect();
    faults.extend(marked.difference(&found).map(|(file, line, rule)| format!("{file}:{line}: `{rule}` was not found")));
    for one in &violations {
        if !marked.contains(&(one.file.clone(), one.line, one.rule.to_owned())) {
            faults.push(format!("found where nothing is broken ({}): {one}", one.rule));
        }
    }
    if marked.is_empty() {
        faults.push("the fixture breaks nothing".to_owned());
    }
    if faults.is_empty() { Ok(()) } else { Err(Told(faults.join("\n"))) }
}

/// Where a fixture's file says that it breaks a rule.
fn marks(file: &File) -> Vec<(String, usize, String)> {
    let mut marked = Vec::new();
    for (at, line) in (1..).zip(file.text.lines()) {
        let rules = line.split_once("//~ ").or_else(|| line.split_once("#~ ")).map(|(_, rules)| rules);
        for rule in rules.into_iter().flat_map(|rules| rules.split(',')) {
            marked.push((file.path.clone(), at, rule.trim().to_owned()));
        }
    }
    marked
}

#[test]
fn a_check_that_misses_a_mark_or_finds_too_much_is_told() -> Result<(), Told> {
    fn blind(_: &Tree) -> Vec<super::Violation> {
        Vec::new()
    }
    fn eager(tree: &Tree) -> Vec<super::Violation> {
        let one = |file: &File| super::Violation {
            file: file.path.clone(),
            line: 1,
            rule: "rule",
            what: "broken".into(),
            mend: "mend it".into(),
        };
        tree.files().map(one).collect()
    }
    let fixture = "==> a.rs\nbroken //~ rule\n==> b.rs\nfine\n";
    let missed = shown(blind, fixture).err().map(|told| told.0);
    assert_eq!(missed.as_deref(), Some("a.rs:1: `rule` was not found"));
    let excess = shown(eager, fixture).err().map(|told| told.0);
    assert_eq!(excess.as_deref(), Some("found where nothing is broken (rule): b.rs:1: broken; mend: mend it"));
    assert!(shown(blind, "==> a.rs\nfine\n").is_err(), "a fixture that breaks nothing shows nothing");
    shown(eager, "==> a.rs\nbroken //~ rule\n")
}

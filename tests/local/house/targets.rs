//! The check of test binaries: one for each folder of `tests/`, since each one more links kube and AWS again.
//!
//! Reads `Cargo.toml` and the names of the files under `tests/`. A folder with a `Cargo.toml` of its own is another
//! package and no concern of this check.

use std::collections::BTreeMap;

use super::Violation;
use super::tree::{File, Tree};

const MANIFEST: &str = "Cargo.toml";
const ENTRY: &str = "/main.rs";

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let text = tree.file(MANIFEST).map_or("", |file| file.text.as_str());
    let manifest = match toml::from_str::<toml::Table>(text) {
        Ok(manifest) => manifest,
        Err(error) => {
            return vec![broken(MANIFEST, 1, format!("cannot be read: {}", error.message()), "write valid TOML")];
        }
    };
    let mut found = Vec::new();
    let package = manifest.get("package");
    if package.and_then(|package| package.get("autotests")).and_then(toml::Value::as_bool) != Some(false) {
        let line = line_of(text, "autotests").or_else(|| line_of(text, "[package]")).unwrap_or(1);
        found.push(broken(MANIFEST, line, "cargo makes a binary of each file of tests/".into(), "autotests = false"));
    }
    let targets = targets(&manifest, text, tree);
    let mut folders: BTreeMap<&str, &str> = BTreeMap::new();
    for target in &targets {
        found.extend(fault_of(target, tree, &mut folders));
    }
    for file in tree.files().filter(|file| file.is_under("tests") && !file.is_fixture()) {
        found.extend(stray(file, tree, &folders));
    }
    found
}

struct Target {
    name: String,
    path: String,
    line: usize,
}

impl Target {
    /// The folder of `tests/` that the target has for itself.
    fn folder(&self) -> Option<&str> {
        self.path.strip_suffix(ENTRY).filter(|folder| folder.starts_with("tests/"))
    }
}

/// The test targets, each with the path that cargo takes where it names none.
fn targets(manifest: &toml::Table, text: &str, tree: &Tree) -> Vec<Target> {
    let lines: Vec<usize> =
        (1..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with("[[test]]")).map(|(at, _)| at).collect();
    let all = manifest.get("test").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let target = |(at, one): (usize, &toml::Value)| {
        let field = |key| one.get(key).and_then(toml::Value::as_str);
        let name = field("name").unwrap_or_default().to_owned();
        let usual = [format!("tests/{name}.rs"), format!("tests/{name}{ENTRY}")];
        let usual = usual.iter().find(|path| tree.file(path).is_some()).cloned();
        let path = field("path").map(str::to_owned).or(usual).unwrap_or_else(|| format!("tests/{name}{ENTRY}"));
        Target { name, path, line: lines.get(at).copied().unwrap_or(1) }
    };
    all.iter().enumerate().map(target).collect()
}

fn fault_of<'t>(target: &'t Target, tree: &Tree, folders: &mut BTreeMap<&'t str, &'t str>) -> Option<Violation> {
    let Target { name, path, line } = target;
    let Some(folder) = target.folder() else {
        let what = format!("the test binary `{name}` has no folder of its own: {path}");
        return Some(broken(MANIFEST, *line, what, "make it a module of a folder's main.rs"));
    };
    if tree.file(path).is_none() {
        let what = format!("the test binary `{name}` has no file: {path}");
        return Some(broken(MANIFEST, *line, what, "name the folder's main.rs"));
    }
    let first = folders.insert(folder, name)?;
    let what = format!("a second test binary in {folder}: `{name}` beside `{first}`");
    Some(broken(MANIFEST, *line, what, "keep one and make the other its module"))
}

fn stray(file: &File, tree: &Tree, folders: &BTreeMap<&str, &str>) -> Option<Violation> {
    let inside = file.path.strip_prefix("tests/")?;
    let is_rust = std::path::Path::new(inside).extension().is_some_and(|end| end == "rs");
    if !inside.contains('/') {
        let what = "a test file that stands in no folder".to_owned();
        return is_rust.then(|| broken(&file.path, 1, what, "make it a module of a folder's main.rs"));
    }
    let folder = file.path.strip_suffix(ENTRY)?;
    let above = || folder.match_indices('/').filter_map(|(at, _)| folder.get(..at));
    if above().chain([folder]).any(|folder| tree.file(&format!("{folder}/{MANIFEST}")).is_some()) {
        return None;
    }
    if let Some(outer) = above().find(|outer| folders.contains_key(outer)) {
        let what = format!("a second main.rs inside {outer}, which has its binary");
        return Some(broken(&file.path, 1, what, "make it a module (mod.rs), or move it to a folder beside"));
    }
    let what = "a main.rs that no test binary runs".to_owned();
    (!folders.contains_key(folder)).then(|| broken(&file.path, 1, what, "name it in a [[test]] of Cargo.toml"))
}

fn line_of(text: &str, start: &str) -> Option<usize> {
    (1..).zip(text.lines()).find(|(_, line)| line.trim_start().starts_with(start)).map(|(at, _)| at)
}

fn broken(file: &str, line: usize, what: String, mend: &str) -> Violation {
    Violation { file: file.to_owned(), line, rule: "target", what, mend: mend.to_owned() }
}

#[test]
fn a_second_binary_in_a_folder_of_tests_is_found() -> Result<(), super::Told> {
    super::proof::shown(check, include_str!("fixtures/targets.txt"))
}

#[test]
fn binaries_that_cargo_makes_by_itself_are_found() -> Result<(), super::Told> {
    super::proof::shown(check, include_str!("fixtures/targets-auto.txt"))
}

#[test]
fn each_folder_of_this_repositorys_tests_has_one_binary() -> Result<(), super::Told> {
    super::kept_here(check)
}

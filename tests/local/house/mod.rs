//! The house rules: what holds the architecture, the limits on size and the manners of this repository's text.
//!
//! Every check is a pure function from a [`Tree`] to its [`Violation`]s. Each is shown to fail on a fixture that breaks
//! it and to pass over the neighbours that do not, and is then run on the repository itself; a run prints everything it
//! found at once. This module owns what the checks share: the violation, the repository as it was read, and the report.
//! It may use no part of `millrace`: it reads the text, so that it also judges what the features leave out.

mod ambient;
mod edges;
mod machine;
mod manners;
mod names;
mod paths;
mod proof;
mod resolve;
mod rooms;
mod shells;
mod size;
mod targets;
mod tokens;
mod tree;

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use tree::Tree;

/// A rule that is broken at a place, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Violation {
    file: String,
    line: usize,
    rule: &'static str,
    what: String,
    mend: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}: {}; mend: {}", self.file, self.line, self.what, self.mend)
    }
}

/// Why a test failed. Its `Debug` is what the test harness prints, so it is written as plain lines.
struct Told(String);

impl fmt::Debug for Told {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

type Check = fn(&Tree) -> Vec<Violation>;

/// The repository, read once for all checks.
static HERE: LazyLock<Result<Tree, String>> =
    LazyLock::new(|| Tree::of_folder(Path::new(env!("CARGO_MANIFEST_DIR"))).map_err(|error| error.to_string()));

fn here() -> Result<&'static Tree, Told> {
    HERE.as_ref().map_err(|error| Told(format!("the repository cannot be read: {error}")))
}

/// Runs a check on the repository.
fn kept_here(check: Check) -> Result<(), Told> {
    let mut found = check(here()?);
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    Err(Told(format!("{} broken:\n{}", lines.len(), lines.join("\n"))))
}

#[test]
fn the_repository_is_what_the_checks_read() -> Result<(), Told> {
    let tree = here()?;
    for path in ["Cargo.toml", "src/lib.rs", "tests/local/house/mod.rs"] {
        assert!(tree.file(path).is_some(), "{path} was not read");
    }
    Ok(())
}

#[test]
fn a_violation_reads_as_place_fault_and_mend() {
    let violation =
        Violation { file: "src/lang/mod.rs".into(), line: 3, rule: "edge", what: "`lang` uses `sink`".into(), mend: "move it".into() };
    assert_eq!(violation.to_string(), "src/lang/mod.rs:3: `lang` uses `sink`; mend: move it");
}

//! The check of test names: a test of an acceptance scenario or of an invariant carries its number where it is looked for.
//!
//! `cargo test scenario_35` and `cargo test i17` must run what they say. Owns how many there are of each.

use super::Violation;
use super::paths::{self, Named};
use super::tree::Tree;

const SCENARIOS: u32 = 65;
const INVARIANTS: u32 = 46;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust(&["src", "tests"]) {
        for test in paths::facts(file, Vec::new()).tests {
            found.extend(fault(&test).map(|(what, mend)| Violation {
                file: file.path.clone(),
                line: test.line,
                rule: "name",
                what: format!("`{}` {what}", test.name),
                mend,
            }));
        }
    }
    found
}

fn fault(test: &Named) -> Option<(String, String)> {
    let name = test.name.as_str();
    let (what, form, of) = if let Some(rest) = name.strip_prefix("scenario") {
        (rest.strip_prefix('_').and_then(numbered), "scenario_NN_what_happens", SCENARIOS)
    } else if let Some(rest) = name.strip_prefix('i').filter(|rest| rest.starts_with(|one: char| one.is_ascii_digit())) {
        (numbered(rest), "iNN_what_holds", INVARIANTS)
    } else {
        let mut parts = name.split('_').zip(name.split('_').skip(1));
        let number = |part: &str| part.starts_with(|one: char| one.is_ascii_digit());
        let inside = parts.any(|(word, next)| ["scenario", "invariant"].contains(&word) && number(next));
        return inside.then(|| ("hides its number in the middle".to_owned(), "begin with `scenario_NN_` or `iNN_`".to_owned()));
    };
    match what {
        Some(number) if (1..=of).contains(&number) => None,
        Some(number) => Some((format!("says {number}, of 1 to {of}"), "take the number from the page".to_owned())),
        None => Some(("does not carry its number in two digits".to_owned(), format!("call it `{form}`"))),
    }
}

/// The number of `NN_words`.
fn numbered(rest: &str) -> Option<u32> {
    let (number, words) = rest.split_once('_')?;
    let two = number.len() == 2 && number.bytes().all(|one| one.is_ascii_digit());
    if two && !words.is_empty() { number.parse().ok() } else { None }
}

#[test]
fn tests_whose_names_hide_their_scenario_or_invariant_are_found() -> Result<(), super::Told> {
    super::proof::shown(check, include_str!("fixtures/names.txt"))
}

#[test]
fn tests_of_this_repository_carry_the_numbers_of_scenarios_and_invariants() -> Result<(), super::Told> {
    super::kept_here(check)
}

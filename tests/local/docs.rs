//! Documentation that is made from code, and held against it. `tests/generate` writes it anew.

use millrace::api::class::{self, Class};
use millrace::api::condition::{ConditionType, Presence};
use millrace::error::CODES;
use std::path::Path;

const BEGIN: &str = "<!-- made by tests/generate -->\n";
const END: &str = "<!-- end -->";

/// Holds the generated part of a page against its rows; with `MILLRACE_GENERATE` set, writes them.
fn table(file: &str, head: &str, rows: &[String]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{file} lacks the line {BEGIN}"));
    let (_, after) = rest.split_once(END).unwrap_or_else(|| panic!("{file} lacks {END}"));
    let rule = format!("|{}", " --- |".repeat(head.matches('|').count() - 1));
    let wanted = format!("{before}{BEGIN}{head}\n{rule}\n{}\n{END}{after}", rows.join("\n"));
    if std::env::var_os("MILLRACE_GENERATE").is_some() {
        std::fs::write(&path, wanted).unwrap();
    } else {
        assert!(text == wanted, "{file} is out of date: run `tests/generate`");
    }
}

#[test]
fn every_error_code_stands_in_the_documentation_as_in_the_code() {
    let rows: Vec<_> = CODES
        .iter()
        .map(|entry| format!("| {} | `{}` | {:?} | {} | {} |", entry.code, entry.reason, entry.whose, entry.meaning, entry.mend))
        .collect();
    table("docs/errors.md", "| code | reason | whose | what it says | what to do |", &rows);
}

#[test]
fn every_error_of_a_root_stands_in_the_documentation() {
    let rows: Vec<_> = millrace::lang::codes::CODES
        .iter()
        .map(|entry| format!("| {} | `{}` | {} | {} |", entry.code, entry.reason, cell(entry.meaning), cell(entry.mend)))
        .collect();
    table("docs/program-errors.md", "| code | name | what it says | what to do |", &rows);
}

#[test]
fn every_failure_of_a_tick_stands_in_the_documentation() {
    let rows: Vec<_> = millrace::dataflow::value::codes::CODES
        .iter()
        .map(|entry| format!("| {} | `{}` | {} | {} |", entry.code, entry.reason, cell(entry.meaning), cell(entry.mend)))
        .collect();
    table("docs/tick-errors.md", "| code | name | what it says | what to do |", &rows);
}

/// A bar inside a cell would end it.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn every_field_stands_in_the_documentation_with_its_class() {
    let rows: Vec<_> = class::leaves().iter().map(|(path, class)| format!("| `{path}` | {} |", class.map_or("", Class::word))).collect();
    table("docs/fields.md", "| field | class |", &rows);
}

#[test]
fn every_condition_stands_in_the_documentation() {
    let rows: Vec<_> = ConditionType::ALL
        .iter()
        .map(|kind| {
            let reasons: Vec<_> = kind.reasons().iter().map(|reason| format!("`{reason}`")).collect();
            let presence = if kind.presence() == Presence::Always { "always" } else { "while true" };
            format!("| `{}` | {presence} | {} | {} |", kind.name(), kind.meaning(), reasons.join(", "))
        })
        .collect();
    table("docs/conditions.md", "| condition | present | what it says | reasons |", &rows);
}

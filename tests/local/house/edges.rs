//! The check of edges: no room of `src` uses one that the architecture does not let it use.
//!
//! Judges every path by the table in `rooms`: edges between top-level modules, foreign crates, modules that the table
//! does not know, and the ways around it (`crate::*`, `#[path]`, `include!`). Code for tests is held to the same edges.

use std::collections::BTreeSet;

use super::Violation;
use super::paths::{self, Facts, Mention, Role};
use super::resolve::{Names, Target};
use super::rooms::{self, MAIN};
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let all = paths::source(tree);
    let names = Names::of(&all);
    let mut found: Vec<Violation> = all.iter().filter_map(unknown_room).collect();
    for facts in &all {
        found.extend(unknown_modules(facts));
        found.extend(detours(facts));
        let mut judged = BTreeSet::new();
        for mention in &facts.mentions {
            for target in names.written(facts, mention) {
                let violation = judge(facts, mention, &target);
                if violation.is_some() {
                    judged.insert(reach(mention, &target));
                }
                found.extend(violation);
            }
        }
        // Where the `use` that binds a name was found, the lines that say the name are not found again.
        for mention in &facts.mentions {
            for target in names.bound(facts, mention) {
                if !judged.contains(&reach(mention, &target)) {
                    found.extend(judge(facts, mention, &target));
                }
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// From which room to which room or crate.
type Reach = (Option<String>, Option<String>);

fn reach(mention: &Mention, target: &Target) -> Reach {
    let (Target::Here(path) | Target::Out(path)) = target;
    (mention.at.module.first().cloned(), path.first().cloned())
}

fn judge(facts: &Facts, mention: &Mention, target: &Target) -> Option<Violation> {
    let module = &mention.at.module;
    let from = module.first().map_or("the crate's root", String::as_str);
    let place = |rule, what, mend| Some(Violation { file: facts.file.clone(), line: mention.line, rule, what, mend });
    match target {
        Target::Here(path) => match path.first() {
            None if mention.role == Role::Glob && !module.is_empty() => place(
                "edge",
                format!("`{from}` takes everything from the crate's root, which names every room"),
                "name what is used".to_owned(),
            ),
            Some(to) if rooms::room(to).is_some() && !rooms::may_use(module, to) => place(
                "edge",
                format!("`{from}` uses `{to}`"),
                format!("`{}` may use {}; let the caller hand it in, or move it down", module.join("::"), allowed(from)),
            ),
            _ => None,
        },
        Target::Out(path) => match path.first() {
            Some(to) if !rooms::may_name(module, to) => place(
                "foreign",
                format!("`{}` names the crate `{to}`", if module.is_empty() { from.to_owned() } else { module.join("::") }),
                format!("keep `{to}` where rooms.rs lets it stand, behind a trait or a type of ours"),
            ),
            _ => None,
        },
    }
}

fn allowed(from: &str) -> String {
    let all: Vec<String> = rooms::ROOMS
        .iter()
        .filter(|room| room.name != from && rooms::may_use(&[from.to_owned()], room.name))
        .map(|room| format!("`{}`", room.name))
        .collect();
    if all.is_empty() { "no other room".to_owned() } else { all.join(", ") }
}

/// A file that belongs to no room.
fn unknown_room(facts: &Facts) -> Option<Violation> {
    let first = facts.module.first()?;
    let is_known = rooms::room(first).is_some() && (first != MAIN || facts.module.len() == 1);
    (!is_known).then(|| room_violation(&facts.file, 1, first))
}

/// Modules that a root declares and the table does not know, wherever their text stands; `main.rs` may declare none.
fn unknown_modules(facts: &Facts) -> Vec<Violation> {
    let here = |at: &[String]| at.is_empty() || (at.len() == 1 && at.first().is_some_and(|first| first == MAIN));
    let unknown = |name: &str| facts.module.first().is_some_and(|first| first == MAIN) || rooms::room(name).is_none();
    let at_root = facts.modules.iter().filter(|module| here(&module.at.module) && unknown(&module.name));
    at_root.map(|module| room_violation(&facts.file, module.line, &module.name)).collect()
}

fn room_violation(file: &str, line: usize, name: &str) -> Violation {
    Violation {
        file: file.to_owned(),
        line,
        rule: "room",
        what: format!("the top-level module `{name}` is not in the architecture"),
        mend: "move it into a room, or give it a line in rooms.rs and on the page of the architecture".to_owned(),
    }
}

fn detours(facts: &Facts) -> Vec<Violation> {
    let violation = |detour: &paths::Named| Violation {
        file: facts.file.clone(),
        line: detour.line,
        rule: "edge",
        what: format!("`{}` brings in a file that stands elsewhere", detour.name),
        mend: "put the file where its module is, and use it by its path".to_owned(),
    };
    facts.detours.iter().map(violation).collect()
}

#[cfg(test)]
mod tests {
    //! The fixtures, and the repository.

    use super::super::{Told, kept_here, proof};
    use super::check;

    #[test]
    fn edges_that_the_architecture_forbids_are_found() -> Result<(), Told> {
        proof::shown(check, include_str!("fixtures/edges.txt"))
    }

    #[test]
    fn edges_are_found_in_every_way_to_write_them() -> Result<(), Told> {
        proof::shown(check, include_str!("fixtures/edges-forms.txt"))
    }

    #[test]
    fn foreign_crates_are_found_outside_their_places() -> Result<(), Told> {
        proof::shown(check, include_str!("fixtures/edges-foreign.txt"))
    }

    #[test]
    fn rooms_that_the_architecture_does_not_know_are_found() -> Result<(), Told> {
        proof::shown(check, include_str!("fixtures/edges-rooms.txt"))
    }

    #[test]
    fn this_repository_has_only_edges_that_the_architecture_allows() -> Result<(), Told> {
        kept_here(check)
    }
}

//! The check of paths of one machine: nothing in the repository holds a path that exists only where it was written.
//!
//! Looks at the text of every file for the homes of people and of root, and for the folder in which this project was
//! begun. Owns the patterns, which are put together here so that this file does not hold them.

use super::Violation;
use super::tree::Tree;

/// Folders of the root under which the next name is a person's.
const HOMES: [&str; 2] = ["home", "Users"];

/// Folders of the root that are one machine's altogether.
const PRIVATE: [&str; 2] = ["root", "work"];

/// Users of container images, who have the same home everywhere.
const EVERYWHERE: [&str; 1] = ["nonroot"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.files() {
        for (line, text) in (1..).zip(file.text.lines()) {
            found.extend(path_of_one_machine(text).map(|path| Violation {
                file: file.path.clone(),
                line,
                rule: "machine",
                what: format!("`{path}` exists on one machine"),
                mend: "say it from the repository's root, or from a variable or the user's cache folder".to_owned(),
            }));
        }
    }
    found
}

fn path_of_one_machine(line: &str) -> Option<String> {
    let home = |home: &&str| {
        let opening = format!("/{home}/");
        let mut starts = line.match_indices(&opening).filter(|(at, _)| begins_path(line.get(..*at).unwrap_or_default()));
        starts.find_map(|(at, _)| {
            let rest = line.get(at.saturating_add(opening.len())..)?;
            let name: String = rest.chars().take_while(|one| one.is_ascii_alphanumeric() || "_-.".contains(*one)).collect();
            let person = name.starts_with(|one: char| one.is_ascii_alphanumeric()) && !EVERYWHERE.contains(&name.as_str());
            person.then(|| format!("{opening}{name}"))
        })
    };
    let private = |folder: &&str| {
        let opening = format!("/{folder}/");
        let mut starts = line.match_indices(&opening);
        starts.any(|(at, _)| begins_path(line.get(..at).unwrap_or_default())).then_some(opening)
    };
    let windows = || {
        let opening = ":\\Users\\";
        line.contains(opening).then(|| opening.to_owned())
    };
    HOMES.iter().find_map(home).or_else(|| PRIVATE.iter().find_map(private)).or_else(windows)
}

/// Whether a path can begin after this text: not after a name, a variable or a quoted one, which it would go on.
fn begins_path(before: &str) -> bool {
    let ends_name = |text: &str| text.ends_with(|one: char| one.is_alphanumeric() || "_-.~/})]>*$".contains(one));
    let unquoted = before.strip_suffix(['"', '\'']).unwrap_or(before);
    before.ends_with("://") || !(ends_name(before) || (unquoted.len() < before.len() && ends_name(unquoted)))
}

#[cfg(test)]
mod tests {
    //! Lines put together here: a fixture would be found by the check itself.

    use super::super::tree::{File, Tree};
    use super::super::{Told, kept_here};
    use super::check;

    /// Puts the paths of `<home>`, `<root>` and the like together.
    fn found(line: &str) -> bool {
        let names = ["home", "root", "work", "Users"];
        let text = names.iter().fold(line.to_owned(), |text, name| text.replace(&format!("<{name}>"), name));
        let tree = Tree::of_files(vec![File::new("tests/bed/up".into(), format!("#!/bin/sh\n{text}\n"))]);
        check(&tree).iter().any(|one| one.line == 2)
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        for line in [
            "cd /<home>/ada/millrace",
            "let path = \"/<home>/ada\";",
            "PATH=/usr/bin:/<root>/.cargo/bin",
            "see /<work>/shared/design",
            "(`/<Users>/ada/x`)",
            "file:///<root>/x",
            "C:\\<Users>\\ada",
        ] {
            assert!(found(line), "{line}");
        }
    }

    #[test]
    fn paths_that_go_on_or_name_nobody_are_not_found() {
        for line in [
            "ls examples/<root>/pipeline.yaml",
            "cp \"$cache\"/<work>/x \"${cache}/<work>/x\" ~/<work>/x",
            "https://example.com/<home>/page",
            "mount /<home>/$USER /<home>/<you>/",
            "WORKDIR /<home>/nonroot",
            "cd /<root>",
            "../<work>/x and ./<work>/x",
        ] {
            assert!(!found(line), "{line}");
        }
    }

    #[test]
    fn nothing_in_this_repository_holds_a_path_of_one_machine() -> Result<(), Told> {
        kept_here(check)
    }
}

//! The check of empty shells: a module appears when there is something in it.
//!
//! A file of `src` without an item is a violation, and so is one that only declares modules of which none holds
//! anything. Imports and what is only built for tests are nothing; a re-export is something.

use std::collections::BTreeMap;

use super::Violation;
use super::tokens::{self, Token};
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let contents: BTreeMap<&str, Content> =
        tree.rust(&["src"]).filter(|file| file.tokens.is_ok()).map(|file| (file.path.as_str(), content(file.tokens()))).collect();
    let shells = contents.iter().filter(|(path, _)| !holds(path, &contents));
    shells
        .map(|(path, content)| {
            let (what, mend) = if content.modules.is_empty() {
                ("the file holds no item", "remove it until there is something to put in")
            } else {
                ("the module only declares modules, and none of them holds anything", "remove them until one does")
            };
            Violation { file: (*path).to_owned(), line: 1, rule: "shell", what: what.to_owned(), mend: mend.to_owned() }
        })
        .collect()
}

/// What a file holds: something of its own, and modules in files of their own.
#[derive(Default)]
struct Content {
    something: bool,
    modules: Vec<String>,
}

fn holds(path: &str, contents: &BTreeMap<&str, Content>) -> bool {
    let Some(content) = contents.get(path) else {
        return false;
    };
    let folder = match path.rsplit_once('/') {
        Some((folder, "lib.rs" | "main.rs" | "mod.rs")) => folder,
        _ => path.strip_suffix(".rs").unwrap_or(path),
    };
    let below =
        |module: &String| [format!("{folder}/{module}.rs"), format!("{folder}/{module}/mod.rs")].iter().any(|path| holds(path, contents));
    content.something || content.modules.iter().any(below)
}

fn content(level: &[Token]) -> Content {
    let mut content = Content::default();
    let mut rest = level;
    let mut public = false;
    let mut test = false;
    while let [first, tail @ ..] = rest {
        if let Some((attribute, taken)) = tokens::attribute(rest) {
            test |= tokens::asks_for_test(attribute);
            rest = rest.get(taken..).unwrap_or_default();
            continue;
        }
        if first.is_word("pub") || (public && first.parens().is_some()) || first.is_mark(';') {
            public |= first.is_word("pub");
            rest = tail;
            continue;
        }
        let is_import = first.is_word("use");
        match rest {
            [word, name, body, ..] if word.is_word("mod") => {
                let inner = body.braces().map(self::content);
                content.something |= !test && inner.as_ref().is_some_and(|inner| inner.something);
                content.modules.extend(name.word().filter(|_| !test && inner.is_none()).map(str::to_owned));
            }
            _ => content.something |= !test && (public || !is_import),
        }
        let ends = |token: &Token| token.is_mark(';') || (!is_import && token.braces().is_some());
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        rest = rest.get(end.saturating_add(1)..).unwrap_or_default();
        (public, test) = (false, false);
    }
    content
}

#[test]
fn modules_that_hold_nothing_are_found() -> Result<(), super::Told> {
    super::proof::shown(check, include_str!("fixtures/shells.txt"))
}

#[test]
fn every_module_of_this_repository_holds_something() -> Result<(), super::Told> {
    super::kept_here(check)
}

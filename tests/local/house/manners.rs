//! The check of manners: what a Rust file opens with, and what it may not leave lying about.
//!
//! A module of `src` opens with what it is for. An `allow` or `expect` has its reason. No test is ignored, nothing is
//! left unfinished, and `unsafe` stands in the native tier alone. A file that cannot be read as Rust is found here too,
//! since the other checks see nothing in it.

use super::Violation;
use super::tokens::{self, Token};
use super::tree::{File, Tree};

const FOLDERS: [&str; 4] = ["src", "tests", "benches", "examples"];

/// Where `unsafe` may stand.
const NATIVE: [&str; 2] = ["src/dataflow/native", "src/dataflow/native.rs"];

/// Words of a comment that mean unfinished; put together here so that this file does not hold them.
const WORDS: [&str; 2] = [concat!("FIX", "ME"), concat!("X", "XX")];

/// Macros that mean unfinished.
const MACROS: [&str; 2] = ["todo", "unimplemented"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust(&FOLDERS) {
        let mut say = |line, rule, what: &str, mend: &str| {
            found.push(Violation { file: file.path.clone(), line, rule, what: what.to_owned(), mend: mend.to_owned() });
        };
        if let Err((line, error)) = &file.tokens {
            say(*line, "unreadable", &format!("not Rust: {error}"), "make it compile");
        }
        if file.is_under("src") && !opens_with_doc(file) {
            say(1, "doc", "the module does not open with what it is for", "begin with a `//!` comment");
        }
        for (line, text) in (1..).zip(file.text.lines()) {
            if let Some(word) = WORDS.into_iter().find(|word| holds_word(text, word)) {
                say(line, "unfinished", &format!("`{word}` is left"), "finish it, or file an issue and say its number");
            }
        }
        let native = NATIVE.iter().any(|native| file.path == *native || file.is_under(native));
        tokens::each(file.tokens(), &mut |rest| {
            let Some(first) = rest.first() else {
                return;
            };
            if let Some((attribute, _)) = tokens::attribute(rest) {
                for (line, lint) in without_reason(attribute) {
                    say(line, "reason", &format!("`{lint}` without a reason"), "add `reason = \"…\"`, or mend the cause");
                }
                if is_ignored(attribute) {
                    say(first.line, "ignored", "a test that is never run", "make it run, or remove it");
                }
            }
            if let [name, bang, body, ..] = rest
                && let Some(name) = name.word().filter(|name| MACROS.contains(name))
                && bang.is_mark('!')
                && body.group().is_some()
            {
                say(first.line, "unfinished", &format!("`{name}!` is left"), "write what belongs there");
            }
            if first.is_word("unsafe") && !native {
                say(first.line, "unsafe", "`unsafe` outside the native tier", "use a safe way or a crate that has one");
            }
        });
    }
    found
}

fn opens_with_doc(file: &File) -> bool {
    let first = file.text.lines().map(str::trim_start).find(|line| !line.is_empty()).unwrap_or_default();
    first.starts_with("//!") || first.starts_with("#![doc")
}

fn holds_word(text: &str, word: &str) -> bool {
    text.split(|one: char| !one.is_alphanumeric() && one != '_').any(|own| own == word)
}

/// The `allow(…)` and `expect(…)` of an attribute that give no reason, also inside `cfg_attr`.
fn without_reason(attribute: &[Token]) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    tokens::each(attribute, &mut |rest| {
        if let [lint, list, ..] = rest
            && let Some(name) = lint.word().filter(|name| ["allow", "expect"].contains(name))
            && let Some(list) = list.parens()
            && !list.windows(2).any(|pair| matches!(pair, [key, is] if key.is_word("reason") && is.is_mark('=')))
        {
            found.push((lint.line, name));
        }
    });
    found
}

fn is_ignored(attribute: &[Token]) -> bool {
    match attribute {
        [first, ..] if first.is_word("ignore") => true,
        [first, list] if first.is_word("cfg_attr") => {
            let parts = list.parens().unwrap_or_default().split(|token| token.is_mark(','));
            parts.skip(1).any(is_ignored)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    //! The fixture, the words that cannot stand in a fixture's neighbourhood unseen, and the repository.

    use super::super::tree::{File, Tree};
    use super::super::{Told, kept_here, proof};
    use super::{WORDS, check};

    #[test]
    fn modules_without_doc_lints_without_reason_and_unfinished_work_are_found() -> Result<(), Told> {
        proof::shown(check, include_str!("fixtures/manners.txt"))
    }

    #[test]
    fn comments_that_say_unfinished_are_found() {
        let [first, second] = WORDS;
        let text = format!("//! Doc.\n// {first}: later\nconst FORM: &str = \"{second}-\";\nconst {second}L: u8 = 0;\n");
        let tree = Tree::of_files(vec![File::new("src/lang/mod.rs".into(), text)]);
        let lines: Vec<usize> = check(&tree).iter().map(|one| one.line).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn the_files_of_this_repository_have_manners() -> Result<(), Told> {
        kept_here(check)
    }
}

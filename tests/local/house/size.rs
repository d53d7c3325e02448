//! The checks of size: no file over 600 lines, no function over five arguments.
//!
//! `length` holds for Rust and for scripts, `arguments` for every function, method and closure, `self` not counted, as
//! well as those in the arguments of a macro that read as Rust. Fixtures are exempt. Owns both limits.

use syn::parse::Parser;
use syn::visit::{self, Visit};
use syn::{Expr, FnArg, Token};

use super::Violation;
use super::tree::{File, Tree};

const LINES: usize = 600;
const ARGUMENTS: usize = 5;

const FOLDERS: [&str; 4] = ["src", "tests", "benches", "examples"];
const SCRIPTS: [&str; 7] = ["rs", "sh", "py", "js", "mjs", "ts", "go"];

pub(super) fn length(tree: &Tree) -> Vec<Violation> {
    let sources = tree.files().filter(|file| FOLDERS.iter().any(|folder| file.is_under(folder)));
    let sources = sources.filter(|file| !file.is_fixture() && is_written_code(file));
    let long = sources.map(|file| (file, file.text.lines().count())).filter(|(_, lines)| *lines > LINES);
    long.map(|(file, lines)| Violation {
        file: file.path.clone(),
        line: LINES.saturating_add(1),
        rule: "length",
        what: format!("{lines} lines, more than {LINES}"),
        mend: "split it by what its parts are for".to_owned(),
    })
    .collect()
}

fn is_written_code(file: &File) -> bool {
    let end = std::path::Path::new(&file.path).extension().and_then(|end| end.to_str());
    end.map_or_else(|| file.text.starts_with("#!"), |end| SCRIPTS.contains(&end))
}

pub(super) fn arguments(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.rust(&FOLDERS) {
        let mut wide = Wide::default();
        match syn::parse_file(&file.text) {
            Ok(syntax) => wide.visit_file(&syntax),
            Err(error) => found.push(Violation {
                file: file.path.clone(),
                line: error.span().start().line,
                rule: "unreadable",
                what: format!("no function can be seen: {error}"),
                mend: "make it compile; where it does, syn must learn to read it".to_owned(),
            }),
        }
        found.extend(wide.found.into_iter().map(|(line, name, count)| Violation {
            file: file.path.clone(),
            line,
            rule: "arguments",
            what: format!("{name} takes {count} arguments, more than {ARGUMENTS}"),
            mend: "give those that belong together a type".to_owned(),
        }));
    }
    found
}

/// Collects what takes too many arguments: line, name, how many.
#[derive(Default)]
struct Wide {
    found: Vec<(usize, String, usize)>,
}

impl Wide {
    fn count(&mut self, line: usize, name: String, count: usize) {
        if count > ARGUMENTS {
            self.found.push((line, name, count));
        }
    }
}

impl<'ast> Visit<'ast> for Wide {
    fn visit_signature(&mut self, function: &'ast syn::Signature) {
        let typed = function.inputs.iter().filter(|input| matches!(input, FnArg::Typed(_))).count();
        self.count(function.ident.span().start().line, format!("`{}`", function.ident), typed);
        visit::visit_signature(self, function);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let line = closure.or1_token.span.start().line;
        self.count(line, "a closure".to_owned(), closure.inputs.len());
        visit::visit_expr_closure(self, closure);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        let tokens = || call.tokens.clone();
        let list = syn::punctuated::Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(file) = syn::parse2::<syn::File>(tokens()) {
            self.visit_file(&file);
        } else if let Ok(expressions) = list.parse2(tokens()) {
            for expression in &expressions {
                self.visit_expr(expression);
            }
        } else if let Ok(statements) = syn::Block::parse_within.parse2(tokens()) {
            for statement in &statements {
                self.visit_stmt(statement);
            }
        }
        visit::visit_macro(self, call);
    }
}

#[cfg(test)]
mod tests {
    //! The fixtures, those of 601 lines made here, and the repository.

    use super::super::tree::{File, Tree};
    use super::super::{Told, kept_here, proof};
    use super::{arguments, length};

    #[test]
    fn files_over_six_hundred_lines_are_found() {
        let file = |path: &str, start: &str, lines| File::new(path.into(), start.to_owned() + &"// line\n".repeat(lines));
        let tree = Tree::of_files(vec![
            file("src/lang/long.rs", "", 601),
            file("src/lang/full.rs", "", 600),
            file("tests/run", "#!/bin/sh\n", 600),
            file("tests/bed/clock.js", "", 601),
            file("tests/local/fixtures/data.rs", "", 601),
            file("examples/turbines/records", "", 601),
            file("docs/language.md", "", 601),
        ]);
        let found: Vec<String> = length(&tree).iter().map(ToString::to_string).collect();
        let expected = ["src/lang/long.rs", "tests/bed/clock.js", "tests/run"]
            .map(|path| format!("{path}:601: 601 lines, more than 600; mend: split it by what its parts are for"));
        assert_eq!(found, expected);
    }

    #[test]
    fn functions_of_more_than_five_arguments_are_found() -> Result<(), Told> {
        proof::shown(arguments, include_str!("fixtures/arguments.txt"))
    }

    #[test]
    fn no_file_of_this_repository_is_over_six_hundred_lines() -> Result<(), Told> {
        kept_here(length)
    }

    #[test]
    fn no_function_of_this_repository_takes_more_than_five_arguments() -> Result<(), Told> {
        kept_here(arguments)
    }
}

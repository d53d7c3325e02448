//! The formatter.
//!
//! Owns: where blanks, line breaks and indents go. Every token and comment of the text comes out again, in order, so the
//! layout cannot change what a root means; formatting twice is formatting once.
//! May not: add, remove or rewrite tokens.

mod layout;
mod print;

use super::MAX_ROOT;
use super::diagnostic::Diagnostics;
use super::lexer::lex;
use super::parser;
use print::Printer;

/// Lays a root out.
pub(super) fn format(text: &str) -> Result<String, Diagnostics> {
    let parsed = parser::root(text);
    if !parsed.errors.is_empty() {
        return Err(Diagnostics::new(text, parsed.errors));
    }
    let mut printer = Printer::new(text, &parsed);
    printer.root();
    let out = layout::lay_out(&printer.finish());
    // What would be too long to be read again stays as it is; the rest is a safeguard against faults of our own.
    Ok(if out.len() <= MAX_ROOT && same(text, &out) { out } else { text.to_owned() })
}

/// Whether two texts have the same tokens and comments.
fn same(one: &str, other: &str) -> bool {
    let read = |text: &str| {
        let lexed = lex(text);
        let tokens = lexed.tokens.iter().map(|token| token.span.of(text));
        let comments = lexed.comments.iter().map(|comment| comment.span.of(text));
        let tokens: String = tokens.collect();
        (tokens, comments.map(str::to_owned).collect::<Vec<_>>())
    };
    read(one) == read(other)
}

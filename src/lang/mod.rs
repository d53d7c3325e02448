//! The root language: from text to a checked program.
//!
//! Owns: lexer, parser, syntax tree, types, checker, formatter, diagnostics of `.dsrv` roots and of the texts of
//! `dynamic` and `defer`.
//! May not: evaluate, read files or clocks, or know any other room of ours.
//!
//! No text makes it panic, hang or overflow the stack: lengths, nesting, sizes of types and expansions are bounded, and
//! what passes a bound is an error with its place.

pub mod builtins;
mod check;
pub mod checked;
pub mod codes;
pub mod diagnostic;
mod format;
mod lexer;
pub mod literal;
mod names;
mod parser;
mod relate;
pub mod syntax;
mod token;
pub mod types;

use checked::{Checked, CheckedExpr};
use diagnostic::Diagnostics;
use parser::Parsed;
use std::sync::Arc;
use syntax::Root;
use types::Type;

/// The longest root, in bytes.
pub const MAX_ROOT: usize = 1 << 20;
/// The longest text of a `dynamic` or `defer`, in bytes.
pub const MAX_TEXT: usize = 16 << 10;
/// The most streams in a root.
pub const MAX_STREAMS: usize = 4_096;
/// The longest delay, in ticks.
pub const MAX_DELAY: u32 = 1_000_000;

/// Parses a root without checking it.
///
/// # Errors
/// All syntax errors, by place.
pub fn parse(text: &str) -> Result<Root, Diagnostics> {
    let parsed = parser::root(text);
    if parsed.errors.is_empty() { Ok(parsed.root) } else { Err(Diagnostics::new(text, parsed.errors)) }
}

/// Parses and checks a root.
///
/// # Errors
/// All errors, by place: those of the syntax and those of what could be read.
pub fn check(text: &str) -> Result<Checked, Diagnostics> {
    let Parsed { root, mut errors, .. } = parser::root(text);
    let checked = check::program(&root, &mut errors);
    checked.filter(|_| errors.is_empty()).ok_or_else(|| Diagnostics::new(text, errors))
}

/// Parses and checks one expression, the text of a `dynamic` or `defer`, over the streams it may name.
/// Where a type is expected, the result has it (with a cast in the body), or the text is refused.
///
/// # Errors
/// All errors, by place in `text`.
pub fn check_expression(text: &str, scope: &[(Arc<str>, Type)], expected: Option<&Type>) -> Result<CheckedExpr, Diagnostics> {
    let Parsed { root, mut errors, .. } = parser::text(text);
    let checked = check::expression(&root, scope, expected, &mut errors);
    checked.filter(|_| errors.is_empty()).ok_or_else(|| Diagnostics::new(text, errors))
}

/// Lays a root out in the one canonical way: comments, order and brackets stay, blanks and line breaks are ours.
///
/// # Errors
/// All syntax errors, by place. Roots that do not check can be formatted.
pub fn format(text: &str) -> Result<String, Diagnostics> {
    format::format(text)
}

#[cfg(test)]
mod tests;

//! Tests of the room as a whole.

mod deep;
mod docs;
mod errors;
mod format;
mod interface;
mod random;
mod types;
mod vectors;

use super::checked::{Checked, Op};
use super::diagnostic::Report;

/// A root that must check.
fn checked(text: &str) -> Checked {
    super::check(text).unwrap_or_else(|errors| panic!("{text}\n{}", errors.render("test.dsrv")))
}

/// The errors of a root that must not check.
fn errors(text: &str) -> Vec<Report> {
    super::check(text).err().unwrap_or_else(|| panic!("this must be refused:\n{text}")).reports()
}

/// The ops of a stream's body.
fn ops<'all>(checked: &'all Checked, name: &str) -> Vec<&'all Op> {
    let (_, stream) = checked.find(name).unwrap();
    let super::checked::Equation::Body(body) = stream.equation else { panic!("{name} has no body") };
    checked.body(body).unwrap().nodes.iter().map(|node| &node.op).collect()
}

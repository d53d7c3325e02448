//! Plans for the tests of rooms that do not know the language.
//!
//! Owns: the way from a text to a plan, for tests.
//! May not: be part of a program.

use super::{Limits, Plan};
use crate::lang::checked::Checked;

/// A root that is known to be valid.
pub(crate) fn checked(root: &str) -> Checked {
    crate::lang::check(root).unwrap()
}

/// Its plan.
pub(crate) fn plan(root: &str) -> Plan {
    Plan::new(&checked(root), Limits::default())
}

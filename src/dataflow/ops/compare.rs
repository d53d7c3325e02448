//! `== != < <= > >=`.
//!
//! Owns: the operators over the order that `value` defines.
//! May not: define it.

use crate::dataflow::value::{Failure, Value, equal, order};
use std::cmp::Ordering;

/// `a == b`.
///
/// # Errors
/// A function is compared.
#[inline]
pub fn equals(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a == b)),
        _ => equal(a, b).map(Value::Bool),
    }
}

/// `a != b`.
///
/// # Errors
/// A function is compared.
#[inline]
pub fn not_equals(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a != b)),
        _ => equal(a, b).map(|equal| Value::Bool(!equal)),
    }
}

macro_rules! ordered {
    ($name:ident, $holds:path, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// The two have no order.
        #[inline]
        pub fn $name(a: &Value, b: &Value) -> Result<Value, Failure> {
            match (a, b) {
                (Value::Int(a), Value::Int(b)) => Ok(Value::Bool($holds(a.cmp(b)))),
                (Value::Float(a), Value::Float(b)) => Ok(Value::Bool(a.partial_cmp(b).is_some_and($holds))),
                _ => order(a, b).map(|ordering| Value::Bool(ordering.is_some_and($holds))),
            }
        }
    };
}

ordered!(less, Ordering::is_lt, "`a < b`.");
ordered!(less_equal, Ordering::is_le, "`a <= b`.");
ordered!(greater, Ordering::is_gt, "`a > b`.");
ordered!(greater_equal, Ordering::is_ge, "`a >= b`.");

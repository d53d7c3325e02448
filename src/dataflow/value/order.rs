//! What is equal, and what comes before what.
//!
//! Owns: the language's equality and order (language.md, Operators), and the total order in which windows keep keys.
//! May not: compute.

use super::{Code, Failure, Value, canonical};
use std::cmp::Ordering;

/// 2 to the 63rd: the first float above every Int.
const ABOVE: f64 = 9_223_372_036_854_775_808.0;

/// An Int and a float by their exact values; none where the float is NaN.
#[must_use]
pub fn mixed_order(int: i64, float: f64) -> Option<Ordering> {
    if float.is_nan() {
        None
    } else if float >= ABOVE {
        Some(Ordering::Less)
    } else if float < -ABOVE {
        Some(Ordering::Greater)
    } else {
        let whole = float.trunc();
        #[allow(clippy::cast_possible_truncation, reason = "whole and between -2^63 and 2^63, compared above")]
        let near = whole as i64;
        // Where the whole parts are equal, what is behind the point decides.
        Some(int.cmp(&near).then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal)))
    }
}

/// Two floats, `-0.0` equal to `0.0`; none where one is NaN.
#[must_use]
pub fn float_order(a: f64, b: f64) -> Option<Ordering> {
    a.partial_cmp(&b)
}

/// The language's `==`: numbers by their exact values, inside collections too; unlike kinds are unequal; NaN equals nothing.
///
/// # Errors
/// A function is compared.
pub fn equal(a: &Value, b: &Value) -> Result<bool, Failure> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) | (Value::Time(a), Value::Time(b)) | (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => float_order(*a, *b) == Some(Ordering::Equal),
        (Value::Int(int), Value::Float(float)) | (Value::Float(float), Value::Int(int)) => {
            mixed_order(*int, *float) == Some(Ordering::Equal)
        }
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Unit, Value::Unit) => true,
        (Value::Function(_), _) | (_, Value::Function(_)) => {
            return Err(Failure::new(Code::FUNCTION_COMPARED, "a function cannot be compared").with(&[a, b]));
        }
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => all_equal(a.items(), b.items())?,
        (Value::Map(a), Value::Map(b)) => {
            let keys = a.entries().iter().map(|(key, _)| key).eq(b.entries().iter().map(|(key, _)| key));
            keys && each_equal(a.entries().iter().map(|(_, value)| value), b.entries().iter().map(|(_, value)| value))?
        }
        (Value::Struct(a), Value::Struct(b)) => a.shape() == b.shape() && all_equal(a.fields(), b.fields())?,
        _ => false,
    })
}

fn all_equal(a: &[Value], b: &[Value]) -> Result<bool, Failure> {
    Ok(a.len() == b.len() && each_equal(a.iter(), b.iter())?)
}

fn each_equal<'a>(a: impl Iterator<Item = &'a Value>, b: impl Iterator<Item = &'a Value>) -> Result<bool, Failure> {
    for (a, b) in a.zip(b) {
        if !equal(a, b)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The language's order: numbers by their exact values, `Bool`, `Str` by code point, `Time`, `Duration`. None where one is
/// NaN: then no comparison holds.
///
/// # Errors
/// The two have no order.
pub fn order(a: &Value, b: &Value) -> Result<Option<Ordering>, Failure> {
    Ok(match (a, b) {
        (Value::Int(a), Value::Int(b)) | (Value::Time(a), Value::Time(b)) | (Value::Duration(a), Value::Duration(b)) => Some(a.cmp(b)),
        (Value::Float(a), Value::Float(b)) => float_order(*a, *b),
        (Value::Int(a), Value::Float(b)) => mixed_order(*a, *b),
        (Value::Float(a), Value::Int(b)) => mixed_order(*b, *a).map(Ordering::reverse),
        (Value::Bool(a), Value::Bool(b)) => Some(a.cmp(b)),
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        _ => {
            let what = format!("{} and {} have no order", a.kind().name(), b.kind().name());
            return Err(Failure::new(Code::NO_ORDER, what).with(&[a, b]));
        }
    })
}

/// Whether it is NaN, or one stands in it: such a value equals nothing, itself included.
#[must_use]
pub fn holds_nan(value: &Value) -> bool {
    match value {
        Value::Float(float) => float.is_nan(),
        Value::List(of) | Value::Tuple(of) => of.items().iter().any(holds_nan),
        Value::Map(of) => of.entries().iter().any(|(_, value)| holds_nan(value)),
        Value::Struct(of) => of.fields().iter().any(holds_nan),
        _ => false,
    }
}

/// A value as a key: a total order whose equality is the language's, except that NaN equals itself.
#[derive(Clone, Debug)]
pub struct Key(pub Value);

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        total(&self.0, &other.0)
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

/// Kinds first, numbers being one kind; then the language's order, NaN above all numbers.
fn total(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => numbers(a, b),
        (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => totals(a.items(), b.items()),
        (Value::Map(a), Value::Map(b)) => {
            let keys = a.entries().iter().map(|(key, _)| key).cmp(b.entries().iter().map(|(key, _)| key));
            keys.then_with(|| total_each(a.entries().iter().map(|(_, value)| value), b.entries().iter().map(|(_, value)| value)))
        }
        (Value::Struct(a), Value::Struct(b)) => a.shape().names().cmp(b.shape().names()).then_with(|| totals(a.fields(), b.fields())),
        (Value::Function(a), Value::Function(b)) => {
            (a.scope, a.body).cmp(&(b.scope, b.body)).then_with(|| totals(a.captures(), b.captures()))
        }
        _ => rank(a).cmp(&rank(b)).then_with(|| order(a, b).ok().flatten().unwrap_or(Ordering::Equal)),
    }
}

fn totals(a: &[Value], b: &[Value]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| total_each(a.iter(), b.iter()))
}

fn total_each<'a>(a: impl Iterator<Item = &'a Value>, b: impl Iterator<Item = &'a Value>) -> Ordering {
    a.zip(b).map(|(a, b)| total(a, b)).find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

fn numbers(a: &Value, b: &Value) -> Ordering {
    let nan = |value: &Value| matches!(value, Value::Float(float) if canonical(*float).is_nan());
    order(a, b).ok().flatten().unwrap_or_else(|| nan(a).cmp(&nan(b)))
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Unit => 0,
        Value::Bool(_) => 1,
        Value::Int(_) | Value::Float(_) => 2,
        Value::Time(_) => 3,
        Value::Duration(_) => 4,
        Value::Str(_) => 5,
        Value::List(_) => 6,
        Value::Tuple(_) => 7,
        Value::Map(_) => 8,
        Value::Struct(_) => 9,
        Value::Function(_) => 10,
    }
}

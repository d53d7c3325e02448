//! Functions of numbers, and of Time and Duration as numbers.
//!
//! Owns: rounding to Int, roots and the like, the lesser and the greater of two, milliseconds and seconds.
//! May not: call any function of the platform's that IEEE 754 does not fix.

use crate::dataflow::value::{Code, Failure, NAN, Value, order};
use crate::lang::builtins::Function;
use std::cmp::Ordering;

/// The float nearest to an Int.
#[inline]
#[must_use]
pub(in crate::dataflow) const fn nearest(int: i64) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "the nearest float is what is wanted: ties to even, as IEEE 754 says")]
    let float = int as f64;
    float
}

/// The Int that a whole float is, where one is.
fn whole(float: f64) -> Option<i64> {
    const ABOVE: f64 = 9_223_372_036_854_775_808.0;
    if (-ABOVE..ABOVE).contains(&float) {
        #[allow(clippy::cast_possible_truncation, reason = "whole, and within Int as just compared")]
        Some(float as i64)
    } else {
        None
    }
}

/// `trunc floor ceil round`.
pub(super) fn to_int(function: Function, a: &Value, round: fn(f64) -> f64) -> Result<Value, Failure> {
    match a {
        Value::Int(_) => Ok(a.clone()),
        Value::Float(float) => whole(round(*float))
            .map(Value::Int)
            .ok_or_else(|| Failure::new(Code::NO_INT, format!("`{}` finds no Int near the Float", function.name())).with(&[a])),
        _ => Err(Failure::kind(function.name(), "an Int or a Float", a)),
    }
}

/// A function from Float to Float; an Int is taken as the nearest Float.
pub(super) fn of_float(function: Function, a: &Value, of: fn(f64) -> f64) -> Result<Value, Failure> {
    match a {
        Value::Float(float) => Ok(Value::float(of(*float))),
        Value::Int(int) => Ok(Value::float(of(nearest(*int)))),
        _ => Err(Failure::kind(function.name(), "a Float", a)),
    }
}

/// `abs`.
pub(super) fn abs(a: &Value) -> Result<Value, Failure> {
    match a {
        Value::Int(int) => int.checked_abs().map(Value::Int).ok_or_else(|| Failure::overflow("abs", "Int", &[a])),
        Value::Float(float) => Ok(Value::float(float.abs())),
        _ => Err(Failure::kind("abs", "an Int or a Float", a)),
    }
}

/// `min`.
pub(super) fn min(a: &Value, b: &Value) -> Result<Value, Failure> {
    choose("min", a, b, Ordering::Less)
}

/// `max`.
pub(super) fn max(a: &Value, b: &Value) -> Result<Value, Failure> {
    choose("max", a, b, Ordering::Greater)
}

/// The one that is on the wanted side of the other. Of an Int and a Float it is a Float, chosen by the exact values. Zeros
/// are told apart as by IEEE 754's `minimum` and `maximum`: `-0.0` is below `0.0`.
fn choose(operation: &'static str, a: &Value, b: &Value, wanted: Ordering) -> Result<Value, Failure> {
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    if !number(a) || !number(b) {
        return Err(Failure::kinds(operation, a, b));
    }
    let chosen = match order(a, b)? {
        None => return Ok(Value::Float(NAN)),
        Some(Ordering::Equal) if wanted == sign(a).cmp(&sign(b)) => a,
        Some(ordering) if ordering == wanted => a,
        Some(_) => b,
    };
    Ok(match (chosen, a, b) {
        (Value::Int(int), Value::Float(_), _) | (Value::Int(int), _, Value::Float(_)) => Value::float(nearest(*int)),
        _ => chosen.clone(),
    })
}

/// Whether it is not negative, where that tells equal numbers apart.
fn sign(value: &Value) -> bool {
    matches!(value, Value::Float(float) if float.is_sign_positive()) || matches!(value, Value::Int(_))
}

/// `Time.of_millis`.
pub(super) fn time_of_millis(a: &Value) -> Result<Value, Failure> {
    let Value::Int(millis) = a else { return Err(Failure::kind("Time.of_millis", "an Int", a)) };
    millis.checked_mul(1_000).and_then(Value::time).ok_or_else(|| Failure::overflow("Time.of_millis", "Time", &[a]))
}

/// `Time.millis`, cut towards the past.
pub(super) fn time_millis(a: &Value) -> Result<Value, Failure> {
    let Value::Time(micros) = a else { return Err(Failure::kind("Time.millis", "a Time", a)) };
    Ok(Value::Int(micros.div_euclid(1_000)))
}

/// `Duration.seconds`.
pub(super) fn duration_seconds(a: &Value) -> Result<Value, Failure> {
    let Value::Duration(micros) = a else { return Err(Failure::kind("Duration.seconds", "a Duration", a)) };
    Ok(Value::float(nearest(*micros) / 1e6))
}

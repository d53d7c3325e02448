//! `+ - * / % **` and the unary minus.
//!
//! Owns: Int checked, Int with Float as Float, Time and Duration.
//! May not: know other kinds.

use super::numeric::nearest;
use crate::dataflow::value::{Code, Failure, Value};

/// `a + b`.
///
/// # Errors
/// The range of Int, Time or Duration; other kinds.
#[inline]
pub fn add(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_add(*y) {
            Some(sum) => Ok(Value::Int(sum)),
            None => Err(Failure::overflow("+", "Int", &[a, b])),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(x + y)),
        _ => add_other(a, b),
    }
}

#[inline(never)]
fn add_other(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Time(time), Value::Duration(span)) => moved("+", time.checked_add(*span), a, b),
        _ => mixed("+", a, b, |x, y| x + y),
    }
}

/// `a - b`.
///
/// # Errors
/// The range of Int, Time or Duration; other kinds.
#[inline]
pub fn subtract(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_sub(*y) {
            Some(difference) => Ok(Value::Int(difference)),
            None => Err(Failure::overflow("-", "Int", &[a, b])),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(x - y)),
        _ => subtract_other(a, b),
    }
}

#[inline(never)]
fn subtract_other(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        // The span of all times fits: no overflow between two of them.
        (Value::Time(x), Value::Time(y)) => Ok(Value::Duration(x.saturating_sub(*y))),
        (Value::Time(time), Value::Duration(span)) => moved("-", time.checked_sub(*span), a, b),
        _ => mixed("-", a, b, |x, y| x - y),
    }
}

/// `a * b`.
///
/// # Errors
/// The range of Int; other kinds.
#[inline]
pub fn multiply(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(x), Value::Int(y)) => match x.checked_mul(*y) {
            Some(product) => Ok(Value::Int(product)),
            None => Err(Failure::overflow("*", "Int", &[a, b])),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(x * y)),
        _ => mixed("*", a, b, |x, y| x * y),
    }
}

/// `a / b`: of Int truncated.
///
/// # Errors
/// An Int divided by zero, the range of Int; other kinds.
#[inline]
pub fn divide(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) => Err(by_zero("/", a, b)),
        (Value::Int(x), Value::Int(y)) => match x.checked_div(*y) {
            Some(quotient) => Ok(Value::Int(quotient)),
            None => Err(Failure::overflow("/", "Int", &[a, b])),
        },
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(x / y)),
        _ => mixed("/", a, b, |x, y| x / y),
    }
}

/// `a % b`, with the sign of `a`.
///
/// # Errors
/// An Int divided by zero; other kinds.
#[inline]
pub fn remainder(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(_), Value::Int(0)) => Err(by_zero("%", a, b)),
        // Wrapping: of the least Int by -1 it is 0, as it should be.
        (Value::Int(x), Value::Int(y)) => Ok(Value::Int(x.wrapping_rem(*y))),
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(x % y)),
        _ => mixed("%", a, b, |x, y| x % y),
    }
}

/// `a ** b`.
///
/// # Errors
/// An Int raised to a negative Int, the range of Int; other kinds.
pub fn power(a: &Value, b: &Value) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(base), Value::Int(exponent)) => int_power(*base, *exponent).map_err(|code| {
            if code == Code::OVERFLOW {
                Failure::overflow("**", "Int", &[a, b])
            } else {
                Failure::new(code, "an Int has no negative power that is an Int").with(&[a, b])
            }
        }),
        (Value::Float(x), Value::Float(y)) => Ok(Value::float(libm::pow(*x, *y))),
        _ => mixed("**", a, b, libm::pow),
    }
}

fn int_power(base: i64, exponent: i64) -> Result<Value, Code> {
    let even = exponent.rem_euclid(2) == 0;
    let power = match (base, u32::try_from(exponent)) {
        _ if exponent < 0 => return Err(Code::NEGATIVE_EXPONENT),
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (0 | 1, _) => Some(base),
        (-1, _) => Some(if even { 1 } else { -1 }),
        _ => None,
    };
    power.map(Value::Int).ok_or(Code::OVERFLOW)
}

/// `-a`.
///
/// # Errors
/// The range of Int; another kind.
#[inline]
pub fn negate(a: &Value) -> Result<Value, Failure> {
    match a {
        Value::Int(int) => int.checked_neg().map(Value::Int).ok_or_else(|| Failure::overflow("-", "Int", &[a])),
        Value::Float(float) => Ok(Value::float(-float)),
        _ => Err(Failure::kind("-", "an Int or a Float", a)),
    }
}

/// An Int with a Float.
#[inline(never)]
fn mixed(operation: &'static str, a: &Value, b: &Value, of: impl FnOnce(f64, f64) -> f64) -> Result<Value, Failure> {
    match (a, b) {
        (Value::Int(x), Value::Float(y)) => Ok(Value::float(of(nearest(*x), *y))),
        (Value::Float(x), Value::Int(y)) => Ok(Value::float(of(*x, nearest(*y)))),
        _ => Err(Failure::kinds(operation, a, b)),
    }
}

fn moved(operation: &'static str, micros: Option<i64>, a: &Value, b: &Value) -> Result<Value, Failure> {
    micros.and_then(Value::time).ok_or_else(|| Failure::overflow(operation, "Time", &[a, b]))
}

#[cold]
fn by_zero(operation: &'static str, a: &Value, b: &Value) -> Failure {
    Failure::new(Code::DIVISION_BY_ZERO, format!("`{operation}` by zero")).with(&[a, b])
}

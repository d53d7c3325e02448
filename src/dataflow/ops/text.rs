//! Functions of texts.
//!
//! Owns: `++`, `Str.*`, and reading numbers and times from texts. All count and cut by code point.
//! May not: know a locale: cases are mapped one code point at a time.

use crate::dataflow::value::{self, Failure, Limits, Text, Value, parse_time};
use crate::lang::builtins::Function;
use regex::Regex;

fn text<'a>(operation: &str, value: &'a Value) -> Result<&'a str, Failure> {
    value.as_str().ok_or_else(|| Failure::kind(operation, "a Str", value))
}

/// A text made here, where it is not too large.
fn made(text: String, limits: Limits) -> Result<Value, Failure> {
    Value::Str(Text::from(text)).within(limits)
}

/// `a ++ b`.
///
/// # Errors
/// Other kinds, the size of the result.
pub fn concat(a: &Value, b: &Value, limits: Limits) -> Result<Value, Failure> {
    let (Value::Str(left), Value::Str(right)) = (a, b) else { return Err(Failure::kinds("++", a, b)) };
    let length = left.len().saturating_add(right.len());
    if length > limits.value_bytes {
        return Err(Failure::size(limits));
    }
    let mut text = String::with_capacity(length);
    text.push_str(left);
    text.push_str(right);
    made(text, limits)
}

/// `Str.matches`, with the expression compiled.
///
/// # Errors
/// It is no text.
pub fn matches(a: &Value, pattern: &Regex) -> Result<Value, Failure> {
    Ok(Value::Bool(pattern.is_match(text("Str.matches", a)?)))
}

/// `Str.contains` and its like.
pub(super) fn test(function: Function, a: &Value, b: &Value, holds: impl Fn(&str, &str) -> bool) -> Result<Value, Failure> {
    let name = function.name();
    Ok(Value::Bool(holds(text(name, a)?, text(name, b)?)))
}

/// `Str.len`.
pub(super) fn len(a: &Value) -> Result<Value, Failure> {
    Ok(Value::Int(i64::try_from(text("Str.len", a)?.chars().count()).unwrap_or(i64::MAX)))
}

/// `Str.lower`.
pub(super) fn lower(a: &Value, limits: Limits) -> Result<Value, Failure> {
    made(text("Str.lower", a)?.chars().flat_map(char::to_lowercase).collect(), limits)
}

/// `Str.upper`.
pub(super) fn upper(a: &Value, limits: Limits) -> Result<Value, Failure> {
    made(text("Str.upper", a)?.chars().flat_map(char::to_uppercase).collect(), limits)
}

/// `Str.slice(s, from, to)`: the code points from place `from` up to, not including, place `to`, counted from 0. Both are
/// cut to what there is (below 0: 0; behind the end: the end), and where they leave nothing the result is empty: it never
/// fails on Ints.
pub(super) fn slice(a: &Value, from: &Value, to: &Value) -> Result<Value, Failure> {
    let place = |value: &Value| {
        let int = value.as_int().ok_or_else(|| Failure::kind("Str.slice", "Ints as places", value))?;
        Ok(usize::try_from(int.max(0)).unwrap_or(usize::MAX))
    };
    let text = text("Str.slice", a)?;
    let (from, to) = (place(from)?, place(to)?);
    let byte = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
    Ok(Value::str(if from < to { text.get(byte(from)..byte(to)).unwrap_or_default() } else { "" }))
}

/// `Str.split(s, by)`: the parts between, at least one; by `""`, the code points.
pub(super) fn split(a: &Value, b: &Value, limits: Limits) -> Result<Value, Failure> {
    let (text, by) = (text("Str.split", a)?, text("Str.split", b)?);
    let most = limits.value_bytes / size_of::<Value>();
    let parts: Vec<Value> = if by.is_empty() {
        text.chars().map(|c| Value::str(c.encode_utf8(&mut [0; 4]))).take(most.saturating_add(1)).collect()
    } else {
        text.split(by).map(Value::str).take(most.saturating_add(1)).collect()
    };
    Value::list(parts, limits)
}

/// `Str.of`.
pub(super) fn of(a: &Value, limits: Limits) -> Result<Value, Failure> {
    if let Value::Str(_) = a {
        return Ok(a.clone());
    }
    value::text_of(a, limits).ok_or_else(|| Failure::size(limits)).and_then(|text| made(text, limits))
}

/// `Int.parse`: decimal digits, a minus before them or not.
pub(super) fn int_parse(a: &Value) -> Result<Value, Failure> {
    let text = text("Int.parse", a)?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let int = if plain { text.parse().ok() } else { None };
    int.map(Value::Int).ok_or_else(|| Failure::unreadable("Int.parse", "Int", a))
}

/// `Float.parse`: a decimal number as the language writes them (also without a point), a minus before it or not, or
/// `NaN`, `inf`, `-inf` as `Str.of` writes those. A number above all finite floats is none.
pub(super) fn float_parse(a: &Value) -> Result<Value, Failure> {
    let text = text("Float.parse", a)?;
    let float = match text {
        "NaN" => Some(f64::NAN),
        "inf" => Some(f64::INFINITY),
        "-inf" => Some(f64::NEG_INFINITY),
        _ if is_number(text) => text.parse().ok().filter(|float: &f64| float.is_finite()),
        _ => None,
    };
    float.map(Value::float).ok_or_else(|| Failure::unreadable("Float.parse", "Float", a))
}

/// `-`, digits, a point with digits, an exponent: all but the digits may be missing.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, part) = mantissa.split_once('.').map_or((mantissa, None), |(whole, part)| (whole, Some(part)));
    digits(whole) && part.is_none_or(digits) && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}

/// `Time.parse`.
pub(super) fn time_parse(a: &Value) -> Result<Value, Failure> {
    let micros = parse_time(text("Time.parse", a)?);
    micros.and_then(Value::time).ok_or_else(|| Failure::unreadable("Time.parse", "time of RFC 3339 between the years 0 and 9999", a))
}

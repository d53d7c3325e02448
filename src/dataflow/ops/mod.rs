//! The strict operations on values.
//!
//! Owns: what each operator and built-in function of the language computes of values (language.md, Operators).
//! May not: know `NoVal`, `Deferred`, ê, streams or state: those are the evaluator's. No clock, no locale, no processor:
//! equal operands give equal bits everywhere.
//!
//! Functions that IEEE 754 does not fix come from the pinned `libm`; the others (`+ - * / % sqrt`, rounding) are exact
//! or rounded once by definition, so the hardware may do them. Nothing is fused or reordered. `golden.rs` holds the bits.

mod arithmetic;
mod cast;
mod collection;
mod compare;
mod numeric;
mod text;

pub use arithmetic::{add, divide, multiply, negate, power, remainder, subtract};
pub use cast::cast;
pub use collection::{collected, elements, field, item, list_get, map_get};
pub use compare::{equals, greater, greater_equal, less, less_equal, not_equals};
pub(in crate::dataflow) use numeric::nearest;
pub use text::{concat, matches};

use super::value::{Code, Failure, Limits, Value};
use crate::lang::builtins::Function;
use crate::lang::syntax::{BinaryOp, Literal, UnaryOp};

/// A constant's value.
#[must_use]
pub fn literal(literal: &Literal) -> Value {
    match literal {
        Literal::Unit => Value::Unit,
        Literal::Bool(truth) => Value::Bool(*truth),
        Literal::Int(int) => Value::Int(*int),
        Literal::Float(float) => Value::float(*float),
        Literal::Str(text) => Value::str(text),
        Literal::Duration(micros) => Value::Duration(*micros),
    }
}

/// The truth value of an operand.
///
/// # Errors
/// It is none.
#[inline]
pub fn truth(operation: &'static str, value: &Value) -> Result<bool, Failure> {
    value.as_bool().ok_or_else(|| Failure::kind(operation, "a Bool", value))
}

/// `!a`.
///
/// # Errors
/// It is no truth value.
#[inline]
pub fn not(a: &Value) -> Result<Value, Failure> {
    Ok(Value::Bool(!truth("!", a)?))
}

/// An operator before its operand.
///
/// # Errors
/// The kind, or the range of Int.
#[inline]
pub fn unary(op: UnaryOp, a: &Value) -> Result<Value, Failure> {
    match op {
        UnaryOp::Negate => negate(a),
        UnaryOp::Not => not(a),
    }
}

/// An operator between two values. `&&`, `||` and `=>` are here as they are when both sides are values.
///
/// # Errors
/// The kinds, division by zero, the range of Int, Time or Duration, the size of the result.
#[inline]
pub fn binary(op: BinaryOp, a: &Value, b: &Value, limits: Limits) -> Result<Value, Failure> {
    match op {
        BinaryOp::Add => add(a, b),
        BinaryOp::Subtract => subtract(a, b),
        BinaryOp::Multiply => multiply(a, b),
        BinaryOp::Divide => divide(a, b),
        BinaryOp::Remainder => remainder(a, b),
        BinaryOp::Power => power(a, b),
        BinaryOp::Equal => equals(a, b),
        BinaryOp::NotEqual => not_equals(a, b),
        BinaryOp::Less => less(a, b),
        BinaryOp::LessEqual => less_equal(a, b),
        BinaryOp::Greater => greater(a, b),
        BinaryOp::GreaterEqual => greater_equal(a, b),
        BinaryOp::Concat => concat(a, b, limits),
        BinaryOp::And => Ok(Value::Bool(truth("&&", a)? & truth("&&", b)?)),
        BinaryOp::Or => Ok(Value::Bool(truth("||", a)? | truth("||", b)?)),
        BinaryOp::Implies => Ok(Value::Bool(!truth("=>", a)? | truth("=>", b)?)),
    }
}

/// A built-in function. `List.get` and `Map.get` are here without a fallback: see [`list_get`] and [`map_get`].
///
/// # Errors
/// What language.md says of each: kinds, ranges, missing elements and keys, unreadable texts, the size of the result. A
/// wrong number of arguments, which the checker excludes, is a failure too.
pub fn call(function: Function, arguments: &[&Value], limits: Limits) -> Result<Value, Failure> {
    match (function, arguments) {
        (_, [a]) => call_one(function, a, limits),
        (_, [a, b]) => call_two(function, a, b, limits),
        (Function::StrSlice, [text, from, to]) => text::slice(text, from, to),
        (Function::MapInsert, [map, key, value]) => collection::insert(map, key, value, limits),
        _ => Err(wrong_number(function)),
    }
}

fn call_one(function: Function, a: &Value, limits: Limits) -> Result<Value, Failure> {
    match function {
        Function::Abs => numeric::abs(a),
        Function::Trunc => numeric::to_int(function, a, f64::trunc),
        Function::Floor => numeric::to_int(function, a, f64::floor),
        Function::Ceil => numeric::to_int(function, a, f64::ceil),
        Function::Round => numeric::to_int(function, a, f64::round),
        Function::Sqrt => numeric::of_float(function, a, f64::sqrt),
        Function::Log => numeric::of_float(function, a, libm::log),
        Function::Exp => numeric::of_float(function, a, libm::exp),
        Function::Sin => numeric::of_float(function, a, libm::sin),
        Function::Cos => numeric::of_float(function, a, libm::cos),
        Function::Tan => numeric::of_float(function, a, libm::tan),
        Function::IntParse => text::int_parse(a),
        Function::FloatParse => text::float_parse(a),
        Function::StrOf => text::of(a, limits),
        Function::StrLen => text::len(a),
        Function::StrLower => text::lower(a, limits),
        Function::StrUpper => text::upper(a, limits),
        Function::TimeParse => text::time_parse(a),
        Function::TimeOfMillis => numeric::time_of_millis(a),
        Function::TimeMillis => numeric::time_millis(a),
        Function::DurationSeconds => numeric::duration_seconds(a),
        Function::ListHead => collection::head(a),
        Function::ListTail => collection::tail(a, limits),
        Function::ListLen => collection::len(a),
        Function::MapKeys => collection::keys(a, limits),
        _ => Err(wrong_number(function)),
    }
}

fn call_two(function: Function, a: &Value, b: &Value, limits: Limits) -> Result<Value, Failure> {
    match function {
        Function::Min => numeric::min(a, b),
        Function::Max => numeric::max(a, b),
        Function::StrContains => text::test(function, a, b, |text, part| text.contains(part)),
        Function::StrStartsWith => text::test(function, a, b, |text, part| text.starts_with(part)),
        Function::StrEndsWith => text::test(function, a, b, |text, part| text.ends_with(part)),
        Function::StrSplit => text::split(a, b, limits),
        Function::ListGet => collection::get(a, b),
        Function::ListConcat => collection::join(a, b, limits),
        Function::ListAppend => collection::append(a, b, limits),
        Function::MapGet => collection::at_key(a, b),
        Function::MapRemove => collection::remove(a, b, limits),
        Function::MapHasKey => collection::has_key(a, b),
        _ => Err(wrong_number(function)),
    }
}

#[cold]
fn wrong_number(function: Function) -> Failure {
    Failure::new(Code::KIND, format!("`{}` was called with a wrong number of arguments", function.name()))
}

#[cfg(test)]
mod golden;
#[cfg(test)]
mod tests;

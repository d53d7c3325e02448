//! One value as JSON, both ways.
//!
//! Owns: reading a whole text as a value of a type; how each value is written.
//! May not: know records, streams or rows.

use super::Limits;
use super::error::{DecodeError, Fault};
use super::read::Held;
use super::scan::{Scanner, Tools, text_of};
use super::text;
use super::wanted::Wanted;
use crate::dataflow::value::{Value, write_duration, write_time};
use crate::lang::types::Type;
use std::fmt;

/// Reads a text, all of it, as a value of this type: what an input of the type takes from a field (docs/records.md).
/// `null` is no value, and a function's type has none.
///
/// # Errors
/// It is no JSON, or not of the type.
pub fn read(bytes: &[u8], ty: &Type, limits: &Limits) -> Result<Value, DecodeError> {
    let wanted = Wanted::of(ty).ok_or_else(|| {
        DecodeError::Kind(Fault::new(format!("a value of type {ty} is wanted, and JSON has no functions"), "declare another type"))
    })?;
    let mut tools = Tools::default();
    let mut scanner = Scanner::new(text_of(bytes)?, limits, &mut tools);
    let held = scanner.value(&wanted)?;
    scanner.end()?;
    match held {
        Held::Value(value) => Ok(value),
        Held::Wrong(error) => Err(error),
        Held::Null | Held::Missing => {
            Err(DecodeError::Kind(Fault::new(format!("{} is wanted, not null", wanted.name()), "leave it out where there is no value")))
        }
    }
}

/// Writes a value: one that [`read`] takes for the same, of its type. What JSON cannot write is `null`: floats that are
/// infinite or NaN, and functions, which no `out` stream gives and only a trace can show. Answers how many these were.
pub fn write(value: &Value, out: &mut Vec<u8>) -> u32 {
    match value {
        Value::Unit => out.extend_from_slice(b"[]"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(int) => write_int(*int, out),
        Value::Float(float) => return write_float(*float, out),
        Value::Time(micros) => write_quoted(out, |out| write_time(out, *micros)),
        Value::Duration(micros) => write_quoted(out, |out| write_duration(out, *micros)),
        Value::Str(text) => text::write(text, out),
        Value::List(of) | Value::Tuple(of) => return write_array(of.items(), out),
        Value::Map(of) => return write_object(of.entries().iter().map(|(name, value)| (name.as_str(), value)), out),
        Value::Struct(of) => return write_object(of.shape().names().iter().map(|name| &**name).zip(of.fields()), out),
        Value::Function(_) => return write_null(out),
    }
    0
}

/// Writes an integer, all its digits.
pub(super) fn write_int(int: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(int).as_bytes());
}

/// With the fewest digits that read back as the same float, and always a point or an exponent, so that it stays a Float.
fn write_float(float: f64, out: &mut Vec<u8>) -> u32 {
    if float.is_finite() {
        out.extend_from_slice(zmij::Buffer::new().format_finite(float).as_bytes());
        return 0;
    }
    write_null(out)
}

fn write_null(out: &mut Vec<u8>) -> u32 {
    out.extend_from_slice(b"null");
    1
}

fn write_array(items: &[Value], out: &mut Vec<u8>) -> u32 {
    let mut lost = 0_u32;
    out.push(b'[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        lost = lost.saturating_add(write(item, out));
    }
    out.push(b']');
    lost
}

fn write_object<'v>(members: impl Iterator<Item = (&'v str, &'v Value)>, out: &mut Vec<u8>) -> u32 {
    let mut lost = 0_u32;
    out.push(b'{');
    for (at, (name, value)) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        text::write(name, out);
        out.push(b':');
        lost = lost.saturating_add(write(value, out));
    }
    out.push(b'}');
    lost
}

/// Texts of Time and Duration hold nothing to escape.
fn write_quoted(out: &mut Vec<u8>, write: impl FnOnce(&mut Utf8<'_>) -> fmt::Result) {
    out.push(b'"');
    // Writing into a Vec cannot fail.
    let _infallible = write(&mut Utf8(out));
    out.push(b'"');
}

/// Bytes as something to write text into.
struct Utf8<'a>(&'a mut Vec<u8>);

impl fmt::Write for Utf8<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

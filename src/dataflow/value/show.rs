//! Values as text.
//!
//! Owns: how `Str.of` and errors write a value: as the language writes it, floats with the fewest digits that read back as
//! the same float, Time as RFC 3339 in UTC with as many digits of a second as it needs, Duration as its literal.
//! May not: know JSON, which `codec` writes.

use super::{Limits, Value, time};
use crate::lang::literal::write_duration;
use std::fmt::{self, Write};

/// How many bytes of operands an error shows.
pub const SHOWN: usize = 1_024;

/// A text that ends where it is full.
struct Cut {
    text: String,
    most: usize,
}

impl Write for Cut {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        if more.len() <= room {
            self.text.push_str(more);
            return Ok(());
        }
        let end = (0..=room).rev().find(|at| more.is_char_boundary(*at)).unwrap_or(0);
        self.text.push_str(more.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

/// As an error shows it: cut at [`SHOWN`] bytes.
#[must_use]
pub fn show(value: &Value) -> String {
    cut(SHOWN, |out| write_value(out, value))
}

/// Several, in a row, cut together.
pub(super) fn show_all(values: &[Value]) -> String {
    cut(SHOWN, |out| write_row(out, values.iter(), write_value))
}

fn cut(most: usize, write: impl FnOnce(&mut Cut) -> fmt::Result) -> String {
    let mut out = Cut { text: String::new(), most };
    let whole = write(&mut out).is_ok();
    if !whole {
        out.text.push('…');
    }
    out.text
}

/// `Str.of`: a `Str` is itself, anything else as the language writes it. None where that is larger than is allowed.
#[must_use]
pub fn text_of(value: &Value, limits: Limits) -> Option<String> {
    if let Value::Str(text) = value {
        return Some(text.as_str().to_owned());
    }
    let mut out = Cut { text: String::new(), most: limits.value_bytes };
    write_value(&mut out, value).ok().map(|()| out.text)
}

/// The fewest digits that read back as this float: `1.0`, `0.1`, `1e300`, `NaN`, `inf`, `-inf`.
#[must_use]
pub fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let plain = format!("{float:e}");
    let (digits, exponent) = plain.split_once('e').unwrap_or((&plain, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or(0);
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits: String = digits.chars().filter(char::is_ascii_digit).collect();
    let body = match exponent {
        // The point stands behind one digit more than the exponent says.
        0..16 => {
            let before = usize::try_from(exponent).unwrap_or(0).saturating_add(1);
            let padded = format!("{digits:0<before$}");
            let (whole, part) = padded.split_at_checked(before).unwrap_or((&padded, ""));
            format!("{whole}.{}", if part.is_empty() { "0" } else { part })
        }
        -5..0 => format!("0.{}{digits}", "0".repeat(usize::try_from(exponent.saturating_neg().saturating_sub(1)).unwrap_or(0))),
        _ => {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((&digits, ""));
            if rest.is_empty() { format!("{first}e{exponent}") } else { format!("{first}.{rest}e{exponent}") }
        }
    };
    format!("{sign}{body}")
}

/// A Time, RFC 3339 in UTC, with a fraction where there is one: `2026-11-30T12:00:00.5Z`.
#[must_use]
pub fn time_text(micros: i64) -> String {
    written(|out| write_time(out, micros))
}

/// The same, into something else.
///
/// # Errors
/// That of the writer.
pub fn write_time(out: &mut impl Write, micros: i64) -> fmt::Result {
    let time::Civil { date: [year, month, day], clock: [hour, minute, second, mut part] } = time::civil(micros);
    write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
    if part > 0 {
        let mut digits = 6;
        while part % 10 == 0 {
            part /= 10;
            digits -= 1;
        }
        write!(out, ".{part:0digits$}")?;
    }
    out.write_char('Z')
}

fn written(write: impl FnOnce(&mut String) -> fmt::Result) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _infallible = write(&mut text);
    text
}

fn write_value(out: &mut Cut, value: &Value) -> fmt::Result {
    match value {
        Value::Unit => out.write_str("()"),
        Value::Bool(truth) => write!(out, "{truth}"),
        Value::Int(int) => write!(out, "{int}"),
        Value::Float(float) => out.write_str(&float_text(*float)),
        Value::Time(micros) => write_time(out, *micros),
        Value::Duration(micros) => write_duration(out, *micros),
        Value::Str(text) => write_text(out, text),
        Value::List(of) => bracket(out, ["[", "]"], of.items().iter(), write_value),
        Value::Tuple(of) => bracket(out, ["(", ")"], of.items().iter(), write_value),
        Value::Map(of) => bracket(out, ["Map(", ")"], of.entries().iter(), |out, (key, value)| {
            write_text(out, key)?;
            out.write_str(": ")?;
            write_value(out, value)
        }),
        Value::Struct(of) => bracket(out, ["{", "}"], of.shape().names().iter().zip(of.fields()), |out, (name, value)| {
            write!(out, "{name}: ")?;
            write_value(out, value)
        }),
        Value::Function(_) => out.write_str("<function>"),
    }
}

fn bracket<T>(out: &mut Cut, ends: [&str; 2], items: impl Iterator<Item = T>, write: impl Fn(&mut Cut, T) -> fmt::Result) -> fmt::Result {
    let [open, close] = ends;
    out.write_str(open)?;
    write_row(out, items, write)?;
    out.write_str(close)
}

fn write_row<T>(out: &mut Cut, items: impl Iterator<Item = T>, write: impl Fn(&mut Cut, T) -> fmt::Result) -> fmt::Result {
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.write_str(", ")?;
        }
        write(out, item)?;
    }
    Ok(())
}

/// With the escapes of JSON, as the language reads them.
fn write_text(out: &mut Cut, text: &str) -> fmt::Result {
    out.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            c if u32::from(c) < 0x20 => write!(out, "\\u{:04x}", u32::from(c))?,
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}

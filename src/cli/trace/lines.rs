//! What `trace` prints for tools: one JSON object a tick, in the form of the golden vectors (tests/vectors/README.md).

use super::Tick;
use crate::codec::value;
use crate::dataflow::value::{Cell, time_text};
use crate::dataflow::{Row, TickFailure};
use crate::lang::diagnostic::place;
use serde::Serialize;
use std::io::Write;
use std::sync::Arc;

/// The printer of JSON.
pub(super) struct Lines {
    columns: Vec<(Arc<str>, usize)>,
    keyed: bool,
    line: Vec<u8>,
    nulls: u64,
}

/// What a record of a pipeline says of itself.
#[derive(Serialize)]
struct About {
    line: u64,
    key: String,
    time: String,
}

/// A tick that has no row.
#[derive(Serialize)]
struct Ended<'a> {
    error: bool,
    detail: String,
    line: u64,
    #[serde(flatten)]
    cause: Option<Cause<'a>>,
    #[serde(rename = "_millrace", skip_serializing_if = "Option::is_none")]
    about: Option<About>,
}

#[derive(Serialize)]
struct Cause<'a> {
    code: String,
    stream: &'a str,
    operands: String,
    root: Place,
}

/// A place in the root, from 1, in characters.
#[derive(Serialize)]
struct Place {
    line: usize,
    column: usize,
}

impl Lines {
    /// A printer of these streams, by their slots. `keyed`: each object says which record of which key it is of.
    pub(super) const fn new(columns: Vec<(Arc<str>, usize)>, keyed: bool) -> Self {
        Self { columns, keyed, line: Vec::new(), nulls: 0 }
    }

    /// How many infinite or undefined floats were written as null.
    pub(super) const fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Prints a row.
    pub(super) fn row(&mut self, tick: &Tick<'_>, row: Row<'_>, out: &mut impl Write) -> std::io::Result<()> {
        self.line.clear();
        for (at, (name, slot)) in self.columns.iter().enumerate() {
            self.line.push(if at == 0 { b'{' } else { b',' });
            // The name of a stream needs no escapes.
            write!(self.line, "\"{name}\":")?;
            match row.cell(*slot) {
                Cell::NoVal => self.line.extend_from_slice(br#"{"special":"NoVal"}"#),
                Cell::Deferred => self.line.extend_from_slice(br#"{"special":"Deferred"}"#),
                Cell::Value(value) => self.nulls += u64::from(value::write(&value, &mut self.line)),
            }
        }
        if self.columns.is_empty() {
            self.line.push(b'{');
        }
        if let Some(about) = self.about(tick) {
            self.line.extend_from_slice(if self.columns.is_empty() { b"\"_millrace\":" } else { b",\"_millrace\":" });
            serde_json::to_writer(&mut self.line, &about)?;
        }
        self.line.extend_from_slice(b"}\n");
        out.write_all(&self.line)
    }

    /// Prints a tick that failed.
    pub(super) fn failed(&self, tick: &Tick<'_>, failure: &TickFailure, text: &str, out: &mut impl Write) -> std::io::Result<()> {
        let (line, column) = place(text, failure.span().start);
        let cause = Cause {
            code: failure.code().to_string(),
            stream: failure.stream(),
            operands: failure.operands().into_owned(),
            root: Place { line, column },
        };
        self.ended(tick, (failure.to_string(), Some(cause)), out)
    }

    /// Prints a tick of a key that has failed before.
    pub(super) fn over(&self, tick: &Tick<'_>, since: u64, out: &mut impl Write) -> std::io::Result<()> {
        self.ended(tick, (format!("the key's monitor ended at line {since}"), None), out)
    }

    fn ended(&self, tick: &Tick<'_>, (detail, cause): (String, Option<Cause<'_>>), out: &mut impl Write) -> std::io::Result<()> {
        let ended = Ended { error: true, detail, line: tick.line, cause, about: self.about(tick) };
        writeln!(out, "{}", serde_json::to_string(&ended)?)
    }

    fn about(&self, tick: &Tick<'_>) -> Option<About> {
        let key = || String::from_utf8_lossy(tick.key).into_owned();
        self.keyed.then(|| About { line: tick.line, key: key(), time: time_text(tick.time.record) })
    }
}

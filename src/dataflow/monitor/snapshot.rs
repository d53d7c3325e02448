//! A monitor's committed state as bytes, by stable names.
//!
//! Owns: the form of a snapshot.
//! May not: store it, compress it, guard it by a checksum (a layer has one).
//!
//! ```text
//! version  front (0: none, 1: i64)  contents  failure (0: none, 1: stream, span, failure)
//! contents: their number, then each: name (8 bytes), kind, content; in the order of the plan that wrote them
//! ```
//! The form is canonical: equal state under one plan gives equal bytes. It is read under any plan: pieces are found by their
//! names, and fitted to lengths that have changed.

use super::content::{Content, Contents, put, take};
use super::{Monitor, TickFailure};
use crate::dataflow::bytes::{BytesError, Reader, Writer};
use crate::dataflow::plan::Plan;
use crate::dataflow::slot::Slot;
use crate::dataflow::value::{Cell, Text};
use crate::dataflow::window::Window;
use crate::lang::syntax::Span;
use crate::lang::{MAX_DELAY, MAX_TEXT};
use std::sync::Arc;

mod kind {
    pub(super) const CELL: u8 = 0;
    pub(super) const FLAG: u8 = 1;
    pub(super) const RING: u8 = 2;
    pub(super) const WINDOW: u8 = 3;
    pub(super) const TEXT: u8 = 4;
}

impl Monitor {
    /// Its state as bytes.
    #[must_use]
    pub fn snapshot(&self, plan: &Plan) -> Vec<u8> {
        let mut out = Writer::new();
        match self.front() {
            Some(front) => {
                out.byte(1);
                out.i64(front);
            }
            None => out.byte(0),
        }
        write(&mut out, &take(&plan.block, &self.state));
        match &self.failed {
            Some(failed) => {
                out.byte(1);
                out.text(&failed.stream);
                out.u32(failed.equation.start);
                out.u32(failed.equation.end);
                out.failure(&failed.failure);
            }
            None => out.byte(0),
        }
        out.finish()
    }

    /// The monitor that a snapshot holds, under this plan or another than wrote it: what the plan has no use for is left
    /// out, what the snapshot does not hold starts afresh. A failed monitor stays failed.
    ///
    /// # Errors
    /// The bytes are no snapshot. No bytes panic.
    pub fn restore(plan: &Plan, bytes: &[u8]) -> Result<Self, BytesError> {
        let mut from = Reader::new(bytes, plan.limits.values())?;
        let front = if is_set(&mut from)? { from.i64()? } else { i64::MIN };
        let contents = read(&mut from, plan, true)?;
        let failed = if is_set(&mut from)? {
            let stream = from.text()?.into();
            let equation = Span::new(from.u32()?, from.u32()?);
            Some(Arc::new(TickFailure { stream, equation, failure: from.failure()? }))
        } else {
            None
        };
        from.end()?;
        Ok(Self { state: put(plan, &plan.block, contents, front), front, failed })
    }
}

fn is_set(from: &mut Reader<'_>) -> Result<bool, BytesError> {
    match from.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(BytesError::Damaged("neither yes nor no")),
    }
}

fn write(out: &mut Writer, contents: &Contents) {
    out.length(contents.len());
    for (id, content) in contents {
        out.word(*id);
        match content {
            Content::Cell(slot) => {
                out.byte(kind::CELL);
                out.cell(&slot.cell());
            }
            Content::Flag => out.byte(kind::FLAG),
            Content::Ring(values) => {
                out.byte(kind::RING);
                let cells: Vec<Cell> = values.iter().rev().map(Slot::cell).collect();
                out.cells(cells.iter());
            }
            Content::Window(spec, window) => {
                out.byte(kind::WINDOW);
                window.write(spec, out);
            }
            Content::Text(body, refused) => {
                out.byte(kind::TEXT);
                match body {
                    Some((text, contents)) => {
                        out.byte(1);
                        out.text(text);
                        write(out, contents);
                    }
                    None => out.byte(0),
                }
                // A text that is too long to be one would only be refused once more.
                match refused.as_ref().filter(|text| text.as_str().len() <= MAX_TEXT) {
                    Some(text) => {
                        out.byte(1);
                        out.text(text.as_str());
                    }
                    None => out.byte(0),
                }
            }
        }
    }
}

/// `texts`: whether texts may stand here; bodies of texts have none.
fn read(from: &mut Reader<'_>, plan: &Plan, texts: bool) -> Result<Contents, BytesError> {
    let count = from.length()?;
    let mut contents = Vec::new();
    for _ in 0..count {
        let id = from.word()?;
        let content = match from.byte()? {
            kind::CELL => Content::Cell(Slot::from(&from.cell()?)),
            kind::FLAG => Content::Flag,
            kind::RING => Content::Ring(from.cells(MAX_DELAY as usize)?.iter().rev().map(Slot::from).collect()),
            kind::WINDOW => {
                let (spec, window) = Window::read(from, plan.limits.window_values)?;
                Content::Window(spec, window)
            }
            kind::TEXT if texts => {
                let body = if is_set(from)? { Some((Arc::from(from.text()?), read(from, plan, false)?)) } else { None };
                let refused = if is_set(from)? { Some(Text::new(from.text()?)) } else { None };
                Content::Text(body, refused)
            }
            _ => return Err(BytesError::Damaged("no such kind of state")),
        };
        contents.push((id, content));
    }
    Ok(contents)
}

//! How ticks are printed: as a table or as JSON.

use super::Tick;
use super::lines::Lines;
use super::table::{Column, Table, cell_text, cut, visible};
use crate::cli::Output;
use crate::cli::subject::Subject;
use crate::dataflow::plan::PlanStream;
use crate::dataflow::value::time_text;
use crate::dataflow::{Plan, Row, TickFailure};
use crate::lang::checked::StreamKind;
use crate::lang::diagnostic::{Scene, draw};
use crate::lang::types::Type;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Operands that are no longer than this stand under the operator.
const SHORT: usize = 60;

/// What is printed of each tick.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    /// How.
    pub(super) output: Output,
    /// The streams, where they are chosen.
    pub(super) streams: Option<Vec<String>>,
    /// Whether each line says its key.
    pub(super) key: bool,
    /// Whether each line of a table says its time.
    pub(super) time: bool,
    /// How many rows of a table are held back to align them.
    pub(super) held: usize,
}

/// The printer.
pub(super) enum Printer {
    /// For people.
    Table(Table, Vec<usize>, Shown),
    /// For tools.
    Lines(Lines),
}

impl Printer {
    /// A printer of a plan's ticks. Answers the name of the stream that the plan does not have, where one was chosen.
    pub(super) fn new(plan: &Plan, shown: Shown) -> Result<Self, String> {
        let chosen = chosen(plan, &shown)?;
        let streams = || chosen.iter().filter_map(|slot| Some((plan.streams().get(*slot)?, *slot)));
        if shown.output == Output::Json {
            return Ok(Self::Lines(Lines::new(streams().map(|(stream, slot)| (Arc::clone(&stream.name), slot)).collect(), shown.key)));
        }
        let column = |head: &str, right| Column { head: head.to_owned(), right };
        let lead = [(true, "line", true), (shown.key, "key", false), (shown.time, "time", false)];
        let mut columns: Vec<_> = lead.iter().filter(|(is, ..)| *is).map(|(_, head, right)| column(head, *right)).collect();
        let number = |stream: &PlanStream| matches!(stream.ty, Type::Int | Type::Float);
        columns.extend(streams().map(|(stream, _)| column(&stream.name, number(stream))));
        Ok(Self::Table(Table::new(columns, shown.held), chosen, shown))
    }

    /// Prints a row.
    pub(super) fn row(&mut self, tick: &Tick<'_>, row: Row<'_>, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Table(table, slots, shown) => {
                let mut cells = shown.lead(tick);
                cells.extend(slots.iter().map(|slot| cell_text(&row.cell(*slot))));
                table.row(cells, out)
            }
            Self::Lines(lines) => lines.row(tick, row, out),
        }
    }

    /// Prints a tick that failed.
    pub(super) fn failed(&mut self, tick: &Tick<'_>, failed: &Failed<'_>, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Table(table, _, shown) => {
                table.words(shown.lead(tick), "failed".to_owned(), out)?;
                table.flush(out)?;
                out.write_all(failed.drawn(tick, shown.key).as_bytes())
            }
            Self::Lines(lines) => lines.failed(tick, failed.failure, &failed.subject.text, out),
        }
    }

    /// Prints a tick of a key that has failed before.
    pub(super) fn over(&mut self, tick: &Tick<'_>, since: u64, out: &mut impl Write) -> std::io::Result<()> {
        match self {
            Self::Table(table, _, shown) => table.words(shown.lead(tick), format!("ended at line {since}"), out),
            Self::Lines(lines) => lines.over(tick, since, out),
        }
    }

    /// Prints what is held back.
    pub(super) fn flush(&mut self, out: &mut impl Write) -> std::io::Result<()> {
        if let Self::Table(table, ..) = self { table.flush(out) } else { out.flush() }
    }

    /// How many floats could not be written as they are.
    pub(super) const fn nulls(&self) -> u64 {
        if let Self::Lines(lines) = self { lines.nulls() } else { 0 }
    }
}

/// The slots of the streams to show: those that were chosen, else all of them in a table, those that leave in JSON.
fn chosen(plan: &Plan, shown: &Shown) -> Result<Vec<usize>, String> {
    if let Some(names) = &shown.streams {
        return names.iter().map(|name| plan.slot(name).ok_or_else(|| name.clone())).collect();
    }
    let leaves = |stream: &PlanStream| shown.output == Output::Text || stream.kind == StreamKind::Out;
    Ok(plan.streams().iter().enumerate().filter(|(_, stream)| leaves(stream)).map(|(slot, _)| slot).collect())
}

impl Shown {
    /// The first cells of a tick's line.
    fn lead(&self, tick: &Tick<'_>) -> Vec<String> {
        let mut cells = vec![tick.line.to_string()];
        cells.extend(self.key.then(|| cut(&visible(&String::from_utf8_lossy(tick.key)))));
        cells.extend(self.time.then(|| time_text(tick.time.record)));
        cells
    }
}

/// A tick that failed.
pub(super) struct Failed<'a> {
    pub(super) subject: &'a Subject,
    pub(super) records: &'a Path,
    pub(super) failure: &'a TickFailure,
}

impl Failed<'_> {
    /// As `check` draws an error: the operator's place, its operands, the record, what to do.
    fn drawn(&self, tick: &Tick<'_>, keyed: bool) -> String {
        let failure = self.failure;
        let operands = visible(&failure.operands());
        let key = if keyed { format!(", key {}", cut(&visible(&String::from_utf8_lossy(tick.key)))) } else { String::new() };
        let mut notes = vec![format!("record: {}:{}{key}", self.records.display(), tick.line)];
        let mut label = String::new();
        if operands.chars().count() > SHORT {
            notes.push(format!("operands: {operands}"));
        } else if !operands.is_empty() {
            label = format!("operands: {operands}");
        }
        notes.extend(failure.code().entry().map(|entry| format!("hint: {}", entry.mend)));
        notes.push(format!("the monitor has ended: later records{} are not evaluated", if keyed { " of the key" } else { "" }));
        let code = failure.code().to_string();
        let message = format!("{}: {}", failure.stream(), visible(failure.what()));
        let Some((text, span)) = failure.within_text() else {
            return draw(&self.subject.text, &self.subject.place(), &Scene { code, message, span: failure.span(), label, notes });
        };
        // In the text of a dynamic: that text, then where it was evaluated.
        let place = format!("the text of {}", failure.stream());
        let inner = draw(text, &place, &Scene { code: code.clone(), message: message.clone(), span, label, notes: Vec::new() });
        let outer = Scene { code, message, span: failure.span(), label: "evaluated in this equation".to_owned(), notes };
        inner + &draw(&self.subject.text, &self.subject.place(), &outer)
    }
}

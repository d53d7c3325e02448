//! A monitor: one key's state over a plan, and its ticks.
//!
//! Owns: the commit boundary: a tick publishes a row and changes the state, or does neither and ends the monitor (I23,
//! I24).
//! May not: know its key, records, outputs; read a clock.

pub(crate) mod content;
mod snapshot;
pub(crate) mod state;

use super::eval::{Scratch, Tick, Trip, commit, roll_back};
use super::plan::Plan;
use super::slot::Slot;
use super::value::{Cell, Code, Failure, Value};
use crate::lang::syntax::Span;
use state::BlockState;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The times of a record, in microseconds since 1970 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTime {
    /// The record time: the arrival time, or what `root.time` names. Windows go by it.
    pub record: i64,
    /// The arrival time.
    pub arrival: i64,
}

/// One key's state over a plan. Every call takes the plan it was made or transferred for.
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) state: BlockState,
    /// The latest record time so far.
    pub(crate) front: i64,
    pub(crate) failed: Option<Arc<TickFailure>>,
}

/// The values of a tick, by slot: inputs first, then computed streams ([`Plan::streams`]).
#[derive(Clone, Copy)]
pub struct Row<'a> {
    slots: &'a [Slot],
}

/// Why a tick failed.
#[derive(Clone, Debug, PartialEq)]
pub struct TickFailure {
    pub(crate) stream: Arc<str>,
    pub(crate) equation: Span,
    pub(crate) failure: Failure,
}

/// Why there is no row.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TickError {
    /// The row does not have as many cells as the plan has inputs. Nothing has changed; the call may be repeated.
    #[error("the row has {given} cells, the plan has {expected} inputs")]
    Arity {
        /// What the plan wants.
        expected: usize,
        /// What came.
        given: usize,
    },
    /// The monitor is not one of this plan. Nothing has changed.
    #[error("the monitor belongs to another plan")]
    OtherPlan,
    /// This tick failed, and the monitor is terminal.
    #[error("{0}")]
    Failed(Arc<TickFailure>),
    /// An earlier tick failed, with this: the monitor is terminal.
    #[error("an earlier tick failed: {0}")]
    MonitorFailed(Arc<TickFailure>),
}

impl Monitor {
    /// The monitor of a key that has seen nothing.
    #[must_use]
    pub fn new(plan: &Plan) -> Self {
        Self { state: BlockState::new(&plan.block), front: i64::MIN, failed: None }
    }

    /// Evaluates one record: `row` has a cell for each input, in their order. The row that is answered borrows the scratch,
    /// and lasts until its next use.
    ///
    /// # Errors
    /// A row of another length ([`TickError::Arity`]) leaves all as it was. A tick that fails publishes nothing, leaves the
    /// state as it was and makes the monitor terminal.
    #[inline]
    pub fn tick<'s>(&mut self, plan: &Plan, row: &[Cell], time: RecordTime, scratch: &'s mut Scratch) -> Result<Row<'s>, TickError> {
        if let Some(failed) = &self.failed {
            return Err(TickError::MonitorFailed(Arc::clone(failed)));
        }
        if row.len() != plan.inputs() {
            return Err(TickError::Arity { expected: plan.inputs(), given: row.len() });
        }
        if self.state.cells.len() != plan.block.initial.len() {
            return Err(TickError::OtherPlan);
        }
        let Scratch { frame, machine, counts } = scratch;
        frame.bind(plan.id, &plan.block);
        for (register, cell) in frame.registers.iter_mut().zip(row) {
            register.copy_cell(cell);
        }
        machine.begin(plan.limits);
        let front = self.front.max(time.record);
        let mut tick = Tick { plan, machine, counts, time, front };
        match tick.run(&plan.block, frame, &mut self.state, true) {
            Ok(()) => {
                commit(&plan.block, frame, &mut self.state);
                self.front = front;
                Ok(Row { slots: frame.registers.get(..plan.streams().len()).unwrap_or_default() })
            }
            Err(trip) => {
                roll_back(&plan.block, frame, &mut self.state);
                let failed = Arc::new(TickFailure::of(*trip));
                self.failed = Some(Arc::clone(&failed));
                Err(TickError::Failed(failed))
            }
        }
    }

    /// Why it is terminal, where it is.
    #[must_use]
    pub fn failure(&self) -> Option<&Arc<TickFailure>> {
        self.failed.as_ref()
    }

    /// The latest record time so far; none before the first record.
    #[must_use]
    pub const fn front(&self) -> Option<i64> {
        if self.front == i64::MIN { None } else { Some(self.front) }
    }

    /// The bytes it takes, itself included; what it shares with a clone counts in both.
    #[must_use]
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.state.memory()
    }
}

impl<'a> Row<'a> {
    /// How many slots it has.
    #[must_use]
    pub const fn len(self) -> usize {
        self.slots.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.slots.is_empty()
    }

    /// The value in a slot, where there is one.
    #[must_use]
    pub fn value(self, slot: usize) -> Option<&'a Value> {
        self.slots.get(slot).and_then(Slot::value)
    }

    /// What is in a slot: of one that is not there, `NoVal`.
    #[must_use]
    pub fn cell(self, slot: usize) -> Cell {
        self.slots.get(slot).map(Slot::cell).unwrap_or_default()
    }

    /// All cells, by slot.
    pub fn cells(self) -> impl Iterator<Item = Cell> + 'a {
        self.slots.iter().map(Slot::cell)
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.cells()).finish()
    }
}

impl TickFailure {
    fn of(trip: Trip) -> Self {
        Self { stream: trip.place.stream, equation: trip.place.span, failure: trip.failure }
    }

    /// The stream whose equation failed.
    #[must_use]
    pub fn stream(&self) -> &Arc<str> {
        &self.stream
    }

    /// The operator's place in the root; of a failure inside a text, that of the `dynamic`.
    #[must_use]
    pub fn span(&self) -> Span {
        match self.failure.place() {
            Some((stream, span)) if *stream == self.stream => span,
            _ => self.equation,
        }
    }

    /// Line and column of that place in the text of the root, both from 1.
    #[must_use]
    pub fn place(&self, root: &str) -> (usize, usize) {
        crate::lang::diagnostic::place(root, self.span().start)
    }

    /// The text of a `dynamic` or `defer` in which it happened, and the operator's place there.
    #[must_use]
    pub fn within_text(&self) -> Option<(&Arc<str>, Span)> {
        self.failure.place().filter(|(stream, _)| **stream != self.stream)
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.failure.code()
    }

    /// What happened.
    #[must_use]
    pub fn what(&self) -> &str {
        self.failure.what()
    }

    /// The operands, cut at 1 KiB.
    #[must_use]
    pub fn operands(&self) -> Cow<'_, str> {
        self.failure.operands()
    }
}

impl fmt::Display for TickFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.stream, self.failure)
    }
}

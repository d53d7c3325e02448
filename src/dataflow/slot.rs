//! What a register holds while a tick runs: what a cell may hold, or a failure.
//!
//! Owns: the kind, and how it becomes a [`Cell`].
//! May not: compute. A failure never leaves the registers: neither state nor rows hold one.

use super::value::{Cell, Failure, Value};

/// A register's content, or that of a monitor's cell (then never a failure).
#[derive(Debug, Default, PartialEq)]
pub(crate) enum Slot {
    /// Nothing was observed.
    #[default]
    NoVal,
    /// Not computable yet.
    Deferred,
    /// A value.
    Value(Value),
    /// An operation that did not hold.
    Failed(Failure),
}

pub(crate) static NOVAL: Slot = Slot::NoVal;

impl Slot {
    pub(crate) const TRUE: Self = Self::Value(Value::Bool(true));
    pub(crate) const FALSE: Self = Self::Value(Value::Bool(false));

    #[inline]
    pub(crate) const fn truth(truth: bool) -> Self {
        Self::Value(Value::Bool(truth))
    }

    #[inline]
    pub(crate) const fn value(&self) -> Option<&Value> {
        if let Self::Value(value) = self { Some(value) } else { None }
    }

    /// Puts another in its place. Most are scalars, of which nothing need be dropped.
    #[inline]
    pub(crate) fn put(&mut self, slot: Self) {
        if !self.is_plain() {
            let_go(std::mem::take(self));
        }
        // Scalars are taken apart and put together again: moved as a whole, they would be copied by bytes that straddle
        // what was just written, which the processor cannot forward.
        std::mem::forget(match slot {
            Self::Value(Value::Int(int)) => std::mem::replace(self, Self::Value(Value::Int(int))),
            Self::Value(Value::Float(float)) => std::mem::replace(self, Self::Value(Value::Float(float))),
            Self::Value(Value::Bool(truth)) => std::mem::replace(self, Self::Value(Value::Bool(truth))),
            other => std::mem::replace(self, other),
        });
    }

    /// Whether nothing stands behind it.
    #[inline]
    const fn is_plain(&self) -> bool {
        match self {
            Self::NoVal | Self::Deferred => true,
            Self::Value(value) => is_scalar(value),
            Self::Failed(_) => false,
        }
    }

    /// As others may see it; a failure, which never gets that far, as nothing.
    #[inline]
    pub(crate) fn cell(&self) -> Cell {
        match self {
            Self::Value(value) => Cell::Value(value.clone()),
            Self::Deferred => Cell::Deferred,
            Self::NoVal | Self::Failed(_) => Cell::NoVal,
        }
    }
}

/// Whether a value is all in place and no text.
#[inline]
pub(crate) const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Time(_) | Value::Duration(_) | Value::Unit)
}

/// The same value; of a scalar without a call.
#[inline]
fn again(value: &Value) -> Value {
    match value {
        Value::Int(int) => Value::Int(*int),
        Value::Float(float) => Value::Float(*float),
        Value::Bool(truth) => Value::Bool(*truth),
        other => shared(other),
    }
}

#[inline(never)]
fn shared(value: &Value) -> Value {
    value.clone()
}

#[inline(never)]
fn let_go(slot: Slot) {
    drop(slot);
}

impl Clone for Slot {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::NoVal => Self::NoVal,
            Self::Deferred => Self::Deferred,
            Self::Value(value) => Self::Value(again(value)),
            Self::Failed(failure) => Self::Failed(failure.clone()),
        }
    }
}

impl Slot {
    /// Puts a copy of another in its place.
    #[inline]
    pub(crate) fn copy_from(&mut self, from: &Self) {
        match from {
            Self::Value(Value::Float(float)) => self.put(Self::Value(Value::Float(*float))),
            Self::Value(Value::Int(int)) => self.put(Self::Value(Value::Int(*int))),
            other => self.put(other.clone()),
        }
    }

    /// Puts a copy of a cell in its place.
    #[inline]
    pub(crate) fn copy_cell(&mut self, from: &Cell) {
        match from {
            Cell::Value(Value::Float(float)) => self.put(Self::Value(Value::Float(*float))),
            Cell::Value(Value::Int(int)) => self.put(Self::Value(Value::Int(*int))),
            other => self.put(other.into()),
        }
    }
}

impl From<&Cell> for Slot {
    #[inline]
    fn from(cell: &Cell) -> Self {
        match cell {
            Cell::NoVal => Self::NoVal,
            Cell::Deferred => Self::Deferred,
            Cell::Value(value) => Self::Value(again(value)),
        }
    }
}

impl From<Result<Value, Failure>> for Slot {
    #[inline]
    fn from(result: Result<Value, Failure>) -> Self {
        match result {
            Ok(value) => Self::Value(value),
            Err(failure) => Self::Failed(failure),
        }
    }
}

//! The values of a window, in order.
//!
//! Owns: how they are held: packed where all are Ints or all are Floats, only counted where nobody asks for them.
//! May not: know times.

use super::fold::Scalar;
use crate::dataflow::value::Value;
use std::collections::VecDeque;

/// Values in order.
#[derive(Clone, Debug)]
pub(super) enum Column {
    /// How many there are.
    Count(usize),
    /// Only Ints.
    Ints(VecDeque<i64>),
    /// Only Floats.
    Floats(VecDeque<f64>),
    /// Any.
    Values(VecDeque<Value>),
}

macro_rules! each {
    ($column:expr, $values:ident => $do:expr, $count:ident => $counted:expr) => {
        match $column {
            Column::Count($count) => $counted,
            Column::Ints($values) => $do,
            Column::Floats($values) => $do,
            Column::Values($values) => $do,
        }
    };
}

/// Room for one more: twice as much, but not beyond what `most` values and one that leaves need.
pub(super) fn reserve<T>(values: &mut VecDeque<T>, most: usize) {
    const FEWEST: usize = 4;
    let length = values.len();
    if length == values.capacity() {
        let wanted = length.saturating_mul(2).max(FEWEST).min(most.saturating_add(2));
        values.reserve_exact(wanted.saturating_sub(length).max(1));
    }
}

/// Lets go of memory that a longer window needed.
pub(super) fn shrink<T>(values: &mut VecDeque<T>) {
    const SMALL: usize = 16;
    if values.capacity() > SMALL && values.len() < values.capacity() / 4 {
        values.shrink_to(values.len().saturating_mul(2));
    }
}

impl Column {
    pub(super) fn new(keeps: bool) -> Self {
        if keeps { Self::Values(VecDeque::new()) } else { Self::Count(0) }
    }

    pub(super) fn len(&self) -> usize {
        each!(self, values => values.len(), count => *count)
    }

    /// The value at a place; `()` where values are only counted.
    pub(super) fn get(&self, at: usize) -> Option<Value> {
        match self {
            Self::Count(count) => (at < *count).then_some(Value::Unit),
            Self::Ints(values) => values.get(at).copied().map(Value::Int),
            Self::Floats(values) => values.get(at).copied().map(Value::Float),
            Self::Values(values) => values.get(at).cloned(),
        }
    }

    /// The number at a place.
    #[inline]
    pub(super) fn scalar(&self, at: usize) -> Option<Scalar> {
        match self {
            Self::Count(_) => None,
            Self::Ints(values) => values.get(at).copied().map(Scalar::Int),
            Self::Floats(values) => values.get(at).copied().map(Scalar::Float),
            Self::Values(values) => values.get(at).and_then(Scalar::of),
        }
    }

    /// Room for one more, and no more than a window of `most` values ever needs.
    pub(super) fn reserve(&mut self, most: usize) {
        each!(self, values => reserve(values, most), _count => {});
    }

    /// Puts a value at a place, from 0 up to the length.
    pub(super) fn insert(&mut self, at: usize, value: &Value) {
        if self.len() == 0 && !matches!(self, Self::Count(_)) {
            *self = match value {
                Value::Int(_) => Self::Ints(VecDeque::new()),
                Value::Float(_) => Self::Floats(VecDeque::new()),
                _ => Self::Values(VecDeque::new()),
            };
        }
        let at = at.min(self.len());
        match (&mut *self, value) {
            (Self::Count(count), _) => *count = count.saturating_add(1),
            (Self::Ints(values), Value::Int(int)) => put(values, at, *int),
            (Self::Floats(values), Value::Float(float)) => put(values, at, *float),
            (Self::Values(values), value) => put(values, at, value.clone()),
            (Self::Ints(_) | Self::Floats(_), _) => {
                let mut values: VecDeque<Value> = (0..self.len()).filter_map(|at| self.get(at)).collect();
                put(&mut values, at, value.clone());
                *self = Self::Values(values);
            }
        }
    }

    /// Takes the value at a place out.
    pub(super) fn remove(&mut self, at: usize) {
        match self {
            Self::Count(count) => *count = count.saturating_sub(1),
            Self::Ints(values) => _ = values.remove(at),
            Self::Floats(values) => _ = values.remove(at),
            Self::Values(values) => drop(values.remove(at)),
        }
    }

    /// Lets go of the first one.
    #[inline]
    pub(super) fn drop_one(&mut self) {
        match self {
            Self::Count(count) => *count = count.saturating_sub(1),
            Self::Ints(values) => _ = values.pop_front(),
            Self::Floats(values) => _ = values.pop_front(),
            Self::Values(values) => drop(values.pop_front()),
        }
    }

    /// Lets go of the first ones.
    pub(super) fn drop_first(&mut self, many: usize) {
        each!(self, values => {
            values.drain(..many.min(values.len()));
            shrink(values);
        }, count => *count = count.saturating_sub(many));
    }

    /// The bytes it takes beside its own place.
    pub(super) fn heap(&self) -> usize {
        match self {
            Self::Count(_) => 0,
            Self::Ints(values) => values.capacity().saturating_mul(8),
            Self::Floats(values) => values.capacity().saturating_mul(8),
            Self::Values(values) => {
                let behind = values.iter().map(|value| value.size().saturating_sub(size_of::<Value>()));
                behind.fold(values.capacity().saturating_mul(size_of::<Value>()), usize::saturating_add)
            }
        }
    }
}

/// The end is where almost all go.
fn put<T>(values: &mut VecDeque<T>, at: usize, value: T) {
    if at == values.len() {
        values.push_back(value);
    } else {
        values.insert(at, value);
    }
}

//! What aggregates keep beside the values themselves.
//!
//! Owns: sums with their exceptions, the candidates of `min` and `max`, how often each value occurs.
//! May not: know which values are in the window: it is told of each that comes and goes.

use super::exact::{Exact, Number};
use crate::dataflow::ops::nearest;
use crate::dataflow::value::{Code, Failure, Key, NAN, Value, holds_nan, order};
use crate::lang::builtins::Aggregate;
use std::cmp::Ordering;
use std::collections::{BTreeMap, VecDeque};

/// A sum, of squares too where a deviation is wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Moments {
    pub(super) sum: Exact,
    pub(super) squares: Option<Box<Exact>>,
    /// How many values are Floats.
    pub(super) floats: u64,
    /// How many of these are NaN, infinite above, infinite below; seldom any.
    special: Option<Box<[u64; 3]>>,
}

/// A number, in place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scalar {
    Int(i64),
    Float(f64),
}

impl Scalar {
    /// The number that a value is.
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(int) => Some(Self::Int(*int)),
            Value::Float(float) => Some(Self::Float(*float)),
            _ => None,
        }
    }
}

const fn count(count: u64, by: u64, away: bool) -> u64 {
    if away { count.saturating_sub(by) } else { count.saturating_add(by) }
}

impl Moments {
    pub(super) fn new(aggregate: Aggregate) -> Self {
        Self { squares: (aggregate == Aggregate::Stddev).then(Box::default), ..Self::default() }
    }

    /// From its parts.
    pub(super) fn of(sum: Exact, squares: Option<Exact>, floats: u64, special: [u64; 3]) -> Self {
        let mut moments = Self { sum, squares: squares.map(Box::new), floats, special: None };
        moments.change_special(special, false);
        moments
    }

    /// With a number, or without it.
    #[inline]
    pub(super) fn change(&mut self, number: Scalar, away: bool) {
        let number = match number {
            Scalar::Int(int) => Number::of_int(int),
            Scalar::Float(float) => {
                self.floats = count(self.floats, 1, away);
                let Some(number) = Number::of_float(float) else {
                    let special = [float.is_nan(), float == f64::INFINITY, float == f64::NEG_INFINITY];
                    return self.change_special(special.map(u64::from), away);
                };
                number
            }
        };
        self.sum.change(number, away);
        if let Some(squares) = &mut self.squares {
            squares.change_square(number, away);
        }
    }

    /// How many values are NaN, infinite above, infinite below.
    pub(super) fn special(&self) -> [u64; 3] {
        self.special.as_ref().map_or([0; 3], |special| **special)
    }

    #[cold]
    fn change_special(&mut self, by: [u64; 3], away: bool) {
        let mut counts = self.special();
        for (own, by) in counts.iter_mut().zip(by) {
            *own = count(*own, by, away);
        }
        self.special = (counts != [0; 3]).then(|| Box::new(counts));
    }

    /// With all of another's values, or without them.
    pub(super) fn combine(&mut self, other: &Self, away: bool) {
        self.floats = count(self.floats, other.floats, away);
        if other.special.is_some() {
            self.change_special(other.special(), away);
        }
        self.sum.combine(&other.sum, away);
        if let (Some(own), Some(other)) = (&mut self.squares, &other.squares) {
            own.combine(other, away);
        }
    }

    /// Those of nothing, in the memory of these.
    pub(super) fn emptied(mut self) -> Self {
        self.sum.clear();
        self.squares.iter_mut().for_each(|squares| squares.clear());
        Self { floats: 0, special: None, ..self }
    }

    /// The bytes it takes beside its own place.
    pub(super) fn heap(&self) -> usize {
        let squares = self.squares.as_ref().map_or(0, |squares| squares.heap().saturating_add(size_of::<Exact>()));
        let special = self.special.as_ref().map_or(0, |special| size_of_val(&**special));
        self.sum.heap().saturating_add(squares).saturating_add(special)
    }

    /// The aggregate of so many values, at least one.
    pub(super) fn result(&self, aggregate: Aggregate, count: u64) -> Result<Value, Failure> {
        if aggregate == Aggregate::Sum && self.floats == 0 {
            return self.sum.int().map(Value::Int).ok_or_else(|| Failure::overflow("sum", "Int", &[]));
        }
        Ok(Value::float(match (self.special.as_deref(), aggregate, &self.squares) {
            (None, Aggregate::Stddev, Some(squares)) => self.sum.deviation(squares, count),
            (None, Aggregate::Mean, _) => self.sum.mean(count),
            (None, ..) => self.sum.nearest(),
            (_, Aggregate::Stddev, _) => NAN,
            (Some([0, _, 0]), ..) => f64::INFINITY,
            (Some([0, 0, _]), ..) => f64::NEG_INFINITY,
            _ => NAN,
        }))
    }
}

/// Which of two comes nearer to the wanted end. Equal zeros are told apart by their sign, so it does not depend on the order
/// in which they came. Both are numbers, neither is NaN.
fn rank(a: &Value, b: &Value) -> Ordering {
    let zero = |value: &Value| matches!(value, Value::Float(float) if float.is_sign_positive()) || matches!(value, Value::Int(_));
    order(a, b).ok().flatten().unwrap_or(Ordering::Equal).then_with(|| zero(a).cmp(&zero(b)))
}

/// How much better `a` is than `b` for `min` (`max`): `Greater` where it is.
pub(super) fn better(aggregate: Aggregate, a: &Value, b: &Value) -> Ordering {
    match aggregate {
        Aggregate::Min => rank(b, a),
        _ => rank(a, b),
    }
}

/// The candidates for a best value: places, rising, whose values get ever worse: no value before one is worse, and the first
/// is the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Candidates {
    places: VecDeque<i64>,
}

impl Candidates {
    /// The place of the best value.
    pub(super) fn best(&self) -> Option<i64> {
        self.places.front().copied()
    }

    /// A value at a place that had none, or had a worse one. `than` says how it compares with the value of another place:
    /// `Greater` where it is better. Of two that are as good the later stays alone, or both where the first one counts.
    pub(super) fn insert(&mut self, place: i64, first_counts: bool, than: impl Fn(i64) -> Ordering) {
        let mut before = self.places.partition_point(|own| *own < place);
        if self.places.get(before) == Some(&place) {
            self.places.remove(before);
        }
        if self.places.get(before).is_some_and(|next| than(*next) != Ordering::Greater) {
            return;
        }
        let needless = |last: i64| match than(last) {
            Ordering::Greater => true,
            Ordering::Equal => !first_counts,
            Ordering::Less => false,
        };
        while let Some(last) = before.checked_sub(1)
            && self.places.get(last).is_some_and(|own| needless(*own))
        {
            self.places.remove(last);
            before = last;
        }
        self.places.insert(before, place);
    }

    /// All places from here on move up by one.
    pub(super) fn shift(&mut self, from: i64) {
        for place in self.places.iter_mut().rev().take_while(|place| **place >= from) {
            *place = place.saturating_add(1);
        }
    }

    /// The bytes it takes beside its own place.
    pub(super) fn heap(&self) -> usize {
        self.places.capacity().saturating_mul(8)
    }

    /// What is before this place is gone.
    pub(super) fn leave(&mut self, before: i64) {
        while self.places.front().is_some_and(|place| *place < before) {
            self.places.pop_front();
        }
    }
}

/// How often each value occurs.
#[derive(Clone, Debug, Default)]
pub(super) struct Occurrences {
    counts: BTreeMap<Key, u64>,
    /// Values that equal nothing.
    lone: u64,
}

impl Occurrences {
    pub(super) fn add(&mut self, value: &Value) {
        if holds_nan(value) {
            self.lone = self.lone.saturating_add(1);
        } else {
            let count = self.counts.entry(Key(value.clone())).or_default();
            *count = count.saturating_add(1);
        }
    }

    pub(super) fn remove(&mut self, value: &Value) {
        if holds_nan(value) {
            self.lone = self.lone.saturating_sub(1);
            return;
        }
        let key = Key(value.clone());
        if let Some(count) = self.counts.get_mut(&key) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.counts.remove(&key);
            }
        }
    }

    /// So many more, or fewer, that equal nothing.
    pub(super) fn change_lone(&mut self, by: u64, away: bool) {
        self.lone = if away { self.lone.saturating_sub(by) } else { self.lone.saturating_add(by) };
    }

    pub(super) fn distinct(&self) -> u64 {
        u64::try_from(self.counts.len()).unwrap_or(u64::MAX).saturating_add(self.lone)
    }

    /// How many values are told apart.
    pub(super) fn told_apart(&self) -> usize {
        self.counts.len()
    }

    /// The bytes it takes beside its own place, about.
    pub(super) fn heap(&self) -> usize {
        self.counts.len().saturating_mul(size_of::<(Key, u64)>())
    }
}

/// What `min` and `max` give: the best value, as a Float where one of the numbers is a Float.
pub(super) fn extreme(best: Option<Value>, nans: u64, floats: u64) -> Option<Value> {
    match best {
        _ if nans > 0 => Some(Value::Float(NAN)),
        Some(Value::Int(int)) if floats > 0 => Some(Value::float(nearest(int))),
        other => other,
    }
}

/// A count as an Int.
pub(super) fn int(count: u64) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// Whether an aggregate takes this value.
///
/// # Errors
/// Its kind.
pub(super) fn takes(aggregate: Aggregate, value: &Value) -> Result<(), Failure> {
    let of_numbers = !matches!(aggregate, Aggregate::Count | Aggregate::First | Aggregate::Last | Aggregate::Distinct);
    match value {
        Value::Int(_) | Value::Float(_) => Ok(()),
        _ if of_numbers => Err(Failure::kind(aggregate.name(), "Ints and Floats", value)),
        Value::Function(_) if aggregate != Aggregate::Count => {
            Err(Failure::new(Code::KIND, format!("`{}` does not take functions", aggregate.name())))
        }
        _ => Ok(()),
    }
}

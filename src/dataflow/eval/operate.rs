//! What each operation without state or calls gives, of slots: specials and failures first, then values.
//!
//! Owns: the rules of language.md's table about `NoVal`, Deferred and failures.
//! May not: compute on values (`ops`), change state, call functions.

use crate::dataflow::ops;
use crate::dataflow::plan::code::{Code, Flag, Operand};
use crate::dataflow::slot::{NOVAL, Slot};
use crate::dataflow::value::{self, Failure, Limits, Text, Value};
use crate::lang::builtins::Function;
use std::sync::Arc;

/// What operations read: registers, and the cells (or constants) behind them.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'a> {
    pub(crate) registers: &'a [Slot],
    pub(crate) cells: &'a [Slot],
}

impl<'a> Reads<'a> {
    /// An operand: its register, or where that is `NoVal`, its cell.
    #[inline]
    pub(crate) fn get(self, operand: Operand) -> &'a Slot {
        match self.registers.get(operand.register as usize) {
            Some(Slot::NoVal) | None => self.cells.get(operand.cell as usize).unwrap_or(&NOVAL),
            Some(slot) => slot,
        }
    }

    /// Whether a flag is set.
    #[inline]
    pub(crate) fn flag(self, flag: Flag) -> bool {
        match self.cells.get(flag.cell as usize) {
            Some(Slot::Value(Value::Int(word))) => word >> flag.bit & 1 == 1,
            _ => false,
        }
    }

    /// The values of strict operands; else what the operation gives instead.
    pub(crate) fn values(self, operands: &[Operand]) -> Result<Vec<Value>, Slot> {
        let mut values = Vec::with_capacity(operands.len());
        for operand in operands {
            match self.get(*operand) {
                Slot::Value(value) => values.push(value.clone()),
                _ => return Err(self.special(operands)),
            }
        }
        Ok(values)
    }

    /// Of strict operands that are not all values: the leftmost failure, else `NoVal`, else Deferred.
    #[inline(never)]
    pub(crate) fn special(self, operands: &[Operand]) -> Slot {
        let mut result = Slot::Deferred;
        for operand in operands {
            match self.get(*operand) {
                Slot::Failed(failure) => return Slot::Failed(failure.clone()),
                Slot::NoVal => result = Slot::NoVal,
                Slot::Deferred | Slot::Value(_) => {}
            }
        }
        result
    }
}

/// The result of an operation that keeps no state and calls nothing. Others give `NoVal`: the evaluator knows them.
#[inline(always)]
#[allow(clippy::inline_always, reason = "measured: the step's own match and this one become one")]
pub(crate) fn operate(code: &Code, reads: Reads<'_>, limits: Limits) -> Slot {
    match code {
        Code::Copy(a) => reads.get(*a).clone(),
        Code::Binary(op, a, b) => match (reads.get(*a), reads.get(*b)) {
            (Slot::Value(x), Slot::Value(y)) => ops::binary(*op, x, y, limits).into(),
            _ => reads.special(&[*a, *b]),
        },
        Code::Unary(op, a) => match reads.get(*a) {
            Slot::Value(x) => ops::unary(*op, x).into(),
            _ => reads.special(&[*a]),
        },
        Code::Default(e, d) => match reads.get(*e) {
            Slot::NoVal | Slot::Deferred => reads.get(*d).clone(),
            other => other.clone(),
        },
        Code::If(c, a, b) => choose(reads, *c, *a, *b),
        Code::And(a, b) => decided(reads, (*a, *b), ("&&", false), |x, y| x && y),
        Code::Or(a, b) => decided(reads, (*a, *b), ("||", true), |x, y| x || y),
        Code::Implies(a, b) => implies(reads, *a, *b),
        Code::Init { of, initial, flag } => match reads.get(*of) {
            Slot::NoVal if !reads.flag(*flag) => reads.get(*initial).clone(),
            other => other.clone(),
        },
        Code::IsDefined(a) | Code::IsPresent(a) => match reads.get(*a) {
            Slot::Failed(failure) => Slot::Failed(failure.clone()),
            other => Slot::truth(other.value().is_some()),
        },
        Code::When(a, flag) => match reads.get(*a) {
            _ if reads.flag(*flag) => Slot::TRUE,
            Slot::Failed(failure) => Slot::Failed(failure.clone()),
            other => Slot::truth(other.value().is_some()),
        },
        Code::Update { before, after, flag } => match reads.get(*after) {
            other if reads.flag(*flag) => other.clone(),
            Slot::Value(value) => Slot::Value(value.clone()),
            Slot::Failed(_) => reads.special(&[*before, *after]),
            Slot::NoVal | Slot::Deferred => reads.get(*before).clone(),
        },
        Code::Latch(value, trigger) => match reads.get(*trigger) {
            Slot::Value(_) => reads.get(*value).clone(),
            Slot::Failed(failure) => Slot::Failed(failure.clone()),
            Slot::NoVal | Slot::Deferred => Slot::NoVal,
        },
        _ => more(code, reads, limits),
    }
}

#[inline]
fn choose(reads: Reads<'_>, c: Operand, a: Operand, b: Operand) -> Slot {
    let (taken, left) = match reads.get(c) {
        Slot::Value(Value::Bool(true)) => (reads.get(a), reads.get(b)),
        Slot::Value(Value::Bool(false)) => (reads.get(b), reads.get(a)),
        other => return undecided(reads, other, a, b),
    };
    match (taken, left) {
        (Slot::Failed(failure), _) => Slot::Failed(failure.clone()),
        (Slot::NoVal, _) | (_, Slot::NoVal) => Slot::NoVal,
        (taken, _) => taken.clone(),
    }
}

#[inline(never)]
fn undecided(reads: Reads<'_>, condition: &Slot, a: Operand, b: Operand) -> Slot {
    let missing = matches!(reads.get(a), Slot::NoVal) || matches!(reads.get(b), Slot::NoVal);
    match condition {
        Slot::Failed(failure) => Slot::Failed(failure.clone()),
        Slot::Value(value) => Slot::Failed(not_bool("if", value)),
        Slot::Deferred if !missing => Slot::Deferred,
        Slot::NoVal | Slot::Deferred => Slot::NoVal,
    }
}

/// `&&` and `||`: one side that is `by` decides.
#[inline]
fn decided(reads: Reads<'_>, (a, b): (Operand, Operand), (name, by): (&'static str, bool), both: fn(bool, bool) -> bool) -> Slot {
    match (reads.get(a), reads.get(b)) {
        (Slot::Value(Value::Bool(x)), Slot::Value(Value::Bool(y))) => Slot::truth(both(*x, *y)),
        (Slot::Value(Value::Bool(x)), _) if *x == by => Slot::truth(by),
        (_, Slot::Value(Value::Bool(y))) if *y == by => Slot::truth(by),
        (Slot::Value(x), Slot::Value(y)) => Slot::Failed(clash(name, x, y)),
        _ => reads.special(&[a, b]),
    }
}

#[inline]
fn implies(reads: Reads<'_>, a: Operand, b: Operand) -> Slot {
    match (reads.get(a), reads.get(b)) {
        (Slot::Value(Value::Bool(false)), _) | (_, Slot::Value(Value::Bool(true))) => Slot::TRUE,
        (Slot::Value(Value::Bool(_)), Slot::Value(Value::Bool(_))) => Slot::FALSE,
        (Slot::Value(x), Slot::Value(y)) => Slot::Failed(clash("=>", x, y)),
        _ => reads.special(&[a, b]),
    }
}

/// Of two operands that are not both truth values, the leftmost that is none.
#[cold]
fn clash(name: &'static str, a: &Value, b: &Value) -> Failure {
    let wrong = if a.as_bool().is_none() { a } else { b };
    not_bool(name, wrong)
}

#[cold]
pub(crate) fn not_bool(name: &'static str, value: &Value) -> Failure {
    match ops::truth(name, value) {
        Err(failure) => failure,
        Ok(_) => Failure::new(value::Code::KIND, format!("`{name}` takes a Bool")),
    }
}

#[inline(never)]
fn more(code: &Code, reads: Reads<'_>, limits: Limits) -> Slot {
    match code {
        Code::Cast(a, ty) => match reads.get(*a) {
            Slot::Value(value) => ops::cast(value, ty, limits).into(),
            other => other.clone(),
        },
        Code::Changed(of, last) => match reads.get(*of) {
            Slot::Value(value) => match reads.get(*last) {
                Slot::Value(last) => value::equal(value, last).map(|same| Value::Bool(!same)).into(),
                _ => Slot::FALSE,
            },
            Slot::Failed(failure) => Slot::Failed(failure.clone()),
            Slot::NoVal | Slot::Deferred => Slot::FALSE,
        },
        Code::Function(function, operands) => match strict(reads, operands) {
            Strict::Values(values, count) => ops::call(*function, values.get(..count).unwrap_or_default(), limits).into(),
            Strict::Special(slot) => slot,
        },
        Code::Fallback(function, operands) => fallback(*function, operands, reads),
        Code::Matches(a, pattern) => match reads.get(*a) {
            Slot::Value(value) => ops::matches(value, &pattern.0).into(),
            _ => reads.special(&[*a]),
        },
        Code::Field(a, name) => match reads.get(*a) {
            Slot::Value(value) => ops::field(value, name).into(),
            _ => reads.special(&[*a]),
        },
        Code::Item(a, at) => match reads.get(*a) {
            Slot::Value(value) => ops::item(value, *at).into(),
            _ => reads.special(&[*a]),
        },
        Code::List(all) => made(reads.values(all), |values| Value::list(values, limits)),
        Code::Tuple(all) => made(reads.values(all), |values| Value::tuple(values, limits)),
        Code::Struct(shape, all) => made(reads.values(all), |values| Value::structure(Arc::clone(shape), values, limits)),
        Code::Map(entries) => {
            let operands: Vec<Operand> = entries.iter().map(|(_, operand)| *operand).collect();
            let keys = entries.iter().map(|(key, _)| Text::new(key));
            made(reads.values(&operands), |values| Value::map(keys.zip(values).collect(), limits))
        }
        _ => Slot::NoVal,
    }
}

fn made(values: Result<Vec<Value>, Slot>, make: impl FnOnce(Vec<Value>) -> Result<Value, Failure>) -> Slot {
    match values {
        Ok(values) => values.iter().try_for_each(ops::collected).and_then(|()| make(values)).into(),
        Err(slot) => slot,
    }
}

enum Strict<'a> {
    Values([&'a Value; 3], usize),
    Special(Slot),
}

/// The values of the operands of a built-in, of which none has more than three.
fn strict<'a>(reads: Reads<'a>, operands: &[Operand]) -> Strict<'a> {
    let mut values = [&Value::Unit; 3];
    for (place, operand) in values.iter_mut().zip(operands) {
        match reads.get(*operand) {
            Slot::Value(value) => *place = value,
            _ => return Strict::Special(reads.special(operands)),
        }
    }
    Strict::Values(values, operands.len().min(3))
}

fn fallback(function: Function, operands: &[Operand; 3], reads: Reads<'_>) -> Slot {
    let [from, at, instead] = *operands;
    match (reads.get(from), reads.get(at)) {
        (Slot::Value(x), Slot::Value(y)) => {
            let found = if function == Function::ListGet { ops::list_get(x, y) } else { ops::map_get(x, y) };
            match found {
                Ok(Some(value)) => Slot::Value(value),
                Ok(None) => reads.get(instead).clone(),
                Err(failure) => Slot::Failed(failure),
            }
        }
        _ => reads.special(&[from, at]),
    }
}

//! Windows as bytes.
//!
//! Owns: what of a window is written: its kind, its values (of panes: what they make together). What follows from these is
//! made anew when they are read.
//! May not: write what has left, or anything that depends on how the window came to be.

use super::exact::{Exact, MOST_LIMBS};
use super::fold::{Moments, takes};
use super::panes::{Pane, Panes, Part};
use super::sliding::Sliding;
use super::spec::WindowSpec;
use super::state::{State, Window};
use crate::dataflow::bytes::{BytesError, Reader, Writer};
use crate::dataflow::value::{Key, Value, holds_nan};
use crate::lang::builtins::Aggregate;
use crate::lang::syntax::Window as Shape;
use std::collections::BTreeSet;
use std::sync::Arc;

const AGGREGATES: [Aggregate; 9] = [
    Aggregate::Count,
    Aggregate::Sum,
    Aggregate::Mean,
    Aggregate::Min,
    Aggregate::Max,
    Aggregate::Stddev,
    Aggregate::First,
    Aggregate::Last,
    Aggregate::Distinct,
];

/// How values are written: all Ints, all Floats, or each with its kind.
const INTS: u8 = 1;
const FLOATS: u8 = 2;
const VALUES: u8 = 3;

type Read<T> = Result<T, BytesError>;

const fn damaged<T>(what: &'static str) -> Read<T> {
    Err(BytesError::Damaged(what))
}

impl WindowSpec {
    fn write(&self, out: &mut Writer) {
        let aggregate = AGGREGATES.iter().position(|own| *own == self.aggregate).unwrap_or_default();
        let shape = match self.window {
            Shape::Time { .. } => 0,
            Shape::Last { .. } => 1,
            Shape::Panes { .. } => 2,
        };
        // Nine aggregates, three shapes, two answers: together they fit one byte.
        out.length(aggregate.saturating_mul(6).saturating_add(shape * 2).saturating_add(usize::from(self.float)));
        match self.window {
            Shape::Time { micros } => out.i64(micros),
            Shape::Last { count } => out.u64(count),
            Shape::Panes { pane_micros, panes } => {
                out.i64(pane_micros);
                out.u64(panes);
            }
        }
    }

    fn read(bytes: &mut Reader<'_>, cap: usize) -> Read<Self> {
        let kind = usize::from(bytes.byte()?);
        let window = match kind / 2 % 3 {
            0 => Shape::Time { micros: bytes.i64()? },
            1 => Shape::Last { count: bytes.u64()? },
            _ => Shape::Panes { pane_micros: bytes.i64()?, panes: bytes.u64()? },
        };
        let above = match window {
            Shape::Time { micros } => micros > 0,
            Shape::Last { count } => count > 0,
            Shape::Panes { pane_micros, panes } => pane_micros > 0 && panes > 0,
        };
        match AGGREGATES.get(kind / 6).copied() {
            Some(aggregate) if above => Ok(Self { aggregate, window, float: kind % 2 == 1, cap }),
            _ => damaged("there is no such window"),
        }
    }
}

impl Window {
    /// Writes it, with its kind.
    pub fn write(&self, spec: &WindowSpec, out: &mut Writer) {
        spec.write(out);
        match self.0.as_deref() {
            None => out.length(0),
            Some(State::Sliding(window)) => write_sliding(window, spec, out),
            Some(State::Panes(window)) => {
                out.length(window.iter().len());
                let mut before = 0;
                for pane in window.iter() {
                    out.i64(pane.index.wrapping_sub(before));
                    before = pane.index;
                    out.u64(pane.count);
                    write_part(&pane.part, out);
                }
            }
        }
    }

    /// Reads one, with its kind; the cap, a setting, is the reader's.
    ///
    /// # Errors
    /// The bytes are no window.
    pub fn read(bytes: &mut Reader<'_>, cap: usize) -> Read<(WindowSpec, Self)> {
        let spec = WindowSpec::read(bytes, cap)?;
        let state = match spec.window {
            Shape::Panes { .. } => {
                let length = bytes.length()?;
                let panes = read_panes(length, &spec, bytes)?;
                (length > 0).then(|| State::Panes(Panes::of(&spec, panes)))
            }
            Shape::Time { .. } | Shape::Last { .. } => {
                let window = read_sliding(&spec, bytes)?;
                (window.len() > 0).then_some(State::Sliding(window))
            }
        };
        Ok((spec, Self(state.map(Arc::new))))
    }
}

fn write_sliding(window: &Sliding, spec: &WindowSpec, out: &mut Writer) {
    out.length(window.len());
    if spec.keeps_times() {
        let mut before = 0;
        for (time, _) in window.iter() {
            out.i64(time.wrapping_sub(before));
            before = time;
        }
    }
    if spec.keeps_values() && window.len() > 0 {
        let kind = if window.iter().all(|(_, value)| matches!(value, Value::Int(_))) {
            INTS
        } else if window.iter().all(|(_, value)| matches!(value, Value::Float(_))) {
            FLOATS
        } else {
            VALUES
        };
        out.byte(kind);
        for (_, value) in window.iter() {
            match (kind, &value) {
                (INTS, Value::Int(int)) => out.i64(*int),
                (FLOATS, Value::Float(float)) => out.f64(*float),
                _ => out.value(&value),
            }
        }
    }
}

fn read_sliding(spec: &WindowSpec, bytes: &mut Reader<'_>) -> Read<Sliding> {
    if !spec.keeps_times() && !spec.keeps_values() {
        let length = usize::try_from(bytes.u64()?).ok().filter(|length| *length <= spec.most()).ok_or(BytesError::Large)?;
        return Ok(Sliding::of(spec, std::iter::repeat_n((0, Value::Unit), length)));
    }
    let length = bytes.length()?;
    if length > spec.most() {
        return Err(BytesError::Large);
    }
    let mut values = vec![(0, Value::Unit); length];
    if spec.keeps_times() {
        let mut before: i64 = 0;
        for (at, (time, _)) in values.iter_mut().enumerate() {
            *time = before.wrapping_add(bytes.i64()?);
            if at > 0 && *time < before && matches!(spec.window, Shape::Time { .. }) {
                return damaged("the times of a window do not rise");
            }
            before = *time;
        }
    }
    if spec.keeps_values() && length > 0 {
        let kind = bytes.byte()?;
        for (_, value) in &mut values {
            *value = match kind {
                INTS => Value::Int(bytes.i64()?),
                FLOATS => Value::Float(bytes.f64()?),
                VALUES => bytes.value()?,
                _ => return damaged("the values of a window have a kind that there is not"),
            };
        }
        check(spec.aggregate, values.iter().map(|(_, value)| value))?;
    }
    Ok(Sliding::of(spec, values.into_iter()))
}

/// Whether an aggregate would have taken these values.
fn check<'a>(aggregate: Aggregate, mut values: impl Iterator<Item = &'a Value>) -> Read<()> {
    let fits = values.all(|value| takes(aggregate, value).is_ok());
    if fits { Ok(()) } else { damaged("a window holds a value that its aggregate does not take") }
}

fn write_part(part: &Part, out: &mut Writer) {
    match part {
        Part::Count => {}
        Part::Moments(moments) => {
            out.u64(moments.floats);
            for count in moments.special() {
                out.u64(count);
            }
            for exact in [Some(&moments.sum), moments.squares.as_deref()].into_iter().flatten() {
                let (base, limbs) = exact.normal();
                out.length(base);
                out.length(limbs.len());
                for limb in limbs {
                    out.word(*limb);
                }
            }
        }
        Part::Extreme(best, [nans, floats]) => {
            out.u64(*nans);
            out.u64(*floats);
            out.byte(u8::from(best.is_some()));
            if let Some(best) = best {
                out.value(best);
            }
        }
        Part::End(end) => {
            out.byte(u8::from(end.is_some()));
            if let Some((time, value)) = end {
                out.i64(*time);
                out.value(value);
            }
        }
        Part::Distinct(values, lone) => {
            out.u64(*lone);
            out.length(values.len());
            for Key(value) in values {
                out.value(value);
            }
        }
    }
}

fn read_panes(length: usize, spec: &WindowSpec, bytes: &mut Reader<'_>) -> Read<Vec<Pane>> {
    if length > spec.most() {
        return Err(BytesError::Large);
    }
    let mut panes: Vec<Pane> = Vec::new();
    for _ in 0..length {
        let before = panes.last().map_or(0, |pane| pane.index);
        let index = before.wrapping_add(bytes.i64()?);
        if !panes.is_empty() && index <= before {
            return damaged("the panes of a window do not rise");
        }
        let count = bytes.u64()?;
        let part = read_part(Part::new(spec.aggregate), bytes)?;
        if count == 0 {
            return damaged("a pane has no values");
        }
        panes.push(Pane { index, count, part });
    }
    let bests = panes.iter().filter_map(|pane| if let Part::Extreme(best, _) = &pane.part { best.as_ref() } else { None });
    check(spec.aggregate, bests)?;
    Ok(panes)
}

fn read_part(empty: Part, bytes: &mut Reader<'_>) -> Read<Part> {
    Ok(match empty {
        Part::Count => Part::Count,
        Part::Moments(moments) => {
            let floats = bytes.u64()?;
            let special = [bytes.u64()?, bytes.u64()?, bytes.u64()?];
            let sum = read_exact(bytes)?;
            let squares = moments.squares.map(|_| read_exact(bytes)).transpose()?;
            Part::Moments(Moments::of(sum, squares, floats, special))
        }
        Part::Extreme(..) => {
            let counts = [bytes.u64()?, bytes.u64()?];
            let best = if there(bytes)? { Some(bytes.value()?) } else { None };
            if best.as_ref().is_some_and(holds_nan) {
                return damaged("a best value is NaN");
            }
            Part::Extreme(best, counts)
        }
        Part::End(_) => Part::End(if there(bytes)? { Some((bytes.i64()?, bytes.value()?)) } else { None }),
        Part::Distinct(..) => {
            let lone = bytes.u64()?;
            let length = bytes.length()?;
            let mut values = BTreeSet::new();
            for _ in 0..length {
                let value = bytes.value()?;
                if holds_nan(&value) || !values.insert(Key(value)) {
                    return damaged("the values of a pane are not told apart");
                }
            }
            Part::Distinct(values, lone)
        }
    })
}

fn there(bytes: &mut Reader<'_>) -> Read<bool> {
    match bytes.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => damaged("something is neither there nor not"),
    }
}

fn read_exact(bytes: &mut Reader<'_>) -> Read<Exact> {
    let base = usize::try_from(bytes.u64()?).map_err(|_| BytesError::Large)?;
    let length = bytes.length()?;
    if length > MOST_LIMBS {
        return Err(BytesError::Large);
    }
    let limbs = (0..length).map(|_| bytes.word()).collect::<Read<Vec<u64>>>()?;
    Exact::from_normal(base, limbs).map_or_else(|| damaged("a sum is not written in the one way"), Ok)
}

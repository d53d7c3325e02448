//! Windows that hold their values: by time, and the last so many.
//!
//! Owns: which values are in, in which order; what the aggregate keeps of them.
//! May not: hold anything that does not follow from the values in it and their order.

use super::column::{Column, reserve, shrink};
use super::fold::{Candidates, Moments, Occurrences, Scalar, better, extreme, int, takes};
use super::spec::WindowSpec;
use super::state::Ticked;
use crate::dataflow::value::{Failure, Value};
use crate::lang::builtins::Aggregate;
use crate::lang::syntax::Window as Shape;
use std::cmp::Ordering;
use std::collections::VecDeque;

/// The values, and what the aggregate keeps of those that are in.
#[derive(Clone, Debug)]
pub(super) struct Sliding {
    /// Record times, rising in windows by time; empty where they are not kept.
    times: VecDeque<i64>,
    values: Column,
    /// So many at the beginning have left in this tick, and can come back.
    left: u32,
    /// The place of the value that came in this tick, or [`NONE`].
    came: u32,
    /// The place of the first value, as candidates count.
    base: i64,
    fold: Fold,
}

/// No place.
const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
enum Fold {
    /// `count`, and `first last` by time: the values say it.
    Nothing,
    Moments(Moments),
    /// `min max`, with how many values are NaN, and Floats.
    Extreme(Candidates, [u64; 2]),
    /// `first last` of the last so many, by time.
    ByTime(Candidates),
    Occurrences(Occurrences),
}

impl Fold {
    fn new(spec: &WindowSpec) -> Self {
        match spec.aggregate {
            Aggregate::Sum | Aggregate::Mean | Aggregate::Stddev => Self::Moments(Moments::new(spec.aggregate)),
            Aggregate::Min | Aggregate::Max => Self::Extreme(Candidates::default(), [0; 2]),
            Aggregate::First | Aggregate::Last if matches!(spec.window, Shape::Last { .. }) => Self::ByTime(Candidates::default()),
            Aggregate::Distinct => Self::Occurrences(Occurrences::default()),
            Aggregate::Count | Aggregate::First | Aggregate::Last => Self::Nothing,
        }
    }
}

/// A place in a window, of which none holds 2^32 values.
fn narrow(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(NONE)
}

const fn wide(place: u32) -> usize {
    place as usize
}

fn place(base: i64, at: usize) -> i64 {
    base.saturating_add(i64::try_from(at).unwrap_or(i64::MAX))
}

fn index(base: i64, place: i64) -> Option<usize> {
    place.checked_sub(base).and_then(|at| usize::try_from(at).ok())
}

impl Sliding {
    pub(super) fn new(spec: &WindowSpec) -> Self {
        let values = Column::new(spec.keeps_values());
        Self { times: VecDeque::new(), values, left: 0, came: NONE, base: 0, fold: Fold::new(spec) }
    }

    /// With these values, which are in the order in which windows hold them.
    pub(super) fn of(spec: &WindowSpec, values: impl Iterator<Item = (i64, Value)>) -> Self {
        let mut window = Self::new(spec);
        for (time, value) in values {
            window.put(spec, window.values.len(), time, &value);
        }
        window.came = NONE;
        window
    }

    /// How many values are in.
    pub(super) fn len(&self) -> usize {
        self.values.len().saturating_sub(wide(self.left))
    }

    /// The values in, with their times (0 where they are not kept).
    pub(super) fn iter(&self) -> impl Iterator<Item = (i64, Value)> {
        let time = |at| self.times.get(at).copied().unwrap_or_default();
        (wide(self.left)..self.values.len()).filter_map(move |at| self.values.get(at).map(|value| (time(at), value)))
    }

    /// Lets go of what left in the tick before.
    #[inline]
    pub(super) fn settle(&mut self) {
        self.came = NONE;
        match self.left {
            0 => return,
            1 => {
                self.values.drop_one();
                self.times.pop_front();
                // Now and then: what is left of a burst goes one by one.
                if self.base % 64 == 0 {
                    self.values.drop_first(0);
                    shrink(&mut self.times);
                }
            }
            many => {
                self.values.drop_first(wide(many));
                self.times.drain(..wide(many).min(self.times.len()));
                shrink(&mut self.times);
            }
        }
        self.base = place(self.base, wide(self.left));
        self.left = 0;
    }

    /// Whether a tick without a value changes nothing at all.
    pub(super) fn rests(&self, spec: &WindowSpec, front: i64) -> bool {
        let first = spec.first(front);
        self.came == NONE && self.left == 0 && self.times.front().is_none_or(|time| *time >= first)
    }

    /// A tick: what is too old leaves, the value comes.
    pub(super) fn tick(&mut self, spec: &WindowSpec, front: i64, value: Option<(i64, &Value)>) -> Result<Ticked, Failure> {
        let mut ticked = Ticked::default();
        if let Shape::Time { .. } = spec.window {
            let first = spec.first(front);
            while self.times.get(wide(self.left)).is_some_and(|time| *time < first) {
                self.leave();
            }
            ticked.ignored = value.is_some_and(|(time, _)| time < first);
        }
        if let Some((time, value)) = value.filter(|_| !ticked.ignored) {
            takes(spec.aggregate, value)?;
            let at = match spec.window {
                Shape::Time { .. } => self.after(time),
                _ => self.values.len(),
            };
            self.put(spec, at, time, value);
            while self.len() > spec.most() {
                self.leave();
                ticked.evicted = ticked.evicted.saturating_add(u64::from(spec.leaves_early()));
            }
        }
        Ok(ticked)
    }

    /// The place behind all values of this time and before; late ones are seldom far from the end.
    fn after(&self, time: i64) -> usize {
        if self.times.back().is_none_or(|last| *last <= time) {
            return self.times.len();
        }
        self.times.partition_point(|own| *own <= time).max(wide(self.left))
    }

    fn put(&mut self, spec: &WindowSpec, at: usize, time: i64, value: &Value) {
        self.values.reserve(spec.most());
        self.values.insert(at, value);
        if spec.keeps_times() {
            reserve(&mut self.times, spec.most());
            if at == self.times.len() {
                self.times.push_back(time);
            } else {
                self.times.insert(at, time);
            }
        }
        self.came = narrow(at);
        let (base, times, values) = (self.base, &self.times, &self.values);
        match &mut self.fold {
            Fold::Nothing => {}
            Fold::Moments(moments) => {
                if let Some(number) = Scalar::of(value) {
                    moments.change(number, false);
                }
            }
            Fold::Occurrences(occurrences) => occurrences.add(value),
            Fold::ByTime(candidates) => {
                let first = spec.aggregate == Aggregate::First;
                candidates.insert(place(base, at), first, |other| {
                    let other = index(base, other).and_then(|at| times.get(at)).copied().unwrap_or_default();
                    if first { other.cmp(&time) } else { time.cmp(&other) }
                });
            }
            Fold::Extreme(candidates, [nans, floats]) => {
                candidates.shift(place(base, at));
                if let Value::Float(float) = value {
                    *floats = floats.saturating_add(1);
                    if float.is_nan() {
                        *nans = nans.saturating_add(1);
                        return;
                    }
                }
                candidates.insert(place(base, at), false, |other| {
                    let other = index(base, other).and_then(|at| values.get(at));
                    other.map_or(Ordering::Greater, |other| better(spec.aggregate, value, &other))
                });
            }
        }
    }

    /// The first value leaves.
    fn leave(&mut self) {
        let at = wide(self.left);
        self.left = self.left.saturating_add(1);
        match &mut self.fold {
            Fold::Nothing => {}
            Fold::Moments(moments) => {
                if let Some(number) = self.values.scalar(at) {
                    moments.change(number, true);
                }
            }
            Fold::Occurrences(occurrences) => {
                if let Some(value) = self.values.get(at) {
                    occurrences.remove(&value);
                }
            }
            Fold::ByTime(candidates) => candidates.leave(place(self.base, wide(self.left))),
            Fold::Extreme(candidates, [nans, floats]) => {
                candidates.leave(place(self.base, wide(self.left)));
                if let Some(Scalar::Float(float)) = self.values.scalar(at) {
                    *floats = floats.saturating_sub(1);
                    *nans = nans.saturating_sub(u64::from(float.is_nan()));
                }
            }
        }
    }

    /// As it was before the tick.
    pub(super) fn rollback(&mut self, spec: &WindowSpec) {
        if self.came != NONE {
            let at = wide(self.came);
            self.values.remove(at);
            if spec.keeps_times() {
                self.times.remove(at);
            }
        } else if self.left == 0 {
            return;
        }
        self.left = 0;
        let before = Self::of(spec, self.iter());
        *self = before;
    }

    /// The aggregate; none where it is Deferred.
    pub(super) fn result(&self, spec: &WindowSpec) -> Result<Option<Value>, Failure> {
        let count = u64::try_from(self.len()).unwrap_or(u64::MAX);
        Ok(match (&self.fold, spec.aggregate) {
            (_, Aggregate::Count) => Some(int(count)),
            (Fold::Occurrences(occurrences), _) => Some(int(occurrences.distinct())),
            _ if count == 0 => None,
            (Fold::Moments(moments), _) => Some(moments.result(spec.aggregate, count)?),
            (Fold::ByTime(candidates), _) => self.at_place(candidates.best()),
            (Fold::Extreme(candidates, [nans, floats]), _) => extreme(self.at_place(candidates.best()), *nans, *floats),
            (Fold::Nothing, Aggregate::First) => self.values.get(wide(self.left)),
            (Fold::Nothing, _) => self.values.get(self.values.len().saturating_sub(1)),
        })
    }

    fn at_place(&self, place: Option<i64>) -> Option<Value> {
        place.and_then(|place| index(self.base, place)).and_then(|at| self.values.get(at))
    }

    /// The bytes it takes beside its own place, about.
    pub(super) fn heap(&self) -> usize {
        let fold = match &self.fold {
            Fold::Nothing => 0,
            Fold::Moments(moments) => moments.heap(),
            Fold::Extreme(candidates, _) | Fold::ByTime(candidates) => candidates.heap(),
            Fold::Occurrences(occurrences) => occurrences.heap(),
        };
        self.values.heap().saturating_add(self.times.capacity().saturating_mul(8)).saturating_add(fold)
    }
}

//! Windows in panes.
//!
//! Owns: what the values of each pane make together, and the panes of a window.
//! May not: hold more values than a pane's aggregate needs: one sum, one best value, or the values told apart.

use super::fold::{Candidates, Moments, Occurrences, Scalar, better, extreme, int, takes};
use super::spec::WindowSpec;
use super::state::Ticked;
use crate::dataflow::value::{Failure, Key, Value, holds_nan};
use crate::lang::builtins::Aggregate;
use std::cmp::Ordering;
use std::collections::{BTreeSet, VecDeque};

/// The panes that have values, rising.
#[derive(Clone, Debug)]
pub(super) struct Panes {
    held: VecDeque<Pane>,
    /// So many at the beginning have left in this tick, and can come back.
    left: usize,
    /// The value that came in this tick.
    came: Option<Came>,
    count: u64,
    total: Total,
    /// The emptied sum of a pane that is gone, which the next pane takes over: so panes that come and go take no new memory.
    spare: Option<Box<Moments>>,
}

/// A pane with values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pane {
    /// Its number: its time divided by the length of a pane.
    pub(super) index: i64,
    /// How many values came.
    pub(super) count: u64,
    pub(super) part: Part,
}

/// What a pane's values make together.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Part {
    /// `count`.
    Count,
    /// `sum mean stddev`.
    Moments(Moments),
    /// `min max`: the best of those that are not NaN; how many are NaN, and Floats.
    Extreme(Option<Value>, [u64; 2]),
    /// `first last`: record time and value.
    End(Option<(i64, Value)>),
    /// `distinct`: the values told apart, and how many equal nothing.
    Distinct(BTreeSet<Key>, u64),
}

/// What undoes a value.
#[derive(Clone, Debug)]
enum Came {
    /// It made this pane.
    Pane(i64),
    /// This pane's part was this before.
    Before(i64, Before),
    /// It was added to this pane's sum, or to its values told apart.
    Value(i64, Value),
    /// It changed only the pane's count.
    Counted(i64),
}

/// A part that is small.
#[derive(Clone, Debug)]
enum Before {
    Extreme(Option<Value>, [u64; 2]),
    End(Option<(i64, Value)>),
}

/// What the panes in the window make together.
#[derive(Clone, Debug)]
enum Total {
    Nothing,
    Moments(Moments),
    Extreme(Candidates, [u64; 2]),
    Occurrences(Occurrences),
}

impl Part {
    pub(super) fn new(aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Count => Self::Count,
            Aggregate::Sum | Aggregate::Mean | Aggregate::Stddev => Self::Moments(Moments::new(aggregate)),
            Aggregate::Min | Aggregate::Max => Self::Extreme(None, [0; 2]),
            Aggregate::First | Aggregate::Last => Self::End(None),
            Aggregate::Distinct => Self::Distinct(BTreeSet::new(), 0),
        }
    }

    /// Takes a value in: whether that is a value not told apart so far.
    fn add(&mut self, aggregate: Aggregate, time: i64, value: &Value) -> bool {
        match self {
            Self::Count => {}
            Self::Moments(moments) => {
                if let Some(number) = Scalar::of(value) {
                    moments.change(number, false);
                }
            }
            Self::Extreme(best, [nans, floats]) => match value {
                Value::Float(float) if float.is_nan() => {
                    (*nans, *floats) = (nans.saturating_add(1), floats.saturating_add(1));
                }
                _ => {
                    *floats = floats.saturating_add(u64::from(matches!(value, Value::Float(_))));
                    if best.as_ref().is_none_or(|best| better(aggregate, value, best) == Ordering::Greater) {
                        *best = Some(value.clone());
                    }
                }
            },
            Self::End(end) => {
                let replaces = |old: i64| if aggregate == Aggregate::First { time < old } else { time >= old };
                if end.as_ref().is_none_or(|(old, _)| replaces(*old)) {
                    *end = Some((time, value.clone()));
                }
            }
            Self::Distinct(_, lone) if holds_nan(value) => *lone = lone.saturating_add(1),
            Self::Distinct(values, _) => return values.insert(Key(value.clone())),
        }
        false
    }

    /// Takes in what a later pane has.
    pub(super) fn merge(&mut self, aggregate: Aggregate, later: Self) {
        match (self, later) {
            (Self::Moments(own), Self::Moments(later)) => own.combine(&later, false),
            (Self::Extreme(own, counts), Self::Extreme(later, more)) => {
                for (own, more) in counts.iter_mut().zip(more) {
                    *own = own.saturating_add(more);
                }
                if let Some(later) = later
                    && own.as_ref().is_none_or(|own| better(aggregate, &later, own) == Ordering::Greater)
                {
                    *own = Some(later);
                }
            }
            (Self::End(own), Self::End(later)) if own.is_none() || (aggregate == Aggregate::Last && later.is_some()) => *own = later,
            (Self::Distinct(own, lone), Self::Distinct(later, more)) => {
                own.extend(later);
                *lone = lone.saturating_add(more);
            }
            _ => {}
        }
    }

    fn heap(&self) -> usize {
        match self {
            Self::Count | Self::Extreme(None, _) | Self::End(None) => 0,
            Self::Moments(moments) => moments.heap(),
            Self::Extreme(Some(value), _) | Self::End(Some((_, value))) => value.size(),
            Self::Distinct(values, _) => values.iter().map(|key| key.0.size()).fold(0, usize::saturating_add),
        }
    }
}

impl Total {
    fn new(aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Sum | Aggregate::Mean | Aggregate::Stddev => Self::Moments(Moments::new(aggregate)),
            Aggregate::Min | Aggregate::Max => Self::Extreme(Candidates::default(), [0; 2]),
            Aggregate::Distinct => Self::Occurrences(Occurrences::default()),
            Aggregate::Count | Aggregate::First | Aggregate::Last => Self::Nothing,
        }
    }

    /// With all that a pane has, or without it.
    fn change(&mut self, pane: &Pane, away: bool) {
        match (self, &pane.part) {
            (Self::Moments(total), Part::Moments(part)) => total.combine(part, away),
            (Self::Extreme(_, total), Part::Extreme(_, part)) => {
                for (total, part) in total.iter_mut().zip(part) {
                    *total = if away { total.saturating_sub(*part) } else { total.saturating_add(*part) };
                }
            }
            (Self::Occurrences(total), Part::Distinct(values, lone)) => {
                for Key(value) in values {
                    if away { total.remove(value) } else { total.add(value) }
                }
                total.change_lone(*lone, away);
            }
            _ => {}
        }
    }
}

impl Panes {
    pub(super) fn new(spec: &WindowSpec) -> Self {
        Self { held: VecDeque::new(), left: 0, came: None, count: 0, total: Total::new(spec.aggregate), spare: None }
    }

    /// With these panes, rising.
    pub(super) fn of(spec: &WindowSpec, panes: impl IntoIterator<Item = Pane>) -> Self {
        let mut window = Self::new(spec);
        for pane in panes {
            window.count = window.count.saturating_add(pane.count);
            window.total.change(&pane, false);
            let index = pane.index;
            window.held.push_back(pane);
            window.compare(spec, index);
        }
        window
    }

    /// The panes in the window.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Pane> {
        self.held.range(self.left.min(self.held.len())..)
    }

    /// How many values came into the panes in the window.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn settle(&mut self) {
        self.came = None;
        if self.left > 0 {
            let gone = self.held.drain(..self.left.min(self.held.len())).next_back();
            self.left = 0;
            super::column::shrink(&mut self.held);
            if let Some(Part::Moments(moments)) = gone.map(|pane| pane.part) {
                match &mut self.spare {
                    Some(spare) => **spare = moments.emptied(),
                    None => self.spare = Some(Box::new(moments.emptied())),
                }
            }
        }
    }

    /// The part of a pane that has no values yet.
    fn empty_part(&mut self, spec: &WindowSpec) -> Part {
        let wanted = spec.aggregate == Aggregate::Stddev;
        match self.spare.as_deref_mut() {
            // Where it has been taken already, it holds no memory, and nothing is lost.
            Some(spare) if spare.squares.is_some() == wanted => Part::Moments(std::mem::take(spare)),
            _ => Part::new(spec.aggregate),
        }
    }

    /// Whether a tick without a value changes nothing at all.
    pub(super) fn rests(&self, spec: &WindowSpec, front: i64) -> bool {
        let first = spec.first(front);
        self.came.is_none() && self.left == 0 && self.held.front().is_none_or(|pane| pane.index >= first)
    }

    /// A tick: panes that are too old leave, the value comes.
    pub(super) fn tick(&mut self, spec: &WindowSpec, front: i64, value: Option<(i64, &Value)>) -> Result<Ticked, Failure> {
        let first = spec.first(front);
        while self.held.get(self.left).is_some_and(|pane| pane.index < first) {
            self.leave();
        }
        let Some((time, value)) = value else { return Ok(Ticked::default()) };
        let index = spec.pane(time);
        if index < first {
            return Ok(Ticked { ignored: true, evicted: 0 });
        }
        takes(spec.aggregate, value)?;
        self.put(spec, index, time, value);
        Ok(Ticked { ignored: false, evicted: self.bound(spec) })
    }

    fn find(&self, index: i64) -> Result<usize, usize> {
        match self.held.back() {
            Some(last) if last.index == index => Ok(self.held.len().saturating_sub(1)),
            Some(last) if last.index > index => self.held.binary_search_by_key(&index, |pane| pane.index),
            _ => Err(self.held.len()),
        }
    }

    fn put(&mut self, spec: &WindowSpec, index: i64, time: i64, value: &Value) {
        let (at, new) = match self.find(index) {
            Ok(at) => (at, false),
            Err(at) => {
                let part = self.empty_part(spec);
                self.held.insert(at, Pane { index, count: 0, part });
                (at, true)
            }
        };
        let Some(pane) = self.held.get_mut(at) else { return };
        let before = match &pane.part {
            _ if new => Came::Pane(index),
            Part::Count => Came::Counted(index),
            Part::Extreme(best, counts) => Came::Before(index, Before::Extreme(best.clone(), *counts)),
            Part::End(end) => Came::Before(index, Before::End(end.clone())),
            Part::Moments(_) | Part::Distinct(..) => Came::Value(index, value.clone()),
        };
        pane.count = pane.count.saturating_add(1);
        let told = pane.part.add(spec.aggregate, time, value);
        let lone = matches!(&pane.part, Part::Distinct(..)) && holds_nan(value);
        self.came = Some(match before {
            Came::Value(..) if matches!(pane.part, Part::Distinct(..)) && !told && !lone => Came::Counted(index),
            other => other,
        });
        self.count = self.count.saturating_add(1);
        match &mut self.total {
            Total::Moments(total) => {
                if let Some(number) = Scalar::of(value) {
                    total.change(number, false);
                }
            }
            Total::Occurrences(total) if told || lone => total.add(value),
            Total::Nothing | Total::Occurrences(_) => {}
            Total::Extreme(_, [nans, floats]) => {
                *nans = nans.saturating_add(u64::from(holds_nan(value)));
                *floats = floats.saturating_add(u64::from(matches!(value, Value::Float(_))));
                self.compare(spec, index);
            }
        }
    }

    /// A pane has a new best value, or is new itself.
    fn compare(&mut self, spec: &WindowSpec, index: i64) {
        let panes = &self.held;
        let best = |index: i64| {
            let at = panes.binary_search_by_key(&index, |pane| pane.index).ok()?;
            if let Some(Part::Extreme(best, _)) = panes.get(at).map(|pane| &pane.part) { best.as_ref() } else { None }
        };
        if let Total::Extreme(candidates, _) = &mut self.total
            && let Some(own) = best(index)
        {
            let than = |other| best(other).map_or(Ordering::Greater, |other| better(spec.aggregate, own, other));
            candidates.insert(index, false, than);
        }
    }

    fn best(&self, candidates: &Candidates) -> Option<Value> {
        let at = self.find(candidates.best()?).ok()?;
        if let Some(Part::Extreme(best, _)) = self.held.get(at).map(|pane| &pane.part) { best.clone() } else { None }
    }

    /// Keeps the number of panes, and of values told apart, below the cap: how many values had to go.
    fn bound(&mut self, spec: &WindowSpec) -> u64 {
        let before = self.count;
        while self.iter().len() > spec.most() || (self.told_apart() > spec.most() && self.iter().len() > 1) {
            self.leave();
        }
        let gone = before.saturating_sub(self.count);
        if self.told_apart() > spec.most()
            && let Some(Came::Value(index, value)) = self.came.clone()
        {
            // One pane alone has too many: the newest value is not taken.
            self.take_back(index, &value);
            if let Total::Occurrences(total) = &mut self.total {
                total.remove(&value);
            }
            self.came = None;
            self.count = self.count.saturating_sub(1);
            return gone.saturating_add(1);
        }
        gone
    }

    fn told_apart(&self) -> usize {
        if let Total::Occurrences(total) = &self.total { total.told_apart() } else { 0 }
    }

    fn leave(&mut self) {
        let Some(pane) = self.held.get(self.left) else { return };
        self.left = self.left.saturating_add(1);
        self.count = self.count.saturating_sub(pane.count);
        self.total.change(pane, true);
        if let Total::Extreme(candidates, _) = &mut self.total {
            candidates.leave(pane.index.saturating_add(1));
        }
    }

    /// Undoes a value of a pane's sum, or told apart in it.
    fn take_back(&mut self, index: i64, value: &Value) {
        let Ok(at) = self.find(index) else { return };
        let Some(pane) = self.held.get_mut(at) else { return };
        pane.count = pane.count.saturating_sub(1);
        match &mut pane.part {
            Part::Moments(moments) => {
                if let Some(number) = Scalar::of(value) {
                    moments.change(number, true);
                }
            }
            Part::Distinct(_, lone) if holds_nan(value) => *lone = lone.saturating_sub(1),
            Part::Distinct(values, _) => drop(values.remove(&Key(value.clone()))),
            Part::Count | Part::Extreme(..) | Part::End(_) => {}
        }
    }

    /// As it was before the tick.
    pub(super) fn rollback(&mut self, spec: &WindowSpec) {
        match self.came.take() {
            Some(Came::Pane(index)) => {
                if let Ok(at) = self.find(index) {
                    self.held.remove(at);
                }
            }
            Some(Came::Before(index, before)) => {
                if let Some(pane) = self.find(index).ok().and_then(|at| self.held.get_mut(at)) {
                    pane.count = pane.count.saturating_sub(1);
                    pane.part = match before {
                        Before::Extreme(best, counts) => Part::Extreme(best, counts),
                        Before::End(end) => Part::End(end),
                    };
                }
            }
            Some(Came::Value(index, value)) => self.take_back(index, &value),
            Some(Came::Counted(index)) => {
                if let Some(pane) = self.find(index).ok().and_then(|at| self.held.get_mut(at)) {
                    pane.count = pane.count.saturating_sub(1);
                }
            }
            None if self.left == 0 => return,
            None => {}
        }
        *self = Self::of(spec, std::mem::take(&mut self.held));
    }

    /// The aggregate; none where it is Deferred.
    pub(super) fn result(&self, spec: &WindowSpec) -> Result<Option<Value>, Failure> {
        let end = |pane: Option<&Pane>| match pane.map(|pane| &pane.part) {
            Some(Part::End(Some((_, value)))) => Some(value.clone()),
            _ => None,
        };
        Ok(match (&self.total, spec.aggregate) {
            (_, Aggregate::Count) => Some(int(self.count)),
            (Total::Occurrences(total), _) => Some(int(total.distinct())),
            _ if self.count == 0 => None,
            (Total::Moments(total), _) => Some(total.result(spec.aggregate, self.count)?),
            (Total::Extreme(candidates, [nans, floats]), _) => extreme(self.best(candidates), *nans, *floats),
            (Total::Nothing, Aggregate::First) => end(self.held.get(self.left)),
            (Total::Nothing, _) => end(self.held.back()),
        })
    }

    /// The bytes it takes beside its own place, about.
    pub(super) fn heap(&self) -> usize {
        let total = match &self.total {
            Total::Nothing => 0,
            Total::Moments(moments) => moments.heap(),
            Total::Extreme(candidates, _) => candidates.heap(),
            Total::Occurrences(occurrences) => occurrences.heap(),
        };
        let parts = self.held.iter().map(|pane| pane.part.heap()).fold(0, usize::saturating_add);
        let spare = self.spare.as_ref().map_or(0, |spare| spare.heap().saturating_add(size_of::<Moments>()));
        self.held.capacity().saturating_mul(size_of::<Pane>()).saturating_add(parts).saturating_add(total).saturating_add(spare)
    }
}

#[cfg(test)]
mod tests {
    use super::{Panes, WindowSpec};
    use crate::dataflow::value::Value;
    use crate::lang::builtins::Aggregate;
    use crate::lang::syntax::Window as Shape;

    #[test]
    fn a_new_pane_takes_over_the_memory_of_one_that_is_gone() {
        for aggregate in [Aggregate::Sum, Aggregate::Mean, Aggregate::Stddev] {
            let spec = WindowSpec { aggregate, window: Shape::Panes { pane_micros: 1, panes: 3 }, float: true, cap: 100 };
            let mut panes = Panes::new(&spec);
            let spare = |panes: &Panes| panes.spare.as_ref().map_or(0, |spare| spare.heap());
            for time in 0..20 {
                let gone = panes.left > 0;
                panes.settle();
                assert_eq!(spare(&panes) > 0, gone, "{aggregate:?} at {time}");
                panes.tick(&spec, time, Some((time, &Value::Float(1.5)))).unwrap();
                assert_eq!(spare(&panes), 0, "{aggregate:?} at {time}");
            }
            assert!(panes.left > 0);
        }
    }
}

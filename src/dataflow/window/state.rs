//! A window of one key.
//!
//! Owns: the one pointer that it is, and what a tick does to it.
//! May not: say what a window means.

use super::panes::Panes;
use super::sliding::Sliding;
use super::spec::WindowSpec;
use crate::dataflow::value::{Failure, Value};
use crate::lang::builtins::Aggregate;
use crate::lang::syntax::Window as Shape;
use std::sync::Arc;

/// A window's state: one pointer, none while nothing is in it. Clones share until one changes.
#[derive(Clone, Debug, Default)]
pub struct Window(pub(super) Option<Arc<State>>);

#[derive(Clone, Debug)]
pub(super) enum State {
    Sliding(Sliding),
    Panes(Panes),
}

/// What became of a tick's value, and of the oldest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticked {
    /// The value was older than the window.
    pub ignored: bool,
    /// So many values left early, because there were too many.
    pub evicted: u64,
}

impl State {
    fn new(spec: &WindowSpec) -> Self {
        match spec.window {
            Shape::Panes { .. } => Self::Panes(Panes::new(spec)),
            Shape::Time { .. } | Shape::Last { .. } => Self::Sliding(Sliding::new(spec)),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Sliding(window) => window.len() == 0,
            Self::Panes(window) => window.iter().len() == 0,
        }
    }

    fn settle(&mut self) {
        match self {
            Self::Sliding(window) => window.settle(),
            Self::Panes(window) => window.settle(),
        }
    }

    fn rests(&self, spec: &WindowSpec, front: i64) -> bool {
        match self {
            Self::Sliding(window) => window.rests(spec, front),
            Self::Panes(window) => window.rests(spec, front),
        }
    }

    fn tick(&mut self, spec: &WindowSpec, front: i64, value: Option<(i64, &Value)>) -> Result<Ticked, Failure> {
        match self {
            Self::Sliding(window) => window.tick(spec, front, value),
            Self::Panes(window) => window.tick(spec, front, value),
        }
    }
}

impl Window {
    /// A tick: the front is at this time, and a value comes, with its record time, or none. Values that are too old leave.
    /// What the tick before did cannot be undone any more.
    ///
    /// # Errors
    /// The aggregate does not take the value. The window is then changed in part: [`Window::rollback`].
    pub fn tick(&mut self, spec: &WindowSpec, front: i64, value: Option<(i64, &Value)>) -> Result<Ticked, Failure> {
        let Some((time, _)) = value else { return self.tick_without(spec, front) };
        let front = front.max(time);
        let state = Arc::make_mut(self.0.get_or_insert_with(|| Arc::new(State::new(spec))));
        state.settle();
        state.tick(spec, front, value)
    }

    fn tick_without(&mut self, spec: &WindowSpec, front: i64) -> Result<Ticked, Failure> {
        let Some(state) = self.0.as_mut().filter(|state| !state.rests(spec, front)) else { return Ok(Ticked::default()) };
        let state = Arc::make_mut(state);
        state.settle();
        if state.is_empty() {
            self.0 = None;
            return Ok(Ticked::default());
        }
        state.tick(spec, front, None)
    }

    /// The aggregate of what is in the window now; none where it is Deferred.
    ///
    /// # Errors
    /// The sum of Ints does not fit.
    pub fn result(&self, spec: &WindowSpec) -> Result<Option<Value>, Failure> {
        let result = match self.0.as_deref() {
            Some(State::Sliding(window)) => window.result(spec)?,
            Some(State::Panes(window)) => window.result(spec)?,
            None => None,
        };
        Ok(result.or(match spec.aggregate {
            Aggregate::Sum if spec.float => Some(Value::Float(0.0)),
            Aggregate::Count | Aggregate::Sum | Aggregate::Distinct => Some(Value::Int(0)),
            _ => None,
        }))
    }

    /// As it was before the last tick. Takes time by its length: for ticks that failed.
    pub fn rollback(&mut self, spec: &WindowSpec) {
        if let Some(state) = &mut self.0 {
            let state = Arc::make_mut(state);
            match state {
                State::Sliding(window) => window.rollback(spec),
                State::Panes(window) => window.rollback(spec),
            }
            if state.is_empty() {
                self.0 = None;
            }
        }
    }

    /// How many values are in it (in panes: how many came into those that are in it).
    #[must_use]
    pub fn len(&self) -> u64 {
        match self.0.as_deref() {
            Some(State::Sliding(window)) => u64::try_from(window.len()).unwrap_or(u64::MAX),
            Some(State::Panes(window)) => window.count(),
            None => 0,
        }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|state| state.is_empty())
    }

    /// The bytes it takes beside its own place, about. Takes time by its length where the values are texts or collections.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.as_ref().map_or(0, |state| {
            let heap = match &**state {
                State::Sliding(window) => window.heap(),
                State::Panes(window) => window.heap(),
            };
            heap.saturating_add(size_of::<State>()).saturating_add(16)
        })
    }
}

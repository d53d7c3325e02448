//! Windows that go over into another shape.
//!
//! Owns: which shapes go over into which, and how.
//! May not: invent values: a longer window begins with what the shorter one held.

use super::panes::{Pane, Panes, Part};
use super::sliding::Sliding;
use super::spec::WindowSpec;
use super::state::{State, Window};
use crate::dataflow::value::Value;
use crate::lang::syntax::Window as Shape;
use std::sync::Arc;

impl WindowSpec {
    /// Whether a window of this kind can go over into one of that kind: the same aggregate over a longer or shorter time,
    /// over more or fewer values, over more or fewer panes or panes that are whole numbers of these, or from a time into
    /// panes.
    #[must_use]
    pub fn carries_to(&self, to: &Self) -> bool {
        self.aggregate == to.aggregate
            && match (self.window, to.window) {
                (Shape::Time { .. }, Shape::Time { .. } | Shape::Panes { .. }) | (Shape::Last { .. }, Shape::Last { .. }) => true,
                (Shape::Panes { pane_micros: from, .. }, Shape::Panes { pane_micros: to, .. }) => from > 0 && to % from == 0,
                _ => false,
            }
    }
}

impl Window {
    /// What this window holds, in another shape: what that is too short for is left behind, and the front decides what is
    /// too old. Empty where [`WindowSpec::carries_to`] says no.
    #[must_use]
    pub fn carry(&self, from: &WindowSpec, to: &WindowSpec, front: i64) -> Self {
        let Some(state) = self.0.as_deref().filter(|_| from.carries_to(to)) else { return Self::default() };
        let state = match (state, to.window) {
            (State::Sliding(window), Shape::Panes { .. }) => {
                let mut panes = Panes::new(to);
                for (time, value) in window.iter() {
                    if panes.tick(to, front, Some((time, &value))).is_err() {
                        return Self::default();
                    }
                }
                panes.settle();
                State::Panes(panes)
            }
            (State::Sliding(window), _) => {
                let first = to.first(front);
                let values: Vec<(i64, Value)> = window.iter().filter(|(time, _)| !to.keeps_times() || *time >= first).collect();
                let surplus = values.len().saturating_sub(to.most());
                State::Sliding(Sliding::of(to, values.into_iter().skip(surplus)))
            }
            (State::Panes(window), _) => {
                let panes = coarser(window.iter(), from, to);
                let first = to.first(front);
                let kept: Vec<Pane> = panes.into_iter().filter(|pane| pane.index >= first).collect();
                let surplus = kept.len().saturating_sub(to.most());
                State::Panes(Panes::of(to, kept.into_iter().skip(surplus)))
            }
        };
        let empty = match &state {
            State::Sliding(window) => window.len() == 0,
            State::Panes(window) => window.iter().len() == 0,
        };
        Self((!empty).then(|| Arc::new(state)))
    }
}

/// Panes put together into longer ones.
fn coarser<'a>(panes: impl Iterator<Item = &'a Pane>, from: &WindowSpec, to: &WindowSpec) -> Vec<Pane> {
    let times = match (from.window, to.window) {
        (Shape::Panes { pane_micros: from, .. }, Shape::Panes { pane_micros: to, .. }) => to.checked_div(from).unwrap_or(1).max(1),
        _ => 1,
    };
    let mut out: Vec<Pane> = Vec::new();
    for pane in panes {
        let index = pane.index.div_euclid(times);
        match out.last_mut() {
            Some(last) if last.index == index => {
                last.count = last.count.saturating_add(pane.count);
                last.part.merge(to.aggregate, Part::clone(&pane.part));
            }
            _ => out.push(Pane { index, ..pane.clone() }),
        }
    }
    out
}

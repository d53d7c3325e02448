//! What a window computes, over what.
//!
//! Owns: the shape and its questions.
//! May not: hold values.

use crate::lang::builtins::Aggregate;
use crate::lang::syntax::Window as Shape;

/// More values than this no window holds.
const MOST: usize = 1 << 31;

/// A window as the plan knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// What is computed.
    pub aggregate: Aggregate,
    /// Over which window.
    pub window: Shape,
    /// Whether its type is Float: then the sum of nothing is `0.0`.
    pub float: bool,
    /// The most values (in panes: panes) that one window holds, from 1 up to 2^31.
    pub cap: usize,
}

impl WindowSpec {
    /// Whether record times are kept.
    #[inline]
    pub(super) const fn keeps_times(&self) -> bool {
        match self.window {
            Shape::Time { .. } => true,
            Shape::Last { .. } => matches!(self.aggregate, Aggregate::First | Aggregate::Last),
            Shape::Panes { .. } => false,
        }
    }

    /// Whether values are kept, and not only how many there are.
    pub(super) const fn keeps_values(&self) -> bool {
        !matches!(self.aggregate, Aggregate::Count)
    }

    /// The pane of a time.
    pub(super) const fn pane(&self, time: i64) -> i64 {
        match self.window {
            Shape::Panes { pane_micros, .. } if pane_micros > 0 => time.div_euclid(pane_micros),
            _ => time,
        }
    }

    /// The first time, or in panes the first pane, that is still in the window at this front.
    pub(super) fn first(&self, front: i64) -> i64 {
        match self.window {
            Shape::Time { micros } => front.saturating_sub(micros).saturating_add(1),
            Shape::Last { .. } => i64::MIN,
            Shape::Panes { panes, .. } => {
                let before = i64::try_from(panes.saturating_sub(1)).unwrap_or(i64::MAX);
                self.pane(front).saturating_sub(before)
            }
        }
    }

    /// How many values (panes) it holds at most.
    #[inline]
    pub(super) fn most(&self) -> usize {
        let cap = self.cap.clamp(1, MOST);
        match self.window {
            Shape::Last { count } => usize::try_from(count).unwrap_or(usize::MAX).min(cap),
            _ => cap,
        }
    }

    /// Whether values that leave because there are too many leave *early*, and are counted.
    pub(super) fn leaves_early(&self) -> bool {
        match self.window {
            Shape::Last { count } => usize::try_from(count).unwrap_or(usize::MAX) > self.cap.clamp(1, MOST),
            _ => true,
        }
    }
}

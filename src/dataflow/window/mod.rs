//! Windows: aggregates over the values that came last.
//!
//! Owns: which values a window holds (by record time, by number, in panes), what each aggregate makes of them, how a
//! window goes over into a longer or shorter one.
//! May not: know streams, plans or ticks other than "now": the front and the record's time are given.
//!
//! # Numbers
//!
//! A result is a function of the values that are in the window now, so that a window that was restored, carried or undone
//! gives the same bits as one that never stopped:
//!
//! - `sum mean stddev` are exact and rounded once, to nearest, ties to even (`exact.rs`): order and history mean
//!   nothing. `sum` is an Int where all values are Ints (a failure where it does not fit *now*), else a Float: `0.0` of
//!   values that cancel out, infinite where the exact sum is beyond the floats. `mean` is the exact sum divided by n.
//!   `stddev` is the root of (n · Σx² − (Σx)²) / n². NaN and infinities are counted, not added: while one is in the window the
//!   result is NaN or infinite as a sum of them would be (`stddev`: NaN), and when it leaves it is gone.
//! - `min max` are NaN while a NaN is in the window; `-0.0` is below `0.0`; among Ints and Floats the result is a Float.
//! - `first last` go by record time; of one time the value that came first, or last.
//! - `distinct` counts by the language's `==`: `1` and `1.0` are one, and each NaN, which equals nothing, is one more.
//!
//! # What is held
//!
//! `over 5m`: values with record times in (front − 5m, front], in the order of their times, of one time as they came. A value
//! that comes late is put into its place; one that is too old is ignored, and said to be. `over last N`: the values added
//! last, as they came. `over 1h by 10s`: for each pane (aligned to UTC) that has values, what they make together. Past `cap`
//! (values, or panes; of `distinct` in panes also the values told apart) the oldest leave early, and are said to.
//!
//! # Undoing
//!
//! A tick changes a window before it is known to succeed. Until the next tick begins, [`Window::rollback`] gives back what was
//! before: values that left are let go of only then.

mod carry;
mod column;
mod exact;
mod fold;
mod panes;
mod sliding;
mod spec;
mod state;
mod wide;
mod write;

pub use spec::WindowSpec;
pub use state::{Ticked, Window};

#[cfg(test)]
mod tests;

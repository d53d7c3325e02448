//! A deadline: one absolute moment, made once (I26).

use std::time::Duration;

/// A moment on this machine's monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Duration);

impl Deadline {
    /// This span after a moment of the monotonic clock.
    #[must_use]
    pub const fn after(now: Duration, span: Duration) -> Self {
        Self(now.saturating_add(span))
    }

    /// What is left of it at a moment of the same clock.
    #[must_use]
    pub const fn left(self, now: Duration) -> Duration {
        self.0.saturating_sub(now)
    }
}

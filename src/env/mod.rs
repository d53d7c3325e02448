//! Clocks, randomness and spawning: the only place that reads or starts any of them.
//!
//! Owns: the traits by which all other parts see time, chance and tasks; the real ones and the simulated ones.
//! May not: know what they are used for.

mod real;
mod simulated;

pub use real::{real, run};
pub use simulated::Simulation;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// A future that owns what it needs.
pub type Work = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Time.
pub trait Clock: Send + Sync {
    /// Time since a moment of this machine's own choosing; it never falls, and it counts while the machine sleeps. No
    /// two machines' are compared (I10).
    fn monotonic(&self) -> Duration;

    /// Microseconds since 1970-01-01T00:00:00Z, for people to read. It may jump, and decides nothing.
    fn wall_micros(&self) -> i64;

    /// Completes once this much time has passed.
    fn sleep(&self, span: Duration) -> Work;
}

/// Chance.
pub trait Random: Send + Sync {
    /// Any number, each as likely as any other.
    fn number(&self) -> u64;
}

/// Tasks.
pub trait Spawn: Send + Sync {
    /// Runs this beside its caller until it completes. The name stands in diagnostics.
    fn spawn(&self, name: &'static str, work: Work);

    /// Runs this on a thread of its own until it completes. It may take its thread for itself: evaluation does.
    fn thread(&self, name: &'static str, work: Work);
}

/// All three, handed down to whoever needs one.
#[derive(Clone)]
pub struct Env {
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
    spawn: Arc<dyn Spawn>,
}

impl Env {
    /// An environment of these parts: for a simulator whose machines stop, or whose clocks are wrong.
    #[must_use]
    pub fn of(clock: Arc<dyn Clock>, random: Arc<dyn Random>, spawn: Arc<dyn Spawn>) -> Self {
        Self { clock, random, spawn }
    }

    /// The clock.
    pub fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    /// The source of randomness.
    pub fn random(&self) -> &dyn Random {
        &*self.random
    }

    /// The spawner.
    pub fn tasks(&self) -> &dyn Spawn {
        &*self.spawn
    }
}

/// The answer of a future, or none if the other is done before it. Both make progress only while this does.
pub async fn first_of<T>(work: impl Future<Output = T>, other: impl Future<Output = ()>) -> Option<T> {
    let (mut work, mut other) = (pin!(work), pin!(other));
    poll_fn(|cx| {
        if let Poll::Ready(answer) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(answer));
        }
        other.as_mut().poll(cx).map(|()| None)
    })
    .await
}

impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env").finish_non_exhaustive()
    }
}

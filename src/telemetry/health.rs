//! Whether a process lives, and whether it is ready.

use crate::env::Env;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Silence that is longer than this is death.
const SILENT: Duration = Duration::from_mins(1);

/// What a process's tasks say of themselves; its clones are one and the same.
#[derive(Clone)]
pub struct Health {
    inner: Arc<Inner>,
    env: Env,
}

struct Inner {
    ready: AtomicBool,
    /// In seconds of the clock that never falls.
    beat: AtomicU64,
}

impl Health {
    /// Nothing is ready yet; all lives.
    #[must_use]
    pub fn new(env: Env) -> Self {
        let beat = env.clock().monotonic().as_secs();
        Self { inner: Arc::new(Inner { ready: AtomicBool::new(false), beat: AtomicU64::new(beat) }), env }
    }

    /// Whether the process can do its work now.
    pub fn ready(&self, ready: bool) {
        self.inner.ready.store(ready, Ordering::Relaxed);
    }

    /// The task on which all depends has come round. It does so every few seconds: a minute of silence is death.
    pub fn beat(&self) {
        self.inner.beat.store(self.env.clock().monotonic().as_secs(), Ordering::Relaxed);
    }

    pub(super) fn lives(&self) -> bool {
        let last = self.inner.beat.load(Ordering::Relaxed);
        self.env.clock().monotonic().as_secs().saturating_sub(last) <= SILENT.as_secs()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.inner.ready.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Health").field("lives", &self.lives()).field("ready", &self.is_ready()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::Health;
    use crate::env::Simulation;
    use parking_lot::Mutex;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_process_that_stays_silent_is_dead_until_it_comes_round() {
        let world = Simulation::new(1);
        let health = Health::new(world.env());
        let env = world.env();
        let (own, seen) = (health.clone(), Arc::new(Mutex::new(vec![health.lives()])));
        let told = seen.clone();
        world.env().tasks().spawn(
            "wait",
            Box::pin(async move {
                env.clock().sleep(Duration::from_mins(1)).await;
                told.lock().push(own.lives());
                env.clock().sleep(Duration::from_secs(1)).await;
                told.lock().push(own.lives());
                own.beat();
                told.lock().push(own.lives());
            }),
        );
        world.run(Duration::from_secs(100));
        assert_eq!(*seen.lock(), [true, true, false, true]);
    }

    #[test]
    fn what_was_ready_may_be_so_no_longer() {
        let health = Health::new(Simulation::new(1).env());
        let before = health.is_ready();
        health.ready(true);
        let meanwhile = health.is_ready();
        health.ready(false);
        assert_eq!((before, meanwhile, health.is_ready()), (false, true, false));
    }
}

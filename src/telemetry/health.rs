//! What a process says of itself to the probes.

use crate::env::Env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Silence of the task that beats which is longer than this is its death.
const SILENT: Duration = Duration::from_mins(1);

/// Whether the process lives and is ready.
#[derive(Clone, Debug)]
pub struct Health {
    inner: Arc<Inner>,
    env: Env,
}

#[derive(Debug)]
struct Inner {
    ready: AtomicBool,
    beat: AtomicU64,
}

impl Health {
    /// Nothing is ready yet; all lives.
    #[must_use]
    pub fn new(env: Env) -> Self {
        let beat = env.clock().monotonic().as_secs();
        Self { inner: Arc::new(Inner { ready: AtomicBool::new(false), beat: AtomicU64::new(beat) }), env }
    }

    /// Whether the process can do what it is there for.
    pub fn set_ready(&self, ready: bool) {
        self.inner.ready.store(ready, Ordering::Relaxed);
    }

    /// The task on which all hangs has come round.
    pub fn beat(&self) {
        self.inner.beat.store(self.env.clock().monotonic().as_secs(), Ordering::Relaxed);
    }

    /// Whether that task still comes round.
    #[must_use]
    pub fn lives(&self) -> bool {
        let last = self.inner.beat.load(Ordering::Relaxed);
        self.env.clock().monotonic().as_secs().saturating_sub(last) <= SILENT.as_secs()
    }

    /// What was said last.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.inner.ready.load(Ordering::Relaxed)
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
    fn a_task_that_stays_silent_is_dead_and_ready_is_what_was_said_last() {
        let world = Simulation::new(1);
        let health = Health::new(world.env());
        assert!(health.lives() && !health.is_ready());
        health.set_ready(true);
        let env = world.env();
        let (own, seen) = (health.clone(), Arc::new(Mutex::new(Vec::new())));
        let told = seen.clone();
        world.env().tasks().spawn(
            "wait",
            Box::pin(async move {
                env.clock().sleep(Duration::from_secs(61)).await;
                told.lock().push(own.lives());
                own.beat();
                told.lock().push(own.lives());
            }),
        );
        world.run(Duration::from_secs(100));
        assert_eq!(*seen.lock(), [false, true]);
        assert!(health.is_ready());
        health.set_ready(false);
        assert!(!health.is_ready());
    }
}

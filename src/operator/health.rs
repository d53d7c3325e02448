//! `/livez` and `/readyz`.
//!
//! Owns: the port on which the operator says whether it lives and is ready.
//! May not: take commands, or depend on the API server's being there: only on our own tasks' going on.

use super::error::OperatorError;
use crate::env::Env;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;

/// Silence of a task that is longer than this is its death.
const SILENT: Duration = Duration::from_mins(1);

/// What the tasks say of themselves.
#[derive(Clone)]
pub(super) struct Health {
    inner: Arc<Inner>,
    env: Env,
}

struct Inner {
    ready: AtomicBool,
    beat: AtomicU64,
}

impl Health {
    /// Nothing is ready yet; all lives.
    pub(super) fn new(env: Env) -> Self {
        let beat = env.clock().monotonic().as_secs();
        Self { inner: Arc::new(Inner { ready: AtomicBool::new(false), beat: AtomicU64::new(beat) }), env }
    }

    /// The caches have been filled once.
    pub(super) fn ready(&self) {
        self.inner.ready.store(true, Ordering::Relaxed);
    }

    /// The task that holds the office has come round.
    pub(super) fn beat(&self) {
        self.inner.beat.store(self.env.clock().monotonic().as_secs(), Ordering::Relaxed);
    }

    fn lives(&self) -> bool {
        let last = self.inner.beat.load(Ordering::Relaxed);
        self.env.clock().monotonic().as_secs().saturating_sub(last) <= SILENT.as_secs()
    }

    fn is_ready(&self) -> bool {
        self.inner.ready.load(Ordering::Relaxed)
    }
}

fn answer(good: bool) -> (StatusCode, &'static str) {
    if good { (StatusCode::OK, "ok\n") } else { (StatusCode::SERVICE_UNAVAILABLE, "not yet\n") }
}

/// Serves both until dropped.
///
/// # Errors
/// If the port cannot be opened.
pub(super) async fn serve(health: Health, port: u16) -> Result<(), OperatorError> {
    let listener = TcpListener::bind(("0.0.0.0", port)).await.map_err(OperatorError::Port)?;
    let (lives, ready) = (health.clone(), health);
    let router = Router::new()
        .route("/livez", get(move || std::future::ready(answer(lives.lives()))))
        .route("/readyz", get(move || std::future::ready(answer(ready.is_ready()))));
    axum::serve(listener, router).await.map_err(OperatorError::Port)
}

#[cfg(test)]
mod tests {
    use super::Health;
    use crate::env::Simulation;
    use std::time::Duration;

    #[test]
    fn a_task_that_stays_silent_is_dead_and_ready_comes_once() {
        let world = Simulation::new(1);
        let health = Health::new(world.env());
        assert!(health.lives() && !health.is_ready());
        health.ready();
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
    }

    use parking_lot::Mutex;
    use std::sync::Arc;
}

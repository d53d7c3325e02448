//! The real clock, randomness and tasks.
//!
//! Owns: the calls to the operating system and to tokio.
//! May not: be used by tests of decisions; those use the simulation.

#![expect(clippy::disallowed_methods, reason = "this is the place that may")]

use super::{Clock, Env, Random, Spawn, Work};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The real environment. Spawning and sleeping need a tokio runtime around them.
#[must_use]
pub fn real() -> Env {
    Env { clock: Arc::new(Machine), random: Arc::new(Machine), spawn: Arc::new(Machine) }
}

struct Machine;

impl Clock for Machine {
    fn monotonic(&self) -> Duration {
        let now = rustix::time::clock_gettime(CLOCK);
        // Neither part of this clock is ever negative.
        Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
    }

    fn wall_micros(&self) -> i64 {
        match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
        }
    }

    fn sleep(&self, span: Duration) -> Work {
        Box::pin(tokio::time::sleep(span))
    }
}

/// A lease must run out while a machine is suspended.
#[cfg(target_os = "linux")]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: rustix::time::ClockId = rustix::time::ClockId::Monotonic;

impl Random for Machine {
    fn number(&self) -> u64 {
        // Where the operating system has no randomness to give, one that is merely unpredictable still tells lives apart.
        getrandom::u64().unwrap_or_else(|_| fastrand::u64(..))
    }
}

impl Spawn for Machine {
    fn spawn(&self, _name: &'static str, work: Work) {
        drop(tokio::spawn(work));
    }
}

#[cfg(test)]
mod tests {
    use super::real;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn time_passes_chance_varies_and_tasks_run() {
        let env = real();
        let begun = env.clock().monotonic();
        let ran = Arc::new(AtomicBool::new(false));
        let flag = ran.clone();
        env.tasks().spawn("flag", Box::pin(async move { flag.store(true, Ordering::SeqCst) }));
        env.clock().sleep(Duration::from_millis(5)).await;
        assert!(env.clock().monotonic() >= begun + Duration::from_millis(5));
        assert!(env.clock().wall_micros() > 1_700_000_000_000_000);
        assert_ne!(env.random().number(), env.random().number());
        assert!(ran.load(Ordering::SeqCst));
    }
}

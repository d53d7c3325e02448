//! The real clock, randomness and tasks.
//!
//! Owns: the calls to the operating system and to tokio.
//! May not: be used by tests of decisions; those use the simulation.

#![expect(clippy::disallowed_methods, reason = "this is the place that may")]

use super::{Clock, Env, Random, Spawn, Work};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The real environment. Made inside a tokio runtime, it spawns on that one, whichever thread asks.
#[must_use]
pub fn real() -> Env {
    let runtime = tokio::runtime::Handle::try_current().ok();
    Env { clock: Arc::new(Machine), random: Arc::new(Machine), spawn: Arc::new(Tasks(runtime)) }
}

/// Runs a program's work on this thread, in the real environment, until it is done. Tasks that are left then end with the
/// process: a read of the standard input that nobody answers would hold it up.
///
/// # Errors
/// The operating system gives what it needs to nobody any more.
pub fn run<T, W: Future<Output = T>>(work: impl FnOnce(Env) -> W) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(async { work(real()).await });
    runtime.shutdown_background();
    Ok(done)
}

struct Machine;

/// Tasks go to the runtime in which the environment was made, where there is one.
struct Tasks(Option<tokio::runtime::Handle>);

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

impl Spawn for Tasks {
    fn spawn(&self, _name: &'static str, work: Work) {
        drop(match &self.0 {
            Some(runtime) => runtime.spawn(work),
            None => tokio::spawn(work),
        });
    }

    fn thread(&self, name: &'static str, work: Work) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let started = runtime.and_then(|runtime| {
            let work = move || runtime.block_on(work);
            std::thread::Builder::new().name(name.to_owned()).spawn(work)
        });
        // The work was dropped, which those who wait for its answers see.
        drop(started);
    }
}

#[cfg(test)]
mod tests {
    use super::real;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[tokio::test]
    async fn a_thread_of_its_own_has_time_and_hands_tasks_to_the_runtime() {
        let env = real();
        let (told, asked) = tokio::sync::oneshot::channel();
        let inner = env.clone();
        env.tasks().thread(
            "own",
            Box::pin(async move {
                let name = std::thread::current().name().map(str::to_owned);
                inner.clock().sleep(Duration::from_millis(1)).await;
                inner.tasks().spawn("back", Box::pin(async move { told.send((name, std::thread::current().id())).unwrap() }));
            }),
        );
        let (name, back) = asked.await.unwrap();
        assert_eq!((name.as_deref(), back), (Some("own"), std::thread::current().id()));
    }

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

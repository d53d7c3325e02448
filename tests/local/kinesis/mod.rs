//! Reading and writing Kinesis, on the fake of `tests/support/fake_kinesis.rs` and a simulation's clock.

mod conformance;
mod fleet;
mod planning;
mod sink;
mod source;

use millrace::env::{Env, Simulation};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);

/// Runs work in a world of its own until it is done, which must be within this much of the world's time.
fn simulate<T: Send + 'static, F: Future<Output = T> + Send + 'static>(within: Duration, work: impl FnOnce(Env) -> F) -> T {
    let simulation = Simulation::new(1);
    let done = Arc::new(Mutex::new(None));
    let (future, told) = (work(simulation.env()), Arc::clone(&done));
    simulation.env().tasks().spawn("test", Box::pin(async move { *told.lock() = Some(future.await) }));
    simulation.run(within);
    let answer = done.lock().take();
    answer.unwrap_or_else(|| panic!("not done within {within:?}"))
}

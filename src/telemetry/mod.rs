//! What a process says of itself over HTTP: whether it lives, whether it is ready, what it has counted.
//!
//! Owns: health, metrics and their text, the port where both are read, logs.
//! May not: know what is counted or why; take commands; depend on anything outside the process being there.

mod health;
mod logs;
mod metric;
mod serve;

pub use health::Health;
pub use logs::{LogFormat, log};
pub use metric::{Kind, Metric, Sample, Value, faults, text};
pub use serve::{Metrics, TelemetryError, serve};

//! How a process shows whether it lives and what it does: `/livez`, `/readyz`, `/metrics`, logs.
//!
//! Owns: the port of the three, the form of metrics and of logs.
//! May not: take commands; know what is measured; depend on a service outside. Only our own tasks' going on is life.

mod health;
mod logs;
mod metrics;
mod serve;

pub use health::Health;
pub use logs::{LogFormat, log};
pub use metrics::{Family, Kind, Sample, render};
pub use serve::{TelemetryError, serve};

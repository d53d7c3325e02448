//! Sources: where records come from.
//!
//! Owns: fetchers, and the bounded queues by which they hand pages to lanes.
//! May not: decide who reads a split (`coordination`), evaluate, deliver.

pub mod file;
pub mod generator;
mod queue;

pub use queue::{Closed, Feeder, QueueLane, QueueLimits, queue};

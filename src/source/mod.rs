//! Sources: where records come from.
//!
//! Owns: fetchers, and the bounded queues by which they hand pages to lanes.
//! May not: decide who reads a split (`coordination`), evaluate, deliver.

mod fetching;
pub mod file;
pub mod generator;
pub mod kinesis;
mod places;
mod queue;
pub mod simple;

pub use fetching::Fetching;
pub use places::{Ended, Places};
pub use queue::{Closed, Feeder, QueueLane, QueueLimits, queue};

//! Sources: where records come from.
//!
//! Owns: fetchers, and the bounded queues by which they hand pages to lanes.
//! May not: decide who reads a split (`coordination`), evaluate, deliver.

mod fetching;
pub mod file;
pub mod generator;
mod places;
mod queue;

pub use fetching::Fetching;
pub use places::{Ended, Places};
pub use queue::{Closed, Feeder, QueueLane, QueueLimits, queue};

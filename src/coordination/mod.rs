//! Who reads which split: records, their store, the claim protocol, assignment, liveness, and the driver over them.
//!
//! Owns: the split, worker, leader and plan records and the ledger; the ownership protocol (I6–I16); the driver's order of
//! events; the traits that sources and stores implement.
//! May not: read records of the stream, know Kinesis or a sink; know a store's service outside the corner that is its own.

pub mod assignment;
mod discovery;
mod driver;
mod election;
#[cfg(feature = "kube")]
pub mod kubernetes;
mod leader;
pub mod ledger;
mod membership;
mod mirror;
pub mod records;
pub mod source;
pub mod store;
mod tidy;

pub use driver::{Config, Driver, DriverError, Event};

//! Sinks: where rows go.
//!
//! Owns: how each kind of destination is written.
//! May not: decide what is a row, or what an error of a destination ends (`runtime`).

pub mod file;
pub mod kinesis;

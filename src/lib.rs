//! Millrace runs stream programs on Kubernetes: a Kinesis stream, a root of stream equations over its records, outputs.
//!
//! The rooms are those of `docs/architecture.md`; a test holds their walls.

pub mod api;
pub mod cli;
pub mod codec;
pub mod coordination;
pub mod dataflow;
pub mod env;
pub mod error;
pub mod flow;
pub mod kinesis;
pub mod lang;
#[cfg(feature = "operator")]
pub mod operator;
pub mod program;
pub mod runtime;
pub mod sink;
pub mod source;
pub mod state;
#[cfg(feature = "service")]
pub mod telemetry;
pub mod worker;

//! From a checked root to rows: values, plans, monitors.
//!
//! Owns: values and the operations on them, windows, the plan, a key's state over it, the canonical evaluator, the bytes
//! of state, its transfer to another plan.
//! May not: parse, decode records, read clocks, files or the network.

pub mod bytes;
mod eval;
mod monitor;
pub mod ops;
pub mod plan;
mod slot;
#[cfg(test)]
pub(crate) mod testing;
pub mod transfer;
pub mod value;
pub mod window;

pub use eval::{Scratch, WindowCount};
pub use monitor::{Monitor, RecordTime, Row, TickError, TickFailure};
pub use plan::{Limits, Plan};
pub use transfer::{Decision, StreamTransfer, Transfer};

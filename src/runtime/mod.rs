//! The dataflow runtime: records in, rows out, through one owner loop.
//!
//! Owns: the owner loop, the writer and its contract with destinations, dead letters, what a failure ends.
//! May not: know Kinesis, Kubernetes, manifests, or where records come from.

mod counts;
mod dead_letter;
mod error;
mod owner;
mod program;
mod rows;
mod writer;

pub use counts::{Counts, Totals};
pub use dead_letter::MESSAGE_BYTES;
pub use error::{OutputError, RecordName, RuntimeError};
pub use owner::{Added, Ending, FromLoop, Loop, Prepared, Settings, ToLoop, Wires};
pub use program::{Output, PartitionKey, Policies, Program, TickPolicy, UndecodablePolicy};
pub use rows::{OutputBatch, OutputRow, Rows};
pub use writer::{Answer, CloseReport, Closed, Destination, Feed, NativeDestination, OutputWriter, QueueLimits, Session, Target};

//! One worker, put together from its parts.
//!
//! Owns: how a program becomes what a loop runs, which destinations and sources it opens, the control task.
//! May not: decide what `coordination`, `runtime`, `codec` or `source` decide.

mod assemble;
mod control;
mod ending;
mod local;
mod open;
#[cfg(feature = "worker")]
mod pod;
mod sources;
#[cfg(feature = "worker")]
mod streams;
mod tenants;

pub use assemble::{AssembleError, assemble};
pub use control::{Control, LoopWires, Notice};
pub use local::{Local, LocalError, LocalReport};
pub use open::{Places, open_session};
#[cfg(feature = "worker")]
pub use pod::{Whoami, WorkerError, work};

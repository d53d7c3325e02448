//! Who is alive: our own heartbeat, and what we see of others'.
//!
//! Owns: the heartbeat's task, when it must stop us, and the judgement that a counter has stood still for too long.
//! May not: compare clocks of two machines (I10), or wait for anything that data can block (I14).

mod beating;
mod observer;

pub(super) use beating::{Heart, Lease};
pub(super) use observer::{Observer, Reading, Standing};

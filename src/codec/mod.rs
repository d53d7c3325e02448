//! Records in and rows out: JSON, compression, bindings.
//!
//! Owns: how a record becomes a plan's input row, its key and its time; how values and rows are written.
//! May not: know sources, sinks or policies; keep anything of a record but buffers.
//!
//! [`value`] reads and writes one value.

mod error;
mod number;
mod read;
mod scan;
mod shapes;
mod text;
pub mod value;
mod wanted;

pub use error::{BindingError, DecodeError, Fault};

/// Bounds on a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deeply arrays and objects may nest, at most 256.
    pub depth: u16,
    /// The most bytes that the value of one input may take in memory ([`crate::dataflow::value::Value::size`]).
    pub value_bytes: usize,
    /// The most bytes of a key that stands in a field.
    pub key_bytes: usize,
    /// The most bytes of a payload as it comes.
    pub payload_bytes: usize,
    /// The most bytes of a payload that was unpacked.
    pub unpacked_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, value_bytes: 1 << 20, key_bytes: 4 << 10, payload_bytes: 10 << 20, unpacked_bytes: 64 << 20 }
    }
}

#[cfg(test)]
mod tests;

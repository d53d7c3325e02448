//! Records in and rows out: JSON, compression, bindings.
//!
//! Owns: how a record becomes a plan's input row, its key and its time; how values and rows are written.
//! May not: know sources, sinks or policies; keep anything of a record but buffers.
//!
//! [`Decoder`] reads records, [`Encoder`] writes rows, [`value`] does both for one value. docs/records.md says to users what
//! they take and give.

mod decode;
mod encode;
mod error;
mod number;
mod pointer;
mod read;
mod route;
mod scan;
mod shapes;
mod text;
mod tree;
mod unpack;
pub mod value;
mod walk;
mod wanted;

pub use decode::{Decoder, Input};
pub use encode::{Encoder, Metadata};
pub use error::{BindingError, DecodeError, Fault};

use std::collections::BTreeMap;

/// What keys a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeyRule {
    /// Its partition key; a record without one has the empty key.
    #[default]
    PartitionKey,
    /// The field at a JSON pointer.
    Field(String),
}

/// Whether payloads are unpacked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// gzip and zstd are told by their first bytes.
    #[default]
    Auto,
    /// They are taken as they are.
    None,
}

/// What the inputs of a root, the key and the time are bound to.
#[derive(Clone, Debug)]
pub struct Bindings<'a> {
    /// By input: a JSON pointer or record data, behind a stream's name where only that stream's records have it. An input
    /// that is not here binds to the field of its name.
    pub inputs: &'a BTreeMap<String, String>,
    /// What keys a record.
    pub key: KeyRule,
    /// What gives its time, a binding too; none: it is the arrival time.
    pub time: Option<&'a str>,
    /// By how many microseconds that time may lead the arrival time.
    pub max_lead: i64,
    /// Whether payloads are unpacked.
    pub compression: Compression,
    /// The names of the pipeline's streams; none: there is one, `main`.
    pub streams: Vec<String>,
    /// Bounds on a record.
    pub limits: Limits,
}

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

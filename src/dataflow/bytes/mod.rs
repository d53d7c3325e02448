//! State as bytes.
//!
//! Owns: the versioned binary form of numbers, texts, values, cells and failures, that snapshots are made of.
//! May not: know monitors or plans; panic on, or take much memory for, bytes that are not ours.
//!
//! The form is canonical: equal state gives equal bytes. Whole numbers are in base 128, lowest first, the high bit of a byte
//! saying that more follow; signed ones zigzag (0, -1, 1, -2, …). Floats are their eight bytes, lowest first, with one NaN.
//! Lists, texts and tables begin with their number. The names of a struct are written once in a [`Writer`]; further structs
//! of the same names say which.
//!
//! A change of this form is a new [`VERSION`], and the older ones stay readable.

mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

/// The version that is written.
pub const VERSION: u8 = 1;

/// Bytes that are no state of ours.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BytesError {
    /// They were written by a later version.
    #[error("the state is of version {0}, which this program does not know")]
    Version(u8),
    /// They end too early.
    #[error("the state ends too early")]
    End,
    /// They go on behind their end.
    #[error("the state goes on behind its end")]
    Surplus,
    /// They do not say what they should.
    #[error("the state is damaged: {0}")]
    Damaged(&'static str),
    /// A value is larger than is allowed.
    #[error("the state holds a value that is larger or deeper than is allowed")]
    Large,
}

/// The tags of values and cells. Never changed, never used again.
mod tag {
    pub(super) const UNIT: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const INT: u8 = 3;
    pub(super) const FLOAT: u8 = 4;
    pub(super) const TIME: u8 = 5;
    pub(super) const DURATION: u8 = 6;
    pub(super) const STR: u8 = 7;
    pub(super) const LIST: u8 = 8;
    pub(super) const TUPLE: u8 = 9;
    pub(super) const MAP: u8 = 10;
    pub(super) const STRUCT: u8 = 11;
    pub(super) const FUNCTION: u8 = 12;
    pub(super) const NOVAL: u8 = 32;
    pub(super) const DEFERRED: u8 = 33;
}

#[cfg(test)]
pub(in crate::dataflow) mod tests;

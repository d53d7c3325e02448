//! What passes between the parts: ids, epochs, digests.
//!
//! Owns: the words that more than one part uses, as types that cannot be mixed up.
//! May not: hold behaviour, do I/O, or know any part above it.

mod digest;
mod epoch;

pub use digest::{Digest, DigestError};
pub use epoch::{RootEpoch, SplitEpoch};

//! What passes between the parts: ids, epochs, digests, pages of records, lanes, tenancies.
//!
//! Owns: the words that more than one part uses, as types that cannot be mixed up; the seam between sources and loops.
//! May not: hold behaviour, do I/O, or know any part above it.

mod deadline;
mod digest;
mod epoch;
mod ids;
mod lane;
mod page;
mod tenancy;

pub use deadline::Deadline;
pub use digest::{Digest, DigestError};
pub use epoch::{RootEpoch, SplitEpoch};
pub use ids::{Admission, CaptureId, LaneId, Ordinal, SplitId};
pub use lane::{ErrorClass, Lane, LaneItem, SourceError};
pub use page::{Batch, Page, Record};
pub use tenancy::{Awaited, Barrier, Gain, RootRef, SplitState, StateHead, StoredCapture};

//! The state of splits: captured, stored, restored.
//!
//! Owns: captures, the stored form of a layer, what a split's head holds, restoring keys for another plan.
//! May not: decide when to capture (`coordination`) or evaluate (`runtime`).
//!
//! Here a split's state is one layer with every key, small enough to travel inside its ledger entry.

mod capture;
mod layer;
mod restore;
mod split;

pub use capture::{Capture, Frozen, FrozenKey};
pub use layer::{INLINE_BYTES, KeyState, Layer};
pub use restore::{Made, RestoredKey, restore};
pub use split::SplitKeys;

use crate::error::{Code, Meaning};
use crate::flow::{Digest, SplitId};

/// Why state cannot be stored or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The state of a split no longer fits into its ledger entry, and there is no other place for it.
    #[error("the state of split {split} has {bytes} bytes, and at most {INLINE_BYTES} fit without a state store")]
    StoreRequired {
        /// The split.
        split: SplitId,
        /// Its state's size.
        bytes: usize,
    },
    /// A piece of state is missing or damaged. It never means empty state.
    #[error("the state of split {split} cannot be read: {what}")]
    Unreadable {
        /// The split.
        split: SplitId,
        /// What is wrong with it.
        what: String,
    },
    /// State was made under a root that is not at hand.
    #[error("the state of split {split} was made under root {digest}, which is not there")]
    RootMissing {
        /// The split.
        split: SplitId,
        /// The root.
        digest: Digest,
    },
}

impl Meaning for StateError {
    fn code(&self) -> Code {
        match self {
            Self::StoreRequired { .. } => Code::STATE_STORE_REQUIRED,
            Self::Unreadable { .. } => Code::STATE_UNREADABLE,
            Self::RootMissing { .. } => Code::ROOT_MISSING,
        }
    }
}

//! What a source has to say beside its records.

use crate::error::Code;
use crate::flow::SplitId;
use crate::kinesis::Sequence;
use std::sync::Arc;

/// Something that happened, for Events and conditions. Times are the service's, in microseconds since 1970 UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Records may have been lost: the stream no longer had them when the split was read on (I4).
    Gap {
        /// The split.
        split: SplitId,
        /// The last record that was read before; none: nothing had been.
        after: Option<Sequence>,
        /// The first that there is now; none: none yet.
        next: Option<Sequence>,
        /// Nothing that arrived before this was lost; none: not known.
        since: Option<i64>,
        /// Nothing that arrived after this was lost.
        until: Option<i64>,
    },
    /// The split is so far behind that the stream will soon drop records which were not read.
    RetentionAtRisk {
        /// The split.
        split: SplitId,
        /// How far it is behind, in milliseconds.
        behind: i64,
    },
}

/// What keeps a split from being read for now. It is tried again; nothing is lost by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Its code.
    pub code: Code,
    /// What the service says, and what to do about it.
    pub message: Arc<str>,
}

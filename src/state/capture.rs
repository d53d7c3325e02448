//! Captures: the changed keys of a split, as they stood at a batch boundary.

use crate::dataflow::{Monitor, Plan};
use crate::flow::{Admission, CaptureId, Ordinal, RootRef, SplitEpoch, SplitId};
use std::fmt;
use std::sync::Arc;

/// One split's changed keys, frozen by its loop. With its position it may be committed once `admission` is durable and its
/// state stored (I3).
pub struct Capture {
    /// Which capture.
    pub id: CaptureId,
    /// Whose.
    pub split: SplitId,
    /// Under which tenancy.
    pub epoch: SplitEpoch,
    /// The last record that it holds.
    pub at: Ordinal,
    /// What makes that record's rows, and all before it, durable.
    pub admission: Admission,
    /// The root under which the keys stand.
    pub root: RootRef,
    /// Its plan.
    pub plan: Arc<Plan>,
    /// The keys that changed since the last capture.
    pub keys: Vec<FrozenKey>,
}

/// One key of a capture.
#[derive(Debug)]
pub struct FrozenKey {
    /// The key.
    pub key: Box<[u8]>,
    /// Its state; none where it was dropped.
    pub state: Option<Frozen>,
}

/// A key's state, frozen.
#[derive(Debug)]
pub struct Frozen {
    /// Its monitor.
    pub monitor: Monitor,
    /// When its last record arrived, in microseconds since 1970 UTC.
    pub last_arrival: i64,
}

impl fmt::Debug for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, split, epoch, at, admission, root, plan: _, keys } = self;
        f.debug_struct("Capture")
            .field("id", id)
            .field("split", split)
            .field("epoch", epoch)
            .field("at", at)
            .field("admission", admission)
            .field("root", root)
            .field("keys", &keys.len())
            .finish()
    }
}

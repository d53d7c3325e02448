//! What a source of splits implements: how its splits are opened, read on, drained and ended; and how they are found.
//!
//! Owns: the traits, and what passes through them.
//! May not: know any source. All calls come from the control task, one after the other; none may block or wait.

use super::records::{Progress, Shard};
use crate::flow::{Lane, LaneId, Ordinal, SourceError, SplitEpoch, SplitId};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Waker;

/// What a tenancy is opened with.
#[derive(Clone, Debug)]
pub struct SplitOpening {
    /// The split, and what it is.
    pub shard: Shard,
    /// Where to read on, as [`SplitSource::validate_resume`] took it; its position is none at a split's start.
    pub resume: Progress,
    /// Where a split without a position starts: the plan's start for an initial split; none: at its oldest record (I19).
    pub start: Option<Arc<str>>,
    /// The lane's id.
    pub lane: LaneId,
    /// The tenancy's epoch.
    pub epoch: SplitEpoch,
    /// To be woken when a lane has reached its end, or a drain may have gone on.
    pub waker: Waker,
}

/// A source's place in a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitProgress {
    /// The last record, as the lane counts them, that this is behind.
    pub watermark: Ordinal,
    /// Where to read on; none: still at the split's start.
    pub position: Option<Arc<str>>,
    /// The service's time, in microseconds since 1970 UTC, when the split was last known to be read to its tip.
    pub tip_time: Option<i64>,
    /// Whether the split was read to its end, and all of it is acknowledged.
    pub completed: bool,
    /// Of a completed split: the splits that it became. Their records are made before its end is recorded (I18).
    pub children: Vec<Shard>,
}

/// A source of splits.
pub trait SplitSource {
    /// Opens a split, once per tenancy: starts its fetcher and answers its lane. Never waits for data.
    ///
    /// # Errors
    /// The split cannot be opened now (retryable), by its own fault (record), or the pipeline cannot go on (fatal).
    fn open_split(&mut self, opening: SplitOpening) -> Result<Box<dyn Lane>, SourceError>;

    /// Whether a split can be read on from there; asked before the tenancy exists.
    ///
    /// # Errors
    /// It cannot: the split is left (record), or the pipeline cannot go on (fatal).
    fn validate_resume(&mut self, _split: &SplitId, _progress: &Progress) -> Result<(), SourceError> {
        Ok(())
    }

    /// The place at an acknowledged watermark that is a captured boundary. The answer is for that very watermark.
    ///
    /// # Errors
    /// As for [`SplitSource::open_split`].
    fn encode_commit(&mut self, split: &SplitId, watermark: Ordinal) -> Result<SplitProgress, SourceError>;

    /// Completion without a new watermark: of an empty split, or of one whose tail was acknowledged exactly at the last
    /// commit, which is `watermark`. Only a completed place is answered.
    ///
    /// # Errors
    /// As for [`SplitSource::open_split`].
    fn sweep(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError>;

    /// The tenancy is over: detach the fetcher, never abort it. Must not block. Nothing is called for this tenancy
    /// afterwards.
    fn close_split(&mut self, split: &SplitId);

    /// Lanes that have reached their end since the last call. A hint, for latency.
    fn take_finishing(&mut self) -> Vec<SplitId>;

    /// Stops intake at a safe boundary and keeps what a commit needs; false: the source cannot, or the split is not open.
    fn begin_revoke(&mut self, _split: &SplitId) -> bool {
        false
    }

    /// After an accepted [`SplitSource::begin_revoke`]: the place, once all that the lane has given out is at or below the
    /// acknowledged `watermark`; on every call until the tenancy is over. Never completed (I12).
    ///
    /// # Errors
    /// As for [`SplitSource::open_split`].
    fn drain_ready(&mut self, _split: &SplitId, _watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        Ok(None)
    }

    /// After a revocation is taken back: reads on from where intake stopped; false: the source cannot.
    fn resume_intake(&mut self, _split: &SplitId) -> bool {
        false
    }
}

/// What a pipeline starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The stream's identity (I21).
    pub stream: Arc<str>,
    /// The resolved start of the initial splits; none: each one's oldest record (I20).
    pub start: Option<Arc<str>>,
    /// The initial splits, of one complete listing. Parents that the listing lacks may be named.
    pub initial: Vec<Shard>,
    /// Whether no further splits will ever come.
    pub is_final: bool,
}

/// A listing's answer, some time later.
pub type Planned<'a> = Pin<Box<dyn Future<Output = Result<Plan, SourceError>> + Send + 'a>>;

/// What a stream has, some time later.
pub type Discovered<'a> = Pin<Box<dyn Future<Output = Result<Vec<Shard>, SourceError>> + Send + 'a>>;

/// How a source finds its splits. The leader asks, on a task of its own.
pub trait Planner: Send + Sync {
    /// Resolves the start and lists the initial splits. Asked until a plan stands; of several answers the first that is
    /// written counts.
    fn plan(&self) -> Planned<'_>;

    /// All shards that this stream has, by one complete listing that begins now: asked again and again of a plan that is
    /// not final (I45). A source whose splits are all told by their parents' ends has nothing to list.
    fn discover<'a>(&'a self, _stream: &'a Arc<str>) -> Discovered<'a> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

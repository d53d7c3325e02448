//! The shards of one stream as splits: tenancies, and their places in a commit.

use super::fetch;
use super::lineage;
use super::marks::Marks;
use super::notice::{Notice, Trouble};
use super::planner::source_error;
use super::position::{Position, PositionError, Start};
use super::reader::{Common, Reader};
use super::tenancy::{Committed, Intake, Tenancy};
use crate::coordination::records::{Progress, Shard};
use crate::coordination::source::{SplitOpening, SplitProgress, SplitSource};
use crate::env::Env;
use crate::error::Code;
use crate::flow::{ErrorClass, Lane, Ordinal, SourceError, SplitId};
use crate::kinesis::{ChildShard, Service, bounded};
use crate::source::queue::{QueueLimits, queue};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What a source is made with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What the program calls the stream.
    pub stream: Arc<str>,
    /// Which stream positions belong to: the plan's (I21).
    pub identity: Arc<str>,
    /// How long the stream keeps records, in microseconds.
    pub retention: i64,
    /// What the queue of one lane may hold.
    pub limits: QueueLimits,
}

/// One stream, read by polling.
pub struct KinesisSource {
    common: Arc<Common>,
    limits: QueueLimits,
    open: BTreeMap<SplitId, Arc<Tenancy>>,
    /// Of tenancies that are over.
    notices: Vec<Notice>,
}

impl KinesisSource {
    /// A source of the stream behind this service. Nothing is called yet.
    #[must_use]
    pub fn new(env: &Env, service: Arc<dyn Service>, setup: Setup) -> Self {
        let Setup { stream, identity, retention, limits } = setup;
        let common = Common { env: env.clone(), service, stream, identity, retention: AtomicI64::new(retention) };
        Self { common: Arc::new(common), limits, open: BTreeMap::new(), notices: Vec::new() }
    }

    /// The same, for whatever stream the service has now.
    ///
    /// # Errors
    /// It cannot be asked which one that is.
    pub async fn connect(env: &Env, service: Arc<dyn Service>, stream: &str, limits: QueueLimits) -> Result<Self, SourceError> {
        let summary = bounded(env, &*service, "DescribeStreamSummary", service.summary()).await.map_err(|fault| source_error(&fault))?;
        let setup = Setup { stream: stream.into(), identity: summary.identity(), retention: summary.retention, limits };
        Ok(Self::new(env, service, setup))
    }

    /// The stream's retention has changed; in microseconds.
    pub fn set_retention(&self, retention: i64) {
        self.common.retention.store(retention, Ordering::Relaxed);
    }

    /// The splits that cannot be read for now, and why.
    #[must_use]
    pub fn troubles(&self) -> Vec<(SplitId, Trouble)> {
        self.open.iter().filter_map(|(split, tenancy)| Some((split.clone(), tenancy.trouble()?))).collect()
    }

    /// How far each split was behind its tip when it last read, in milliseconds.
    #[must_use]
    pub fn behind(&self) -> Vec<(SplitId, i64)> {
        self.open.iter().filter_map(|(split, tenancy)| Some((split.clone(), tenancy.behind()?))).collect()
    }

    /// What happened since the last call.
    pub fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.open.values().flat_map(|tenancy| tenancy.take_notices()));
        notices
    }

    fn tenancy(&self, split: &SplitId) -> Result<&Arc<Tenancy>, SourceError> {
        self.open.get(split).ok_or_else(|| internal(format!("split {split} is not open")))
    }

    fn progress(&self, at: Ordinal, (place, end): Committed) -> SplitProgress {
        let child = |child: &ChildShard| -> Shard { lineage::split(&self.common.identity, child) };
        SplitProgress {
            watermark: at,
            position: place.position.map(|position| position.to_string().into()),
            tip_time: place.tip_time,
            completed: end.is_some(),
            children: end.unwrap_or_default().iter().map(child).collect(),
        }
    }
}

fn internal(message: String) -> SourceError {
    SourceError { class: ErrorClass::Fatal, code: Code::INTERNAL, message: message.into() }
}

fn unreadable(split: &SplitId, error: &PositionError) -> SourceError {
    let message = format!("split {split}: {error}; run the version that wrote it, or move the split with `kubectl millrace splits --seek`");
    SourceError { class: ErrorClass::Record, code: Code::POSITION_INVALID, message: message.into() }
}

fn position(split: &SplitId, progress: &Progress) -> Result<Option<Position>, SourceError> {
    progress.position.as_deref().map(str::parse).transpose().map_err(|error| unreadable(split, &error))
}

impl SplitSource for KinesisSource {
    fn open_split(&mut self, opening: SplitOpening) -> Result<Box<dyn Lane>, SourceError> {
        let SplitOpening { shard: Shard { split, descriptor, .. }, resume, start, waker, .. } = opening;
        if descriptor.stream != self.common.identity {
            let message = format!(
                "split {split} is of stream {}, and the stream is {} now: it was deleted and created again; set onRecreate: StartOver to read it from its beginning",
                descriptor.stream, self.common.identity
            );
            return Err(SourceError { class: ErrorClass::Fatal, code: Code::STREAM_RECREATED, message: message.into() });
        }
        if self.open.contains_key(&split) {
            return Err(internal(format!("split {split} is open already")));
        }
        let start = Start::read(start.as_deref()).map_err(|error| unreadable(&split, &error))?;
        let marks = Marks::new(position(&split, &resume)?, resume.tip_time);
        let tenancy = Arc::new(Tenancy::new(split.clone(), marks, waker));
        let reader = Reader::new(Arc::clone(&self.common), Arc::clone(&tenancy), descriptor.shard, start);
        let (feeder, lane) = queue(self.limits);
        self.common.env.tasks().spawn("kinesis fetcher", Box::pin(fetch::run(Arc::clone(&tenancy), reader, feeder)));
        self.open.insert(split, tenancy);
        Ok(Box::new(lane))
    }

    fn validate_resume(&mut self, split: &SplitId, progress: &Progress) -> Result<(), SourceError> {
        position(split, progress).map(|_position| ())
    }

    fn encode_commit(&mut self, split: &SplitId, watermark: Ordinal) -> Result<SplitProgress, SourceError> {
        let committed = self.tenancy(split)?.commit(watermark);
        let committed = committed.ok_or_else(|| internal(format!("split {split} has no record {watermark} to commit")))?;
        Ok(self.progress(watermark, committed))
    }

    fn sweep(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        if self.tenancy(split)?.ends_at(watermark) { self.encode_commit(split, watermark).map(Some) } else { Ok(None) }
    }

    fn close_split(&mut self, split: &SplitId) {
        if let Some(tenancy) = self.open.remove(split) {
            tenancy.set_intake(Intake::Closed);
            self.notices.extend(tenancy.take_notices());
        }
    }

    fn take_finishing(&mut self) -> Vec<SplitId> {
        self.open.iter().filter(|(_, tenancy)| tenancy.tell_end()).map(|(split, _)| split.clone()).collect()
    }

    fn begin_revoke(&mut self, split: &SplitId) -> bool {
        let tenancy = self.open.get(split);
        if let Some(tenancy) = tenancy {
            tenancy.set_intake(Intake::Stopped);
        }
        tenancy.is_some()
    }

    fn drain_ready(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        if !self.tenancy(split)?.drained_at(watermark) {
            return Ok(None);
        }
        let place = self.encode_commit(split, watermark)?;
        // Whoever reads on finds the end again (I12).
        Ok(Some(SplitProgress { completed: false, children: Vec::new(), ..place }))
    }

    fn resume_intake(&mut self, split: &SplitId) -> bool {
        let tenancy = self.open.get(split);
        if let Some(tenancy) = tenancy {
            tenancy.set_intake(Intake::Open);
        }
        tenancy.is_some()
    }
}

/// Fetchers are detached: none outlives its source.
impl Drop for KinesisSource {
    fn drop(&mut self) {
        for tenancy in self.open.values() {
            tenancy.set_intake(Intake::Closed);
        }
    }
}

impl fmt::Debug for KinesisSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KinesisSource").field("identity", &self.common.identity).field("open", &self.open.keys()).finish_non_exhaustive()
    }
}

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
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
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
    book: Arc<Mutex<Book>>,
}

/// The tenancies of a source.
#[derive(Default)]
struct Book {
    open: BTreeMap<SplitId, Arc<Tenancy>>,
    /// Of tenancies that are over; the newest.
    notices: VecDeque<Notice>,
}

/// How many notices of tenancies that are over are kept until somebody asks.
const NOTICES: usize = 1_024;

/// What there is to say of a source's splits, for status and metrics, while the source itself is in the hands of whoever
/// drives it.
#[derive(Clone)]
pub struct Reports {
    common: Arc<Common>,
    book: Arc<Mutex<Book>>,
}

impl KinesisSource {
    /// A source of the stream behind this service. Nothing is called yet.
    #[must_use]
    pub fn new(env: &Env, service: Arc<dyn Service>, setup: Setup) -> Self {
        let Setup { stream, identity, retention, limits } = setup;
        let common = Common { env: env.clone(), service, stream, identity, retention: AtomicI64::new(retention) };
        Self { common: Arc::new(common), limits, book: Arc::default() }
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

    /// What can be asked of it from elsewhere.
    #[must_use]
    pub fn reports(&self) -> Reports {
        Reports { common: Arc::clone(&self.common), book: Arc::clone(&self.book) }
    }

    fn find(&self, split: &SplitId) -> Option<Arc<Tenancy>> {
        self.book.lock().open.get(split).cloned()
    }

    fn tenancy(&self, split: &SplitId) -> Result<Arc<Tenancy>, SourceError> {
        self.find(split).ok_or_else(|| internal(format!("split {split} is not open")))
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

impl Reports {
    /// The stream's retention has changed; in microseconds.
    pub fn set_retention(&self, retention: i64) {
        self.common.retention.store(retention, Ordering::Relaxed);
    }

    /// The splits that cannot be read for now, and why.
    #[must_use]
    pub fn troubles(&self) -> Vec<(SplitId, Trouble)> {
        self.book.lock().each(Tenancy::trouble)
    }

    /// How far each split was behind its tip when it last read, in milliseconds.
    #[must_use]
    pub fn behind(&self) -> Vec<(SplitId, i64)> {
        self.book.lock().each(Tenancy::behind)
    }

    /// What happened since the last call.
    #[must_use]
    pub fn take_notices(&self) -> Vec<Notice> {
        let mut book = self.book.lock();
        let mut notices: Vec<_> = book.notices.drain(..).collect();
        notices.extend(book.open.values().flat_map(|tenancy| tenancy.take_notices()));
        notices
    }
}

impl Book {
    fn each<T>(&self, ask: impl Fn(&Tenancy) -> Option<T>) -> Vec<(SplitId, T)> {
        self.open.iter().filter_map(|(split, tenancy)| Some((split.clone(), ask(tenancy)?))).collect()
    }
}

impl fmt::Debug for Reports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reports").field("identity", &self.common.identity).finish_non_exhaustive()
    }
}

fn internal(message: String) -> SourceError {
    SourceError { class: ErrorClass::Fatal, code: Code::INTERNAL, message: message.into() }
}

fn unreadable(split: &SplitId, error: &PositionError) -> SourceError {
    let message = format!(
        "split {split}: {error}; run the version that wrote it, or read the stream on in a pipeline of another name, from a Timestamp"
    );
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
                "split {split} is of stream {}, and the stream is {} now: it was deleted and created again; read the new one in a pipeline of another name",
                descriptor.stream, self.common.identity
            );
            return Err(SourceError { class: ErrorClass::Fatal, code: Code::STREAM_RECREATED, message: message.into() });
        }
        if self.find(&split).is_some() {
            return Err(internal(format!("split {split} is open already")));
        }
        let start = Start::read(start.as_deref()).map_err(|error| unreadable(&split, &error))?;
        let marks = Marks::new(position(&split, &resume)?, resume.tip_time);
        let tenancy = Arc::new(Tenancy::new(split.clone(), marks, waker));
        let reader = Reader::new(Arc::clone(&self.common), Arc::clone(&tenancy), descriptor.shard, start);
        let (feeder, lane) = queue(self.limits);
        self.common.env.tasks().spawn("kinesis fetcher", Box::pin(fetch::run(Arc::clone(&tenancy), reader, feeder)));
        self.book.lock().open.insert(split, tenancy);
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
        let mut book = self.book.lock();
        if let Some(tenancy) = book.open.remove(split) {
            tenancy.set_intake(Intake::Closed);
            book.notices.extend(tenancy.take_notices());
            let over = book.notices.len().saturating_sub(NOTICES);
            book.notices.drain(..over);
        }
    }

    fn take_finishing(&mut self) -> Vec<SplitId> {
        self.book.lock().each(|tenancy| tenancy.tell_end().then_some(())).into_iter().map(|(split, ())| split).collect()
    }

    fn begin_revoke(&mut self, split: &SplitId) -> bool {
        let tenancy = self.find(split);
        if let Some(tenancy) = &tenancy {
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
        let tenancy = self.find(split);
        if let Some(tenancy) = &tenancy {
            tenancy.set_intake(Intake::Open);
        }
        tenancy.is_some()
    }
}

/// Fetchers are detached: none outlives its source.
impl Drop for KinesisSource {
    fn drop(&mut self) {
        for tenancy in self.book.lock().open.values() {
            tenancy.set_intake(Intake::Closed);
        }
    }
}

impl fmt::Debug for KinesisSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KinesisSource")
            .field("identity", &self.common.identity)
            .field("open", &self.book.lock().open.keys())
            .finish_non_exhaustive()
    }
}

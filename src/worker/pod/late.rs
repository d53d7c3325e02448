//! A source and a planner that are there before the stream is reached: a worker joins, and says what is wrong, without it.
//!
//! Owns: handing on to the real ones once there are any.
//! May not: answer in their place. No split is claimed before they are there.

use crate::coordination::records::Progress;
use crate::coordination::source::{Discovered, Planned, Planner, SplitOpening, SplitProgress, SplitSource};
use crate::error::Code;
use crate::flow::{ErrorClass, Lane, Ordinal, SourceError, SplitId};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

/// A source to come.
#[derive(Clone, Default)]
pub(super) struct LateSource {
    inner: Rc<RefCell<Option<Box<dyn SplitSource>>>>,
}

impl LateSource {
    /// This is it, from now on.
    pub(super) fn set(&self, source: Box<dyn SplitSource>) {
        *self.inner.borrow_mut() = Some(source);
    }

    fn ask<T>(&self, ask: impl FnOnce(&mut dyn SplitSource) -> Result<T, SourceError>) -> Result<T, SourceError> {
        match self.inner.borrow_mut().as_deref_mut() {
            Some(source) => ask(source),
            None => Err(SourceError {
                class: ErrorClass::Retryable,
                code: Code::KINESIS_UNREACHABLE,
                message: "the source has not been reached yet".into(),
            }),
        }
    }

    fn tell<T: Default>(&self, tell: impl FnOnce(&mut dyn SplitSource) -> T) -> T {
        match self.inner.borrow_mut().as_deref_mut() {
            Some(source) => tell(source),
            None => T::default(),
        }
    }
}

impl SplitSource for LateSource {
    fn open_split(&mut self, opening: SplitOpening) -> Result<Box<dyn Lane>, SourceError> {
        self.ask(|source| source.open_split(opening))
    }

    fn validate_resume(&mut self, split: &SplitId, progress: &Progress) -> Result<(), SourceError> {
        self.ask(|source| source.validate_resume(split, progress))
    }

    fn encode_commit(&mut self, split: &SplitId, watermark: Ordinal) -> Result<SplitProgress, SourceError> {
        self.ask(|source| source.encode_commit(split, watermark))
    }

    fn sweep(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        self.ask(|source| source.sweep(split, watermark))
    }

    fn close_split(&mut self, split: &SplitId) {
        self.tell(|source| source.close_split(split));
    }

    fn take_finishing(&mut self) -> Vec<SplitId> {
        self.tell(|source| source.take_finishing())
    }

    fn begin_revoke(&mut self, split: &SplitId) -> bool {
        self.tell(|source| source.begin_revoke(split))
    }

    fn drain_ready(&mut self, split: &SplitId, watermark: Ordinal) -> Result<Option<SplitProgress>, SourceError> {
        self.ask(|source| source.drain_ready(split, watermark))
    }

    fn resume_intake(&mut self, split: &SplitId) -> bool {
        self.tell(|source| source.resume_intake(split))
    }
}

/// A planner to come.
#[derive(Default)]
pub(super) struct LatePlanner {
    inner: Mutex<Option<Arc<dyn Planner>>>,
    there: Notify,
}

impl LatePlanner {
    /// This is it, from now on.
    pub(super) fn set(&self, planner: Arc<dyn Planner>) {
        *self.inner.lock() = Some(planner);
        self.there.notify_one();
    }

    fn get(&self) -> Option<Arc<dyn Planner>> {
        self.inner.lock().clone()
    }
}

impl Planner for LatePlanner {
    /// Waits until there is one: before a plan stands, there is nothing else to lead.
    fn plan(&self) -> Planned<'_> {
        Box::pin(async move {
            loop {
                match self.get() {
                    Some(planner) => return planner.plan().await,
                    None => self.there.notified().await,
                }
            }
        })
    }

    /// Before there is one, nothing is known of the stream: nothing is decided by that.
    fn discover<'a>(&'a self, stream: &'a Arc<str>) -> Discovered<'a> {
        Box::pin(async move {
            match self.get() {
                Some(planner) => planner.discover(stream).await,
                None => Ok(Vec::new()),
            }
        })
    }
}

//! Lanes: how a loop reads one split's records.

use super::page::Batch;
use crate::error::{Code, Meaning, Retry};
use std::task::{Context, Poll};

/// The reading end of a tenancy's bounded queue, owned by one loop. A task of the source fills the queue.
pub trait Lane: Send {
    /// The next item, in the split's order. After [`LaneItem::End`] or [`LaneItem::Failed`] there is none: it is not
    /// called again.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<LaneItem>;
}

/// What a lane yields.
#[derive(Debug)]
pub enum LaneItem {
    /// Records.
    Batch(Batch),
    /// The split has no more records and never will: a closed shard, a file that was read to its end.
    End,
    /// Reading has failed.
    Failed(SourceError),
}

/// What a source's error does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// It may pass: tried again, nobody is charged.
    Retryable,
    /// It is this split's: an attempt is charged.
    Record,
    /// The pipeline cannot go on.
    Fatal,
}

/// Why a split cannot be read, or its place not be given.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// What it does.
    pub class: ErrorClass,
    /// Its code.
    pub code: Code,
    /// What happened, where, and how to mend it.
    pub message: Box<str>,
}

impl Meaning for SourceError {
    fn code(&self) -> Code {
        self.code
    }

    fn retry(&self) -> Retry {
        if self.class == ErrorClass::Retryable { Retry::Backoff } else { Retry::Never }
    }
}

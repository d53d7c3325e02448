//! Where rows go: the writer's contract, and that of destinations.
//!
//! Owns: admissions and the durable prefix, the first error, closing every destination.
//! May not: know how a destination delivers (`sink`), nor lanes and positions (`owner`).

mod session;

pub use session::{QueueLimits, Session, Target};

use super::error::OutputError;
use super::rows::{OutputBatch, Rows};
use crate::flow::{Admission, Deadline};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A future of a method that is called through `dyn`.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What became of a batch that was fed.
#[derive(Debug)]
pub enum Feed {
    /// The writer has it, under this number.
    Admitted(Admission),
    /// A queue is full; the batch comes back, and nothing of it was taken.
    Full(OutputBatch),
}

/// One writer per loop and session, called by that loop only.
pub trait OutputWriter: Send {
    /// Admits a batch, or gives it back. It never waits.
    ///
    /// # Errors
    /// The first error of any destination, from then on.
    fn feed(&mut self, batch: OutputBatch) -> Result<Feed, OutputError>;

    /// The highest admission up to which every destination has acknowledged.
    fn durable(&self) -> Admission;

    /// Ready once something has changed since it last was: the durable prefix, room in a queue, an error.
    ///
    /// # Errors
    /// The first error of any destination, from then on.
    fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), OutputError>>;

    /// Admits a batch, waiting for room, and waits until it and all before it are durable.
    fn send(&mut self, batch: OutputBatch) -> Answer<'_, Result<Admission, OutputError>>;

    /// Waits until all that was admitted is durable.
    fn flush(&mut self) -> Answer<'_, Result<(), OutputError>>;

    /// Finishes every destination, failed ones included: what was admitted is delivered where that is still possible by
    /// the deadline.
    fn close(self: Box<Self>, by: Deadline) -> Answer<'static, CloseReport>;
}

/// How closing went, by destination.
#[derive(Clone, Debug, Default)]
pub struct CloseReport {
    /// Each destination, in the session's order.
    pub destinations: Vec<Closed>,
    /// The highest admission up to which every destination has acknowledged.
    pub durable: Admission,
    /// The first error of the session, where there was one (I27).
    pub first_error: Option<OutputError>,
}

/// How one destination ended.
#[derive(Clone, Debug)]
pub struct Closed {
    /// The output's name.
    pub output: Arc<str>,
    /// Admitted rows that it has not acknowledged.
    pub undelivered: usize,
    /// What it said at the end.
    pub result: Result<(), OutputError>,
}

impl CloseReport {
    /// Rows that were admitted and did not arrive everywhere.
    #[must_use]
    pub fn undelivered(&self) -> usize {
        self.destinations.iter().map(|each| each.undelivered).sum()
    }
}

/// A place to deliver rows to. A delivery owner calls it, one call at a time.
pub trait Destination: Send {
    /// Delivers rows, in order per partition key, and answers once they are durable there. Retries are its own.
    fn deliver(&mut self, rows: Rows) -> Answer<'_, Result<(), OutputError>>;

    /// Finishes: nothing is delivered afterwards.
    fn close(&mut self, by: Deadline) -> Answer<'_, Result<(), OutputError>>;
}

/// A destination that the loop writes itself, at once and without a queue: what was written is durable.
pub trait NativeDestination: Send {
    /// Writes rows.
    ///
    /// # Errors
    /// They cannot be written.
    fn write(&mut self, rows: &Rows) -> Result<(), OutputError>;

    /// Finishes: what was written is on its way to the medium.
    ///
    /// # Errors
    /// It cannot be.
    fn close(&mut self) -> Result<(), OutputError>;
}

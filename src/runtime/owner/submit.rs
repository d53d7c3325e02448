//! Submitting rows, and up to where lanes are durable.

use super::{FromLoop, Loop, tell};
use crate::flow::{Admission, Deadline};
use crate::runtime::error::RuntimeError;
use crate::runtime::rows::OutputBatch;
use crate::runtime::writer::Feed;
use std::task::{Context, Poll};

impl Loop {
    pub(super) fn poll_writer(&mut self, cx: &mut Context<'_>) -> Result<bool, RuntimeError> {
        match self.writer.poll_change(cx) {
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Ready(Err(error)) => Err(RuntimeError::Output(Box::new(error))),
            Poll::Pending => Ok(false),
        }
    }

    pub(super) fn poll_linger(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(since) = self.open_since else { return false };
        let lingering = self.lingering.get_or_insert_with(|| {
            let until = Deadline::after(since, self.settings.linger);
            self.env.clock().sleep(until.left(self.env.clock().monotonic()))
        });
        lingering.as_mut().poll(cx).is_ready()
    }

    /// The admission that a record's rows have or will have: of one without rows, the latest there is (I1).
    pub(super) const fn next_admission(&self) -> Admission {
        if self.open.is_empty() && self.held.is_none() { self.admitted } else { self.admitted.next() }
    }

    /// Hands the open rows to the writer, or keeps them where it has no room.
    pub(super) fn submit(&mut self) -> Result<(), RuntimeError> {
        self.open_since = None;
        self.lingering = None;
        if self.open.is_empty() {
            return Ok(());
        }
        self.lanes.tag(self.admitted.next());
        let fresh = OutputBatch::new(self.evaluator.program().destinations());
        let batch = std::mem::replace(&mut self.open, fresh);
        self.feed(batch)
    }

    pub(super) fn feed(&mut self, batch: OutputBatch) -> Result<(), RuntimeError> {
        match self.writer.feed(batch).map_err(|error| RuntimeError::Output(Box::new(error)))? {
            Feed::Admitted(admission) => self.admitted = admission,
            Feed::Full(batch) => self.held = Some(batch),
        }
        Ok(())
    }

    pub(super) fn writer_changed(&mut self) -> Result<(), RuntimeError> {
        if let Some(batch) = self.held.take() {
            self.feed(batch)?;
            if self.held.is_none() && !self.lanes.at_boundary() {
                return self.evaluate();
            }
        }
        Ok(())
    }

    pub(super) async fn tell_watermarks(&mut self) {
        self.lanes.durable(self.writer.durable());
        while let Some((lane, ordinal)) = self.lanes.next_watermark() {
            tell(&self.answers, FromLoop::Watermark(lane, ordinal)).await;
        }
    }
}

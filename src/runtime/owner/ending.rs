//! How a loop ends: what is left is submitted and flushed, every destination is closed, and the first error is the answer.

use super::{Ending, FromLoop, Loop, tell};
use crate::flow::Deadline;
use crate::runtime::error::RuntimeError;
use crate::runtime::writer::CloseReport;
use std::future::poll_fn;
use std::task::Poll;

impl Loop {
    /// Runs until it is told to finish, or something fails; then closes the session and says how it went.
    pub async fn run(mut self) {
        let result = self.work().await;
        let by = self.finish.unwrap_or_else(|| Deadline::after(self.env.clock().monotonic(), self.settings.drain));
        let result = match result {
            Ok(()) => self.flush(by).await.and_then(|()| if self.lanes.are_over() { Ok(()) } else { Err(RuntimeError::InputLeft) }),
            Err(error @ RuntimeError::Output(_)) => Err(error),
            // What ticks before the failing one have made is whole: it is delivered, so that less is evaluated again. The
            // failure stays the answer.
            Err(error) => self.flush(by).await.or(Ok(())).and(Err(error)),
        };
        self.tell_captures().await;
        self.publish_counts();
        let Self { writer, answers, mut lanes, .. } = self;
        let report = writer.close(by).await;
        lanes.durable(report.durable);
        while let Some((lane, ordinal)) = lanes.next_watermark() {
            tell(&answers, FromLoop::Watermark(lane, ordinal)).await;
        }
        let result = result.and_then(|()| verdict(&report));
        tell(&answers, FromLoop::Ended(Box::new(Ending { result, report }))).await;
    }

    /// Submits what is left where there is room for it, without waiting.
    fn submit_last(&mut self) -> Result<(), RuntimeError> {
        if let Some(held) = self.held.take() {
            self.feed(held)?;
        }
        if self.held.is_some() { Ok(()) } else { self.submit() }
    }

    /// Submits what is left, and waits until all is durable or the deadline has come.
    async fn flush(&mut self, by: Deadline) -> Result<(), RuntimeError> {
        let mut overdue = self.env.clock().sleep(by.left(self.env.clock().monotonic()));
        loop {
            self.submit_last()?;
            let waiting = self.held.as_ref().map_or(0, |held| held.len().saturating_add(self.open.len()));
            if waiting == 0 && self.writer.durable() == self.admitted {
                return Ok(());
            }
            let changed = poll_fn(|cx| match self.writer.poll_change(cx) {
                Poll::Ready(change) => Poll::Ready(Some(change)),
                Poll::Pending => overdue.as_mut().poll(cx).map(|()| None),
            });
            match changed.await {
                Some(change) => change.map_err(|error| RuntimeError::Output(Box::new(error)))?,
                // What is admitted and not delivered, the close will report.
                None if waiting == 0 => return Ok(()),
                None => return Err(RuntimeError::Deadline(waiting)),
            }
        }
    }
}

/// A session that closed with an error, or with rows left, has not done what it was told (I28).
fn verdict(report: &CloseReport) -> Result<(), RuntimeError> {
    if let Some(error) = &report.first_error {
        return Err(RuntimeError::Output(Box::new(error.clone())));
    }
    match report.undelivered() {
        0 => Ok(()),
        rows => Err(RuntimeError::Deadline(rows)),
    }
}

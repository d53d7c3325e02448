//! The owner loop: at any instant it owns a set of lanes, their keys, one program and one output session.
//!
//! Owns: taking batches from lanes in turn, submitting rows, each lane's watermark, the order of an ending.
//! May not: wait for the control task while it evaluates; know how lanes are filled or rows are delivered.

mod evaluate;
mod keys;
mod lanes;

use super::counts::Totals;
use super::error::RuntimeError;
use super::program::Program;
use super::rows::OutputBatch;
use super::writer::{CloseReport, Feed, OutputWriter};
use crate::env::{Env, Work};
use crate::flow::{Admission, Batch, Deadline, Lane, LaneId, LaneItem, Ordinal, SplitEpoch, SplitId};
use evaluate::Evaluator;
use lanes::Lanes;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// A split that the loop gets.
pub struct Gain {
    /// Its records.
    pub lane: Box<dyn Lane>,
    /// The tenancy's lane.
    pub id: LaneId,
    /// The split.
    pub split: SplitId,
    /// The tenancy's epoch.
    pub epoch: SplitEpoch,
}

impl fmt::Debug for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gain").field("id", &self.id).field("split", &self.split).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

/// What the control task tells a loop. It is read between batches.
#[derive(Debug)]
pub enum ToLoop {
    /// Reads this split as well.
    Add(Gain),
    /// Evaluates what the lanes still hold until they end, submits, flushes and closes; all by the deadline. The fetchers
    /// have been stopped before.
    Finish(Deadline),
}

/// What a loop tells the control task.
#[derive(Debug)]
pub enum FromLoop {
    /// Every record of the lane up to this one is evaluated, and its rows are durable.
    Watermark(LaneId, Ordinal),
    /// The lane has ended, and all its records are evaluated.
    End(LaneId),
    /// The loop is over. It says nothing more.
    Ended(Box<Ending>),
}

/// How a loop ended.
#[derive(Debug)]
pub struct Ending {
    /// What ended it, unless it was told to finish and could.
    pub result: Result<(), RuntimeError>,
    /// How its destinations closed.
    pub report: CloseReport,
}

/// How a loop submits and ends.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The most rows of one submission.
    pub rows: usize,
    /// How long rows wait for others.
    pub linger: Duration,
    /// How long an ending may take that nobody gave a deadline.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rows: 256, linger: Duration::from_millis(5), drain: Duration::from_secs(30) }
    }
}

/// One owner loop, as one future ([`Loop::run`]).
pub struct Loop {
    env: Env,
    settings: Settings,
    evaluator: Evaluator,
    lanes: Lanes,
    writer: Box<dyn OutputWriter>,
    mailbox: Receiver<ToLoop>,
    answers: Sender<FromLoop>,
    totals: Arc<Totals>,
    /// Rows that are not submitted yet.
    open: OutputBatch,
    /// When the first of them was made.
    open_since: Option<Duration>,
    /// Runs while rows wait and nothing else is there to do.
    lingering: Option<Work>,
    /// A submission that found a full queue. Until it is taken, no record is.
    held: Option<OutputBatch>,
    admitted: Admission,
    finish: Option<Deadline>,
    overdue: Option<Work>,
}

/// What a loop finds to do.
enum Step {
    Told(ToLoop),
    Records(usize, Batch),
    LaneEnded(usize),
    /// The writer has changed.
    Writer,
    /// Rows have waited long enough.
    Linger,
    /// All lanes of a loop that finishes have ended, or its deadline has come.
    Finished,
}

impl Loop {
    /// A loop without lanes.
    #[must_use]
    pub fn new(env: &Env, program: Arc<Program>, writer: Box<dyn OutputWriter>, settings: Settings, wires: Wires) -> Self {
        let destinations = program.destinations();
        Self {
            env: env.clone(),
            settings,
            evaluator: Evaluator::new(program),
            lanes: Lanes::default(),
            writer,
            mailbox: wires.mailbox,
            answers: wires.answers,
            totals: wires.totals,
            open: OutputBatch::new(destinations),
            open_since: None,
            lingering: None,
            held: None,
            admitted: Admission::default(),
            finish: None,
            overdue: None,
        }
    }

    /// Runs until it is told to finish, or something fails; then closes the session and says how it went.
    pub async fn run(mut self) {
        let result = self.work().await;
        let by = self.finish.unwrap_or_else(|| Deadline::after(self.env.clock().monotonic(), self.settings.drain));
        let result = match result {
            Ok(()) => self.flush(by).await,
            // What ticks before the failing one have made is whole: it is submitted, so that less is evaluated again.
            Err(error) => self.submit_last().and(Err(error)),
        };
        self.publish_counts();
        let Self { writer, answers, mut lanes, env, .. } = self;
        let mut closing = writer.close(by);
        let report = closing.as_mut().await;
        drop(closing);
        drop(env);
        let result = result.and_then(|()| verdict(&report));
        if result.is_ok() {
            for (lane, ordinal) in lanes.all_evaluated() {
                tell(&answers, FromLoop::Watermark(lane, ordinal)).await;
            }
        }
        tell(&answers, FromLoop::Ended(Box::new(Ending { result, report }))).await;
    }

    async fn work(&mut self) -> Result<(), RuntimeError> {
        loop {
            match poll_fn(|cx| self.poll_step(cx)).await? {
                Step::Told(ToLoop::Add(gain)) => self.lanes.add(gain),
                Step::Told(ToLoop::Finish(by)) => {
                    self.finish = Some(by);
                    self.overdue = Some(self.env.clock().sleep(by.left(self.env.clock().monotonic())));
                }
                Step::Records(lane, batch) => {
                    self.lanes.begin(lane, batch);
                    self.evaluate()?;
                }
                Step::LaneEnded(lane) => {
                    if let Some(id) = self.lanes.end(lane) {
                        tell(&self.answers, FromLoop::End(id)).await;
                    }
                }
                Step::Writer => self.writer_changed()?,
                Step::Linger => self.submit()?,
                Step::Finished => return Ok(()),
            }
            self.tell_watermarks().await;
        }
    }

    /// The next thing to do: the mailbox first, then the writer, time, and lanes in turn.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Step, RuntimeError>> {
        if let Poll::Ready(Some(told)) = self.mailbox.poll_recv(cx) {
            return Poll::Ready(Ok(Step::Told(told)));
        }
        if self.poll_writer(cx)? {
            return Poll::Ready(Ok(Step::Writer));
        }
        if self.held.is_none() {
            if self.finish.is_some() && self.lanes.is_empty() {
                return Poll::Ready(Ok(Step::Finished));
            }
            if let Some(step) = self.poll_lanes(cx)? {
                return Poll::Ready(Ok(step));
            }
            if self.poll_linger(cx) {
                return Poll::Ready(Ok(Step::Linger));
            }
        }
        if let Some(overdue) = &mut self.overdue
            && overdue.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Ok(Step::Finished));
        }
        Poll::Pending
    }

    fn poll_writer(&mut self, cx: &mut Context<'_>) -> Result<bool, RuntimeError> {
        match self.writer.poll_change(cx) {
            Poll::Ready(Ok(())) => Ok(true),
            Poll::Ready(Err(error)) => Err(RuntimeError::Output(Box::new(error))),
            Poll::Pending => Ok(false),
        }
    }

    fn poll_lanes(&mut self, cx: &mut Context<'_>) -> Result<Option<Step>, RuntimeError> {
        match self.lanes.poll(cx) {
            Poll::Ready((lane, LaneItem::Batch(batch))) => Ok(Some(Step::Records(lane, batch))),
            Poll::Ready((lane, LaneItem::End)) => Ok(Some(Step::LaneEnded(lane))),
            Poll::Ready((_, LaneItem::Failed(error))) => Err(RuntimeError::Source(Box::new(error))),
            Poll::Pending => Ok(None),
        }
    }

    fn poll_linger(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(since) = self.open_since else { return false };
        let lingering = self.lingering.get_or_insert_with(|| {
            let until = Deadline::after(since, self.settings.linger);
            self.env.clock().sleep(until.left(self.env.clock().monotonic()))
        });
        lingering.as_mut().poll(cx).is_ready()
    }

    /// Evaluates the batch at hand until it is through or the writer has no room.
    fn evaluate(&mut self) -> Result<(), RuntimeError> {
        let now = self.env.clock().monotonic();
        while let Some((tenancy, keys, record)) = self.lanes.record() {
            self.evaluator.record(tenancy, keys, &record, &mut self.open)?;
            self.lanes.evaluated();
            if self.open.len() >= self.settings.rows {
                self.submit()?;
                if self.held.is_some() {
                    return Ok(());
                }
            }
        }
        self.lanes.through(self.next_admission());
        self.publish_counts();
        if self.open.is_empty() {
            return Ok(());
        }
        let since = *self.open_since.get_or_insert(now);
        if Deadline::after(since, self.settings.linger).left(now).is_zero() { self.submit() } else { Ok(()) }
    }

    /// The admission that a record's rows have or will have: of one without rows, the latest there is (I1).
    const fn next_admission(&self) -> Admission {
        if self.open.is_empty() && self.held.is_none() { self.admitted } else { self.admitted.next() }
    }

    /// Hands the open rows to the writer, or keeps them where it has no room.
    fn submit(&mut self) -> Result<(), RuntimeError> {
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

    fn feed(&mut self, batch: OutputBatch) -> Result<(), RuntimeError> {
        match self.writer.feed(batch).map_err(|error| RuntimeError::Output(Box::new(error)))? {
            Feed::Admitted(admission) => self.admitted = admission,
            Feed::Full(batch) => self.held = Some(batch),
        }
        Ok(())
    }

    fn writer_changed(&mut self) -> Result<(), RuntimeError> {
        self.lanes.durable(self.writer.durable());
        if let Some(batch) = self.held.take() {
            self.feed(batch)?;
            if self.held.is_none() {
                self.evaluate()?;
            }
        }
        Ok(())
    }

    async fn tell_watermarks(&mut self) {
        self.lanes.durable(self.writer.durable());
        while let Some((lane, ordinal)) = self.lanes.next_watermark() {
            tell(&self.answers, FromLoop::Watermark(lane, ordinal)).await;
        }
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
        let left = loop {
            self.submit_last()?;
            let Some(held) = &self.held else { break 0 };
            let rows = held.len().saturating_add(self.open.len());
            let changed = poll_fn(|cx| match self.writer.poll_change(cx) {
                Poll::Ready(change) => Poll::Ready(Some(change)),
                Poll::Pending => overdue.as_mut().poll(cx).map(|()| None),
            });
            match changed.await {
                Some(change) => change.map_err(|error| RuntimeError::Output(Box::new(error)))?,
                None => break rows,
            }
        };
        if left > 0 { Err(RuntimeError::Deadline(left)) } else if self.lanes.is_empty() { Ok(()) } else { Err(RuntimeError::Deadline(0)) }
    }

    fn publish_counts(&mut self) {
        self.totals.take(self.evaluator.counts());
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loop").field("admitted", &self.admitted).finish_non_exhaustive()
    }
}

/// What connects a loop to the control task.
#[derive(Debug)]
pub struct Wires {
    /// What it is told.
    pub mailbox: Receiver<ToLoop>,
    /// What it answers. The control task reads them at any time, so that the loop never waits for long.
    pub answers: Sender<FromLoop>,
    /// What it counts.
    pub totals: Arc<Totals>,
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

/// A control task that is gone hears nothing; the process is ending.
async fn tell(answers: &Sender<FromLoop>, what: FromLoop) {
    drop(answers.send(what).await);
}

#[cfg(test)]
mod tests;

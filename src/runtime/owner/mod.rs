//! The owner loop: at any instant it owns a set of lanes, their keys, one program and one output session.
//!
//! Owns: taking batches from lanes in turn, submitting rows, captures, each lane's watermark, changing over, the order of
//! an ending.
//! May not: wait for the control task while it evaluates; know how lanes are filled, rows delivered or state stored.

mod ending;
mod evaluate;
mod keys;
mod lanes;
mod message;
mod submit;

pub use message::{Added, Ending, FromLoop, Prepared, Settings, ToLoop, Wires};

use super::counts::Totals;
use super::error::RuntimeError;
use super::program::Program;
use super::rows::OutputBatch;
use super::writer::OutputWriter;
use crate::env::{Env, Work};
use crate::flow::{Admission, Batch, CaptureId, Deadline, LaneId, LaneItem, RootRef};
use crate::state::Capture;
use evaluate::Evaluator;
use lanes::{Held, Lanes};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// After how many records of a batch the loop looks at its deadline.
const LOOK: u32 = 64;

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
    /// Captures that wait for a boundary of their lane.
    due: Vec<(LaneId, CaptureId)>,
    /// A change-over that waits for a boundary of all lanes, then for the flush.
    applying: Option<Box<Prepared>>,
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
    /// Everything under the old program is durable.
    ChangeOver(Box<Prepared>),
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
            due: Vec::new(),
            applying: None,
            finish: None,
            overdue: None,
        }
    }

    async fn work(&mut self) -> Result<(), RuntimeError> {
        loop {
            match poll_fn(|cx| self.poll_step(cx)).await? {
                Step::Told(told) => self.told(told)?,
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
                Step::ChangeOver(prepared) => self.change_over(prepared).await?,
                Step::Finished => return Ok(()),
            }
            self.tell_captures().await;
            self.tell_watermarks().await;
        }
    }

    fn told(&mut self, told: ToLoop) -> Result<(), RuntimeError> {
        match told {
            ToLoop::Add(added) => self.lanes.add(*added),
            ToLoop::Drop(lanes, barrier) => {
                self.lanes.drop(&lanes);
                drop(barrier);
            }
            ToLoop::Capture(due) => {
                self.due.extend(due);
                // So that nothing of them waits for rows to come.
                if self.held.is_none() {
                    self.submit()?;
                }
            }
            ToLoop::Apply(prepared) => self.applying = Some(prepared),
            ToLoop::Flow(lanes) => self.lanes.flow(&lanes, true),
            ToLoop::Hold(lanes) => self.lanes.flow(&lanes, false),
            ToLoop::Finish(by) => {
                self.finish = Some(by);
                self.overdue = Some(self.env.clock().sleep(by.left(self.env.clock().monotonic())));
            }
        }
        Ok(())
    }

    /// The next thing to do: the mailbox first, then the writer, a change-over, time, and lanes in turn.
    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Result<Step, RuntimeError>> {
        // Before anything else: a loop that is busy would never come to wait for it (I26).
        if self.is_overdue() {
            return Poll::Ready(Ok(Step::Finished));
        }
        if let Poll::Ready(Some(told)) = self.mailbox.poll_recv(cx) {
            return Poll::Ready(Ok(Step::Told(told)));
        }
        if self.poll_writer(cx)? {
            return Poll::Ready(Ok(Step::Writer));
        }
        if self.held.is_none()
            && let Some(step) = self.poll_free(cx)?
        {
            return Poll::Ready(Ok(step));
        }
        if let Some(overdue) = &mut self.overdue
            && overdue.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Ok(Step::Finished));
        }
        Poll::Pending
    }

    /// What there is to do where no submission waits for room.
    fn poll_free(&mut self, cx: &mut Context<'_>) -> Result<Option<Step>, RuntimeError> {
        if self.applying.is_some() && self.lanes.at_boundary() {
            return self.poll_change_over();
        }
        if self.finish.is_some() && self.lanes.are_over() {
            return Ok(Some(Step::Finished));
        }
        if let Poll::Ready((lane, item)) = self.lanes.poll(cx) {
            return match item {
                LaneItem::Batch(batch) => Ok(Some(Step::Records(lane, batch))),
                LaneItem::End => Ok(Some(Step::LaneEnded(lane))),
                LaneItem::Failed(error) => Err(RuntimeError::Source(Box::new(error))),
            };
        }
        Ok(self.poll_linger(cx).then_some(Step::Linger))
    }

    /// The change-over, once all rows of the old program are durable.
    fn poll_change_over(&mut self) -> Result<Option<Step>, RuntimeError> {
        self.submit()?;
        let durable = self.held.is_none() && self.writer.durable() == self.admitted;
        Ok(if durable { self.applying.take().map(Step::ChangeOver) } else { None })
    }

    /// Evaluates the batch at hand until it is through or the writer has no room.
    fn evaluate(&mut self) -> Result<(), RuntimeError> {
        let now = self.env.clock().monotonic();
        let mut evaluated = 0_u32;
        while let Some((tenancy, keys, record)) = self.lanes.record() {
            self.evaluator.record(tenancy, keys, &record, &mut self.open)?;
            self.lanes.evaluated();
            if self.open.len() >= self.settings.rows || self.open.bytes() >= self.settings.bytes {
                self.submit()?;
                if self.held.is_some() {
                    return Ok(());
                }
            }
            evaluated = evaluated.wrapping_add(1);
            if evaluated.is_multiple_of(LOOK) && self.is_overdue() {
                return Ok(());
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

    /// Captures what is due in lanes that stand at a boundary.
    async fn tell_captures(&mut self) {
        if self.due.is_empty() {
            return;
        }
        let (root, ttl) = (self.evaluator.program().root, self.evaluator.program().policies.ttl);
        let (mut captured, admission) = (Vec::new(), self.next_admission());
        let Self { due, lanes, evaluator, .. } = self;
        due.retain(|(lane, id)| match lanes.between_batches(*lane) {
            Some(held) => {
                captured.push(capture(held, *id, admission, (root, ttl), evaluator.program()));
                false
            }
            None => lanes.has(*lane),
        });
        for capture in captured {
            tell(&self.answers, FromLoop::Captured(capture)).await;
        }
    }

    /// Takes the place of the old program: its rows are durable, and no lane is inside a batch.
    async fn change_over(&mut self, prepared: Box<Prepared>) -> Result<(), RuntimeError> {
        let Prepared { program, writer, against } = *prepared;
        let old = Arc::clone(self.evaluator.program());
        if old.root != against {
            return Err(RuntimeError::Stale(against.epoch));
        }
        self.lanes.durable(self.writer.durable());
        self.tell_watermarks().await;
        self.publish_counts();
        let (root, reset) = (program.root, old.key != program.key);
        self.open = OutputBatch::new(program.destinations());
        self.evaluator = Evaluator::new(Arc::clone(&program));
        let session = std::mem::replace(&mut self.writer, writer);
        let by = Deadline::after(self.env.clock().monotonic(), self.settings.drain);
        // Every row of it is durable: how it closes changes nothing any more.
        self.env.tasks().spawn("old session", Box::pin(async move { drop(session.close(by).await) }));
        self.admitted = Admission::default();
        self.due.clear();
        let mut captures = Vec::new();
        for held in self.lanes.all() {
            held.flows = false;
            held.keys.transfer(&old.plan, &program.plan, reset);
            captures.push(capture(held, CaptureId::default(), self.admitted, (root, program.policies.ttl), &program));
        }
        for capture in captures {
            tell(&self.answers, FromLoop::Captured(capture)).await;
        }
        tell(&self.answers, FromLoop::Applied(root)).await;
        Ok(())
    }

    /// Whether the deadline of an ending has passed.
    fn is_overdue(&self) -> bool {
        self.finish.is_some_and(|by| by.left(self.env.clock().monotonic()).is_zero())
    }

    fn publish_counts(&mut self) {
        self.totals.take(self.evaluator.counts());
    }
}

fn capture(held: &mut Held, id: CaptureId, admission: Admission, (root, ttl): (RootRef, Option<i64>), program: &Arc<Program>) -> Capture {
    Capture {
        id,
        split: held.tenancy.split.clone(),
        epoch: held.tenancy.epoch,
        at: held.marks.evaluated,
        admission,
        root,
        plan: Arc::clone(&program.plan),
        keys: held.keys.freeze(ttl),
    }
}

impl fmt::Debug for Loop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loop").field("admitted", &self.admitted).finish_non_exhaustive()
    }
}

/// A control task that is gone hears nothing; the process is ending.
async fn tell(answers: &Sender<FromLoop>, what: FromLoop) {
    drop(answers.send(what).await);
}

#[cfg(test)]
mod tests;

//! What passes between the control task and a loop.

use super::super::counts::Totals;
use super::super::error::RuntimeError;
use super::super::program::Program;
use super::super::writer::{CloseReport, OutputWriter};
use crate::flow::{Barrier, CaptureId, Deadline, Gain, LaneId, Ordinal, RootRef};
use crate::state::{Capture, RestoredKey};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// A split that the loop gets, its state restored for the program that the loop runs when it reads this.
#[derive(Debug)]
pub struct Added {
    /// The tenancy.
    pub gain: Gain,
    /// Its keys.
    pub keys: Vec<RestoredKey>,
    /// Whether some of them stand in no layer of its own under this root: they come from its parents, or were brought over
    /// from an older root. Then the first capture holds all.
    pub fresh: bool,
    /// Whether its records are read at once; else only when [`ToLoop::Flow`] says so, once a first capture is committed.
    pub flows: bool,
}

/// A program to change over to, with its opened outputs.
pub struct Prepared {
    /// The program.
    pub program: Arc<Program>,
    /// The session over its outputs.
    pub writer: Box<dyn OutputWriter>,
    /// The root that it was prepared against.
    pub against: RootRef,
}

impl fmt::Debug for Prepared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared").field("root", &self.program.root).field("against", &self.against).finish_non_exhaustive()
    }
}

/// What the control task tells a loop. It is read between batches.
#[derive(Debug)]
pub enum ToLoop {
    /// Reads this split as well.
    Add(Box<Added>),
    /// Lets go of these lanes, their keys and what is left of their batches; the barrier goes once that is done.
    Drop(Vec<LaneId>, Barrier),
    /// Freezes what changed in these lanes, at the next boundary of each.
    Capture(Vec<(LaneId, CaptureId)>),
    /// Changes over: flushes under the old program, then brings every key over, captures every lane under the new root,
    /// and reads no lane until it is told to.
    Apply(Box<Prepared>),
    /// Reads these lanes (on): what they begin with is committed.
    Flow(Vec<LaneId>),
    /// Reads no more of these lanes.
    Hold(Vec<LaneId>),
    /// Evaluates what the lanes still hold until they end, submits, flushes and closes; all by the deadline. The fetchers
    /// have been stopped before.
    Finish(Deadline),
}

/// What a loop tells the control task.
#[derive(Debug)]
pub enum FromLoop {
    /// What was asked for.
    Captured(Capture),
    /// Every record of the lane up to this one is evaluated, and its rows are durable.
    Watermark(LaneId, Ordinal),
    /// The lane has ended, and all its records are evaluated.
    End(LaneId),
    /// The loop has changed over to this root; captures of all its lanes come before this.
    Applied(RootRef),
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
    /// The bytes of rows at which one is submitted, however few they are.
    pub bytes: usize,
    /// How long rows wait for others.
    pub linger: Duration,
    /// How long an ending may take that nobody gave a deadline.
    pub drain: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { rows: 256, bytes: 1 << 20, linger: Duration::from_millis(5), drain: Duration::from_secs(30) }
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

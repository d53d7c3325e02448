//! What a tenancy's fetcher and its source share.
//!
//! The fetcher runs on another thread: a drain is over only once it has said that it rests, and it says under the same lock
//! that it reads again. So what a drain has once seen as all stays all.

use super::marks::{Marks, Place};
use super::notice::{Notice, Trouble};
use super::position::Position;
use crate::flow::{Ordinal, SplitId};
use crate::kinesis::{ChildShard, Sequence};
use parking_lot::Mutex;
use std::task::Waker;
use tokio::sync::watch;

/// Whether the fetcher reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intake {
    /// It does.
    Open,
    /// Not for now: what it has read and not given is dropped, and read again later.
    Stopped,
    /// Never again.
    Closed,
}

/// More is not kept: who asks for them asks often.
const NOTICES: usize = 16;

pub(super) struct Tenancy {
    split: SplitId,
    waker: Waker,
    state: Mutex<State>,
    intake: watch::Sender<Intake>,
}

struct State {
    intake: Intake,
    /// The fetcher gives nothing to the lane until it says that it reads again.
    rests: bool,
    marks: Marks,
    /// The shard was read to its end, and became these.
    end: Option<Vec<ChildShard>>,
    end_told: bool,
    trouble: Option<Trouble>,
    behind: Option<i64>,
    notices: Vec<Notice>,
}

/// A place, and the children of the shard where it is the shard's end.
pub(super) type Committed = (Place, Option<Vec<ChildShard>>);

impl Tenancy {
    pub(super) fn new(split: SplitId, marks: Marks, waker: Waker) -> Self {
        let state = State {
            intake: Intake::Open,
            rests: true,
            marks,
            end: None,
            end_told: false,
            trouble: None,
            behind: None,
            notices: Vec::new(),
        };
        Self { split, waker, state: Mutex::new(state), intake: watch::Sender::new(Intake::Open) }
    }

    pub(super) const fn split(&self) -> &SplitId {
        &self.split
    }

    pub(super) fn watch(&self) -> watch::Receiver<Intake> {
        self.intake.subscribe()
    }

    // What the fetcher says.

    /// Whether records may be read.
    pub(super) fn is_open(&self) -> bool {
        self.state.lock().intake == Intake::Open
    }

    /// Where to read on.
    pub(super) fn position(&self) -> Option<Position> {
        self.state.lock().marks.position()
    }

    /// The newest moment at which the shard was known to be read to its tip.
    pub(super) fn tip(&self) -> Option<i64> {
        self.state.lock().marks.newest_tip()
    }

    /// The lane has taken records.
    pub(super) fn give(&self, sequences: Vec<Sequence>) {
        self.state.lock().marks.give(sequences.into_iter());
    }

    /// The fetcher is about to read; false: it may not.
    pub(super) fn begin(&self) -> bool {
        let mut state = self.state.lock();
        let open = state.intake == Intake::Open;
        state.rests = !open;
        open
    }

    /// The fetcher reads no more, for now or for good.
    pub(super) fn rest(&self) {
        self.state.lock().rests = true;
        self.waker.wake_by_ref();
    }

    /// A page was read, so nothing is in the way; it is this far behind. `tip`: the service's time, if it was the last.
    pub(super) fn reads(&self, behind: Option<i64>, tip: Option<i64>) {
        let mut state = self.state.lock();
        state.trouble = None;
        state.behind = behind;
        if let Some(at) = tip {
            state.marks.tip(at);
        }
    }

    pub(super) fn troubled(&self, trouble: Trouble) {
        self.state.lock().trouble = Some(trouble);
    }

    pub(super) fn notice(&self, notice: Notice) {
        let mut state = self.state.lock();
        if state.notices.len() < NOTICES {
            state.notices.push(notice);
        }
    }

    pub(super) fn finish(&self, children: Vec<ChildShard>) {
        self.state.lock().end = Some(children);
        self.waker.wake_by_ref();
    }

    // What the source asks.

    pub(super) fn commit(&self, at: Ordinal) -> Option<Committed> {
        let mut state = self.state.lock();
        let all = state.marks.last() == at;
        let place = state.marks.commit(at)?;
        let end = if all { state.end.clone() } else { None };
        Some((place, end))
    }

    /// Whether the shard was read to its end, and that is this ordinal.
    pub(super) fn ends_at(&self, at: Ordinal) -> bool {
        let state = self.state.lock();
        state.end.is_some() && state.marks.last() == at
    }

    /// Whether intake has stopped and nothing was or will be given behind this ordinal.
    pub(super) fn drained_at(&self, at: Ordinal) -> bool {
        let state = self.state.lock();
        state.intake == Intake::Stopped && state.rests && state.marks.last() == at
    }

    /// Once: whether the shard was read to its end.
    pub(super) fn tell_end(&self) -> bool {
        let mut state = self.state.lock();
        let news = state.end.is_some() && !state.end_told;
        state.end_told |= news;
        news
    }

    pub(super) fn set_intake(&self, intake: Intake) {
        self.state.lock().intake = intake;
        self.intake.send_replace(intake);
    }

    pub(super) fn trouble(&self) -> Option<Trouble> {
        self.state.lock().trouble.clone()
    }

    /// How far it was behind the shard's tip when it last read, in milliseconds.
    pub(super) fn behind(&self) -> Option<i64> {
        self.state.lock().behind
    }

    pub(super) fn take_notices(&self) -> Vec<Notice> {
        std::mem::take(&mut self.state.lock().notices)
    }
}

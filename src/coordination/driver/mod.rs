//! The driver: the choreography of tenancies between the store, a source and the loops that read.
//!
//! Owns: what is held, what is wanted, the order of events, the commit clock, drains, completion.
//! May not: block, wait, or do I/O: calls of the store run on tasks, and their answers come back through an inbox. The
//! control task alone calls it; views decide (`ledger`), hints only start things.

mod backend;
mod claims;
mod desk;
mod event;
mod gains;
mod inbox;
mod ops;
mod pages;
mod seat;
mod start;
mod tend;

pub use event::{DriverError, Event};
pub use start::Config;

use super::election::Leaving;
use super::ledger::Me;
use super::membership::{Lease, Observer};
use super::records::{Assignment, Incarnation, PageId, PlanRecord, Progress, SplitRecord, WorkerName};
use super::source::SplitSource;
use super::store::Store;
use crate::env::{Env, Work};
use crate::flow::{LaneId, Ordinal, RootRef, SplitId, StoredCapture};
use desk::Desk;
use inbox::Inbox;
use seat::{Loss, Seat};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The driver of one worker.
pub struct Driver {
    env: Env,
    config: Config,
    me: Me,
    store: Arc<dyn Store>,
    inbox: Arc<Inbox>,
    lease: Arc<Lease>,
    leaving: Arc<Leaving>,
    observer: Observer,
    standing: Membership,
    hints: Hints,
    seats: BTreeMap<SplitId, Seat>,
    lanes: BTreeMap<LaneId, SplitId>,
    desks: BTreeMap<PageId, Desk>,
    out: Out,
    next_lane: LaneId,
    next_commit: Duration,
    next_tidy: Duration,
    timer: Option<(Duration, Work)>,
    wake_at: Duration,
}

/// How we stand as a member.
#[derive(Debug, Default)]
struct Membership {
    /// The lease's term that we act in.
    term: Option<u64>,
    /// Whether the store has shown that it compares.
    proved: bool,
    /// A call is in flight, or not before this time.
    registering: bool,
    register_at: Duration,
    /// What our status says.
    registered: Option<Registration>,
    /// We cannot read for now: splits go to others.
    idle: bool,
    /// The root to claim under, said after registering in this term.
    root: Option<RootRef>,
}

/// What a worker's status says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Registration {
    /// The term in which it stands.
    pub(super) term: u64,
    /// Whether it leaves.
    pub(super) leaving: bool,
    /// Whether it takes nothing for now.
    pub(super) idle: bool,
}

/// What watches and lists have told. Nothing is decided by it.
#[derive(Debug, Default)]
struct Hints {
    splits: BTreeMap<SplitId, SplitRecord>,
    plan: Option<PlanRecord>,
    assignment: Option<Assignment>,
    /// Whether all were seen complete, the question is out, and the event was given.
    complete: Completeness,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Completeness {
    #[default]
    Open,
    Asked,
    Not(Duration),
    Told,
}

/// What waits to be told, and done to the source.
#[derive(Debug, Default)]
struct Out {
    losses: Vec<Loss>,
    joined: Option<u64>,
    retired: Vec<LaneId>,
    closing: Vec<SplitId>,
    drained: VecDeque<LaneId>,
    due: Vec<LaneId>,
    committed: VecDeque<(SplitId, Ordinal)>,
    ready: Vec<SplitId>,
    errors: Vec<DriverError>,
    complete: bool,
}

impl Driver {
    /// The next event; at most one for each call. Everything that can go on without an answer goes on meanwhile.
    ///
    /// # Errors
    /// What cannot be mended by going on has [`crate::error::Retry::Never`] or `Fenced`: end the worker. The rest is for
    /// people to know; the driver tries again by itself.
    pub fn poll_events(&mut self, source: &mut dyn SplitSource, context: &mut Context<'_>) -> Poll<Result<Event, DriverError>> {
        loop {
            self.close_ended(source);
            if let Some(event) = self.first_events(source) {
                return Poll::Ready(event);
            }
            self.wake_at = Duration::MAX;
            let now = self.env.clock().monotonic();
            self.apply_replies(now);
            self.keep_membership(now);
            self.take_wishes(now);
            if let Err(error) = self.tend_all(source, now) {
                self.out.errors.push(error);
            }
            self.issue(now);
            if let Some(error) = self.worst_error() {
                return Poll::Ready(Err(error));
            }
            if self.has_first_events() {
                continue;
            }
            if let Some(event) = self.last_events() {
                return Poll::Ready(Ok(event));
            }
            if self.sleeps(context) {
                return Poll::Pending;
            }
        }
    }

    /// Every record of a lane up to this one is evaluated, and its rows are durable. Unknown lanes are absorbed (I9).
    pub fn watermark(&mut self, lane: LaneId, to: Ordinal) {
        let split = self.lanes.get(&lane);
        if let Some(tenancy) = split.and_then(|split| self.seats.get_mut(split)).and_then(|seat| seat.tenancy.as_mut()) {
            tenancy.watermark = tenancy.watermark.max(to);
            self.inbox.nudge();
        }
    }

    /// A capture is stored: it is committed once all up to it is durable. One of another tenancy is absorbed (I7).
    pub fn stored(&mut self, capture: StoredCapture) {
        let tenancy = self.seats.get_mut(&capture.split).and_then(|seat| seat.tenancy.as_mut());
        if let Some(tenancy) = tenancy.filter(|tenancy| tenancy.epoch == capture.epoch) {
            tenancy.asked = false;
            // One in flight: a second has not been asked for.
            tenancy.capture.get_or_insert(capture);
            self.inbox.nudge();
        }
    }

    /// Answers [`Event::Joined`]: the committed root was read after it, this one is installed, outputs are open. Claims
    /// begin, of splits whose progress is under this root or an older one (I38). Said again when a newer one is installed.
    pub fn ready(&mut self, term: u64, root: RootRef) {
        if self.standing.registered.is_some_and(|registered| registered.term == term) {
            self.standing.root = Some(root);
            self.inbox.nudge();
        }
    }

    /// Says that this worker leaves: its splits are assigned elsewhere, and drained. Go on polling until none is held.
    pub fn leave(&mut self) {
        if self.leaving.say() {
            self.inbox.nudge();
        }
    }

    /// Says whether this worker can read at present: one that cannot is assigned nothing, so that others read instead.
    pub fn take_nothing(&mut self, idle: bool) {
        if std::mem::replace(&mut self.standing.idle, idle) != idle {
            self.leaving.stand_back(idle);
            self.inbox.nudge();
        }
    }

    /// The splits that are held, each with its lane once it is open; those that are let go of until their records say so.
    pub fn held(&self) -> impl Iterator<Item = (&SplitId, Option<LaneId>)> {
        let is_held = |seat: &Seat| seat.claim.held().is_some() || seat.tenancy.is_some() || seat.claim.is_ending();
        let held = self.seats.iter().filter(move |(_, seat)| is_held(seat));
        held.map(|(split, seat)| (split, seat.tenancy.as_ref().map(|tenancy| tenancy.lane)))
    }

    /// This life of the worker, as records name it.
    #[must_use]
    pub const fn incarnation(&self) -> &Incarnation {
        &self.me.incarnation
    }

    /// What stands committed of the splits that are open.
    pub fn progress(&self) -> impl Iterator<Item = (&SplitId, &Progress)> {
        self.seats.iter().filter_map(|(split, seat)| Some((split, &seat.tenancy.as_ref()?.base)))
    }

    /// This worker's name.
    #[must_use]
    pub const fn worker(&self) -> &WorkerName {
        &self.me.worker
    }

    fn waker(&self) -> Waker {
        Waker::from(self.inbox.clone())
    }

    /// Something is to be done at this time.
    fn at(&mut self, time: Duration) {
        self.wake_at = self.wake_at.min(time);
    }

    /// Waits for an answer, a hint, a lane, or the next time that something is due; false if that is now.
    fn sleeps(&mut self, context: &mut Context<'_>) -> bool {
        if !self.inbox.wait(context.waker()) {
            return false;
        }
        let due = self.wake_at;
        if due == Duration::MAX {
            self.timer = None;
            return true;
        }
        let now = self.env.clock().monotonic();
        let same = self.timer.take().filter(|(at, _)| *at == due);
        let (_, timer) = self.timer.insert(same.unwrap_or_else(|| (due, self.env.clock().sleep(due.saturating_sub(now)))));
        let pending = timer.as_mut().poll(context).is_pending();
        if !pending {
            self.timer = None;
        }
        pending
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.inbox.close();
    }
}

impl std::fmt::Debug for Driver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Driver").field("me", &self.me).field("seats", &self.seats).finish_non_exhaustive()
    }
}

//! The control task: between the driver, the source, the loop and the state of splits. It alone calls the first two.
//!
//! Owns: what a gain begins with, captures on their way from the loop to the driver, changing over.
//! May not: block or wait; decide ownership, commits or when an edit is due; know where records and programs come from.

use super::tenants::{Tenant, Tenants};
use crate::coordination::source::SplitSource;
use crate::coordination::{Driver, DriverError, Event};
use crate::error::{Meaning, Retry};
use crate::flow::{Barrier, CaptureId, Deadline, Digest, Gain, LaneId, RootEpoch, RootRef, SplitId, StoredCapture};
use crate::runtime::{Added, Ending, FromLoop, OutputWriter, Prepared, Program, ToLoop};
use crate::state::{Made, SplitKeys, StateError, restore};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio_util::sync::PollSender;

/// What the control task tells whoever runs it.
#[derive(Debug)]
pub enum Notice {
    /// A member, for the first time or after a lapse: read the committed root, install it, then say [`Control::ready`].
    Joined(u64),
    /// The program of this root is wanted, for state that was made under it, or for a split that it took over:
    /// [`Control::know`], or [`Control::install`] where its epoch is above the running one's.
    Wants(RootRef),
    /// The loop runs this root now.
    Installed(RootRef),
    /// A split has come, gone or committed: whoever reports looks again.
    Changed,
    /// A split stops by name; the others go on.
    Stuck(SplitId, StateError),
    /// Something that passes by itself.
    Trouble(DriverError),
    /// The plan is final, and every split was read to its end.
    AllComplete,
    /// The worker cannot go on.
    Fatal(DriverError),
    /// The loop is over; none: it is gone without a word.
    Ended(Option<Box<Ending>>),
}

/// The loop's ends.
#[derive(Debug)]
pub struct LoopWires {
    /// Its mailbox.
    pub to: Sender<ToLoop>,
    /// Its answers.
    pub from: Receiver<FromLoop>,
}

/// The control task of one worker, with one loop.
pub struct Control {
    driver: Driver,
    source: Box<dyn SplitSource>,
    to: PollSender<ToLoop>,
    from: Receiver<FromLoop>,
    outbox: VecDeque<ToLoop>,
    notices: VecDeque<Notice>,
    tenants: Tenants,
    programs: BTreeMap<Digest, Arc<Program>>,
    /// What the loop runs once it has read its mailbox.
    running: Arc<Program>,
    /// A change-over that the loop has not answered.
    switching: Option<RootRef>,
    /// Gains that wait: for a program, for the loop to have changed over, or for somebody to mend their state.
    parked: Vec<Gain>,
    /// Splits that are held and not read, because their state fits nowhere or cannot be read.
    stuck: BTreeSet<SplitId>,
    /// The most bytes of a split's state; none: no bound.
    state_bytes: Option<usize>,
    captures: CaptureId,
    /// How many splits were held when that was told last.
    held: usize,
    ended: bool,
}

impl Control {
    /// The control task over a loop that runs this program.
    #[must_use]
    pub fn new(driver: Driver, source: Box<dyn SplitSource>, wires: LoopWires, running: Arc<Program>, state_bytes: Option<usize>) -> Self {
        Self {
            driver,
            source,
            to: PollSender::new(wires.to),
            from: wires.from,
            outbox: VecDeque::new(),
            notices: VecDeque::new(),
            tenants: Tenants::default(),
            programs: BTreeMap::from([(running.root.digest, Arc::clone(&running))]),
            running,
            switching: None,
            parked: Vec::new(),
            stuck: BTreeSet::new(),
            state_bytes,
            captures: CaptureId::default(),
            held: 0,
            ended: false,
        }
    }

    /// The root that the loop runs, or will once it has changed over.
    #[must_use]
    pub fn running(&self) -> RootRef {
        self.running.root
    }

    /// Whether the loop has changed over, and every split that is held has committed under the running root (I31).
    #[must_use]
    pub fn is_through(&self) -> bool {
        let root = self.running.root;
        self.switching.is_none() && self.parked.is_empty() && self.tenants.iter().all(|(_, tenant)| tenant.committed == root)
    }

    /// Whether a change-over is under way: another has to wait.
    #[must_use]
    pub const fn is_switching(&self) -> bool {
        self.switching.is_some()
    }

    /// How many splits are held.
    pub fn held(&self) -> usize {
        self.driver.held().count()
    }

    /// Whether nothing is held, and every record of what was held says so.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.held() == 0
    }

    /// Whether a split that is held waits for a program, or for its state to be mended.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        !self.parked.is_empty()
    }

    /// Whether a split of this name is held and not read by reason of its state.
    #[must_use]
    pub fn is_stuck(&self, split: &str) -> bool {
        self.stuck.iter().any(|stuck| stuck.as_str() == split)
    }

    /// This life of the worker, as records name it.
    #[must_use]
    pub fn incarnation(&self) -> &str {
        self.driver.incarnation().as_str()
    }

    /// Where this root took over, of each split that is open: the position behind the last record under the one before it;
    /// none: nothing had been read.
    pub fn took_over(&self, epoch: RootEpoch) -> impl Iterator<Item = (&SplitId, Option<&str>)> {
        self.driver.progress().filter_map(move |(split, progress)| {
            let cutover = progress.cutovers.iter().find(|cutover| cutover.epoch == epoch)?;
            Some((split, cutover.after.as_deref()))
        })
    }

    /// The splits that are read, by name.
    pub fn splits(&self) -> impl Iterator<Item = &SplitId> {
        self.tenants.iter().map(|(_, tenant)| &tenant.split)
    }

    /// Answers [`Notice::Joined`]: the committed root, or a newer one, is installed.
    pub fn ready(&mut self, term: u64) {
        self.driver.ready(term, self.running.root);
    }

    /// Takes note of a program that is not the running one.
    pub fn know(&mut self, program: Arc<Program>) {
        self.programs.insert(program.root.digest, program);
        self.retry_parked();
    }

    /// Changes over to a program, with its opened session. Not while [`Control::is_switching`].
    pub fn install(&mut self, program: Arc<Program>, writer: Box<dyn OutputWriter>) {
        let against = self.running.root;
        self.switching = Some(program.root);
        self.running = Arc::clone(&program);
        self.programs.insert(program.root.digest, Arc::clone(&program));
        self.tenants.hold_all();
        self.outbox.push_back(ToLoop::Apply(Box::new(Prepared { program, writer, against })));
    }

    /// Says whether this worker can read at present; splits are assigned to those that can.
    pub fn take_nothing(&mut self, idle: bool) {
        self.driver.take_nothing(idle);
    }

    /// Says that this worker leaves: its splits drain and are released. Go on polling until none is held.
    pub fn leave(&mut self) {
        self.driver.leave();
    }

    /// Ends the loop.
    pub fn finish(&mut self, by: Deadline) {
        self.outbox.push_back(ToLoop::Finish(by));
    }

    /// The next thing to tell. What needs nobody's answer goes on meanwhile.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Notice> {
        loop {
            self.post(cx);
            if let Some(notice) = self.notices.pop_front() {
                return Poll::Ready(notice);
            }
            if !self.ended
                && let Poll::Ready(answer) = self.from.poll_recv(cx)
            {
                self.answered(answer);
                continue;
            }
            match self.driver.poll_events(&mut *self.source, cx) {
                Poll::Ready(Ok(event)) => self.act(event),
                Poll::Ready(Err(error)) if matches!(error.retry(), Retry::Never | Retry::Fenced) => {
                    return Poll::Ready(Notice::Fatal(error));
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Notice::Trouble(error)),
                // The last thing about a split, its record, is no event.
                Poll::Pending if self.held != self.held() => {
                    self.held = self.held();
                    return Poll::Ready(Notice::Changed);
                }
                Poll::Pending if self.outbox.is_empty() || self.ended => return Poll::Pending,
                // What the driver has just asked for goes out first.
                Poll::Pending => {
                    if !self.post(cx) {
                        return Poll::Pending;
                    }
                }
            }
        }
    }

    /// Hands on what waits for the loop's mailbox; whether all of it went.
    fn post(&mut self, cx: &mut Context<'_>) -> bool {
        while !self.outbox.is_empty() {
            match self.to.poll_reserve(cx) {
                Poll::Ready(Ok(())) => {
                    if let Some(next) = self.outbox.pop_front() {
                        // A mailbox that was just reserved takes it; a loop that is gone says so by its answers.
                        drop(self.to.send_item(next));
                    }
                }
                Poll::Ready(Err(_)) => self.outbox.clear(),
                Poll::Pending => return false,
            }
        }
        true
    }

    fn answered(&mut self, answer: Option<FromLoop>) {
        match answer {
            Some(FromLoop::Captured(capture)) => {
                let split = capture.split.clone();
                match self.tenants.store(capture) {
                    Ok(stored) => {
                        self.stuck.remove(&split);
                        self.offer(stored);
                    }
                    Err((lane, error)) => self.stuck(lane, error),
                }
            }
            Some(FromLoop::Watermark(lane, ordinal)) => self.driver.watermark(lane, ordinal),
            // The source knows as well, and knows why.
            Some(FromLoop::End(_)) => {}
            Some(FromLoop::Applied(root)) => {
                self.switching = None;
                self.notices.push_back(Notice::Installed(root));
                self.retry_parked();
            }
            Some(FromLoop::Ended(ending)) => {
                self.ended = true;
                self.notices.push_back(Notice::Ended(Some(ending)));
            }
            None => {
                self.ended = true;
                self.notices.push_back(Notice::Ended(None));
            }
        }
    }

    fn offer(&mut self, stored: Option<StoredCapture>) {
        if let Some(stored) = stored {
            self.driver.stored(stored);
        }
    }

    /// A split whose state fits nowhere is held and not read: nothing of it is lost, and an edit may free it.
    fn stuck(&mut self, lane: LaneId, error: StateError) {
        let split = self.tenants.iter().find(|(id, _)| *id == lane).map(|(_, tenant)| tenant.split.clone());
        self.outbox.push_back(ToLoop::Hold(vec![lane]));
        if let Some(split) = split {
            self.stuck.insert(split.clone());
            self.notices.push_back(Notice::Stuck(split, error));
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Joined(term) => self.notices.push_back(Notice::Joined(term)),
            Event::LanesAdded(gains) => {
                for gain in gains {
                    self.gained(gain, false);
                }
                self.notices.push_back(Notice::Changed);
            }
            Event::LanesRevoked(lanes, barrier) => self.let_go(lanes, barrier),
            Event::LanesRetired(lanes) => {
                // Nobody waits: everything of them is committed.
                let (barrier, _over) = Barrier::new(Waker::noop().clone());
                self.let_go(lanes, barrier);
            }
            Event::CaptureDue(lanes) => {
                let due = lanes.into_iter().map(|lane| (lane, self.next_capture())).collect();
                self.outbox.push_back(ToLoop::Capture(due));
            }
            Event::Committed(split, at) => {
                let (stored, flows) = self.tenants.committed(&split, at, self.running.root);
                self.offer(stored);
                self.outbox.extend(flows.map(|lane| ToLoop::Flow(vec![lane])));
                self.notices.push_back(Notice::Changed);
            }
            Event::AllComplete => self.notices.push_back(Notice::AllComplete),
            // The driver acts on these by itself.
            _ => {}
        }
    }

    fn next_capture(&mut self) -> CaptureId {
        self.captures = self.captures.next();
        self.captures
    }

    fn let_go(&mut self, lanes: Vec<LaneId>, barrier: Barrier) {
        let gone = |lane: &LaneId| lanes.contains(lane);
        let read = self.tenants.iter().filter(|(lane, _)| gone(lane)).map(|(_, tenant)| &tenant.split);
        for split in read.chain(self.parked.iter().filter(|gain| gone(&gain.id)).map(|gain| &gain.split)) {
            self.stuck.remove(split);
        }
        for lane in &lanes {
            self.tenants.remove(*lane);
        }
        self.parked.retain(|gain| !lanes.contains(&gain.id));
        self.outbox.push_back(ToLoop::Drop(lanes, barrier));
        self.notices.push_back(Notice::Changed);
    }

    /// Begins a tenancy: its keys are restored for the running program. One whose progress stands under an older root has
    /// its state committed under the running one before its first record is read (I38).
    fn gained(&mut self, gain: Gain, was_parked: bool) {
        // The loop still runs the old program, and would bring over what is of the new one already.
        if self.switching.is_some() {
            self.parked.push(gain);
            return;
        }
        let running = Arc::clone(&self.running);
        if gain.root.epoch > running.root.epoch {
            self.park(gain.root, gain);
            return;
        }
        let made = |program: &Arc<Program>| {
            if program.key == running.key { Made::Under(Arc::clone(&program.plan)) } else { Made::ForOtherKeys }
        };
        let plans = |digest: &Digest| self.programs.get(digest).map(made);
        let keys = match restore(&gain.split, &gain.state, (running.root.digest, &running.plan), plans) {
            Ok(keys) => keys,
            Err(StateError::RootMissing { digest, .. }) => {
                let root = RootRef { digest, ..gain.root };
                self.park(root, gain);
                return;
            }
            Err(error) => {
                self.stuck.insert(gain.split.clone());
                self.notices.push_back(Notice::Stuck(gain.split.clone(), error));
                self.parked.push(gain);
                return;
            }
        };
        self.stuck.remove(&gain.split);
        let flows = gain.root == running.root;
        let fresh = !flows || gain.state.iter().any(|state| state.split != gain.split);
        let stored = if fresh { &[][..] } else { &keys };
        let split_keys = SplitKeys::new(gain.split.clone(), running.root.digest, &running.plan, stored).bounded(self.state_bytes);
        let (lane, split, epoch, committed) = (gain.id, gain.split.clone(), gain.epoch, gain.root);
        self.tenants.add(lane, Tenant::new(split, epoch, split_keys, committed, flows));
        self.outbox.push_back(ToLoop::Add(Box::new(Added { gain, keys, fresh, flows })));
        // A capture that was asked for while it was parked has gone to a loop that did not know the lane.
        if !flows || was_parked {
            let id = self.next_capture();
            self.outbox.push_back(ToLoop::Capture(vec![(lane, id)]));
        }
    }

    fn park(&mut self, wanted: RootRef, gain: Gain) {
        self.parked.push(gain);
        self.notices.push_back(Notice::Wants(wanted));
    }

    fn retry_parked(&mut self) {
        for gain in std::mem::take(&mut self.parked) {
            self.gained(gain, true);
        }
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Control").field("driver", &self.driver).field("tenants", &self.tenants).finish_non_exhaustive()
    }
}

//! A simulated worker: the real driver, a control task, and a loop for each lane that counts records by key.

use super::checks::{Counts, decode, encode};
use super::faulty::{Faulty, Way};
use super::machine::Machine;
use super::stream::{Lister, Numbered, Source};
use super::{Fleet, Members};
use millrace::coordination::records::WorkerName;
use millrace::coordination::{Driver, Event};
use millrace::env::Env;
use millrace::error::{Meaning, Retry};
use millrace::flow::{Barrier, CaptureId, Gain, Lane, LaneId, LaneItem, Ordinal, RootRef, SplitEpoch, SplitId, StoredCapture};
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// What a loop does wrong on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Slip {
    #[default]
    Nothing,
    /// It reports what is evaluated for durable.
    EvaluatedForDurable,
    /// It writes the state down some time after the boundary that it names.
    LateState,
    /// It looks for no state of ancestors.
    ForgetsParents,
    /// It never answers a barrier.
    NeverLetsGo,
    /// It answers a barrier, and reads on.
    AnswersEarly,
    /// It sends the last of several rows first.
    Reorders,
    /// It loses a row now and then, and says nothing.
    LosesRows,
}

/// What the script holds of a worker.
#[derive(Clone)]
pub(crate) struct Worker {
    pub(crate) name: String,
    pub(crate) machine: Machine,
    pub(crate) way: Arc<Mutex<Way>>,
    pub(crate) said: Arc<Mutex<Said>>,
}

#[derive(Debug, Default)]
pub(crate) struct Said {
    pub(crate) leave: bool,
    pub(crate) waker: Option<Waker>,
    pub(crate) held: usize,
    pub(crate) ended: Option<String>,
    pub(crate) resumed_at: Duration,
    pub(crate) drained: u64,
    pub(crate) all_complete: u64,
    /// What came up and may pass.
    pub(crate) errors: Vec<String>,
}

/// One lane's loop.
struct Lanes {
    split: SplitId,
    epoch: SplitEpoch,
    root: RootRef,
    own: Counts,
    inherited: Counts,
    evaluated: Ordinal,
    asked: bool,
    dropped: bool,
    rows: VecDeque<(Ordinal, Numbered, u64)>,
    waker: Option<Waker>,
    sender: Option<Waker>,
}

#[derive(Default)]
struct Mail {
    watermarks: Vec<(LaneId, Ordinal)>,
    captures: Vec<StoredCapture>,
    waker: Option<Waker>,
}

impl Mail {
    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

pub(crate) struct Control {
    fleet: Arc<Fleet>,
    worker: Worker,
    env: Env,
    driver: Driver,
    source: Source,
    mail: Arc<Mutex<Mail>>,
    lanes: BTreeMap<LaneId, Arc<Mutex<Lanes>>>,
}

/// Starts a life of a worker.
pub(crate) fn start(fleet: &Arc<Fleet>, worker: &Worker) {
    let env = worker.machine.env();
    let store = Faulty { world: fleet.world.clone(), state: worker.way.clone() };
    let who = (WorkerName::new(&worker.name), "pod");
    let options = &fleet.options;
    let planner = Lister { stream: fleet.stream.clone(), env: env.clone(), is_final: options.is_final, wrong: options.wrong };
    let driver = Driver::start(env.clone(), Arc::new(store), Arc::new(planner), who, options.config);
    let source = Source::new(fleet.stream.clone(), fleet.world.checks.clone(), options.wrong, options.declines);
    let mut control = Control {
        fleet: fleet.clone(),
        worker: worker.clone(),
        env: env.clone(),
        driver,
        source,
        mail: Arc::default(),
        lanes: BTreeMap::new(),
    };
    env.tasks().spawn("control", Box::pin(std::future::poll_fn(move |context| control.poll(context))));
}

impl Control {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            self.take_mail(context);
            let event = self.driver.poll_events(&mut self.source, context);
            let mut said = self.worker.said.lock();
            said.held = self.driver.held().count();
            said.waker = Some(context.waker().clone());
            let leaves = said.leave && said.held == 0 && self.lanes.is_empty();
            drop(said);
            match event {
                Poll::Ready(Ok(event)) => self.act(event),
                Poll::Ready(Err(error)) if matches!(error.retry(), Retry::Never | Retry::Fenced) => {
                    self.worker.said.lock().ended = Some(error.to_string());
                    self.lanes.values().for_each(|lane| lane.lock().dropped = true);
                    self.fleet.world.checks.crashed(&self.worker.name);
                    return Poll::Ready(());
                }
                Poll::Ready(Err(error)) => self.worker.said.lock().errors.push(error.to_string()),
                Poll::Pending if leaves => {
                    self.worker.said.lock().ended = Some("left".into());
                    return Poll::Ready(());
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn take_mail(&mut self, context: &mut Context<'_>) {
        let mut mail = self.mail.lock();
        mail.waker = Some(context.waker().clone());
        let (watermarks, captures) = (std::mem::take(&mut mail.watermarks), std::mem::take(&mut mail.captures));
        drop(mail);
        for (lane, to) in watermarks {
            self.driver.watermark(lane, to);
        }
        for capture in captures {
            self.driver.stored(capture);
        }
        if self.worker.said.lock().leave {
            self.driver.leave();
        }
    }

    fn act(&mut self, event: Event) {
        match event {
            Event::Joined(term) => self.driver.ready(term, self.fleet.root),
            Event::LanesAdded(gains) => gains.into_iter().for_each(|gain| self.gained(gain)),
            Event::LanesRevoked(lanes, barrier) => self.revoked(&lanes, &barrier),
            Event::LanesRetired(lanes) => lanes.iter().for_each(|lane| self.retired(*lane)),
            Event::CaptureDue(lanes) => {
                for lane in lanes.iter().filter_map(|lane| self.lanes.get(lane)) {
                    let mut lane = lane.lock();
                    lane.asked = true;
                    lane.waker.take().into_iter().for_each(Waker::wake);
                }
            }
            Event::AllComplete => self.worker.said.lock().all_complete += 1,
            Event::Drained(_) => self.worker.said.lock().drained += 1,
            _ => {}
        }
    }

    fn gained(&mut self, gain: Gain) {
        let (fleet, name) = (&self.fleet, &self.worker.name);
        fleet.world.checks.gained(&fleet.world.memory, &gain.split, name, |other| fleet.ought_to_have_stopped(other));
        let (mut own, mut inherited) = (Counts::new(), Counts::new());
        for state in &gain.state {
            let counts = decode(&state.head);
            if state.split == gain.split {
                own = counts;
            } else if fleet.options.slip != Slip::ForgetsParents {
                for (key, count) in counts {
                    inherited.entry(key).and_modify(|known: &mut u64| *known = count.max(*known)).or_insert(count);
                }
            }
        }
        let lane = Lanes {
            split: gain.split.clone(),
            epoch: gain.epoch,
            root: gain.root,
            own,
            inherited,
            evaluated: Ordinal::default(),
            asked: false,
            dropped: false,
            rows: VecDeque::new(),
            waker: None,
            sender: None,
        };
        let lane = Arc::new(Mutex::new(lane));
        self.lanes.insert(gain.id, lane.clone());
        let evaluating = Evaluating {
            lane: Some(gain.lane),
            state: lane.clone(),
            id: gain.id,
            mail: self.mail.clone(),
            fleet: self.fleet.clone(),
            env: self.env.clone(),
            captures: 0,
        };
        self.env.tasks().spawn("loop", Box::pin(evaluating.run()));
        self.env.tasks().spawn("sink", Box::pin(send(lane, gain.id, (self.mail.clone(), self.fleet.clone(), self.env.clone()))));
    }

    fn revoked(&mut self, lanes: &[LaneId], barrier: &Barrier) {
        for id in lanes {
            let Some(lane) = self.lanes.remove(id) else { continue };
            let split = lane.lock().split.clone();
            let epoch = lane.lock().epoch;
            if self.must_be_fenced(&split) {
                self.fleet.world.checks.fenced(&self.fleet.world.memory, &split, epoch, &self.worker.name);
            }
            match self.fleet.options.slip {
                Slip::NeverLetsGo => std::mem::forget(barrier.clone()),
                Slip::AnswersEarly => continue,
                _ => {}
            }
            let (env, checks, name, held) = (self.env.clone(), self.fleet.world.checks.clone(), self.worker.name.clone(), barrier.clone());
            let span = Duration::from_millis(self.env.random().number() % 300);
            let work = async move {
                env.clock().sleep(span).await;
                lane.lock().dropped = true;
                lane.lock().waker.take().into_iter().for_each(Waker::wake);
                lane.lock().sender.take().into_iter().for_each(Waker::wake);
                checks.dropped(&split, &name);
                drop(held);
            };
            self.env.tasks().spawn("letting go", Box::pin(work));
        }
    }

    /// Whether nothing but a fence can end a lane now: no revocation, no lapse.
    fn must_be_fenced(&self, split: &SplitId) -> bool {
        let now = self.fleet.world.env.clock().monotonic();
        let (ttl, minute) = (self.fleet.options.config.ttl, Duration::from_mins(1));
        let beaten = self.worker.way.lock().beaten;
        let fresh = beaten.is_some_and(|beaten| now.saturating_sub(beaten) + Duration::from_secs(1) < ttl * 3 / 4);
        let resumed_at = self.worker.said.lock().resumed_at;
        let rested = resumed_at.is_zero() || now.saturating_sub(resumed_at) > minute;
        // An entry that outgrows its page moves by release and claim.
        let roomy = self.fleet.options.config.page_bytes >= millrace::coordination::Config::default().page_bytes;
        fresh && rested && roomy && !self.source.revoked.contains(split) && !self.lapsed_lately(now)
    }

    /// A lease that lapsed may be back by now.
    fn lapsed_lately(&self, now: Duration) -> bool {
        self.fleet.members.lock().last_lapse.get(&self.worker.name).is_some_and(|at| now.saturating_sub(*at) < Duration::from_mins(1))
    }

    fn retired(&mut self, id: LaneId) {
        let Some(lane) = self.lanes.remove(&id) else { return };
        let mut lane = lane.lock();
        let checks = &self.fleet.world.checks;
        if !lane.rows.is_empty() {
            checks.say("I25", &format!("{} is retired with rows that were not sent", lane.split));
        }
        lane.dropped = true;
        lane.waker.take().into_iter().chain(lane.sender.take()).for_each(Waker::wake);
        checks.dropped(&lane.split, &self.worker.name);
    }
}

struct Evaluating {
    lane: Option<Box<dyn Lane>>,
    state: Arc<Mutex<Lanes>>,
    id: LaneId,
    mail: Arc<Mutex<Mail>>,
    fleet: Arc<Fleet>,
    env: Env,
    captures: u64,
}

impl Evaluating {
    async fn run(mut self) {
        std::future::poll_fn(|context| self.poll(context)).await;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let mut state = self.state.lock();
            if state.dropped {
                return Poll::Ready(());
            }
            state.waker = Some(context.waker().clone());
            let asked = std::mem::take(&mut state.asked);
            drop(state);
            if asked {
                self.capture();
            }
            let Some(lane) = &mut self.lane else { return Poll::Pending };
            match lane.poll_next(context) {
                Poll::Ready(LaneItem::Batch(batch)) => {
                    let mut state = self.state.lock();
                    for (ordinal, record) in batch.iter() {
                        let number = |text: &str| text.parse().unwrap();
                        let key = record.partition_key.unwrap().parse().unwrap();
                        let rank = number(std::str::from_utf8(record.payload).unwrap());
                        let before = state.own.get(&key).or(state.inherited.get(&key)).copied().unwrap_or(0);
                        state.own.insert(key, before + 1);
                        state.rows.push_back((ordinal, Numbered { number: number(record.sequence_number), key, rank }, before + 1));
                        state.evaluated = ordinal;
                    }
                    state.sender.take().into_iter().for_each(Waker::wake);
                    if self.fleet.options.slip == Slip::EvaluatedForDurable {
                        let mut mail = self.mail.lock();
                        mail.watermarks.push((self.id, state.evaluated));
                        mail.wake();
                    }
                }
                Poll::Ready(LaneItem::End | LaneItem::Failed(_)) => self.lane = None,
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Captures at this boundary; what is stored says so a little later.
    fn capture(&mut self) {
        self.captures += 1;
        let whole = self.fleet.options.seed.is_multiple_of(2);
        let state = self.state.clone();
        let counts = move |state: &Lanes| {
            let mut counts = if whole { state.inherited.clone() } else { Counts::new() };
            counts.extend(state.own.clone());
            counts
        };
        let held = state.lock();
        let mut capture = StoredCapture {
            id: CaptureId::new(self.captures),
            split: held.split.clone(),
            epoch: held.epoch,
            at: held.evaluated,
            root: held.root,
            head: encode(&counts(&held)),
            inheritance_over: whole,
        };
        drop(held);
        let (env, mail, late) = (self.env.clone(), self.mail.clone(), self.fleet.options.slip == Slip::LateState);
        let span = Duration::from_millis(self.env.random().number() % 300);
        let store = async move {
            env.clock().sleep(span).await;
            if late {
                capture.head = encode(&counts(&state.lock()));
            }
            let mut mail = mail.lock();
            mail.captures.push(capture);
            mail.wake();
        };
        self.env.tasks().spawn("store capture", Box::pin(store));
    }
}

/// Sends a lane's rows, in order, each some time after it was evaluated.
async fn send(state: Arc<Mutex<Lanes>>, id: LaneId, beside: (Arc<Mutex<Mail>>, Arc<Fleet>, Env)) {
    let (mail, fleet, env) = beside;
    loop {
        let waiting = std::future::poll_fn(|context| {
            let mut state = state.lock();
            state.sender = Some(context.waker().clone());
            if state.dropped || !state.rows.is_empty() { Poll::Ready(state.rows.len()) } else { Poll::Pending }
        });
        let count = waiting.await;
        env.clock().sleep(Duration::from_millis(env.random().number() % fleet.options.delivery)).await;
        for _ in 0..count {
            let mut lane = state.lock();
            if lane.dropped {
                return;
            }
            let (slip, alone) = (fleet.options.slip, lane.rows.len() < 2);
            let row = if slip == Slip::Reorders && !alone { lane.rows.pop_back() } else { lane.rows.pop_front() };
            let Some((ordinal, record, counted)) = row else { break };
            let split = lane.split.clone();
            drop(lane);
            if slip != Slip::LosesRows || !record.number.is_multiple_of(50) {
                fleet.world.checks.row(&split, record, counted);
            }
            let mut mail = mail.lock();
            mail.watermarks.push((id, ordinal));
            mail.wake();
        }
        if state.lock().dropped {
            return;
        }
    }
}

impl Members {
    /// Notes a lapse that the script can see: no heartbeat answered for three quarters of the time.
    pub(crate) fn note(&mut self, worker: &Worker, now: Duration, ttl: Duration) {
        if worker.way.lock().beaten.is_some_and(|beaten| now.saturating_sub(beaten) + Duration::from_secs(2) >= ttl * 3 / 4) {
            self.last_lapse.insert(worker.name.clone(), now);
        }
    }
}

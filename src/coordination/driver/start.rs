//! How a driver starts: the settings, and the tasks beside it.

use super::desk::Limits;
use super::inbox::Inbox;
use super::ops::{self, Reply};
use super::{Driver, Hints, Membership, Out};
use crate::coordination::discovery::Discovery;
use crate::coordination::election::{Candidate, Lead};
use crate::coordination::leader::{Leader, Memory, Pace};
use crate::coordination::ledger::Me;
use crate::coordination::membership::{Heart, Lease, Observer};
use crate::coordination::mirror::Mirror;
use crate::coordination::records::{Incarnation, WorkerName};
use crate::coordination::source::Planner;
use crate::coordination::store::{Hint, Key, Kind, Store, Timed, prove};
use crate::env::Env;
use crate::flow::LaneId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The settings of coordination.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// How long a heartbeat may stand still.
    pub ttl: Duration,
    /// From one commit of what changed to the next.
    pub commit: Duration,
    /// How long a drain may take.
    pub drain: Duration,
    /// How long a call of the store may take.
    pub call: Duration,
    /// From one round of the leader to the next.
    pub round: Duration,
    /// From one listing of the stream to the next.
    pub discover: Duration,
    /// From one whole list to the next, where a watch keeps what is known.
    pub resync: Duration,
    /// For how long a split that was moved for balance stays.
    pub cooldown: Duration,
    /// The load that this worker takes, in the unit of weights.
    pub budget: u64,
    /// Entries that a ledger page takes.
    pub page_entries: usize,
    /// Bytes that a ledger page takes, before it is packed.
    pub page_bytes: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(20),
            commit: Duration::from_secs(5),
            drain: Duration::from_secs(10),
            call: Duration::from_secs(4),
            round: Duration::from_secs(1),
            discover: Duration::from_secs(10),
            resync: Duration::from_mins(1),
            cooldown: Duration::from_mins(1),
            budget: u64::MAX,
            page_entries: 256,
            page_bytes: 240 * 1024,
        }
    }
}

impl Config {
    pub(super) const fn limits(&self) -> Limits {
        Limits { entries: self.page_entries, bytes: self.page_bytes }
    }

    /// Until a call that failed is tried again: growing with each failure in a row, up to 5 s.
    pub(super) fn backoff(failures: u32) -> Duration {
        Duration::from_millis(200).saturating_mul(1 << failures.min(5)).min(Duration::from_secs(5))
    }
}

impl Driver {
    /// Starts a worker: its heartbeat, its candidacy, its copies of what it must know. It joins, claims and commits as
    /// [`Driver::poll_events`] is polled. `life` makes this life's incarnation: a pod's uid, say.
    #[must_use]
    pub fn start(env: Env, store: Arc<dyn Store>, planner: Arc<dyn Planner>, who: (WorkerName, &str), config: Config) -> Self {
        let (worker, life) = who;
        let nonce = env.random().number();
        let me = Me { worker, incarnation: Incarnation::new(&format!("{life}/{nonce:016x}")) };
        let store: Arc<dyn Store> = Arc::new(Timed::new(store, env.clone(), config.call));
        let inbox = Arc::new(Inbox::default());
        let driver = Self {
            lease: Arc::new(Lease::new(config.ttl)),
            observer: Observer::default(),
            leaving: Arc::default(),
            standing: Membership { registering: true, ..Membership::default() },
            hints: Hints::default(),
            seats: BTreeMap::new(),
            lanes: BTreeMap::new(),
            desks: BTreeMap::new(),
            out: Out::default(),
            next_lane: LaneId::default(),
            next_commit: Duration::ZERO,
            next_tidy: Duration::ZERO,
            timer: None,
            wake_at: Duration::MAX,
            env,
            config,
            me,
            store,
            inbox,
        };
        driver.prove(nonce);
        driver.lead(planner);
        driver.observe();
        driver.follow();
        driver
    }

    pub(super) fn prove(&self, nonce: u64) {
        let (store, worker) = (self.store.clone(), self.me.worker.clone());
        self.call(async move { Reply::Proved(prove(&*store, &worker, nonce).await) });
    }

    /// Starts the heartbeat. Nothing that data can delay stands on its way (I14).
    pub(super) fn beat(&self) {
        let heart = Heart::new(self.env.clone(), self.store.clone(), self.me.clone(), self.lease.clone());
        let inbox = self.inbox.clone();
        self.env.tasks().spawn("heartbeat", Box::pin(heart.run(move || inbox.nudge_open())));
    }

    fn lead(&self, planner: Arc<dyn Planner>) {
        let (env, store, ttl) = (self.env.clone(), self.store.clone(), self.config.ttl);
        let lead = Arc::new(Lead::new(ttl));
        let pace = Pace { round: self.config.round, tidy: self.config.resync, cooldown: self.config.cooldown };
        let discovery =
            Discovery { env: env.clone(), store: store.clone(), lead: lead.clone(), planner: planner.clone(), pause: self.config.discover };
        let leader = Leader { env: env.clone(), store: store.clone(), lead: lead.clone(), planner, pace, memory: Memory::default() };
        let candidate = Candidate { env, store, me: self.me.clone(), lead, leaving: self.leaving.clone(), ttl };
        let open = || {
            let inbox = self.inbox.clone();
            move || inbox.is_open()
        };
        let trouble = || {
            let inbox = self.inbox.clone();
            move |error| inbox.push(Reply::Planning(error))
        };
        let tasks = self.env.tasks();
        tasks.spawn("candidate", Box::pin(candidate.run(open())));
        tasks.spawn("leader", Box::pin(leader.run(open(), trouble())));
        tasks.spawn("discovery", Box::pin(discovery.run(open(), trouble())));
    }

    /// Reads heartbeats, four times in each time that they may stand still. Fresh reads: a watch that stands still would
    /// look like everybody's death.
    fn observe(&self) {
        let (env, store, inbox) = (self.env.clone(), self.store.clone(), self.inbox.clone());
        let pause = self.config.ttl.checked_div(4).unwrap_or_default();
        let observe = async move {
            while inbox.is_open() {
                inbox.push(ops::beats(env.clone(), store.clone()).await);
                env.clock().sleep(pause).await;
            }
        };
        self.env.tasks().spawn("observer", Box::pin(observe));
    }

    fn follow(&self) {
        for kind in [Kind::Split, Kind::Worker, Kind::Plan] {
            let (env, store, resync) = (self.env.clone(), self.store.clone(), self.config.resync);
            let mirror = Mirror { env, store, kind, resync, pause: Duration::from_secs(1) };
            let (inbox, own) = (self.inbox.clone(), Key::Worker(self.me.worker.clone()));
            let told = move |mut hints: Vec<Hint>| {
                hints.retain(|hint| hint.key.kind() != Kind::Worker || hint.key == own);
                inbox.hint(hints)
            };
            self.env.tasks().spawn("mirror", Box::pin(mirror.run(told)));
        }
    }
}

//! A worker in a pod: the control task of `millrace worker`.
//!
//! Owns: joining by the committed root, acting on instructions, reaching the source, answering, stopping.
//! May not: decide which program is due (`desk`), who owns a split or what a commit says (`coordination`); read signals.

mod asked;
mod cluster;
mod desk;
mod fault;
mod late;
mod load;
mod measure;
mod start;

pub use start::{Whoami, WorkerError, work};

use super::control::{Control, Notice};
use super::ending::Ending;
use super::open::Places;
use crate::api::children;
use crate::api::revision;
use crate::api::stream_worker::{Fault, Instruction, Versions};
use crate::api::worker_settings::WorkerSettings;
use crate::coordination::DriverError;
use crate::env::{Env, Work};
use crate::error::Meaning;
use crate::flow::{RootRef, SourceError, SplitId};
use crate::program::Change;
use crate::runtime::{Ending as LoopEnding, Program};
use crate::source::kinesis::Reports;
use crate::telemetry::Health;
use asked::{Asked, Reached};
use cluster::{Cluster, Said};
use desk::{Act, Desk, Through};
use fault::{About, Faults};
use late::{LatePlanner, LateSource};
use load::{Known, Opened};
use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender};

/// How often what nobody tells is looked at, and what failed is tried again.
const TICK: Duration = Duration::from_millis(500);
/// What is said is made anew at most so often: commits of many splits come close together.
const SAY: Duration = Duration::from_millis(50);
/// How long a start may take before others get what was assigned to it.
const STARTS: Duration = Duration::from_secs(5);
/// How long until what failed is tried again.
const AGAIN: Duration = Duration::from_secs(2);

/// What tasks beside this one have done.
enum Told {
    /// The `StreamWorker` stands so.
    Seen(Box<(Option<Instruction>, Said)>),
    /// The committed root, as it was read in this term.
    Committed(u64, Option<RootRef>),
    /// It could not be read.
    Unread(u64),
    /// A program is loaded, or cannot be.
    Loaded(RootRef, Result<Box<Opened>, Fault>),
    /// A program that state was made under is loaded, or cannot be.
    Known(RootRef, Result<Box<Known>, Fault>),
    /// The source is reached, or cannot be.
    Reached(Box<Asked>, Result<Reached, SourceError>),
    /// This was written; none: it was not.
    Said(Option<Box<Said>>),
}

/// What wakes the control task.
enum Wake {
    Notice(Box<Notice>),
    Told(Told),
    Stop,
    Tick,
}

/// A way to the source.
#[derive(Default)]
struct Source {
    /// What the running program reads.
    asked: Option<Asked>,
    reached: bool,
    /// A try is under way, or not before this time.
    trying: bool,
    again: Duration,
    reports: Option<Reports>,
}

/// The control task's state.
struct Pod {
    env: Env,
    settings: Arc<WorkerSettings>,
    cluster: Cluster,
    places: Arc<Places>,
    control: Control,
    desk: Desk,
    faults: Faults,
    /// Programs with open outputs, to be installed.
    opened: BTreeMap<RootRef, Box<Opened>>,
    /// What runs, with its revision; none: nothing yet.
    current: Option<(Arc<Program>, revision::Program)>,
    source: Source,
    /// The splits that are read.
    reads: BTreeSet<SplitId>,
    /// Since when it is not ready; none: it is.
    unready: Option<Duration>,
    late: (LateSource, Arc<LatePlanner>),
    /// Programs that state was made under, and when each is tried again; none: a try is under way.
    wanted: BTreeMap<RootRef, Option<Duration>>,
    /// A joining whose root is to be read again at this time.
    reread: Option<(u64, Duration)>,
    /// What stands in the status.
    said: Option<Said>,
    saying: bool,
    /// Not before this time.
    say_at: Duration,
    tell: Sender<Told>,
    told: Receiver<Told>,
    tick: Work,
    ending: Ending,
    health: Health,
    /// How many splits are held, for metrics.
    held: Arc<AtomicU64>,
}

impl Pod {
    /// Runs until it is asked to stop and has, or something ends it.
    async fn run(mut self, stop: impl Future<Output = ()>) -> Result<(), WorkerError> {
        let mut stop = Box::pin(stop);
        loop {
            self.act();
            self.health.beat();
            self.health.ready(self.desk.is_ready() && !self.ending.has_begun());
            let wake = poll_fn(|cx| {
                if !self.ending.has_begun() && stop.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Wake::Stop);
                }
                if let Poll::Ready(Some(told)) = self.told.poll_recv(cx) {
                    return Poll::Ready(Wake::Told(told));
                }
                if let Poll::Ready(notice) = self.control.poll(cx) {
                    return Poll::Ready(Wake::Notice(Box::new(notice)));
                }
                self.tick.as_mut().poll(cx).map(|()| Wake::Tick)
            });
            let over = match wake.await {
                Wake::Stop => self.stop(),
                Wake::Told(told) => self.hear(told),
                Wake::Notice(notice) => self.notice(*notice)?,
                Wake::Tick => self.ticked()?,
            };
            if over {
                return Ok(());
            }
        }
    }

    fn now(&self) -> Duration {
        self.env.clock().monotonic()
    }

    fn spawn(&self, name: &'static str, work: impl Future<Output = Told> + Send + 'static) {
        let tell = self.tell.clone();
        // Whoever is not there any more hears nothing.
        self.env.tasks().spawn(name, Box::pin(async move { drop(tell.send(work.await).await) }));
    }

    /// Does all that is due.
    fn act(&mut self) {
        let now = self.now();
        while !self.ending.has_begun()
            && let Some(act) = self.desk.next(now, self.source.reached)
        {
            match act {
                Act::Load(root) => self.load(root),
                Act::Install(root) => self.install(root),
                Act::Forget(root) => drop(self.opened.remove(&root)),
                Act::Ready(term) => {
                    self.control.take_nothing(false);
                    self.control.ready(term);
                }
            }
        }
        self.reach(now);
        self.say(now);
    }

    fn load(&self, root: RootRef) {
        tracing::info!(epoch = root.epoch.get(), digest = %root.digest, "loading a program");
        let (cluster, settings, places) = (self.cluster.clone(), Arc::clone(&self.settings), Arc::clone(&self.places));
        self.spawn("program", async move {
            let opened = load::open(&cluster, &settings.source, root, &places).await;
            Told::Loaded(root, opened.map(Box::new))
        });
    }

    fn loaded(&mut self, root: RootRef, result: Result<Box<Opened>, Fault>) {
        let result = result.and_then(|opened| self.reads_the_same(opened));
        let now = self.now();
        let loaded = result.map(|opened| drop(self.opened.insert(root, opened)));
        if let Err(fault) = &loaded {
            tracing::warn!(epoch = root.epoch.get(), code = fault.code, "a program cannot run here: {}", fault.message);
        }
        self.desk.loaded(root, loaded, now);
    }

    /// Refuses a program that reads something else than what this pipeline has begun to read: its positions mean nothing there.
    fn reads_the_same(&self, opened: Box<Opened>) -> Result<Box<Opened>, Fault> {
        let same = match (&self.source.asked, &opened.known.asked) {
            (Some(own), Some(other)) if self.source.reached => own.is_same(other),
            (_, other) => other.is_some(),
        };
        if same { Ok(opened) } else { Err(fault::fault(&WorkerError::OtherSource)) }
    }

    fn install(&mut self, root: RootRef) {
        let Some(opened) = self.opened.remove(&root) else { return };
        let Opened { known: Known { program, revision, asked }, session } = *opened;
        let change = self.current.as_ref().map(|(old, before)| Change::between((before, &old.plan), (&revision, &program.plan)));
        tracing::info!(epoch = root.epoch.get(), digest = %root.digest, "changing over");
        self.control.install(Arc::clone(&program), Box::new(session));
        self.desk.installing(root, change.unwrap_or_default());
        self.current = Some((program, revision));
        if !self.source.reached {
            self.source.asked = asked;
        }
    }

    /// Tries to reach the source of what runs.
    fn reach(&mut self, now: Duration) {
        let Some(asked) = self.source.asked.clone().filter(|_| !self.source.reached && !self.source.trying && now >= self.source.again)
        else {
            return;
        };
        self.source.trying = true;
        let env = self.env.clone();
        self.spawn("source", async move {
            let reached = asked.reach(&env).await;
            Told::Reached(Box::new(asked), reached)
        });
    }

    fn reached(&mut self, asked: &Asked, result: Result<Reached, SourceError>) {
        let now = self.now();
        self.source.trying = false;
        // An edit reads something else meanwhile: that is tried at once.
        if self.source.asked.as_ref().is_none_or(|own| !own.is_same(asked)) {
            return;
        }
        self.source.again = now.saturating_add(AGAIN);
        match result.and_then(|reached| reached.set(&self.env, &self.late.0, &self.late.1)) {
            Ok(reports) => {
                tracing::info!("the source is reached");
                (self.source.reached, self.source.reports) = (true, reports);
                self.faults.clear(&About::Source);
            }
            Err(error) => {
                tracing::warn!(code = %error.code(), "the source cannot be reached: {error}");
                self.faults.set(About::Source, fault::of_source(&error));
            }
        }
    }

    /// Writes what this worker says, where that differs from what stands.
    fn say(&mut self, now: Duration) {
        if self.saying || now < self.say_at {
            return;
        }
        self.say_at = now.saturating_add(SAY);
        let said = self.what_to_say(now);
        if self.said.as_ref() == Some(&said) {
            return;
        }
        self.saying = true;
        let cluster = self.cluster.clone();
        self.spawn("status", async move {
            match cluster.say(&said).await {
                Ok(true) => Told::Said(Some(Box::new(said))),
                Ok(false) => Told::Said(None),
                Err(error) => {
                    tracing::warn!(code = %error.code(), "the status cannot be written; it is tried again: {error}");
                    Told::Said(None)
                }
            }
        });
    }

    fn what_to_say(&mut self, now: Duration) -> Said {
        match self.desk.trouble() {
            Some(fault) => self.faults.set(About::Program, fault.clone()),
            None => self.faults.clear(&About::Program),
        }
        let installed = self.desk.installed();
        let splits = installed.into_iter().flat_map(|root| self.control.took_over(root.epoch));
        let name = |split: &SplitId| children::split(&self.settings.pipeline, split.as_str());
        let splits = splits.filter_map(|(split, after)| Some((name(split), sequence(after?).to_owned()))).collect();
        let through = Through { is_through: self.control.is_through(), splits };
        let answer = self.desk.answer(self.control.incarnation(), through);
        Said { answer, faults: self.faults.list(now), versions: Some(versions()) }
    }

    fn hear(&mut self, told: Told) -> bool {
        let again = self.now().saturating_add(AGAIN);
        match told {
            Told::Seen(seen) => {
                let (instruction, said) = *seen;
                if let Some(instruction) = instruction {
                    self.desk.tell(instruction);
                }
                // What another life or an older write has left is written over.
                if !self.saying {
                    self.said = Some(said);
                }
            }
            Told::Committed(term, root) => self.desk.read(term, root),
            Told::Unread(term) => self.reread = Some((term, again)),
            Told::Loaded(root, result) => self.loaded(root, result),
            Told::Known(root, Ok(known)) => {
                self.wanted.remove(&root);
                self.faults.clear(&About::Earlier);
                self.control.know(known.program);
            }
            Told::Known(root, Err(fault)) => {
                tracing::warn!(digest = %root.digest, code = fault.code, "an earlier program is not there: {}", fault.message);
                self.faults.set(About::Earlier, fault);
                self.wanted.insert(root, Some(again));
            }
            Told::Reached(asked, result) => self.reached(&asked, result),
            Told::Said(said) => {
                self.saying = false;
                match said {
                    Some(said) => self.said = Some(*said),
                    None => self.say_at = self.now().saturating_add(TICK),
                }
            }
        }
        false
    }

    fn read_root(&self, term: u64) {
        let cluster = self.cluster.clone();
        self.spawn("committed root", async move {
            match cluster.committed().await {
                Ok(root) => Told::Committed(term, root),
                Err(error) => {
                    tracing::warn!(code = %error.code(), "the committed root cannot be read; it is tried again: {error}");
                    Told::Unread(term)
                }
            }
        });
    }

    /// State needs the program that it was made under; a split under a higher root has that installed first.
    fn want(&mut self, root: RootRef) {
        if root.epoch > self.control.running().epoch {
            self.desk.see(root);
            return;
        }
        if self.wanted.insert(root, None) == Some(None) {
            return;
        }
        let (cluster, settings) = (self.cluster.clone(), Arc::clone(&self.settings));
        self.spawn("program", async move { Told::Known(root, load::know(&cluster, &settings.source, root).await.map(Box::new)) });
    }

    fn notice(&mut self, notice: Notice) -> Result<bool, WorkerError> {
        let now = self.now();
        match notice {
            Notice::Joined(term) => {
                tracing::info!(term, "joined");
                self.desk.joined(term);
                self.read_root(term);
            }
            Notice::Wants(root) => self.want(root),
            Notice::Installed(root) => {
                tracing::info!(epoch = root.epoch.get(), digest = %root.digest, "changed over");
                self.desk.switched();
                // What the edit has freed, its new captures have.
                self.keep_faults();
            }
            Notice::Changed => return Ok(self.changed()),
            Notice::Stuck(split, error) => {
                tracing::warn!(%split, code = %error.code(), "a split is held: {error}");
                self.faults.set(About::Split(split.to_string()), fault::fault(&error));
            }
            Notice::Trouble(error) => self.trouble(&error, now),
            // A stream has no end; of files, all is read.
            Notice::AllComplete => tracing::info!("everything is read"),
            Notice::Fatal(error) => return Err(error.into()),
            Notice::Ended(ending) => return self.ended(ending),
        }
        Ok(false)
    }

    fn trouble(&mut self, error: &DriverError, now: Duration) {
        tracing::warn!(code = %error.code(), "{error}");
        match error {
            DriverError::Source(error) => self.faults.seen(About::Reading, error, fault::of_source(error), now),
            error => self.faults.seen(About::Coordination, error, fault::fault(error), now),
        }
    }

    fn changed(&mut self) -> bool {
        let reads: BTreeSet<_> = self.control.splits().cloned().collect();
        for split in reads.difference(&self.reads) {
            tracing::info!(%split, "reading a split");
        }
        for split in self.reads.difference(&reads) {
            tracing::info!(%split, "letting go of a split");
        }
        self.keep_faults();
        self.reads = reads;
        self.finish_if_free();
        false
    }

    /// Of what is told of splits, what is still so stands.
    fn keep_faults(&mut self) {
        let control = &self.control;
        self.faults.keep_splits(|split| control.is_stuck(split));
    }

    fn finish_if_free(&mut self) {
        if self.ending.has_begun() && self.control.is_free() {
            self.finish();
        }
    }

    fn ended(&self, ending: Option<Box<LoopEnding>>) -> Result<bool, WorkerError> {
        match ending {
            Some(ending) => match ending.result {
                Ok(()) if self.ending.is_finishing() => Ok(true),
                Ok(()) => Err(WorkerError::LoopGone),
                Err(error) => Err(error.into()),
            },
            None => Err(WorkerError::LoopGone),
        }
    }

    /// Begins to stop: splits drain and are released, then the loop ends.
    fn stop(&mut self) -> bool {
        tracing::info!(splits = self.control.held(), "stopping");
        self.ending.begin(self.now(), self.settings.drain_timeout.span());
        self.control.leave();
        self.finish_if_free();
        false
    }

    /// A worker that does not come to be ready stands back from the assignment: others read meanwhile. One that has only just
    /// started keeps what was assigned to it.
    fn stand_back(&mut self, now: Duration) {
        if self.desk.is_ready() {
            self.unready = None;
        } else if now.saturating_sub(*self.unready.get_or_insert(now)) >= STARTS {
            self.control.take_nothing(true);
        }
    }

    fn finish(&mut self) {
        if let Some(by) = self.ending.finish() {
            self.control.finish(by);
        }
    }

    /// What is looked at now and then.
    fn ticked(&mut self) -> Result<bool, WorkerError> {
        let now = self.now();
        self.held.store(u64::try_from(self.control.held()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.tick = self.env.clock().sleep(TICK);
        if let Some((term, at)) = self.reread.filter(|(_, at)| *at <= now) {
            self.reread = None;
            tracing::debug!(term, ?at, "reading the committed root again");
            self.read_root(term);
        }
        if !self.control.is_waiting() {
            // Whatever waited for them has gone elsewhere.
            self.wanted.retain(|_, at| at.is_none());
        }
        let due: Vec<_> = self.wanted.iter().filter(|(_, at)| at.is_some_and(|at| at <= now)).map(|(root, _)| *root).collect();
        for root in due {
            self.want(root);
        }
        let troubles = self.source.reports.as_ref().map(Reports::troubles).unwrap_or_default();
        for (split, trouble) in troubles {
            let error = SourceError { class: crate::flow::ErrorClass::Retryable, code: trouble.code, message: (*trouble.message).into() };
            self.faults.seen(About::Reading, &error, fault::of_source(&error), now);
            tracing::debug!(%split, code = %error.code(), "{error}");
        }
        self.stand_back(now);
        for notice in self.source.reports.iter().flat_map(Reports::take_notices) {
            tracing::warn!(?notice, "the source reports");
        }
        if self.ending.is_hung(now) {
            return Err(WorkerError::Hung);
        }
        if self.ending.is_late(now) {
            self.finish();
        }
        // Nobody tells when the last record has been written.
        self.finish_if_free();
        Ok(false)
    }
}

/// What a position says of the stream: the number of the record that it is behind.
fn sequence(position: &str) -> &str {
    position.strip_prefix("after/").unwrap_or(position)
}

fn versions() -> Versions {
    Versions { binary: env!("CARGO_PKG_VERSION").to_owned(), editions: vec![1], formats: vec![1] }
}

//! How a worker in a pod starts: its store, its driver, its loop, an idle program until the first is committed.

use super::cluster::Cluster;
use super::desk::Desk;
use super::fault::Faults;
use super::late::{LatePlanner, LateSource};
use super::measure::metrics;
use super::{Pod, Source, TICK, Told};
use crate::api::revision::{Program, ProgramRoot};
use crate::api::worker_settings::{CoordinationSettings, WorkerSettings};
use crate::coordination::kubernetes::{self, Kubernetes, Place};
use crate::coordination::records::WorkerName;
use crate::coordination::store::StoreError;
use crate::coordination::{Config, Driver, DriverError};
use crate::env::Env;
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Digest, RootEpoch, RootRef};
use crate::program::{ProgramError, of_revision};
use crate::runtime::{Loop, OutputError, QueueLimits, RuntimeError, Session, Settings, Totals, Wires};
use crate::state::INLINE_BYTES;
use crate::telemetry::{Health, TelemetryError, serve};
use crate::worker::assemble::{AssembleError, assemble};
use crate::worker::control::{Control, LoopWires};
use crate::worker::ending::Ending;
use crate::worker::open::Places;
use futures::future::{Either, select};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Which pod this is.
#[derive(Clone, Debug)]
pub struct Whoami {
    /// The namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// The pod's uid.
    pub uid: String,
}

/// Why a worker ends that was not asked to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// There is no way to the API server.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The client of the API server cannot be made.
    #[error("there is no client for the API server: {0}")]
    Client(Box<kube::Error>),
    /// Coordination cannot go on.
    #[error("{0}")]
    Driver(#[from] DriverError),
    /// Evaluation or delivery has failed.
    #[error("{0}")]
    Runtime(#[from] RuntimeError),
    /// An output cannot be opened.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// The idle program is none.
    #[error("{0}")]
    Idle(#[from] Box<ProgramError>),
    /// A program cannot be put together.
    #[error("{0}")]
    Assemble(#[from] AssembleError),
    /// A program reads another source than the one whose positions are kept.
    #[error("the program reads another source than the pipeline has begun with: give that a pipeline of its own")]
    OtherSource,
    /// The port of health and metrics cannot be opened.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
    /// The loop is gone without an answer.
    #[error("the evaluation thread has ended without an answer")]
    LoopGone,
    /// The deadline has passed, and the loop does not come back.
    #[error("the worker did not end by its deadline: something that it writes to blocks")]
    Hung,
}

impl Meaning for WorkerError {
    fn code(&self) -> Code {
        match self {
            Self::Store(error) => error.code(),
            Self::Client(_) => Code::CLUSTER_FAILED,
            Self::Driver(error) => error.code(),
            Self::Runtime(error) => error.code(),
            Self::Output(error) => error.code(),
            Self::Idle(error) => error.code(),
            Self::Assemble(error) => error.code(),
            Self::Telemetry(error) => error.code(),
            Self::OtherSource => Code::UNSUPPORTED,
            Self::LoopGone => Code::INTERNAL,
            Self::Hung => Code::DRAIN_INCOMPLETE,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Store(error) => error.retry(),
            Self::Driver(error) => error.retry(),
            Self::Runtime(error) => error.retry(),
            Self::Output(error) => error.retry(),
            Self::Client(_) | Self::Hung | Self::Telemetry(_) => Retry::Backoff,
            _ => Retry::Never,
        }
    }
}

/// Works until `stop` completes and all is let go of, or something ends it.
///
/// # Errors
/// What ended it.
pub async fn work(
    env: &Env,
    (config, whoami): (kube::Config, Whoami),
    settings: WorkerSettings,
    places: Places,
    stop: impl Future<Output = ()>,
) -> Result<(), WorkerError> {
    let pod = kubernetes::Pod { name: whoami.name.clone(), uid: whoami.uid.clone() };
    let (pipeline, pipeline_uid) = (settings.pipeline.clone(), settings.pipeline_uid.clone());
    let place = Place { namespace: whoami.namespace, pipeline, pipeline_uid, pod: Some(pod.clone()) };
    let client = kube::Client::try_from(config.clone()).map_err(|error| WorkerError::Client(Box::new(error)))?;
    let coordination = coordination(&settings.coordination);
    let store = Arc::new(Kubernetes::new(env.clone(), config, place.clone(), coordination.call)?);
    let (source, planner) = (LateSource::default(), Arc::new(LatePlanner::default()));
    let who = (WorkerName::new(&whoami.name), whoami.uid.as_str());
    let driver = Driver::start(env.clone(), store, planner.clone(), who, coordination);
    let (totals, held) = (Arc::<Totals>::default(), Arc::<AtomicU64>::default());
    let (health, port) = (Health::new(env.clone()), settings.metrics_port);
    let control = control(env, &settings, driver, source.clone(), &totals)?;
    let cluster = Cluster { env: env.clone(), client, place, pod };
    let (tell, told) = mpsc::channel(TOLD);
    follow(env, &cluster, &tell);
    let pod = Pod {
        desk: Desk::new(&settings.pipeline_uid),
        tick: env.clock().sleep(TICK),
        env: env.clone(),
        settings: Arc::new(settings),
        cluster,
        places: Arc::new(places),
        control,
        faults: Faults::default(),
        opened: BTreeMap::new(),
        current: None,
        source: Source::default(),
        reads: BTreeSet::new(),
        unready: None,
        late: (source, planner),
        wanted: BTreeMap::new(),
        reread: None,
        said: None,
        saying: false,
        say_at: Duration::ZERO,
        tell,
        told,
        ending: Ending::default(),
        health: health.clone(),
        held: Arc::clone(&held),
    };
    let serve = serve(health, Arc::new(move || metrics(&totals.read(), held.load(Ordering::Relaxed))), port);
    // The port ends only where it fails.
    match select(Box::pin(pod.run(stop)), Box::pin(serve)).await {
        Either::Left((done, _)) => done,
        Either::Right((done, _)) => Ok(done?),
    }
}

fn follow(env: &Env, cluster: &Cluster, tell: &mpsc::Sender<Told>) {
    let (cluster, tell) = (cluster.clone(), tell.clone());
    env.tasks().spawn("instructions", Box::pin(cluster.follow(tell)));
}

/// The loop and its control task, under a program that does nothing: its epoch is below every attempt's.
fn control(env: &Env, settings: &WorkerSettings, driver: Driver, source: LateSource, totals: &Arc<Totals>) -> Result<Control, WorkerError> {
    let idle = Program { root: ProgramRoot { text: IDLE.to_owned(), ..ProgramRoot::default() }, ..Program::default() };
    let loaded = of_revision(&idle).map_err(Box::new)?;
    let root = RootRef { epoch: RootEpoch::default(), digest: Digest::of(IDLE.as_bytes()) };
    let program = Arc::new(assemble(loaded, &idle, root)?);
    let session = Session::open(env, Vec::new(), QueueLimits::default());
    let (to, mailbox) = mpsc::channel(64);
    let (answers, from) = mpsc::channel(1_024);
    let submit = &settings.submit;
    let runtime = Settings {
        rows: usize::try_from(submit.rows).unwrap_or(1).max(1),
        linger: submit.delay.span(),
        drain: settings.drain_timeout.span(),
        ..Settings::default()
    };
    let wires = Wires { mailbox, answers, totals: Arc::clone(totals) };
    let owner = Loop::new(env, Arc::clone(&program), Box::new(session), runtime, wires);
    env.tasks().thread("owner loop", Box::pin(owner.run()));
    Ok(Control::new(driver, Box::new(source), LoopWires { to, from }, program, Some(INLINE_BYTES)))
}

/// What tasks beside the control task have told and it has not heard yet: each waits for its place.
const TOLD: usize = 64;

const IDLE: &str = "out idle: Bool = false";

fn coordination(set: &CoordinationSettings) -> Config {
    Config {
        ttl: set.ttl.span(),
        commit: set.commit_interval.span(),
        drain: set.drain_deadline.span(),
        resync: set.resync.span(),
        ..Config::default()
    }
}

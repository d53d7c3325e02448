//! A worker on this machine alone: the control task of `millrace run`.
//!
//! Owns: which splits are read when, stopping, what a run reports.
//! May not: print, or read signals (`cli`).

use super::assemble::{AssembleError, assemble};
use super::control::{Control, LoopWires, Notice};
use super::open::{Places, open_session};
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::revision::{Program, Revision, RevisionError};
use crate::coordination::records::WorkerName;
use crate::coordination::source::{Planner, SplitSource};
use crate::coordination::store::Memory;
use crate::coordination::{Config, Driver, DriverError};
use crate::env::{Env, first_of};
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Deadline, RootEpoch, RootRef, SourceError, SplitId};
use crate::lang::types::Type;
use crate::program::Loaded;
use crate::runtime::{Counts, Loop, OutputError, RuntimeError, Settings, Totals, Wires};
use crate::source::file::FileReader;
use crate::source::generator::{GeneratorReader, Kind, Recipe};
use crate::source::simple::{Known, Reader, Simple};
use crate::source::{QueueLimits, file};
use crate::state::StateError;
use std::fmt;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// The bytes that all queues may hold together.
const QUEUED: usize = 64 << 20;
/// How long an ending may take where the manifest says nothing.
const DRAIN: Duration = Duration::from_secs(30);

/// A pipeline that is ready to run here.
pub struct Local {
    env: Env,
    program: Arc<crate::runtime::Program>,
    revision: Program,
    source: Box<dyn SplitSource>,
    planner: Arc<dyn Planner>,
    drain: Duration,
    totals: Arc<Totals>,
}

/// What a run did.
#[derive(Debug)]
pub struct LocalReport {
    /// What was counted.
    pub counts: Counts,
    /// What ended it before its input did.
    pub result: Result<(), LocalError>,
}

/// Why a pipeline does not run here, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// Its program has no revision.
    #[error("{0}")]
    Revision(#[from] RevisionError),
    /// Its program cannot be put together.
    #[error("{0}")]
    Assemble(#[from] AssembleError),
    /// Its records cannot be read.
    #[error("{0}")]
    Source(#[from] SourceError),
    /// An output cannot be opened.
    #[error("{0}")]
    Output(#[from] OutputError),
    /// It ended before its input did.
    #[error("{0}")]
    Runtime(#[from] RuntimeError),
    /// A split's state cannot be kept.
    #[error("{0}")]
    State(#[from] StateError),
    /// Coordination with itself has failed.
    #[error("{0}")]
    Driver(#[from] DriverError),
    /// It reads or uses what this version does not run on one machine.
    #[error("{path}: {what}")]
    Unsupported {
        /// The field.
        path: &'static str,
        /// What to do instead.
        what: &'static str,
    },
    /// The loop is gone without an answer.
    #[error("the evaluation thread has ended without an answer")]
    LoopGone,
}

impl Meaning for LocalError {
    fn code(&self) -> Code {
        match self {
            Self::Revision(error) => error.code(),
            Self::Assemble(error) => error.code(),
            Self::Source(error) => error.code(),
            Self::Output(error) => error.code(),
            Self::Runtime(error) => error.code(),
            Self::State(error) => error.code(),
            Self::Driver(error) => error.code(),
            Self::Unsupported { .. } => Code::UNSUPPORTED,
            Self::LoopGone => Code::INTERNAL,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Source(error) => error.retry(),
            Self::Output(error) => error.retry(),
            Self::Runtime(error) => error.retry(),
            Self::Driver(error) => error.retry(),
            _ => Retry::Never,
        }
    }
}

impl Local {
    /// Makes a pipeline ready: its files found, its bindings compiled. `input` takes the place of its source: a file, a
    /// folder, or `-`.
    ///
    /// # Errors
    /// Something of it cannot run here; nothing has been opened.
    pub fn new(env: &Env, spec: &StreamPipelineSpec, loaded: Loaded, folder: &Path, input: Option<&Path>) -> Result<Self, LocalError> {
        let revision = Program::of(spec, None)?;
        let digest = Revision::of(&revision)?.digest();
        let (source, planner) = source(env, spec, &loaded, folder, input)?;
        let program = Arc::new(assemble(loaded, &revision, RootRef { epoch: RootEpoch::new(1), digest })?);
        let drain = spec.worker.as_ref().and_then(|worker| worker.drain_timeout.as_ref());
        let drain = drain.and_then(|drain| u64::try_from(drain.micros()).ok()).map_or(DRAIN, Duration::from_micros);
        Ok(Self { env: env.clone(), program, revision, source, planner, drain, totals: Arc::default() })
    }

    /// What is counted while it runs.
    #[must_use]
    pub fn totals(&self) -> Arc<Totals> {
        Arc::clone(&self.totals)
    }

    /// Runs until its input ends, something fails, or `stop` says so: then what was read is evaluated and delivered first.
    pub async fn run(self, places: &Places, stop: watch::Receiver<bool>) -> LocalReport {
        let totals = self.totals();
        let result = match open_session(&self.env, &self.revision, places) {
            Ok(session) => self.control(Box::new(session), stop).await,
            Err(error) => Err(error.into()),
        };
        LocalReport { counts: totals.read(), result }
    }

    async fn control(self, session: Box<crate::runtime::Session>, mut stop: watch::Receiver<bool>) -> Result<(), LocalError> {
        let Self { env, program, source, planner, drain, totals, .. } = self;
        let (to, mailbox) = mpsc::channel(64);
        let (answers, from) = mpsc::channel(1_024);
        let settings = Settings { drain, ..Settings::default() };
        let owner = Loop::new(&env, Arc::clone(&program), session, settings, Wires { mailbox, answers, totals });
        env.tasks().thread("owner loop", Box::pin(owner.run()));
        let who = (WorkerName::new("local"), "local");
        let driver = Driver::start(env.clone(), Arc::new(Memory::new()), planner, who, coordination());
        let mut control = Control::new(driver, source, LoopWires { to, from }, program, None);
        let mut ending = Stop::default();
        loop {
            let stopped = async {
                // An error is a sender that is gone: nobody will stop it, and the input decides.
                if ending.begun || stop.wait_for(|stop| *stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let notice = first_of(first_of(poll_fn(|cx| control.poll(cx)), stopped), ending.overdue(&env)).await;
            match notice {
                Some(Some(Notice::Joined(term))) => control.ready(term),
                Some(Some(Notice::AllComplete)) => ending.finish(&mut control, &env, drain),
                Some(Some(Notice::Fatal(error))) => return Err(error.into()),
                Some(Some(Notice::Stuck(_, error))) => return Err(error.into()),
                Some(Some(Notice::Ended(Some(over)))) => return over.result.map_err(LocalError::from),
                Some(Some(Notice::Ended(None))) => return Err(LocalError::LoopGone),
                Some(Some(Notice::Changed)) if ending.begun && control.held() == 0 => ending.finish(&mut control, &env, drain),
                // One root, and a store that never fails: there is nothing to be told.
                Some(Some(_)) => {}
                Some(None) => {
                    ending.begin(&env, drain);
                    control.leave();
                    if control.held() == 0 {
                        ending.finish(&mut control, &env, drain);
                    }
                }
                None => ending.finish(&mut control, &env, drain),
            }
        }
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("root", &self.program.root).finish_non_exhaustive()
    }
}

/// How far an ending has come.
#[derive(Default)]
struct Stop {
    /// Splits drain, by this deadline.
    by: Option<Deadline>,
    begun: bool,
    /// The loop has been told to finish.
    finishing: bool,
}

impl Stop {
    fn begin(&mut self, env: &Env, drain: Duration) {
        self.begun = true;
        self.by.get_or_insert(Deadline::after(env.clock().monotonic(), drain));
    }

    /// Completes when the splits have had their time to drain.
    async fn overdue(&self, env: &Env) {
        match self.by {
            Some(by) if !self.finishing => env.clock().sleep(by.left(env.clock().monotonic())).await,
            _ => std::future::pending().await,
        }
    }

    fn finish(&mut self, control: &mut Control, env: &Env, drain: Duration) {
        self.begin(env, drain);
        if !std::mem::replace(&mut self.finishing, true) {
            control.finish(self.by.unwrap_or(Deadline::after(env.clock().monotonic(), drain)));
        }
    }
}

/// One worker that nobody competes with: it is its own leader at once, and its life does not hang on a heartbeat.
fn coordination() -> Config {
    Config {
        ttl: Duration::from_hours(24),
        commit: Duration::from_secs(5),
        round: Duration::from_millis(20),
        resync: Duration::from_mins(10),
        page_entries: 4_096,
        page_bytes: usize::MAX,
        ..Config::default()
    }
}

type Sourced = (Box<dyn SplitSource>, Arc<dyn Planner>);

fn source(env: &Env, spec: &StreamPipelineSpec, loaded: &Loaded, folder: &Path, input: Option<&Path>) -> Result<Sourced, LocalError> {
    if let Some(input) = input {
        return files(env, input);
    }
    if let Some(source) = &spec.source.file {
        let path = Path::new(&source.path);
        return if source.path == file::STANDARD_INPUT { files(env, path) } else { files(env, &folder.join(path)) };
    }
    if let Some(source) = &spec.source.generator {
        let recipe = Recipe {
            seed: source.seed.unwrap_or_default(),
            rate: source.rate_per_second.and_then(|rate| rate.try_into().ok()).unwrap_or(10),
            records: source.records.and_then(|records| records.try_into().ok()),
            fields: fields(spec, loaded),
            key: spec.key_by.as_ref().and_then(|key| key.field.as_deref()).map(tokens),
        };
        let reader = GeneratorReader { env: env.clone(), recipe };
        return Ok(simple("generator", vec![SplitId::new("generator")], reader));
    }
    let what = "this version reads Kinesis on no machine yet: give records with --input FILE, or use file or generator";
    Err(LocalError::Unsupported { path: "spec.source.kinesis", what })
}

fn files(env: &Env, path: &Path) -> Result<Sourced, LocalError> {
    let splits = file::splits(path)?;
    let names = splits.iter().map(|split| split.id.clone()).collect();
    Ok(simple(&path.display().to_string(), names, FileReader { env: env.clone(), splits }))
}

fn simple(stream: &str, splits: Vec<SplitId>, reader: impl Reader + 'static) -> Sourced {
    let bytes = QUEUED.checked_div(splits.len().max(1)).unwrap_or(QUEUED).max(1 << 20);
    let planner = Known { stream: stream.into(), splits };
    (Box::new(Simple::new(reader, QueueLimits { bytes, ..QueueLimits::default() })), Arc::new(planner))
}

/// The fields that the inputs bind to, shorter pointers first.
fn fields(spec: &StreamPipelineSpec, loaded: &Loaded) -> Vec<(Vec<String>, Kind)> {
    let bound = spec.root.inputs.as_ref();
    let inputs = loaded.plan.streams().iter().take(loaded.plan.inputs());
    let mut fields: Vec<_> = inputs
        .filter_map(|input| {
            let binding = bound.and_then(|bound| bound.get(&*input.name));
            let pointer = match binding.map(|at| at.split_once(':').map_or(at.as_str(), |(_, at)| at)) {
                None => vec![input.name.to_string()],
                Some(at) if at.starts_with('/') => tokens(at),
                Some(_) => return None,
            };
            Some((pointer, kind(&input.ty)))
        })
        .collect();
    if let Some(time) = spec.root.time.as_deref().filter(|time| time.starts_with('/')) {
        fields.push((tokens(time), Kind::Time));
    }
    fields.sort_by_key(|(pointer, _)| pointer.len());
    fields.dedup_by(|one, other| one.0 == other.0);
    fields
}

/// The tokens of a JSON pointer (RFC 6901).
fn tokens(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect()
}

fn kind(ty: &Type) -> Kind {
    match ty {
        Type::Int => Kind::Int,
        Type::Bool => Kind::Bool,
        Type::Str => Kind::Str,
        Type::Time => Kind::Time,
        Type::Duration => Kind::Duration,
        Type::Unit => Kind::Unit,
        Type::List(of) => Kind::List(Box::new(kind(of))),
        Type::Map(of) => Kind::Map(Box::new(kind(of))),
        Type::Tuple(of) => Kind::Tuple(of.iter().map(kind).collect()),
        Type::Struct(fields) => Kind::Struct(fields.fields.iter().map(|(name, ty)| (name.to_string(), kind(ty))).collect()),
        // What has no kind of its own, Any above all, is a number.
        _ => Kind::Float,
    }
}

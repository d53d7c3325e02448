//! A worker on this machine alone: the control task of `millrace run`.
//!
//! Owns: which splits are read when, stopping, what a run reports.
//! May not: print, or read signals (`cli`).

use super::assemble::{AssembleError, assemble};
use super::control::{Control, LoopWires, Notice};
use super::ending::Ending;
use super::open::{Places, open_session};
use super::sources::source;
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::revision::{Program, Revision, RevisionError};
use crate::coordination::records::WorkerName;
use crate::coordination::source::{Planner, SplitSource};
use crate::coordination::store::Memory;
use crate::coordination::{Config, Driver, DriverError};
use crate::env::{Env, first_of};
use crate::error::{Code, Meaning, Retry};
use crate::flow::{RootEpoch, RootRef, SourceError};
use crate::program::Loaded;
use crate::runtime::{Counts, Loop, OutputError, RuntimeError, Settings, Totals, Wires};
use crate::state::StateError;
use std::fmt;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How many files are read at once.
const FILES: u64 = 256;
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
    /// An output is a file that is read, or in the folder that is.
    #[error("{path} is read and written: let the output go elsewhere", path = .0.display())]
    ReadsItsOutput(PathBuf),
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
    /// The deadline has passed, and the loop does not come back: something that it writes to blocks.
    #[error("the run did not end by its deadline: whoever reads its output takes nothing")]
    Hung,
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
            Self::ReadsItsOutput(_) => Code::INVALID_SPEC,
            Self::State(error) => error.code(),
            Self::Driver(error) => error.code(),
            Self::Unsupported { .. } => Code::UNSUPPORTED,
            Self::Hung => Code::DRAIN_INCOMPLETE,
            Self::LoopGone => Code::INTERNAL,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Source(error) => error.retry(),
            Self::Output(error) => error.retry(),
            Self::Runtime(error) => error.retry(),
            Self::Driver(error) => error.retry(),
            Self::Hung => Retry::Backoff,
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
    pub async fn new(
        env: &Env,
        spec: &StreamPipelineSpec,
        loaded: Loaded,
        folder: &Path,
        input: Option<&Path>,
    ) -> Result<Self, LocalError> {
        let revision = Program::of(spec, None)?;
        let digest = Revision::of(&revision)?.digest();
        let (source, planner) = source(env, spec, &loaded, folder, input).await?;
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
        let result = match open_session(&self.env, &self.revision, places).await {
            Ok(session) => self.control(Box::new(session), stop).await,
            Err(error) => Err(error.into()),
        };
        LocalReport { counts: totals.read(), result }
    }

    async fn control(self, session: Box<crate::runtime::Session>, mut stop: watch::Receiver<bool>) -> Result<(), LocalError> {
        let Self { env, program, source, planner, drain, totals, revision, .. } = self;
        let endless = !revision.streams.is_empty();
        let (to, mailbox) = mpsc::channel(64);
        let (answers, from) = mpsc::channel(1_024);
        let settings = Settings { drain, ..Settings::default() };
        let owner = Loop::new(&env, Arc::clone(&program), session, settings, Wires { mailbox, answers, totals });
        env.tasks().thread("owner loop", Box::pin(owner.run()));
        let who = (WorkerName::new("local"), "local");
        let driver = Driver::start(env.clone(), Arc::new(Memory::new()), planner, who, coordination(endless));
        let mut control = Control::new(driver, source, LoopWires { to, from }, program, None);
        let mut ending = Ending::default();
        loop {
            let stopped = async {
                // An error is a sender that is gone: nobody will stop it, and the input decides.
                if ending.has_begun() || stop.wait_for(|stop| *stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let notice = first_of(first_of(poll_fn(|cx| control.poll(cx)), stopped), ending.overdue(&env)).await;
            match notice {
                Some(Some(Notice::Joined(term))) => control.ready(term),
                None if ending.is_finishing() => return Err(LocalError::Hung),
                Some(Some(Notice::AllComplete)) | None => finish(&mut ending, &mut control, &env, drain),
                Some(Some(Notice::Fatal(error))) => return Err(error.into()),
                Some(Some(Notice::Stuck(_, error))) => return Err(error.into()),
                Some(Some(Notice::Ended(Some(over)))) => return over.result.map_err(LocalError::from),
                Some(Some(Notice::Ended(None))) => return Err(LocalError::LoopGone),
                Some(Some(Notice::Changed)) if ending.has_begun() && control.is_free() => finish(&mut ending, &mut control, &env, drain),
                // One root, and a store that never fails: there is nothing to be told.
                Some(Some(_)) => {}
                Some(None) => {
                    ending.begin(env.clock().monotonic(), drain);
                    control.leave();
                    if control.is_free() {
                        finish(&mut ending, &mut control, &env, drain);
                    }
                }
            }
        }
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("root", &self.program.root).finish_non_exhaustive()
    }
}

/// Ends the loop, once.
fn finish(ending: &mut Ending, control: &mut Control, env: &Env, drain: Duration) {
    ending.begin(env.clock().monotonic(), drain);
    if let Some(by) = ending.finish() {
        control.finish(by);
    }
}

/// One worker that nobody competes with: it is its own leader at once, and its life does not hang on a heartbeat.
fn coordination(endless: bool) -> Config {
    Config {
        // Files are read some at a time: each takes a descriptor. Shards have no end to wait for.
        budget: if endless { u64::MAX } else { FILES },
        ttl: Duration::from_hours(24),
        commit: Duration::from_secs(5),
        round: Duration::from_millis(20),
        resync: Duration::from_mins(10),
        page_entries: 4_096,
        page_bytes: usize::MAX,
        ..Config::default()
    }
}

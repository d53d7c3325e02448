//! A worker on this machine alone: the control task of `millrace run`.
//!
//! Owns: which splits are read when, stopping, what a run reports.
//! May not: print, or read signals (`cli`).

use super::assemble::{AssembleError, assemble};
use super::open::{Places, open_session};
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::revision::{Program, Revision, RevisionError};
use crate::env::{Env, first_of};
use crate::error::{Code, Meaning, Retry};
use crate::flow::{Barrier, Deadline, Gain, Lane, LaneId, RootEpoch, RootRef, SourceError, SplitEpoch, SplitId};
use crate::lang::types::Type;
use crate::program::Loaded;
use crate::runtime::{Added, Counts, Ending, FromLoop, Loop, OutputError, RuntimeError, Settings, ToLoop, Totals, Wires};
use crate::source::generator::{Kind, Recipe};
use crate::source::{self, Fetching, QueueLimits, file, generator};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;
use tokio::sync::{mpsc, watch};

/// How many files are read at once.
const LANES: usize = 32;
/// The bytes that all queues may hold together.
const QUEUED: usize = 64 << 20;
/// How long an ending may take where the manifest says nothing.
const DRAIN: Duration = Duration::from_secs(30);

/// A pipeline that is ready to run here.
#[derive(Debug)]
pub struct Local {
    env: Env,
    program: Arc<crate::runtime::Program>,
    revision: Program,
    splits: VecDeque<Split>,
    drain: Duration,
    totals: Arc<Totals>,
}

#[derive(Clone, Debug)]
enum Split {
    File(file::FileSplit),
    Generator(Recipe),
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
            Self::Unsupported { .. } => Code::UNSUPPORTED,
            Self::LoopGone => Code::INTERNAL,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Source(error) => error.retry(),
            Self::Output(error) => error.retry(),
            Self::Runtime(error) => error.retry(),
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
        let splits = splits(spec, &loaded, folder, input)?;
        let program = Arc::new(assemble(loaded, &revision, RootRef { epoch: RootEpoch::new(1), digest })?);
        let drain = spec.worker.as_ref().and_then(|worker| worker.drain_timeout.as_ref());
        let drain = drain.and_then(|drain| u64::try_from(drain.micros()).ok()).map_or(DRAIN, Duration::from_micros);
        Ok(Self { env: env.clone(), program, revision, splits, drain, totals: Arc::default() })
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
        let (to_loop, mailbox) = mpsc::channel(LANES.saturating_add(1));
        let (answers, mut from_loop) = mpsc::channel(1_024);
        let settings = Settings { drain: self.drain, ..Settings::default() };
        let wires = Wires { mailbox, answers, totals: self.totals() };
        let owner = Loop::new(&self.env, Arc::clone(&self.program), session, settings, wires);
        self.env.tasks().thread("owner loop", Box::pin(owner.run()));
        let mut control = Control {
            to_loop,
            opener: Opener::new(&self.env, &self.splits, self.program.root, stop.clone()),
            splits: self.splits,
            open: 0,
        };
        control.open_more().await;
        let mut stopping = *stop.borrow();
        loop {
            if control.open == 0 || stopping {
                break;
            }
            let stopped = async {
                // An error is a sender that is gone: nobody will stop it, and the input decides.
                if stop.wait_for(|stop| *stop).await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            match first_of(from_loop.recv(), stopped).await {
                None => stopping = true,
                Some(Some(FromLoop::End(lane))) => control.ended(lane).await,
                Some(Some(FromLoop::Watermark(..) | FromLoop::Captured(_) | FromLoop::Applied(_))) => {}
                Some(Some(FromLoop::Ended(ending))) => return outcome(*ending),
                Some(None) => return Err(LocalError::LoopGone),
            }
        }
        let by = Deadline::after(self.env.clock().monotonic(), self.drain);
        // A loop that is gone has said why, or will be found gone below.
        drop(control.to_loop.send(ToLoop::Finish(by)).await);
        while let Some(answer) = from_loop.recv().await {
            if let FromLoop::Ended(ending) = answer {
                return outcome(*ending);
            }
        }
        Err(LocalError::LoopGone)
    }
}

fn outcome(ending: Ending) -> Result<(), LocalError> {
    ending.result.map_err(LocalError::from)
}

/// Opens splits and hands them to the loop, some at a time.
struct Control {
    to_loop: mpsc::Sender<ToLoop>,
    opener: Opener,
    splits: VecDeque<Split>,
    /// How many lanes have not ended.
    open: usize,
}

impl Control {
    async fn open_more(&mut self) {
        while self.open < LANES
            && let Some(split) = self.splits.pop_front()
        {
            self.open = self.open.saturating_add(1);
            let gain = self.opener.open(split);
            let added = Added { gain, keys: Vec::new(), inherited: false };
            // A loop that is gone is found by its answer.
            drop(self.to_loop.send(ToLoop::Add(Box::new(added))).await);
        }
    }

    async fn ended(&mut self, lane: LaneId) {
        self.open = self.open.saturating_sub(1);
        // Nobody waits for it: its rows are submitted, and its keys are of no use any more.
        let (barrier, _over) = Barrier::new(Waker::noop().clone());
        drop(self.to_loop.send(ToLoop::Drop(vec![lane], barrier)).await);
        self.open_more().await;
    }
}

struct Opener {
    env: Env,
    limits: QueueLimits,
    stop: watch::Receiver<bool>,
    lane: LaneId,
    root: RootRef,
}

impl Opener {
    fn new(env: &Env, splits: &VecDeque<Split>, root: RootRef, stop: watch::Receiver<bool>) -> Self {
        let lanes = splits.len().clamp(1, LANES);
        let limits = QueueLimits { bytes: QUEUED.checked_div(lanes).unwrap_or(QUEUED), ..QueueLimits::default() };
        Self { env: env.clone(), limits, stop, lane: LaneId::default(), root }
    }

    fn open(&mut self, split: Split) -> Gain {
        self.lane = self.lane.next();
        let places = source::Places::new("".into(), Waker::noop().clone());
        let fetching = Fetching { limits: self.limits, stop: self.stop.clone(), places };
        let (split, lane): (SplitId, Box<dyn Lane>) = match split {
            Split::File(split) => (split.id.clone(), Box::new(file::open(&self.env, &split, file::FilePlace::default(), fetching))),
            Split::Generator(recipe) => (SplitId::new("generator"), Box::new(generator::open(&self.env, recipe, 0, fetching))),
        };
        Gain { lane, id: self.lane, split, epoch: SplitEpoch::new(1), state: Vec::new(), root: self.root }
    }
}

fn splits(spec: &StreamPipelineSpec, loaded: &Loaded, folder: &Path, input: Option<&Path>) -> Result<VecDeque<Split>, LocalError> {
    let files = |path: PathBuf| Ok(file::splits(&path)?.into_iter().map(Split::File).collect());
    if let Some(input) = input {
        return files(input.to_owned());
    }
    if let Some(source) = &spec.source.file {
        let path = Path::new(&source.path);
        return files(if source.path == file::STANDARD_INPUT { path.to_owned() } else { folder.join(path) });
    }
    if let Some(source) = &spec.source.generator {
        let recipe = Recipe {
            seed: source.seed.unwrap_or_default(),
            rate: source.rate_per_second.and_then(|rate| rate.try_into().ok()).unwrap_or(10),
            records: source.records.and_then(|records| records.try_into().ok()),
            fields: fields(spec, loaded),
            key: spec.key_by.as_ref().and_then(|key| key.field.as_deref()).map(tokens),
        };
        return Ok(VecDeque::from([Split::Generator(recipe)]));
    }
    let what = "this version reads Kinesis on no machine yet: give records with --input FILE, or use file or generator";
    Err(LocalError::Unsupported { path: "spec.source.kinesis", what })
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

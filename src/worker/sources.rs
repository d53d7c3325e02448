//! What a pipeline reads on one machine: its source as splits, and the planner that finds them.
//!
//! Owns: which kind of source a spec names, how it is reached, what the generator makes for a root.
//! May not: read.

use super::local::LocalError;
use crate::api::pipeline::StreamPipelineSpec;
use crate::api::revision::Program;
use crate::api::worker_settings::GeneratorReach;
use crate::coordination::source::{Planner, SplitSource};
use crate::env::Env;
use crate::flow::SplitId;
use crate::lang::types::Type;
use crate::program::Loaded;
use crate::source::QueueLimits;
use crate::source::file::{self, FileReader};
use crate::source::generator::{GeneratorReader, Kind, Recipe};
use crate::source::simple::{Known, Reader, Simple};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The bytes that all queues may hold together.
const QUEUED: usize = 64 << 20;

/// A source, and what finds its splits.
pub(super) type Sourced = (Box<dyn SplitSource>, Arc<dyn Planner>);

/// The source of a spec, or `input` in its place.
pub(super) async fn source(
    env: &Env,
    spec: &StreamPipelineSpec,
    loaded: &Loaded,
    folder: &Path,
    input: Option<&Path>,
) -> Result<Sourced, LocalError> {
    let outputs = outputs(spec, folder);
    if let Some(input) = input {
        return files(env, input, &outputs);
    }
    if let Some(source) = &spec.source.file {
        let path = Path::new(&source.path);
        return if source.path == file::STANDARD_INPUT { files(env, path, &outputs) } else { files(env, &folder.join(path), &outputs) };
    }
    if let Some(source) = &spec.source.generator {
        let program = Program::of(spec, None)?;
        let made = GeneratorReach {
            seed: source.seed.unwrap_or_default(),
            rate_per_second: source.rate_per_second.unwrap_or(10),
            records: source.records,
        };
        return Ok(generator(env, recipe(&made, &program, loaded)));
    }
    kinesis(env, spec).await
}

/// Records of a recipe.
pub(super) fn generator(env: &Env, recipe: Recipe) -> Sourced {
    let reader = GeneratorReader { env: env.clone(), recipe };
    simple("generator", vec![SplitId::new("generator")], reader)
}

/// What a generator makes for a program.
pub(super) fn recipe(made: &GeneratorReach, program: &Program, loaded: &Loaded) -> Recipe {
    Recipe {
        seed: made.seed,
        rate: made.rate_per_second.try_into().unwrap_or(10),
        records: made.records.and_then(|records| records.try_into().ok()),
        fields: fields(program, loaded),
        key: program.key_by.as_ref().and_then(|key| key.field.as_deref()).map(tokens),
    }
}

/// The one stream of a spec.
#[cfg(feature = "worker")]
async fn kinesis(env: &Env, spec: &StreamPipelineSpec) -> Result<Sourced, LocalError> {
    use super::streams::Stream;
    use crate::api::pipeline::Retrieval;
    let unsupported = |path, what| Err(LocalError::Unsupported { path, what });
    let [stream] = spec.source.kinesis.as_deref().unwrap_or_default() else {
        return unsupported("spec.source.kinesis", "this version reads one stream: give each a pipeline of its own");
    };
    if stream.create_if_missing.is_some() {
        return unsupported("spec.source.kinesis[0].createIfMissing", "this version creates no stream: create it first");
    }
    if stream.retrieval.is_some_and(|retrieval| retrieval != Retrieval::Polling) {
        return unsupported("spec.source.kinesis[0].retrieval", "this version polls: leave it out");
    }
    let Some(stream) = Stream::of_manifest(stream) else {
        return unsupported("spec.source.kinesis[0].startAt", "this version takes over no KCL table: use Timestamp");
    };
    let (source, planner) = stream.connect(env).await?;
    Ok((Box::new(source), Arc::new(planner)))
}

#[cfg(not(feature = "worker"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn kinesis(_env: &Env, _spec: &StreamPipelineSpec) -> Result<Sourced, LocalError> {
    let what = "this program was built without Kinesis: give records with --input FILE, or use file or generator";
    Err(LocalError::Unsupported { path: "spec.source.kinesis", what })
}

/// A file, a folder, or `-`; none of the outputs may be in it.
///
/// # Errors
/// There is no such file.
pub(super) fn files(env: &Env, path: &Path, outputs: &[PathBuf]) -> Result<Sourced, LocalError> {
    let splits = file::splits(path)?;
    apart(path, outputs)?;
    let names = splits.iter().map(|split| split.id.clone()).collect();
    Ok(simple(&path.display().to_string(), names, FileReader { env: env.clone(), splits }))
}

/// The files that a run writes.
fn outputs(spec: &StreamPipelineSpec, folder: &Path) -> Vec<PathBuf> {
    let letters = spec.failure.as_ref().and_then(|failure| failure.dead_letter.as_ref()).and_then(|place| place.file.as_ref());
    let files = spec.outputs.iter().filter_map(|output| output.file.as_ref()).chain(letters);
    files.map(|file| folder.join(&file.path)).collect()
}

/// A run that reads what it writes would never end.
fn apart(source: &Path, outputs: &[PathBuf]) -> Result<(), LocalError> {
    let Ok(source) = source.canonicalize() else { return Ok(()) };
    for output in outputs {
        let folder = output.parent().map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
        let file = folder.and_then(|folder| folder.canonicalize().ok()).zip(output.file_name()).map(|(folder, name)| folder.join(name));
        let file = output.canonicalize().ok().or(file);
        if file.is_some_and(|file| file.starts_with(&source)) {
            return Err(LocalError::ReadsItsOutput(output.clone()));
        }
    }
    Ok(())
}

fn simple(stream: &str, splits: Vec<SplitId>, reader: impl Reader + 'static) -> Sourced {
    let bytes = QUEUED.checked_div(splits.len().max(1)).unwrap_or(QUEUED).max(1 << 20);
    let planner = Known { stream: stream.into(), splits };
    (Box::new(Simple::new(reader, QueueLimits { bytes, ..QueueLimits::default() })), Arc::new(planner))
}

/// The fields that the inputs bind to, shorter pointers first.
fn fields(program: &Program, loaded: &Loaded) -> Vec<(Vec<String>, Kind)> {
    let inputs = loaded.plan.streams().iter().take(loaded.plan.inputs());
    let mut fields: Vec<_> = inputs
        .filter_map(|input| {
            let binding = program.root.inputs.get(&*input.name);
            let pointer = match binding.map(|at| at.split_once(':').map_or(at.as_str(), |(_, at)| at)) {
                None => vec![input.name.to_string()],
                Some(at) if at.starts_with('/') => tokens(at),
                Some(_) => return None,
            };
            Some((pointer, kind(&input.ty)))
        })
        .collect();
    if let Some(time) = program.root.time.as_deref().filter(|time| time.starts_with('/')) {
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

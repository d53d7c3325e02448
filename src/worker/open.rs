//! Opening what a program writes to.

use crate::api::pipeline::{FileDestination, KinesisDestination};
use crate::api::revision::Program;
use crate::env::Env;
use crate::error::{Code, Retry};
use crate::runtime::{OutputError, QueueLimits, Session, Target};
use crate::sink::file::LineDestination;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

/// Where a process finds files and its standard output.
pub struct Places {
    /// The folder to which paths in the manifest are relative.
    pub folder: PathBuf,
    /// Makes a writer to the standard output.
    pub stdout: Box<dyn Fn() -> Box<dyn Write + Send> + Send + Sync>,
}

impl fmt::Debug for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("folder", &self.folder).finish_non_exhaustive()
    }
}

/// The name of the dead letters among outputs.
const DEAD_LETTERS: &str = "dead letters";

/// Opens the destinations of a program: those of its outputs, in their order, then that of its dead letters.
///
/// # Errors
/// One cannot be opened, or is of a kind that this worker does not have.
pub async fn open_session(env: &Env, program: &Program, places: &Places) -> Result<Session, OutputError> {
    let mut targets = Vec::new();
    for output in &program.outputs {
        let name: Arc<str> = output.name.as_str().into();
        let place = Place { kinesis: output.kinesis.as_ref(), file: output.file.as_ref(), stdout: output.stdout.is_some() };
        targets.push((Arc::clone(&name), place.open(env, &name, places).await?));
    }
    if let Some(letters) = &program.dead_letter {
        let name: Arc<str> = DEAD_LETTERS.into();
        let place = Place { kinesis: letters.kinesis.as_ref(), file: letters.file.as_ref(), stdout: letters.stdout.is_some() };
        targets.push((Arc::clone(&name), place.open(env, &name, places).await?));
    }
    Ok(Session::open(env, targets, QueueLimits::default()))
}

/// Where rows go, as a manifest says it.
struct Place<'a> {
    kinesis: Option<&'a KinesisDestination>,
    file: Option<&'a FileDestination>,
    stdout: bool,
}

impl Place<'_> {
    async fn open(&self, env: &Env, name: &Arc<str>, places: &Places) -> Result<Target, OutputError> {
        if let Some(file) = self.file {
            return Ok(Target::Native(Box::new(LineDestination::file(name, &places.folder.join(&file.path))?)));
        }
        if self.stdout {
            return Ok(Target::Native(Box::new(LineDestination::stdout(name, (places.stdout)()))));
        }
        match self.kinesis {
            Some(kinesis) if kinesis.aggregate.unwrap_or_default() => {
                Err(unsupported(name, "it packs no rows together: leave kinesis.aggregate out"))
            }
            Some(kinesis) => stream(env, name, kinesis).await,
            None => Err(unsupported(name, "it writes to Kinesis, files and the standard output only")),
        }
    }
}

#[cfg(feature = "worker")]
async fn stream(env: &Env, name: &Arc<str>, kinesis: &KinesisDestination) -> Result<Target, OutputError> {
    use crate::kinesis::{Client, ClientSettings, StreamName};
    let stream = match (&kinesis.stream_arn, &kinesis.stream_name) {
        (Some(arn), _) => StreamName::Arn(arn.clone()),
        (None, stream) => StreamName::Name(stream.clone().unwrap_or_default()),
    };
    let (region, endpoint, role) = (kinesis.region.clone(), kinesis.endpoint.clone(), kinesis.role_arn.clone());
    let service = Arc::new(Client::new(&ClientSettings { stream, region, endpoint, role }).await);
    reached(env, name, &*service).await?;
    Ok(Target::Queued(Box::new(crate::sink::kinesis::KinesisDestination::new(env, name, service))))
}

/// Asks for the stream before anything is read for it. Who may write to it and not describe it is taken at its word.
#[cfg(feature = "worker")]
async fn reached(env: &Env, name: &Arc<str>, service: &dyn crate::kinesis::Service) -> Result<(), OutputError> {
    use crate::error::Meaning;
    use crate::kinesis::{Class, bounded};
    match bounded(env, service, "DescribeStreamSummary", service.summary()).await {
        Ok(_) => Ok(()),
        Err(fault) if fault.class == Class::Denied => Ok(()),
        Err(fault) => {
            let message = fault.to_string().into();
            Err(OutputError { output: Arc::clone(name), code: fault.code(), retry: fault.retry(), message })
        }
    }
}

#[cfg(not(feature = "worker"))]
#[expect(clippy::unused_async, reason = "with the feature it waits")]
async fn stream(_env: &Env, name: &Arc<str>, _kinesis: &KinesisDestination) -> Result<Target, OutputError> {
    Err(unsupported(name, "it was built without Kinesis: use file or stdout"))
}

fn unsupported(name: &Arc<str>, what: &str) -> OutputError {
    let message = format!("this version does not do this: {what}").into();
    OutputError { output: Arc::clone(name), code: Code::UNSUPPORTED, retry: Retry::Never, message }
}

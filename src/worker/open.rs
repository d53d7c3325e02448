//! Opening what a program writes to.

use crate::api::pipeline::FileDestination;
use crate::api::revision::Program;
use crate::env::Env;
use crate::error::{Code, Retry};
use crate::runtime::{NativeDestination, OutputError, QueueLimits, Session, Target};
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
pub fn open_session(env: &Env, program: &Program, places: &Places) -> Result<Session, OutputError> {
    let mut targets = Vec::new();
    for output in &program.outputs {
        let name: Arc<str> = output.name.as_str().into();
        let target = target(&name, output.file.as_ref(), output.stdout.is_some(), places)?;
        targets.push((name, target));
    }
    if let Some(letters) = &program.dead_letter {
        let name: Arc<str> = DEAD_LETTERS.into();
        let target = target(&name, letters.file.as_ref(), letters.stdout.is_some(), places)?;
        targets.push((name, target));
    }
    Ok(Session::open(env, targets, QueueLimits::default()))
}

fn target(name: &Arc<str>, file: Option<&FileDestination>, stdout: bool, places: &Places) -> Result<Target, OutputError> {
    let native: Box<dyn NativeDestination> = if let Some(file) = file {
        Box::new(LineDestination::file(name, &places.folder.join(&file.path))?)
    } else if stdout {
        Box::new(LineDestination::stdout(name, (places.stdout)()))
    } else {
        return Err(unsupported(name));
    };
    Ok(Target::Native(native))
}

fn unsupported(name: &Arc<str>) -> OutputError {
    let message = "this version writes to files and to the standard output only: use file or stdout".into();
    OutputError { output: Arc::clone(name), code: Code::UNSUPPORTED, retry: Retry::Never, message }
}

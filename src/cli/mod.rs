//! The command line.
//!
//! Owns: arguments, what each command prints, exit codes.
//! May not: decide anything that a part below decides.

mod check;
mod completions;
mod crd;
mod fmt;
#[cfg(feature = "operator")]
mod operator;
mod plan;
#[cfg(feature = "service")]
mod process;
mod run;
mod subject;
mod trace;
#[cfg(feature = "worker")]
mod worker;

use crate::api::manifest::{self, ManifestError, Problem};
use crate::codec::BindingError;
use crate::error::{Code, Exit, Meaning};
use crate::program::ProgramError;
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Stream programs on Kubernetes: Kinesis streams in, stream equations over their records, outputs out.
#[derive(Debug, Parser)]
#[command(name = "millrace", version, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 something failed that is not yours to mend, 2 the command line is wrong or a file cannot be \
    read, 3 the program or the pipeline is invalid, 4 it may succeed when tried again.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a pipeline on this machine, without a cluster.
    Run(run::Arguments),
    /// Checks roots and pipelines, and says all that is wrong with them.
    Check(check::Arguments),
    /// Lays roots out in the one canonical way.
    Fmt(fmt::Arguments),
    /// Says what becomes of state when one program takes another's place, and changes nothing.
    Plan(plan::Arguments),
    /// Shows what a root does with records: every stream's value, tick by tick.
    Trace(trace::Arguments),
    /// Looks after the pipelines of a cluster: the controller.
    #[cfg(feature = "operator")]
    Operator(operator::Arguments),
    /// Reads a pipeline's shards and evaluates its root: what runs in a worker's pod.
    #[cfg(feature = "worker")]
    Worker(worker::Arguments),
    /// Prints the CustomResourceDefinitions.
    Crd(crd::Arguments),
    /// Prints the script by which a shell completes this command line.
    Completions(completions::Arguments),
}

/// How a command prints what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Output {
    /// For people.
    Text,
    /// For tools: one object a line.
    Json,
}

/// Why a command ends without success.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
enum CliError {
    /// A file cannot be read.
    #[error("{path}: cannot be read", path = .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// A manifest is not taken.
    #[error("{}", manifest_findings(.0, .1))]
    Manifest(PathBuf, ManifestError),
    /// There is no revision.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    Revision(PathBuf, crate::api::revision::RevisionError),
    /// A root does not check.
    #[error("{path} is no valid root", path = .0.display())]
    Root(PathBuf, Box<crate::lang::diagnostic::Diagnostics>),
    /// A command is about another kind of file.
    #[error("{path}: {what}", path = .0.display(), what = .1)]
    OtherFile(PathBuf, &'static str),
    /// A root is no text.
    #[error("{path}: it is no text in UTF-8 ({error})", path = .0.display(), error = .1)]
    NoText(PathBuf, std::str::Utf8Error),
    /// Two files do not load.
    #[error("{}\n{}", .0.0, .0.1)]
    Both(Box<(CliError, CliError)>),
    /// A manifest may not take another's place.
    #[error("{}", findings(.0, .1))]
    Refused(PathBuf, Vec<Problem>),
    /// A binding does not fit the root.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    Binding(PathBuf, BindingError),
    /// A trace ends early, or not well.
    #[error(transparent)]
    Trace(#[from] trace::TraceError),
    /// Names in a manifest mean nothing in its root.
    #[error("{}", findings(.0, .1))]
    Names(PathBuf, Vec<Problem>),
    /// A pipeline does not run, or not to its end. With it, the text of its root.
    #[error("{}", run::told(.0, .1, .2))]
    Local(PathBuf, Box<str>, Box<crate::worker::LocalError>),
    /// The operator ends.
    #[cfg(feature = "operator")]
    #[error("the operator ends: {0}")]
    Operator(#[from] crate::operator::OperatorError),
    /// A worker cannot start.
    #[cfg(feature = "worker")]
    #[error(transparent)]
    Settings(crate::api::worker_settings::SettingsError),
    /// A worker ends.
    #[cfg(feature = "worker")]
    #[error("the worker ends: {0}")]
    Worker(Box<crate::worker::WorkerError>),
    /// The API server cannot be found.
    #[cfg(feature = "kube")]
    #[error("no API server: neither a pod's service account nor a kubeconfig can be used")]
    NoCluster(#[source] Box<kube::config::InferConfigError>),
    /// Files did not pass; their findings have been printed.
    #[error("{0} of the files are not valid")]
    Checked(usize),
    /// Files are not laid out; they have been named.
    #[error("{0} of the files are not formatted")]
    NotFormatted(usize),
    /// A file cannot be written.
    #[error("{path}: cannot be written", path = .0.display())]
    Unwritable(PathBuf, #[source] std::io::Error),
    /// The definitions cannot be written as YAML.
    #[error("the definitions cannot be written as YAML")]
    Yaml(#[from] serde_saphyr::SerializeError),
    /// What is printed cannot be written.
    #[error("the output cannot be written")]
    Output(#[from] std::io::Error),
}

/// Errors travel through every `Result`: they stay small.
const _: () = assert!(size_of::<CliError>() <= 128);

impl Meaning for CliError {
    fn code(&self) -> Code {
        match self {
            Self::Unreadable(..) => Code::UNREADABLE_FILE,
            Self::Manifest(_, error) => error.code(),
            Self::Revision(_, error) => error.code(),
            Self::Root(..) => Code::ROOT_INVALID,
            Self::Local(_, _, error) => error.code(),
            #[cfg(feature = "operator")]
            Self::Operator(error) => error.code(),
            #[cfg(feature = "worker")]
            Self::Settings(error) => error.code(),
            #[cfg(feature = "worker")]
            Self::Worker(error) => error.code(),
            #[cfg(feature = "kube")]
            Self::NoCluster(_) => Code::CLUSTER_FAILED,
            Self::Names(..) => Code::NAMES_DIFFER,
            Self::OtherFile(..) => Code::BAD_ARGUMENT,
            Self::NoText(..) => Code::INVALID_YAML,
            Self::Both(both) => both.0.code(),
            Self::Binding(_, error) => error.code(),
            Self::Trace(error) => error.code(),
            Self::Refused(..) | Self::Checked(_) => Code::INVALID_SPEC,
            Self::NotFormatted(_) => Code::NOT_FORMATTED,
            Self::Yaml(_) => Code::INTERNAL,
            Self::Output(_) | Self::Unwritable(..) => Code::OUTPUT_FAILED,
        }
    }

    fn exit(&self) -> Exit {
        match self {
            // A wrong path is a wrong command line: a script can tell it from an invalid pipeline.
            Self::Unreadable(..) | Self::OtherFile(..) => Exit::Usage,
            Self::Local(_, _, error) => run::exit(error),
            #[cfg(feature = "operator")]
            Self::Operator(error) => error.exit(),
            #[cfg(feature = "worker")]
            Self::Settings(error) => error.exit(),
            #[cfg(feature = "worker")]
            Self::Worker(error) => error.exit(),
            #[cfg(feature = "kube")]
            Self::NoCluster(_) => Exit::Usage,
            Self::Output(_) | Self::Yaml(_) | Self::Unwritable(..) => Exit::Fault,
            Self::Both(both) if both.0.exit() == Exit::Usage => Exit::Usage,
            Self::Both(both) => both.1.exit(),
            Self::Manifest(..) | Self::Revision(..) | Self::Root(..) | Self::Names(..) | Self::Checked(_) | Self::NotFormatted(_) => {
                Exit::Invalid
            }
            Self::Trace(error) => error.exit(),
            Self::Binding(..) | Self::NoText(..) | Self::Refused(..) => Exit::Invalid,
        }
    }
}

impl CliError {
    /// Why the program in a file, or in a part of it, cannot run.
    fn program(place: PathBuf, error: ProgramError) -> Self {
        match error {
            ProgramError::Root(errors) => Self::Root(place, errors),
            ProgramError::Names { problems, .. } => Self::Names(place, problems),
            ProgramError::Binding { error, .. } => Self::Binding(place, error),
        }
    }
}

/// Runs the command that the arguments name, and says how it ended.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    // Not locked: a pipeline that runs writes its rows there from another thread.
    let mut out = std::io::stdout();
    let done = match arguments.command {
        Command::Run(arguments) => run::run(&arguments),
        Command::Check(arguments) => check::run(&arguments, &mut out),
        Command::Fmt(arguments) => fmt::run(&arguments, &mut out),
        Command::Plan(arguments) => plan::run(&arguments, &mut out),
        Command::Trace(arguments) => trace::run(&arguments, &mut out),
        #[cfg(feature = "operator")]
        Command::Operator(arguments) => operator::run(arguments),
        #[cfg(feature = "worker")]
        Command::Worker(arguments) => worker::run(arguments),
        Command::Crd(arguments) => crd::run(&arguments, &mut out),
        Command::Completions(arguments) => completions::run(&arguments, &mut out),
    };
    match done.and_then(|()| out.flush().map_err(CliError::from)) {
        Ok(()) => Exit::Ok.into(),
        // A reader that has seen enough, such as head, is no failure.
        Err(CliError::Local(_, _, error)) if error.code() == Code::READER_GONE => Exit::Ok.into(),
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Exit::Ok.into(),
        Err(error) => report(&error).into(),
    }
}

fn usage(error: &clap::Error) -> ExitCode {
    // Nothing is left to be done where even this cannot be printed.
    let _unprintable = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Ok.into() }
}

/// Prints an error with its code, its causes and how to mend it.
fn report(error: &CliError) -> Exit {
    // Nothing is left to be done where even this cannot be printed.
    let _unprintable = std::io::stderr().lock().write_all(explained(error).as_bytes());
    error.exit()
}

fn explained(error: &CliError) -> String {
    if let CliError::Both(both) = error {
        return explained(&both.0) + &explained(&both.1);
    }
    let mut text = match error {
        CliError::Root(path, errors) => errors.render(&path.display().to_string()),
        // Their findings have been printed, each with its code.
        CliError::Checked(_) | CliError::NotFormatted(_) => String::new(),
        // One finding a line, each with its file, so that every line can be understood by itself.
        _ => error.to_string().lines().map(|line| format!("error[{}]: {line}\n", error.code())).collect::<Vec<_>>().concat(),
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!("  because: {error}\n"));
        cause = error.source();
    }
    if let (Some(entry), false) = (error.code().entry(), text.is_empty()) {
        text.push_str(&format!("  to mend it: {}\n", entry.mend));
    }
    if let CliError::Local(_, _, error) = error
        && let Some(way) = run::way_on(error)
    {
        text.push_str(&format!("  to go on without it: {way}\n"));
    }
    text
}

/// Findings, one a line, each with its file.
fn findings(path: &Path, problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect::<Vec<_>>().join("\n")
}

fn manifest_findings(path: &Path, error: &ManifestError) -> String {
    match error {
        ManifestError::Invalid(problems) => findings(path, problems),
        other => format!("{}: {other}", path.display()),
    }
}

/// The bytes of a file, or of the standard input for `-`: at most one more than a manifest or root may have, so that no
/// device is read for ever.
fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = u64::try_from(manifest::MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    if file.as_os_str() == "-" {
        std::io::stdin().lock().take(most).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?.take(most).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

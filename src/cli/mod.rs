//! The command line.
//!
//! Owns: arguments, what each command prints, exit codes.
//! May not: decide anything that a part below decides.

mod crd;
mod run;

use crate::api::manifest::ManifestError;
use crate::error::{Code, Exit, Meaning};
use clap::{Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;
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
    /// Runs a pipeline on this machine, without a cluster. (This version checks its manifest and goes no further.)
    Run(run::Arguments),
    /// Prints the CustomResourceDefinitions.
    Crd(crd::Arguments),
}

/// Why a command ends without success.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
enum CliError {
    /// A file cannot be read.
    #[error("{path}: cannot be read", path = .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// A manifest is not taken.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    Manifest(PathBuf, ManifestError),
    /// There is no revision.
    #[error("{path}: {error}", path = .0.display(), error = .1)]
    Revision(PathBuf, crate::api::revision::RevisionError),
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
            Self::Yaml(_) => Code::INTERNAL,
            Self::Output(_) => Code::OUTPUT_FAILED,
        }
    }

    fn exit(&self) -> Exit {
        match self {
            // A wrong path is a wrong command line: a script can tell it from an invalid pipeline.
            Self::Unreadable(..) => Exit::Usage,
            Self::Output(_) | Self::Yaml(_) => Exit::Fault,
            Self::Manifest(..) | Self::Revision(..) => Exit::Invalid,
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
    let mut out = std::io::stdout().lock();
    let done = match arguments.command {
        Command::Run(arguments) => run::run(&arguments, &mut out),
        Command::Crd(arguments) => crd::run(&arguments, &mut out),
    };
    match done.and_then(|()| out.flush().map_err(CliError::from)) {
        Ok(()) => Exit::Ok.into(),
        // A reader that has seen enough, such as head, is no failure.
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
    // One finding a line, each with its file, so that every line can be understood by itself.
    let findings: Vec<String> = match error {
        CliError::Manifest(path, ManifestError::Invalid(problems)) => {
            problems.iter().map(|problem| format!("{}: {problem}", path.display())).collect()
        }
        _ => vec![error.to_string()],
    };
    let mut text = String::new();
    for finding in findings {
        text.push_str(&format!("error[{}]: {finding}\n", error.code()));
    }
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!("  because: {error}\n"));
        cause = error.source();
    }
    if let Some(entry) = error.code().entry() {
        text.push_str(&format!("  to mend it: {}\n", entry.mend));
    }
    // Nothing is left to be done where even this cannot be printed.
    let _unprintable = std::io::stderr().lock().write_all(text.as_bytes());
    error.exit()
}

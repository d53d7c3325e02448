//! `millrace run`: a pipeline on this machine.
//!
//! Owns: reading the file, and saying what it is.
//! May not: evaluate; `worker` will.

use super::{CliError, read};
use crate::api::StreamPipeline;
use crate::api::manifest;
use crate::api::revision::{Program, Revision};
use crate::program::{self, ProgramError};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The file that holds the `StreamPipeline`; - for the standard input.
    file: PathBuf,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let file = &arguments.file;
    let bytes = read(file).map_err(|error| CliError::Unreadable(file.clone(), error))?;
    let pipeline = manifest::read(&bytes).map_err(|error| CliError::Manifest(file.clone(), error))?;
    if let Some(text) = &pipeline.spec.root.inline {
        program::load(&pipeline.spec, text).map_err(|error| match error {
            ProgramError::Root(errors) => CliError::Root(file.clone(), errors),
            ProgramError::Names { problems, .. } => CliError::Names(file.clone(), problems),
        })?;
    }
    let program = Program::of(&pipeline.spec, None).map_err(|error| CliError::Revision(file.clone(), error))?;
    let revision = Revision::of(&program).map_err(|error| CliError::Revision(file.clone(), error))?;
    describe(&pipeline, &revision, out)?;
    Ok(())
}

/// What the file says, in four lines. This version goes no further, and says so.
fn describe(pipeline: &StreamPipeline, revision: &Revision, out: &mut impl Write) -> std::io::Result<()> {
    let spec = &pipeline.spec;
    let name = pipeline.metadata.name.as_deref().unwrap_or_default();
    let outputs: Vec<_> = spec.outputs.iter().map(|output| output.name.as_str()).collect();
    writeln!(out, "StreamPipeline {name} is valid.")?;
    writeln!(out, "  source:  {}", source(pipeline))?;
    writeln!(out, "  outputs: {}", outputs.join(", "))?;
    writeln!(out, "  program: {}", revision.digest())?;
    writeln!(out, "This version checks pipelines; evaluating them comes with the next.")
}

fn source(pipeline: &StreamPipeline) -> String {
    let source = &pipeline.spec.source;
    if let Some(file) = &source.file {
        return format!("file {}", file.path);
    }
    if source.generator.is_some() {
        return "generated records".to_owned();
    }
    let streams = source.kinesis.iter().flatten();
    let names: Vec<_> = streams.filter_map(|stream| stream.stream_name.as_deref().or(stream.stream_arn.as_deref())).collect();
    format!("Kinesis {}", names.join(", "))
}

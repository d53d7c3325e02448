//! What a file holds that a command is about: a root, or a pipeline with its root in it.
//!
//! Owns: telling the two apart, and loading either.
//! May not: judge; `api` and `program` do.

use super::{CliError, read};
use crate::api::StreamPipeline;
use crate::api::manifest;
use crate::api::revision::{Program, Revision};
use crate::flow::Digest;
use crate::program::{self, Loaded, ProgramError};
use std::path::{Path, PathBuf};

/// A file whose program can run.
#[derive(Debug)]
pub(super) struct Subject {
    /// The file as it was named.
    pub(super) file: PathBuf,
    /// The text of the root.
    pub(super) text: String,
    /// The program.
    pub(super) loaded: Loaded,
    /// The pipeline that the root stands in.
    pub(super) pipeline: Option<Box<Pipeline>>,
}

/// A pipeline.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// The manifest.
    pub(super) manifest: StreamPipeline,
    /// The manifest as it was read: a rule on changes is judged on this.
    pub(super) document: serde_json::Value,
    /// Its program.
    pub(super) program: Program,
    /// The program's digest.
    pub(super) digest: Digest,
}

/// Whether a file is a root by its name.
pub(super) fn is_root(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "dsrv")
}

/// What places in the root of a manifest are named after.
pub(super) fn place_in(file: &str) -> String {
    format!("{file} spec.root.inline")
}

impl Subject {
    /// Reads a file and loads what it holds.
    pub(super) fn open(file: &Path) -> Result<Self, CliError> {
        let bytes = read(file).map_err(|error| CliError::Unreadable(file.to_owned(), error))?;
        if is_root(file) { Self::root(file, bytes) } else { Self::of_pipeline(file, &bytes) }
    }

    fn root(file: &Path, bytes: Vec<u8>) -> Result<Self, CliError> {
        let text = String::from_utf8(bytes).map_err(|error| CliError::NoText(file.to_owned(), error.utf8_error()))?;
        let loaded = program::of_root(&text).map_err(|error| CliError::program(file.to_owned(), error))?;
        Ok(Self { file: file.to_owned(), text, loaded, pipeline: None })
    }

    fn of_pipeline(file: &Path, bytes: &[u8]) -> Result<Self, CliError> {
        let refused = |error| CliError::Manifest(file.to_owned(), error);
        let manifest = manifest::read(bytes).map_err(refused)?;
        let document = manifest::parse(&String::from_utf8_lossy(bytes)).map_err(refused)?;
        let program = Program::of(&manifest.spec, None).map_err(|error| CliError::Revision(file.to_owned(), error))?;
        let digest = Revision::of(&program).map_err(|error| CliError::Revision(file.to_owned(), error))?.digest();
        let text = program.root.text.clone();
        let loaded = program::load(&manifest.spec, &text).map_err(|error| match &error {
            ProgramError::Root(_) => CliError::program(place_in(&file.display().to_string()).into(), error),
            _ => CliError::program(file.to_owned(), error),
        })?;
        let pipeline = Some(Box::new(Pipeline { manifest, document, program, digest }));
        Ok(Self { file: file.to_owned(), text, loaded, pipeline })
    }

    /// What places in the root are named after.
    pub(super) fn place(&self) -> String {
        let file = self.file.display().to_string();
        if self.pipeline.is_some() { place_in(&file) } else { file }
    }

    /// What it is, as a word.
    pub(super) const fn kind(&self) -> &'static str {
        if self.pipeline.is_some() { "pipeline" } else { "root" }
    }
}

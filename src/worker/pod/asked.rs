//! What a pod reads: its program's streams and its own settings together.

use super::late::{LatePlanner, LateSource};
use crate::api::revision::Program;
use crate::api::worker_settings::SourceReach;
use crate::env::Env;
use crate::error::Code;
use crate::flow::{ErrorClass, SourceError};
use crate::program::Loaded;
use crate::source::generator::Recipe;
use crate::source::kinesis::{KinesisPlanner, KinesisSource, Reports};
use crate::worker::sources::{files, generator, recipe};
use crate::worker::streams::Stream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A source to reach.
#[derive(Clone, Debug)]
pub(super) enum Asked {
    /// A stream.
    Stream(Box<Stream>),
    /// A file or a folder.
    Files(PathBuf),
    /// Made-up records.
    Made(Box<Recipe>),
}

/// One that is reached.
pub(super) enum Reached {
    Stream(Box<KinesisSource>, Arc<KinesisPlanner>),
    Other(Asked),
}

impl Asked {
    /// What a program reads under these settings; none: what this version does not read, which the operator refuses.
    pub(super) fn of(reach: &SourceReach, program: &Program, loaded: &Loaded) -> Option<Self> {
        if let [stream] = &*program.streams {
            return Stream::of_revision(stream, &reach.kinesis).map(|stream| Self::Stream(Box::new(stream)));
        }
        if let Some(path) = &reach.file {
            return Some(Self::Files(path.into()));
        }
        reach.generator.as_ref().map(|made| Self::Made(Box::new(recipe(made, program, loaded))))
    }

    /// Whether a worker that reads the other goes on as it is.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream(one), Self::Stream(other)) => one.is_same(other),
            (Self::Files(one), Self::Files(other)) => one == other,
            (Self::Made(_), Self::Made(_)) => true,
            _ => false,
        }
    }

    /// Reaches it.
    ///
    /// # Errors
    /// It cannot be reached now.
    pub(super) async fn reach(&self, env: &Env) -> Result<Reached, SourceError> {
        match self {
            Self::Stream(stream) => {
                let (source, planner) = stream.connect(env).await?;
                Ok(Reached::Stream(Box::new(source), Arc::new(planner)))
            }
            other => Ok(Reached::Other(other.clone())),
        }
    }
}

impl Reached {
    /// Puts it in its place. Answers what can be asked of a stream beside its records.
    ///
    /// # Errors
    /// Files are not there.
    pub(super) fn set(self, env: &Env, source: &LateSource, planner: &LatePlanner) -> Result<Option<Reports>, SourceError> {
        let (found, plans) = match self {
            Self::Stream(stream, plans) => {
                let reports = stream.reports();
                source.set(stream);
                planner.set(plans);
                return Ok(Some(reports));
            }
            Self::Other(Asked::Files(path)) => self::files_at(env, &path)?,
            Self::Other(Asked::Made(recipe)) => generator(env, *recipe),
            Self::Other(Asked::Stream(_)) => return Err(error("a stream is reached before it is read")),
        };
        source.set(found);
        planner.set(plans);
        Ok(None)
    }
}

fn files_at(env: &Env, path: &Path) -> Result<crate::worker::sources::Sourced, SourceError> {
    files(env, path, &[]).map_err(|failed| error(&failed.to_string()))
}

fn error(what: &str) -> SourceError {
    SourceError { class: ErrorClass::Retryable, code: Code::UNREADABLE_FILE, message: what.into() }
}

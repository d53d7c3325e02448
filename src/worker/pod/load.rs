//! From a revision's digest to a program that a loop can run, with its outputs open.

use super::asked::Asked;
use super::cluster::Cluster;
use super::fault::{fault, told};
use crate::api::faults;
use crate::api::revision::{self, Revision};
use crate::api::stream_worker::Fault;
use crate::api::worker_settings::SourceReach;
use crate::error::{Code, Meaning, Whose};
use crate::flow::RootRef;
use crate::program;
use crate::runtime::{OutputError, Program, Session};
use crate::worker::assemble::assemble;
use crate::worker::open::{Places, open_session};
use std::sync::Arc;

/// A program, and what it came from.
pub(super) struct Known {
    pub(super) program: Arc<Program>,
    pub(super) revision: revision::Program,
    pub(super) asked: Option<Asked>,
}

/// One that can be installed.
pub(super) struct Opened {
    pub(super) known: Known,
    pub(super) session: Session,
}

/// Loads a program.
///
/// # Errors
/// Its revision cannot be had now, or is none that this version runs.
pub(super) async fn know(cluster: &Cluster, reach: &SourceReach, root: RootRef) -> Result<Known, Fault> {
    let text = cluster.revision(root.digest).await.map_err(|error| fault(&error))?;
    let revision = Revision::read(&text, root.digest).map_err(|error| fault(&error))?;
    let loaded = program::of_revision(&revision).map_err(|error| fault(&error))?;
    let asked = Asked::of(reach, &revision, &loaded);
    let program = assemble(loaded, &revision, root).map_err(|error| fault(&error))?;
    Ok(Known { program: Arc::new(program), revision, asked })
}

/// Loads a program and opens its outputs.
///
/// # Errors
/// As [`know`], or an output cannot be opened.
pub(super) async fn open(cluster: &Cluster, reach: &SourceReach, root: RootRef, places: &Places) -> Result<Opened, Fault> {
    let known = know(cluster, reach, root).await?;
    let session = open_session(&cluster.env, &known.revision, places).await.map_err(|error| output(&error))?;
    Ok(Opened { known, session })
}

/// An output's error, told as one: its code alone could be the source's.
fn output(error: &OutputError) -> Fault {
    Fault { reason: faults::of_output(error.code).to_owned(), ..told(error, may_pass(error)) }
}

/// What somebody can mend outside while the worker waits, as a stream that is not there or a right that is missing, is tried
/// again.
fn may_pass(error: &OutputError) -> bool {
    error.code != Code::UNSUPPORTED && error.whose() != Whose::Internal
}

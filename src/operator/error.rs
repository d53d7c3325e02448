//! Why a pass or the operator itself fails.
//!
//! Owns: the one error type of the room.
//! May not: decide what follows; `Meaning` says it, and the controller acts on that.

use crate::api::ledger_page::PageError;
use crate::api::revision::RevisionError;
use crate::error::{Code, Meaning, Retry};
use crate::telemetry::TelemetryError;
use std::time::Duration;

/// Why a pass over a pipeline, or the operator itself, fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorError {
    /// The API server refuses a call, or does not answer it.
    #[error("{what}")]
    Cluster {
        /// What was tried.
        what: Box<str>,
        /// What it says.
        #[source]
        source: Box<kube::Error>,
    },
    /// Something has changed since it was read: it is read again.
    #[error("{0} has changed meanwhile")]
    Moved(Box<str>),
    /// A pass took too long.
    #[error("the pass took longer than {} s", .0.as_secs())]
    Late(Duration),
    /// An object of somebody else's stands in the way.
    #[error("{0} is there and not this pipeline's")]
    Taken(Box<str>),
    /// A revision that nothing can be made of anew is gone or another.
    #[error("the revision {0} is gone, or was changed")]
    RevisionLost(Box<str>),
    /// A program has no revision.
    #[error("the program has no revision")]
    Revision(#[from] RevisionError),
    /// A ledger page cannot be read.
    #[error("the StreamLedger {0} cannot be read")]
    Page(Box<str>, #[source] PageError),
    /// The installed definitions lack fields.
    #[error("the CustomResourceDefinition {0}")]
    OldDefinitions(Box<str>),
    /// Health and metrics cannot be said.
    #[error(transparent)]
    Telemetry(#[from] TelemetryError),
}

impl OperatorError {
    /// The API server refused this, or did not answer.
    pub(super) fn cluster(what: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        move |source| {
            let what: Box<str> = what.into().into();
            match &source {
                kube::Error::Api(status) if status.is_conflict() && !status.is_already_exists() => Self::Moved(what),
                _ => Self::Cluster { what, source: Box::new(source) },
            }
        }
    }
}

/// Errors travel through every `Result`: they stay small.
const _: () = assert!(size_of::<OperatorError>() <= 128);

impl Meaning for OperatorError {
    fn code(&self) -> Code {
        match self {
            Self::Cluster { .. } | Self::Moved(_) | Self::Late(_) => Code::CLUSTER_FAILED,
            Self::Taken(_) => Code::NAME_TAKEN,
            Self::RevisionLost(_) => Code::REVISION_LOST,
            Self::Revision(error) => error.code(),
            Self::Page(_, error) => error.code(),
            Self::OldDefinitions(_) => Code::OLD_DEFINITIONS,
            Self::Telemetry(error) => error.code(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Moved(_) => Retry::After(Duration::from_millis(50)),
            Self::Telemetry(error) => error.retry(),
            Self::OldDefinitions(_) => Retry::Never,
            _ => Retry::Backoff,
        }
    }
}

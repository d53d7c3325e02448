//! Why a runtime ends, and why output fails.

use crate::codec::DecodeError;
use crate::dataflow::TickFailure;
use crate::error::{Code, Meaning, Retry};
use crate::flow::{RootEpoch, SourceError};
use std::sync::Arc;

/// Why rows did not arrive. It is kept: every later call of the writer answers the first one (I27).
#[derive(Clone, Debug, thiserror::Error)]
#[error("output {output}: {message}")]
pub struct OutputError {
    /// The output's name.
    pub output: Arc<str>,
    /// Its code.
    pub code: Code,
    /// Whether it may pass.
    pub retry: Retry,
    /// What happened, and how to mend it.
    pub message: Arc<str>,
}

impl Meaning for OutputError {
    fn code(&self) -> Code {
        self.code
    }

    fn retry(&self) -> Retry {
        self.retry
    }
}

/// A record by what the source calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordName {
    /// The stream.
    pub stream: Arc<str>,
    /// The shard, or the file.
    pub shard: Arc<str>,
    /// The sequence number, or the line.
    pub sequence_number: Arc<str>,
    /// The place in an aggregated record.
    pub sub_sequence: Option<u64>,
}

impl std::fmt::Display for RecordName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", self.sequence_number, self.shard)?;
        self.sub_sequence.map_or(Ok(()), |sub| write!(f, ", member {sub}"))
    }
}

/// Why a loop ended before its input did.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// A record does not decode, and the policy is `Fail`.
    #[error("record {name} does not decode: {error}")]
    Record {
        /// The record.
        name: Box<RecordName>,
        /// What is wrong with it.
        error: Box<DecodeError>,
    },
    /// A tick failed, and the policy is `Stop`.
    #[error("record {name}, key {key}: {failure}")]
    Tick {
        /// The record.
        name: Box<RecordName>,
        /// The key, as text.
        key: Box<str>,
        /// What failed.
        failure: Arc<TickFailure>,
    },
    /// A monitor and the plan do not belong together.
    #[error("record {0}: the key's state is not this plan's")]
    State(Box<RecordName>),
    /// Reading failed.
    #[error("{0}")]
    Source(Box<SourceError>),
    /// Output failed.
    #[error("{0}")]
    Output(Box<OutputError>),
    /// A program was prepared against another root than the one that runs.
    #[error("the program was prepared against the root of epoch {0}, which does not run")]
    Stale(RootEpoch),
    /// Lanes had records left when the deadline came (I28).
    #[error("not all that was read could be evaluated by the deadline")]
    InputLeft,
    /// Not everything could be flushed by the deadline (I28).
    #[error("{0} rows could not be delivered by the deadline")]
    Deadline(usize),
}

/// Errors travel through every `Result`: they stay small.
const _: () = assert!(size_of::<RuntimeError>() <= 128);

impl Meaning for RuntimeError {
    fn code(&self) -> Code {
        match self {
            Self::Record { error, .. } => error.code(),
            Self::Tick { .. } => Code::TICK_FAILED,
            Self::State(_) | Self::Stale(_) => Code::INTERNAL,
            Self::Source(error) => error.code(),
            Self::Output(error) => error.code(),
            Self::Deadline(_) | Self::InputLeft => Code::DRAIN_INCOMPLETE,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Source(error) => error.retry(),
            Self::Output(error) => error.retry(),
            Self::Deadline(_) | Self::InputLeft | Self::Stale(_) => Retry::Backoff,
            Self::Record { .. } | Self::Tick { .. } | Self::State(_) => Retry::Never,
        }
    }
}

//! A program as a loop runs it: planned, with its bindings, outputs and policies.

use crate::codec::{Decoder, Encoder, KeyRule};
use crate::dataflow::Plan;
use crate::flow::RootRef;
use std::sync::Arc;

/// Everything that an edit may change in place, ready to run.
#[derive(Debug)]
pub struct Program {
    /// Its revision, and the attempt that made it the running one.
    pub root: RootRef,
    /// The text of the root, in which places of failures are shown.
    pub text: Arc<str>,
    /// The compiled root.
    pub plan: Arc<Plan>,
    /// From payloads to the plan's inputs, keys and times.
    pub decoder: Decoder,
    /// What keys a record; under another rule, state has no owner.
    pub key: KeyRule,
    /// Its outputs; each is the destination of its number in the session.
    pub outputs: Vec<Output>,
    /// What becomes of records and keys that fail.
    pub policies: Policies,
}

impl Program {
    /// How many destinations a session of it has: its outputs, and the place of dead letters.
    #[must_use]
    pub fn destinations(&self) -> usize {
        self.outputs.len().saturating_add(usize::from(self.policies.dead_letters.is_some()))
    }
}

/// One output: which ticks make a row, and what is in it.
#[derive(Debug)]
pub struct Output {
    /// Its name.
    pub name: Arc<str>,
    /// The row's JSON.
    pub encoder: Encoder,
    /// The slots of its streams.
    pub streams: Box<[usize]>,
    /// The slot that says whether a tick makes a row; without it, one where one of its streams has a value does.
    pub emit_when: Option<usize>,
    /// Whether rows carry `_millrace`.
    pub metadata: bool,
    /// The rows' partition key.
    pub partition_key: PartitionKey,
}

/// What a row's partition key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionKey {
    /// Its record's; where that has none, its key.
    Record,
    /// The value in a slot, as text; where there is none, its record's.
    Slot(usize),
    /// Always the same.
    Constant(Arc<str>),
}

/// What becomes of what fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// Records that do not decode.
    pub undecodable: UndecodablePolicy,
    /// Ticks that fail.
    pub tick: TickPolicy,
    /// The number of the session's destination for dead letters.
    pub dead_letters: Option<usize>,
    /// How long after its last record a key's state is found, in microseconds of arrival time.
    pub ttl: Option<i64>,
}

/// What becomes of a record that does not decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndecodablePolicy {
    /// It ends the runtime.
    Fail,
    /// It goes to the dead letters.
    DeadLetter,
    /// It is passed over.
    Skip,
}

/// What a failed tick does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickPolicy {
    /// It ends the runtime.
    Stop,
    /// Its key's records go to the dead letters.
    DeadLetterKey,
}

//! One record: decoded, ticked, its rows added to the open batch; or what its failure means.
//!
//! Owns: the record and tick levels of the failure ladder, which ticks make rows.
//! May not: submit rows, know lanes.

use super::keys::Keys;
use crate::codec::{DecodeError, Input, Metadata};
use crate::dataflow::value::{Limits, text_of};
use crate::dataflow::{Row, Scratch, TickError, TickFailure};
use crate::error::Meaning;
use crate::flow::{LaneId, Record, SplitEpoch, SplitId};
use crate::runtime::counts::Counts;
use crate::runtime::dead_letter::{self, Cause};
use crate::runtime::error::RuntimeError;
use crate::runtime::program::{Output, PartitionKey, Program, TickPolicy, UndecodablePolicy};
use crate::runtime::rows::OutputBatch;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

/// How long a partition key that is a stream's value may be: what the longest of Kinesis takes, and more.
const KEY_LIMITS: Limits = Limits { value_bytes: 1024 };

/// Whose records these are.
#[derive(Clone, Debug)]
pub(super) struct Tenancy {
    pub(super) lane: LaneId,
    pub(super) split: SplitId,
    pub(super) epoch: SplitEpoch,
}

/// What one thread needs to evaluate records under one program.
pub(super) struct Evaluator {
    program: Arc<Program>,
    input: Input,
    scratch: Scratch,
    counts: Counts,
    id: String,
}

impl Evaluator {
    pub(super) fn new(program: Arc<Program>) -> Self {
        let input = program.decoder.input();
        Self { program, input, scratch: Scratch::default(), counts: Counts::default(), id: String::new() }
    }

    pub(super) const fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What was counted since this was last taken.
    pub(super) fn counts(&mut self) -> &mut Counts {
        for window in self.scratch.take_window_counts() {
            self.counts.window_ignored = self.counts.window_ignored.saturating_add(window.ignored);
            self.counts.window_evicted = self.counts.window_evicted.saturating_add(window.evicted);
        }
        &mut self.counts
    }

    /// Evaluates a record of a split whose keys these are.
    #[inline]
    pub(super) fn record(
        &mut self,
        tenancy: &Tenancy,
        keys: &mut Keys,
        record: &Record<'_>,
        open: &mut OutputBatch,
    ) -> Result<(), RuntimeError> {
        let Self { program, input, scratch, counts, id } = self;
        counts.records = counts.records.saturating_add(1);
        counts.bytes = counts.bytes.saturating_add(record.payload.len() as u64);
        if let Err(error) = program.decoder.decode(record, input) {
            return undecodable(program, counts, record, error, open);
        }
        counts.duplicate_names = counts.duplicate_names.saturating_add(input.duplicates());
        let (monitor, new) = keys.find(input.key(), &program.plan, record.arrival, program.policies.ttl);
        counts.keys = counts.keys.saturating_add(u64::from(new));
        match monitor.tick(&program.plan, input.row(), input.time(), scratch) {
            Ok(row) => {
                let mut emission = Emission { program, counts, id, tenancy, record, key: input.key() };
                emission.rows(row, open);
                Ok(())
            }
            Err(error) => failed(&mut Failing { program, counts, record, key: input.key(), open }, error),
        }
    }
}

/// One tick's rows.
struct Emission<'a> {
    program: &'a Program,
    counts: &'a mut Counts,
    id: &'a mut String,
    tenancy: &'a Tenancy,
    record: &'a Record<'a>,
    key: &'a [u8],
}

impl Emission<'_> {
    #[inline]
    fn rows(&mut self, row: Row<'_>, open: &mut OutputBatch) {
        let program = self.program;
        for (at, output) in program.outputs.iter().enumerate() {
            if emits(output, row) {
                self.row(at, output, row, open);
            }
        }
    }

    fn row(&mut self, at: usize, output: &Output, row: Row<'_>, open: &mut OutputBatch) {
        let Self { program, counts, id, tenancy, record, key } = self;
        counts.rows = counts.rows.saturating_add(1);
        let metadata = output.metadata.then(|| {
            row_id(id, record, &output.name);
            Metadata { id, split_epoch: tenancy.epoch, root_epoch: program.root.epoch }
        });
        let partition_key = partition_key(output, row, record, key);
        open.push(at, &partition_key, |bytes| {
            let not_finite = output.encoder.encode(row, metadata.as_ref(), bytes);
            counts.not_finite = counts.not_finite.saturating_add(u64::from(not_finite));
        });
    }
}

/// Whether a tick makes a row for an output.
#[inline]
fn emits(output: &Output, row: Row<'_>) -> bool {
    match output.emit_when {
        Some(slot) => row.value(slot).and_then(crate::dataflow::value::Value::as_bool) == Some(true),
        None => output.streams.iter().any(|slot| row.value(*slot).is_some()),
    }
}

/// A row's identity: equal for each time that its record is evaluated.
fn row_id(id: &mut String, record: &Record<'_>, output: &str) {
    id.clear();
    // Writing to a text cannot fail.
    let _written = write!(id, "{}/{}/{}", record.stream, record.shard, record.sequence_number);
    if let Some(sub) = record.sub_sequence {
        let _written = write!(id, ".{sub}");
    }
    let _written = write!(id, "/{output}");
}

fn partition_key<'a>(output: &'a Output, row: Row<'_>, record: &Record<'a>, key: &'a [u8]) -> Cow<'a, str> {
    let own = || record.partition_key.map_or_else(|| text(key), Cow::Borrowed);
    match &output.partition_key {
        PartitionKey::Record => own(),
        PartitionKey::Constant(constant) => Cow::Borrowed(constant),
        PartitionKey::Slot(slot) => row.value(*slot).and_then(|value| text_of(value, KEY_LIMITS)).map_or_else(own, Cow::Owned),
    }
}

/// A key as text. Keys are made of texts, so nothing is lost.
fn text(key: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(key)
}

#[cold]
fn undecodable(
    program: &Program,
    counts: &mut Counts,
    record: &Record<'_>,
    error: DecodeError,
    open: &mut OutputBatch,
) -> Result<(), RuntimeError> {
    let policies = program.policies;
    if policies.undecodable == UndecodablePolicy::Fail {
        return Err(RuntimeError::Record { name: Box::new(dead_letter::name(record)), error: Box::new(error) });
    }
    counts.too_far_ahead = counts.too_far_ahead.saturating_add(u64::from(matches!(error, DecodeError::Lead(_))));
    match policies.dead_letters.filter(|_| policies.undecodable == UndecodablePolicy::DeadLetter) {
        None => counts.skipped = counts.skipped.saturating_add(1),
        Some(destination) => {
            counts.undecodable = counts.undecodable.saturating_add(1);
            let (code, message) = (error.code().to_string(), error.to_string());
            let cause = Cause { name: "Undecodable", code: &code, message: &message, key: None };
            open.push(destination, record.partition_key.unwrap_or_default(), |bytes| dead_letter::write(record, cause, bytes));
        }
    }
    Ok(())
}

/// What a tick that gave no row belongs to.
struct Failing<'a> {
    program: &'a Program,
    counts: &'a mut Counts,
    record: &'a Record<'a>,
    key: &'a [u8],
    open: &'a mut OutputBatch,
}

#[cold]
fn failed(at: &mut Failing<'_>, error: TickError) -> Result<(), RuntimeError> {
    let name = || Box::new(dead_letter::name(at.record));
    let (failure, first) = match error {
        TickError::Failed(failure) => (failure, true),
        TickError::MonitorFailed(failure) => (failure, false),
        _ => return Err(RuntimeError::State(name())),
    };
    let policies = at.program.policies;
    let Some(destination) = policies.dead_letters.filter(|_| policies.tick == TickPolicy::DeadLetterKey) else {
        return Err(RuntimeError::Tick { name: name(), key: text(at.key).into(), failure });
    };
    at.counts.failed_keys = at.counts.failed_keys.saturating_add(u64::from(first));
    at.counts.failed_records = at.counts.failed_records.saturating_add(1);
    let (code, message) = (failure.code().to_string(), message(at.program, &failure));
    let key = text(at.key);
    let cause = Cause { name: if first { "TickFailed" } else { "KeyFailed" }, code: &code, message: &message, key: Some(&key) };
    let partition_key = at.record.partition_key.unwrap_or(&key);
    at.open.push(destination, partition_key, |bytes| dead_letter::write(at.record, cause, bytes));
    Ok(())
}

/// What failed, and where in the root.
fn message(program: &Program, failure: &TickFailure) -> String {
    let (line, column) = failure.place(&program.text);
    format!("{line}:{column}: {failure}")
}

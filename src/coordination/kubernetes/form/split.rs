//! A split's record in its `StreamSplit`.

use super::{FormError, SCHEMA, Writer, count, progress, splits, texts, time};
use crate::api::progress::{LastError, Owner, Progress};
use crate::api::stream_split::{HashRange, MadeBy, SplitRecord, SplitState, StreamSplitSpec};
use crate::coordination::records::{self, Incarnation, PageId, WorkerName};
use crate::error::Code;
use serde::{Deserialize, Serialize};

/// The longest message of a failure, in characters.
const MESSAGE: usize = 1024;

#[derive(Serialize, Deserialize)]
pub(super) struct Fields {
    spec: StreamSplitSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    record: Option<SplitRecord>,
}

pub(super) fn write(writer: &Writer<'_>, split: &records::SplitRecord, stood: Option<&Fields>) -> Result<Fields, FormError> {
    let schema = stood.and_then(|stood| stood.record.as_ref()).map_or(SCHEMA, |record| record.schema);
    let record = SplitRecord {
        schema,
        state: match split.state {
            records::SplitState::Waiting => SplitState::Waiting,
            records::SplitState::Open => SplitState::Open,
            records::SplitState::Completed => SplitState::Completed,
            records::SplitState::Quarantined => SplitState::Quarantined,
        },
        owner: split.owner.as_ref().map(write_owner),
        epoch: split.epoch,
        weight: split.weight.map(count),
        attempts: (split.attempts > 0).then(|| i32::try_from(split.attempts).unwrap_or(i32::MAX)),
        last_error: split.last_error.as_ref().map(write_error).transpose()?,
        base: Some(progress::write(&split.base)?).filter(|base| *base != Progress::default()),
        cutovers: progress::write_cutovers(&split.cutovers),
        write_id: split.write_id.as_deref().map(str::to_owned),
    };
    Ok(Fields { spec: write_spec(writer, split), record: Some(record) })
}

fn write_spec(writer: &Writer<'_>, split: &records::SplitRecord) -> StreamSplitSpec {
    let range = split.descriptor.hash_range.as_ref();
    StreamSplitSpec {
        pipeline_uid: writer.pipeline_uid.to_owned(),
        stream: (*split.descriptor.stream).to_owned(),
        shard: (*split.descriptor.shard).to_owned(),
        hash_range: range.map(|(from, to)| HashRange { from: (**from).to_owned(), to: (**to).to_owned() }),
        parents: texts(&split.parents),
        by: Some(match split.by {
            records::MadeBy::Listing => MadeBy::Listing,
            records::MadeBy::Driver => MadeBy::Driver,
        }),
        opened: Some(split.opened),
    }
}

fn write_owner(owner: &records::Owner) -> Owner {
    let records::Owner { worker, incarnation, page } = owner;
    let [worker, incarnation, page] = [worker.as_str(), incarnation.as_str(), page.as_str()].map(str::to_owned);
    Owner { worker, incarnation, page }
}

fn write_error(error: &records::LastError) -> Result<LastError, FormError> {
    // A message is for people, and no write fails for its length.
    let message = error.message.chars().take(MESSAGE).collect();
    Ok(LastError { code: error.code.to_string(), message, at: time(error.at, "lastError.at")? })
}

pub(super) fn read(fields: Fields) -> Result<records::SplitRecord, FormError> {
    let Fields { spec, record } = fields;
    let parents: Vec<_> = splits(&spec.parents).collect();
    let by = match spec.by {
        Some(MadeBy::Driver) => records::MadeBy::Driver,
        Some(MadeBy::Listing) | None => records::MadeBy::Listing,
    };
    let shard = records::Shard { split: crate::flow::SplitId::new(&spec.shard), descriptor: descriptor(&spec), parents };
    let unopened = records::SplitRecord { opened: spec.opened.unwrap_or(false), ..records::SplitRecord::unopened(&shard, by) };
    // Made, and nothing has become of it yet: it waits, and inherits from its parents.
    let Some(record) = record else { return Ok(unopened) };
    Ok(records::SplitRecord {
        state: match record.state {
            SplitState::Waiting => records::SplitState::Waiting,
            SplitState::Open => records::SplitState::Open,
            SplitState::Completed => records::SplitState::Completed,
            SplitState::Quarantined => records::SplitState::Quarantined,
        },
        owner: record.owner.map(|owner| records::Owner {
            worker: WorkerName::new(&owner.worker),
            incarnation: Incarnation::new(&owner.incarnation),
            page: PageId::new(&owner.page),
        }),
        epoch: record.epoch,
        weight: record.weight.map(|weight| u64::try_from(weight).map_err(|_| FormError::Field("record.weight"))).transpose()?,
        attempts: u32::try_from(record.attempts.unwrap_or(0)).map_err(|_| FormError::Field("record.attempts"))?,
        last_error: record.last_error.map(read_error),
        base: progress::read(record.base.unwrap_or_default())?,
        cutovers: progress::read_cutovers(record.cutovers),
        write_id: record.write_id.map(Into::into),
        ..unopened
    })
}

fn descriptor(spec: &StreamSplitSpec) -> records::Descriptor {
    records::Descriptor {
        stream: spec.stream.as_str().into(),
        shard: spec.shard.as_str().into(),
        hash_range: spec.hash_range.as_ref().map(|range| (range.from.as_str().into(), range.to.as_str().into())),
    }
}

fn read_error(error: LastError) -> records::LastError {
    let number = error.code.strip_prefix("MR").and_then(|digits| digits.parse().ok());
    let at = error.at.0.as_microsecond();
    match number.and_then(Code::of) {
        Some(code) => records::LastError { code, message: error.message.into(), at },
        // A later version knows more codes; people still read which one it was.
        None => records::LastError { code: Code::INTERNAL, message: format!("{}: {}", error.code, error.message).into(), at },
    }
}

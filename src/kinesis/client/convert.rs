//! From the SDK's types to ours.

use crate::kinesis::fault::{Class, Fault, NotASequence};
use crate::kinesis::service::{ChildShard, HashRange, RecordsPage, Shard, ShardRecord, StreamSummary, Token};
use aws_sdk_kinesis::operation::get_records::GetRecordsOutput;
use aws_sdk_kinesis::primitives::DateTime;
use aws_sdk_kinesis::types;
use std::sync::Arc;

const MICROS: i64 = 1_000_000;
const HOUR: i64 = 3_600 * MICROS;
/// The largest record of a stream that does not say.
const LARGEST_RECORD: usize = 1 << 20;

/// An answer that makes no sense.
pub(super) fn odd(call: &'static str, stream: &str, said: &str) -> Fault {
    Fault { class: Class::Failed, call, stream: stream.into(), said: said.into() }
}

/// Microseconds since 1970 UTC.
pub(super) fn micros(time: &DateTime) -> Option<i64> {
    time.secs().checked_mul(MICROS)?.checked_add(i64::from(time.subsec_nanos()).div_euclid(1_000))
}

/// The SDK's form of microseconds since 1970 UTC.
pub(super) fn date(micros: i64) -> DateTime {
    // Below a second's nanoseconds, which are 30 bits.
    let nanos = u32::try_from(micros.rem_euclid(MICROS).saturating_mul(1_000)).unwrap_or(0);
    DateTime::from_secs_and_nanos(micros.div_euclid(MICROS), nanos)
}

/// None where a time does not fit.
pub(super) fn summary(summary: &types::StreamDescriptionSummary, at: Option<i64>) -> Option<StreamSummary> {
    let kib = summary.max_record_size_in_kib().and_then(|kib| usize::try_from(kib).ok()).filter(|kib| *kib > 0);
    Some(StreamSummary {
        arn: summary.stream_arn().into(),
        created: micros(summary.stream_creation_timestamp())?,
        retention: i64::from(summary.retention_period_hours()).checked_mul(HOUR)?,
        largest_record: kib.map_or(LARGEST_RECORD, |kib| kib.saturating_mul(1_024)),
        at,
    })
}

pub(super) fn shard(shard: &types::Shard) -> Result<Shard, String> {
    let parents = [shard.parent_shard_id(), shard.adjacent_parent_shard_id()];
    Ok(Shard {
        id: shard.shard_id().into(),
        parents: parents.into_iter().flatten().map(Arc::from).collect(),
        range: range(shard.shard_id(), shard.hash_key_range())?,
        closed: shard.sequence_number_range().is_some_and(|range| range.ending_sequence_number().is_some()),
    })
}

fn child(child: &types::ChildShard) -> Result<ChildShard, String> {
    Ok(ChildShard {
        id: child.shard_id().into(),
        parents: child.parent_shards().iter().map(|parent| Arc::from(parent.as_str())).collect(),
        range: range(child.shard_id(), child.hash_key_range())?,
    })
}

fn range(shard: &str, range: Option<&types::HashKeyRange>) -> Result<HashRange, String> {
    let ends = range.and_then(|range| Some((range.starting_hash_key().parse().ok()?, range.ending_hash_key().parse().ok()?)));
    let (from, to) = ends.ok_or_else(|| format!("shard {shard} has no range of hash keys"))?;
    Ok(HashRange { from, to })
}

pub(super) fn page(answer: GetRecordsOutput, at: Option<i64>) -> Result<RecordsPage, String> {
    let children = answer.child_shards().iter().map(child).collect::<Result<_, _>>()?;
    Ok(RecordsPage {
        children,
        next: answer.next_shard_iterator.map(|token| Token(token.into())),
        behind: answer.millis_behind_latest,
        at,
        records: answer.records.into_iter().map(record).collect::<Result<_, _>>()?,
    })
}

fn record(record: types::Record) -> Result<ShardRecord, String> {
    let sequence = record.sequence_number.parse().map_err(|error: NotASequence| error.to_string())?;
    let arrival = record.approximate_arrival_timestamp.as_ref().and_then(micros);
    Ok(ShardRecord {
        arrival: arrival.ok_or_else(|| format!("record {sequence} has no arrival time"))?,
        sequence,
        key: record.partition_key.map(String::into_boxed_str),
        data: record.data.into_inner(),
    })
}

#[cfg(test)]
mod tests {
    use super::{date, micros};

    #[test]
    fn times_survive_the_way_there_and_back() {
        for time in [0, 1, -1, 1_767_225_600_123_456, -62_135_596_800_000_000] {
            assert_eq!(micros(&date(time)), Some(time), "{time}");
        }
    }
}

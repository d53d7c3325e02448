//! Pages of records, and batches of them: what a lane hands to its loop.

use super::ids::Ordinal;
use std::ops::Range;
use std::sync::Arc;

/// Records as a source got them together. Their bytes stand in one buffer that the page owns; records are slices of it.
#[derive(Clone, Debug)]
pub struct Page {
    stream: Arc<str>,
    shard: Arc<str>,
    bytes: Vec<u8>,
    records: Vec<Entry>,
}

/// Where a record's parts stand in the buffer: the partition key, the sequence number, the payload, one after the other.
#[derive(Clone, Copy, Debug)]
struct Entry {
    start: usize,
    key_end: usize,
    sequence_end: usize,
    end: usize,
    sub_sequence: Option<u64>,
    arrival: i64,
    has_key: bool,
}

/// What a source says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The stream's name among the pipeline's streams (`main` where there is but one).
    pub stream: &'a str,
    /// The shard, or the file.
    pub shard: &'a str,
    /// The partition key; lines of a file have none.
    pub partition_key: Option<&'a str>,
    /// The sequence number, in decimal; of a line, its number from 1.
    pub sequence_number: &'a str,
    /// The place of a member in an aggregated record, from 0.
    pub sub_sequence: Option<u64>,
    /// When the service took it, in microseconds since 1970 UTC.
    pub arrival: i64,
    /// What it carries.
    pub payload: &'a [u8],
}

impl Page {
    /// An empty page of a shard.
    #[must_use]
    pub const fn new(stream: Arc<str>, shard: Arc<str>) -> Self {
        Self { stream, shard, bytes: Vec::new(), records: Vec::new() }
    }

    /// Adds a record at its end. Its stream and shard are the page's; those given are not looked at.
    pub fn push(&mut self, record: &Record<'_>) {
        let start = self.bytes.len();
        let mut add = |part: &[u8]| {
            self.bytes.extend_from_slice(part);
            self.bytes.len()
        };
        let key_end = add(record.partition_key.unwrap_or_default().as_bytes());
        let sequence_end = add(record.sequence_number.as_bytes());
        let end = add(record.payload);
        let (sub_sequence, arrival, has_key) = (record.sub_sequence, record.arrival, record.partition_key.is_some());
        self.records.push(Entry { start, key_end, sequence_end, end, sub_sequence, arrival, has_key });
    }

    /// The record at a place, from 0.
    #[must_use]
    pub fn record(&self, at: usize) -> Option<Record<'_>> {
        let entry = self.records.get(at)?;
        let text = |range: Range<usize>| self.bytes.get(range).and_then(|bytes| std::str::from_utf8(bytes).ok());
        Some(Record {
            stream: &self.stream,
            shard: &self.shard,
            partition_key: if entry.has_key { text(entry.start..entry.key_end) } else { None },
            sequence_number: text(entry.key_end..entry.sequence_end)?,
            sub_sequence: entry.sub_sequence,
            arrival: entry.arrival,
            payload: self.bytes.get(entry.sequence_end..entry.end)?,
        })
    }

    /// How many records it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The bytes of all records.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len()
    }
}

/// Records that a lane hands over at once. Where batches end means nothing to results.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The page they stand in.
    pub page: Arc<Page>,
    /// Their places in it.
    pub records: Range<usize>,
    /// The ordinal of the first; those of the others follow it.
    pub first: Ordinal,
}

impl Batch {
    /// The records, each with its ordinal.
    pub fn iter(&self) -> impl Iterator<Item = (Ordinal, Record<'_>)> {
        let ordinals = (0_u64..).map(|at| self.first.plus(at));
        ordinals.zip(self.records.clone().filter_map(|at| self.page.record(at)))
    }

    /// How many they are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{Batch, Page, Record};
    use crate::flow::Ordinal;
    use std::sync::Arc;

    fn record(key: Option<&'static str>, sequence: &'static str, payload: &'static [u8]) -> Record<'static> {
        Record { stream: "main", shard: "s-1", partition_key: key, sequence_number: sequence, sub_sequence: None, arrival: 7, payload }
    }

    #[test]
    fn a_page_gives_back_what_was_put_in() {
        let mut page = Page::new("main".into(), "s-1".into());
        let records = [record(Some("k"), "1", b"{}"), record(None, "22", b""), record(Some(""), "333", b"\xff")];
        for each in &records {
            page.push(each);
        }
        for (at, each) in records.iter().enumerate() {
            assert_eq!(page.record(at).as_ref(), Some(each));
        }
        assert_eq!((page.len(), page.bytes(), page.record(3)), (3, 10, None));
        let batch = Batch { page: Arc::new(page), records: 1..3, first: Ordinal::new(5) };
        let seen: Vec<_> = batch.iter().map(|(ordinal, record)| (ordinal.get(), record.sequence_number)).collect();
        assert_eq!(seen, [(5, "22"), (6, "333")]);
    }
}

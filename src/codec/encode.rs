//! Rows as JSON.
//!
//! Owns: the object that an output row becomes, with its metadata.
//! May not: decide which rows leave.

use super::{text, value};
use crate::dataflow::Row;
use crate::flow::{RootEpoch, SplitEpoch};
use std::sync::Arc;

/// Writes the rows of one output.
#[derive(Clone, Debug)]
pub struct Encoder {
    streams: Box<[Column]>,
}

/// A stream: its name as it is written before its value, and its slot.
#[derive(Clone, Debug)]
struct Column {
    name: Box<[u8]>,
    slot: usize,
}

/// What a consumer needs to drop repeats: the record's id, and the epochs under which the row was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata<'a> {
    /// The id of the output record.
    pub id: &'a str,
    /// The epoch of the split that the record came from.
    pub split_epoch: SplitEpoch,
    /// The epoch of the root that made the row.
    pub root_epoch: RootEpoch,
}

impl Encoder {
    /// For these streams, in this order: name, and slot in the row.
    #[must_use]
    pub fn new(streams: &[(Arc<str>, usize)]) -> Self {
        let column = |(name, slot): &(Arc<str>, usize)| {
            let mut written = Vec::new();
            text::write(name, &mut written);
            written.push(b':');
            Column { name: written.into(), slot: *slot }
        };
        Self { streams: streams.iter().map(column).collect() }
    }

    /// Writes a row as one JSON object, without a line's end. Streams without a value are left out; the metadata, where
    /// there is any, stands last, under `_millrace`. Answers how many values are `null` because JSON cannot write them: floats
    /// that are infinite or NaN, and functions.
    pub fn encode(&self, row: Row<'_>, metadata: Option<&Metadata<'_>>, out: &mut Vec<u8>) -> u32 {
        let mut lost = 0_u32;
        let mut between = b'{';
        for column in &self.streams {
            let Some(value) = row.value(column.slot) else { continue };
            out.push(between);
            between = b',';
            out.extend_from_slice(&column.name);
            lost = lost.saturating_add(value::write(value, out));
        }
        if let Some(metadata) = metadata {
            out.push(between);
            between = b',';
            metadata.write(out);
        }
        if between == b'{' {
            out.push(between);
        }
        out.push(b'}');
        lost
    }
}

impl Metadata<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#""_millrace":{"id":"#);
        text::write(self.id, out);
        out.extend_from_slice(br#","splitEpoch":"#);
        value::write_int(self.split_epoch.get(), out);
        out.extend_from_slice(br#","rootEpoch":"#);
        value::write_int(self.root_epoch.get(), out);
        out.push(b'}');
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoder, Metadata};
    use crate::dataflow::value::Value;
    use crate::dataflow::{Limits, Monitor, Plan, RecordTime, Scratch};
    use crate::flow::{RootEpoch, SplitEpoch};
    use crate::lang::check;
    use std::sync::Arc;

    /// The rows of a root whose input has these values, encoded.
    fn encoded(root: &str, streams: &[&str], values: &[Option<f64>], metadata: Option<&Metadata<'_>>) -> Vec<(String, u32)> {
        let plan = Plan::new(&check(root).unwrap(), Limits::default());
        let (mut monitor, mut scratch) = (Monitor::new(&plan), Scratch::default());
        let streams: Vec<_> = streams.iter().map(|name| (Arc::from(*name), plan.slot(name).unwrap())).collect();
        let encoder = Encoder::new(&streams);
        let mut rows = Vec::new();
        for value in values {
            let cells = [value.map_or_else(Default::default, |float| Value::float(float).into())];
            let row = monitor.tick(&plan, &cells, RecordTime { record: 0, arrival: 0 }, &mut scratch).unwrap();
            let mut out = b"before ".to_vec();
            let lost = encoder.encode(row, metadata, &mut out);
            rows.push((String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned(), lost));
        }
        rows
    }

    #[test]
    fn a_row_is_an_object_of_the_streams_that_have_values() {
        let root = "in x: Float\nout twice = x * 2.0\nout last = x[1]\nout high = is_present(x)";
        let rows = encoded(root, &["last", "twice", "high"], &[Some(1.0), Some(2.5), None], None);
        let wanted =
            [r#"{"twice":2.0,"high":true}"#, r#"{"last":1.0,"twice":5.0,"high":true}"#, r#"{"last":2.5,"twice":5.0,"high":false}"#];
        assert_eq!(rows, wanted.map(|text| (text.to_owned(), 0)));
        assert_eq!(encoded(root, &["last"], &[Some(1.0)], None), [("{}".to_owned(), 0)]);
    }

    #[test]
    fn metadata_stands_last_and_alone_where_no_stream_has_a_value() {
        let root = "in x: Float\nout y = x";
        let metadata = Metadata { id: "s/1\"", split_epoch: SplitEpoch::new(7), root_epoch: RootEpoch::new(3) };
        let written = r#""_millrace":{"id":"s/1\"","splitEpoch":7,"rootEpoch":3}"#;
        let rows = encoded(root, &["y"], &[None, Some(f64::INFINITY)], Some(&metadata));
        assert_eq!(rows, [(format!("{{{written}}}"), 0), (format!(r#"{{"y":null,{written}}}"#), 1)]);
    }
}

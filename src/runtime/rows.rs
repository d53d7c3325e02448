//! Output rows, gathered for the writer.

use std::ops::Range;

/// Rows of one destination, in order: each a line of JSON with its newline, and the partition key that goes with it.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    bytes: Vec<u8>,
    keys: String,
    ends: Vec<(usize, usize)>,
}

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputRow<'a> {
    /// One JSON object, without a newline.
    pub json: &'a [u8],
    /// The partition key, where the destination has a use for one.
    pub partition_key: &'a str,
}

impl Rows {
    /// Adds a row: `write` appends its JSON.
    pub fn push(&mut self, partition_key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.bytes.push(b'\n');
        self.keys.push_str(partition_key);
        self.ends.push((self.bytes.len(), self.keys.len()));
    }

    /// The rows.
    pub fn iter(&self) -> impl Iterator<Item = OutputRow<'_>> {
        let starts = std::iter::once((0, 0)).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|((start, key_start), (end, key_end))| {
            let json = self.bytes.get(start..end.saturating_sub(1))?;
            let partition_key = self.keys.get(Range { start: key_start, end: *key_end })?;
            Some(OutputRow { json, partition_key })
        })
    }

    /// All rows as lines.
    #[must_use]
    pub fn lines(&self) -> &[u8] {
        &self.bytes
    }

    /// How many rows there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of the rows and their keys.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes.len().saturating_add(self.keys.len())
    }
}

/// Rows that are submitted to the writer at once, by destination.
#[derive(Clone, Debug, Default)]
pub struct OutputBatch {
    parts: Vec<Rows>,
    rows: usize,
    bytes: usize,
}

impl OutputBatch {
    /// An empty batch for a session of so many destinations.
    #[must_use]
    pub fn new(destinations: usize) -> Self {
        Self { parts: vec![Rows::default(); destinations], rows: 0, bytes: 0 }
    }

    /// Adds a row for a destination of the session, by its number.
    pub fn push(&mut self, destination: usize, partition_key: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if let Some(rows) = self.parts.get_mut(destination) {
            let before = rows.bytes();
            rows.push(partition_key, write);
            self.bytes = self.bytes.saturating_add(rows.bytes().saturating_sub(before));
            self.rows = self.rows.saturating_add(1);
        }
    }

    /// The rows by destination.
    #[must_use]
    pub fn parts(&self) -> &[Rows] {
        &self.parts
    }

    /// Takes it apart.
    #[must_use]
    pub fn into_parts(self) -> Vec<Rows> {
        self.parts
    }

    /// How many rows it has.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.rows
    }

    /// The bytes of the rows and their keys.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether it has none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

#[cfg(test)]
mod tests {
    use super::{OutputBatch, OutputRow};

    #[test]
    fn rows_come_out_as_they_went_in() {
        let mut batch = OutputBatch::new(2);
        batch.push(1, "a", |bytes| bytes.extend_from_slice(b"{}"));
        batch.push(1, "", |bytes| bytes.extend_from_slice(b"{\"x\":1}"));
        assert_eq!((batch.len(), batch.bytes(), batch.parts()[0].len()), (2, 12, 0));
        let rows: Vec<_> = batch.parts()[1].iter().collect();
        assert_eq!(rows, [OutputRow { json: b"{}", partition_key: "a" }, OutputRow { json: b"{\"x\":1}", partition_key: "" }]);
        assert_eq!(batch.parts()[1].lines(), b"{}\n{\"x\":1}\n");
    }
}

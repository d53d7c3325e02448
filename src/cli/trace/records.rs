//! Records from a file: lines, and what each is to its root.

use super::{Source, TraceError};
use crate::cli::CliError;
use crate::cli::subject::{Pipeline, Subject};
use crate::codec::{Bindings, Compression, DecodeError, Decoder, Input, KeyRule, Limits};
use crate::flow::Record;
use crate::lang;
use crate::program;
use std::fmt;
use std::io::{BufRead, Read};
use std::path::Path;

const SECOND: i64 = 1_000_000;

/// The lines of a file that are not blank.
pub(super) struct Lines<R> {
    input: R,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<R> {
    pub(super) const fn new(input: R) -> Self {
        Self { input, number: 0, line: Vec::new() }
    }

    /// The next line with its number, from 1. One that is longer than any payload may be comes as a part of it.
    pub(super) fn next(&mut self) -> std::io::Result<Option<(u64, &[u8])>> {
        let most = Limits::default().payload_bytes.saturating_add(1) as u64;
        loop {
            self.line.clear();
            self.number += 1;
            if Read::take(&mut self.input, most).read_until(b'\n', &mut self.line)? == 0 {
                return Ok(None);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(Some((self.number, self.line.trim_ascii_end())));
            }
        }
    }
}

/// A line that does not decode.
#[derive(Debug)]
pub(in crate::cli) struct Undecoded {
    /// The arguments that wanted something of it; empty where the root did.
    wanted_by: &'static str,
    pub(super) error: DecodeError,
}

impl fmt::Display for Undecoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.wanted_by, self.error)
    }
}

/// Decodes lines as a worker decodes the payloads of a source.
pub(super) struct Reader {
    decoder: Decoder,
    input: Input,
    /// Reads from a payload what only a source knows: arrival time and partition key.
    envelope: Option<Envelope>,
    stream: String,
    shard: String,
    records: i64,
    duplicates: u64,
}

struct Envelope {
    decoder: Decoder,
    input: Input,
    time: bool,
    key: bool,
}

impl Reader {
    /// A reader of records for a root or pipeline.
    pub(super) fn new(subject: &Subject, source: &Source, file: &Path) -> Result<Self, CliError> {
        let unfit = |error| CliError::Binding(subject.file.clone(), error);
        let pipeline = subject.pipeline.as_deref();
        let mut bindings = match pipeline {
            Some(pipeline) => program::bindings(&pipeline.program),
            None => program::root_bindings(),
        };
        if source.time.is_none() {
            // No arrival time, no lead.
            bindings.max_lead = i64::MAX;
        }
        let decoder = Decoder::new(&subject.loaded.root, &bindings).map_err(unfit)?;
        Ok(Self {
            input: decoder.input(),
            decoder,
            envelope: Envelope::new(source, bindings.compression)?,
            stream: stream(pipeline, source)?,
            shard: file.display().to_string(),
            records: 0,
            duplicates: 0,
        })
    }

    /// Decodes a line: then the input holds its row, key and times.
    pub(super) fn read(&mut self, line: u64, payload: &[u8]) -> Result<(), Undecoded> {
        self.records = self.records.saturating_add(1);
        let sequence_number = line.to_string();
        let mut record = Record {
            stream: &self.stream,
            shard: &self.shard,
            partition_key: None,
            sequence_number: &sequence_number,
            sub_sequence: None,
            arrival: self.records.saturating_mul(SECOND),
            payload,
        };
        if let Some(Envelope { decoder, input, time, key }) = &mut self.envelope {
            decoder.decode(&record, input).map_err(|error| Undecoded { wanted_by: "--time or --partition-key: ", error })?;
            if *time {
                record.arrival = input.time().record;
            }
            // A key that is read from JSON is a text.
            record.partition_key = if *key { std::str::from_utf8(input.key()).ok() } else { None };
        }
        self.decoder.decode(&record, &mut self.input).map_err(|error| Undecoded { wanted_by: "", error })?;
        self.duplicates = self.duplicates.saturating_add(self.input.duplicates());
        Ok(())
    }

    /// What the last line was.
    pub(super) const fn input(&self) -> &Input {
        &self.input
    }

    /// How many members stood twice in an object.
    pub(super) const fn duplicates(&self) -> u64 {
        self.duplicates
    }
}

/// The stream that the records come from.
fn stream(pipeline: Option<&Pipeline>, source: &Source) -> Result<String, TraceError> {
    let streams = pipeline.map(|pipeline| pipeline.program.streams.as_slice()).unwrap_or_default();
    let names = || streams.iter().map(|stream| stream.name.as_str()).collect::<Vec<_>>().join(", ");
    let wrong = |what: String| Err(TraceError::Argument(format!("{what}; the pipeline reads {}", names())));
    match (&source.from, streams) {
        (Some(from), _) if streams.iter().any(|stream| stream.name == *from) => Ok(from.clone()),
        (Some(_), []) => Err(TraceError::Argument("--from: the pipeline reads no streams".to_owned())),
        (Some(from), _) => wrong(format!("--from: there is no stream {from}")),
        (None, []) => Ok("main".to_owned()),
        (None, [only]) => Ok(only.name.clone()),
        (None, _) => wrong("say with --from which stream the records come from".to_owned()),
    }
}

impl Envelope {
    fn new(source: &Source, compression: Compression) -> Result<Option<Self>, TraceError> {
        if source.time.is_none() && source.partition_key.is_none() {
            return Ok(None);
        }
        // A root without inputs: nothing but key and time is read.
        let root = lang::check("out nothing = 1").map_err(|error| TraceError::Argument(error.to_string()))?;
        let key = source.partition_key.clone().map_or(KeyRule::PartitionKey, KeyRule::Field);
        let bindings = Bindings { key, time: source.time.as_deref(), compression, max_lead: i64::MAX, ..program::root_bindings() };
        let decoder = Decoder::new(&root, &bindings).map_err(|error| TraceError::Argument(error.to_string()))?;
        let input = decoder.input();
        Ok(Some(Self { decoder, input, time: source.time.is_some(), key: source.partition_key.is_some() }))
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_keep_their_numbers_and_blank_ones_are_no_records() {
        let mut lines = Lines::new(&b"{}\n\n  \t\r\n{\"a\":1}\r\n{}"[..]);
        let mut seen = Vec::new();
        while let Some((number, line)) = lines.next().expect("bytes can be read") {
            seen.push((number, String::from_utf8(line.to_vec()).expect("a text")));
        }
        assert_eq!(seen, [(1, "{}".to_owned()), (4, "{\"a\":1}".to_owned()), (5, "{}".to_owned())]);
    }
}

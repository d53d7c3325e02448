//! `millrace trace`: what a root does with records, tick by tick.
//!
//! Owns: its arguments, which record goes to which monitor, what is said beside the rows (`docs/trace.md`). `records`
//! reads, `keys` holds monitors, `print` prints: `table` for people, `lines` for tools.
//! May not: decode or evaluate; `codec` and `dataflow` do, as in a worker.

mod keys;
mod lines;
mod notes;
mod print;
mod records;
mod table;

use super::subject::Subject;
use super::{CliError, Output};
use crate::dataflow::{RecordTime, Scratch, TickError};
use crate::error::{Code, Exit, Meaning};
use keys::Keys;
use notes::Notes;
use print::{Failed, Printer, Shown};
use records::{Lines, Reader, Undecoded};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

/// Rows of a file that are held back to align them.
const BLOCK: usize = 256;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A root (`.dsrv`), or a file with a `StreamPipeline` (anything else).
    root: PathBuf,
    /// Records, one JSON object a line; - for the standard input. Of a root its members are inputs; of a pipeline it is a
    /// payload as the source would give it.
    records: PathBuf,
    /// The streams to show, in this order (default: all; with JSON, all `out` streams).
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    streams: Option<Vec<String>>,
    /// How ticks are printed.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    #[command(flatten)]
    source: Source,
}

/// What a file of payloads does not say.
#[derive(Debug, Default, clap::Args)]
pub(super) struct Source {
    /// The field that holds each record's arrival time, as a JSON pointer such as /at: an RFC 3339 text or epoch
    /// milliseconds. (Default: the first record arrives at 1970-01-01T00:00:01Z, each next one a second later.)
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    time: Option<String>,
    /// Of a pipeline: only the records of this key.
    #[arg(long)]
    key: Option<String>,
    /// Of a pipeline: the field that holds each record's partition key, as a JSON pointer. (Default: records have none.)
    #[arg(long, value_name = "POINTER", value_parser = pointer)]
    partition_key: Option<String>,
    /// Of a pipeline that reads several streams: the one that these records come from.
    #[arg(long, value_name = "STREAM")]
    from: Option<String>,
}

fn pointer(text: &str) -> Result<String, String> {
    if text.starts_with('/') { Ok(text.to_owned()) } else { Err(format!("write a JSON pointer, such as /{text}")) }
}

/// Why a trace ends early, or not well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum TraceError {
    /// An argument means nothing here.
    #[error("{0}")]
    Argument(String),
    /// A record does not decode.
    #[error("{file}:{line}: {error}", file = .0.display(), line = .1, error = .2)]
    Record(PathBuf, u64, Undecoded),
    /// The records cannot be read on.
    #[error("{path}: cannot be read", path = .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// Ticks have failed; they have been printed.
    #[error("{file}: {count} of the ticks failed, the first at line {line}", file = .file.display())]
    Failed {
        /// The records.
        file: PathBuf,
        /// How many.
        count: u64,
        /// The line of the first.
        line: u64,
    },
    /// The evaluator refuses a row.
    #[error("the row of line {0} is not taken: {1}")]
    Refused(u64, TickError),
}

impl Meaning for TraceError {
    fn code(&self) -> Code {
        match self {
            Self::Argument(_) => Code::BAD_ARGUMENT,
            Self::Record(_, _, error) => error.error.code(),
            Self::Unreadable(..) => Code::UNREADABLE_FILE,
            Self::Failed { .. } => Code::TICK_FAILED,
            Self::Refused(..) => Code::INTERNAL,
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Argument(_) | Self::Unreadable(..) => Exit::Usage,
            Self::Record(..) | Self::Failed { .. } => Exit::Invalid,
            Self::Refused(..) => Exit::Fault,
        }
    }
}

/// A record on its way through its monitor.
pub(super) struct Tick<'a> {
    /// Its line, from 1.
    line: u64,
    key: &'a [u8],
    time: RecordTime,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let subject = Subject::open(&arguments.root)?;
    let unreadable = |error| CliError::Unreadable(arguments.file(), error);
    let mut notes = Notes::default();
    let done = if arguments.records.as_os_str() == "-" {
        trace(arguments, &subject, (std::io::stdin().lock(), &mut notes), out)
    } else {
        let file = std::fs::File::open(&arguments.records).map_err(unreadable)?;
        trace(arguments, &subject, (BufReader::new(file), &mut notes), out)
    };
    // Nothing is left to be done where even this cannot be printed.
    let _unprintable = std::io::stderr().lock().write_all(notes.text().as_bytes());
    done
}

/// Traces records that are read from anywhere.
fn trace(
    arguments: &Arguments,
    subject: &Subject,
    (records, notes): (impl BufRead, &mut Notes),
    out: &mut impl Write,
) -> Result<(), CliError> {
    arguments.fit(subject)?;
    let reader = Reader::new(subject, &arguments.source, &arguments.file())?;
    let plan = &subject.loaded.plan;
    let unknown = |name| TraceError::Argument(format!("--streams: the root has no stream {name}; {}", names(subject)));
    let printer = Printer::new(plan, arguments.shown(subject)).map_err(unknown)?;
    let keys = Keys::new(arguments.source.ttl(subject));
    let mut trace = Trace { arguments, subject, reader, printer, keys, scratch: Scratch::default(), notes, failed: None };
    let done = trace.all(records, out);
    // Rows that came before an error are printed before it.
    trace.printer.flush(out)?;
    trace.close(done.is_ok());
    done?;
    match trace.failed {
        Some((count, line)) => Err(TraceError::Failed { file: arguments.file(), count, line }.into()),
        None => Ok(()),
    }
}

fn names(subject: &Subject) -> String {
    let names: Vec<_> = subject.loaded.plan.streams().iter().map(|stream| &*stream.name).collect();
    format!("it has {}", names.join(", "))
}

impl Arguments {
    /// The records, as messages name them.
    fn file(&self) -> PathBuf {
        if self.records.as_os_str() == "-" { "standard input".into() } else { self.records.clone() }
    }

    /// Holds the arguments against what is traced.
    fn fit(&self, subject: &Subject) -> Result<(), TraceError> {
        let source = &self.source;
        let of_pipelines = [("--key", &source.key), ("--partition-key", &source.partition_key), ("--from", &source.from)];
        match of_pipelines.iter().find(|(_, value)| value.is_some()) {
            Some((name, _)) if subject.pipeline.is_none() => Err(TraceError::Argument(format!(
                "{name} is for pipelines: {} is a root by itself, which has one monitor for all records and knows of no keys",
                subject.file.display()
            ))),
            _ => Ok(()),
        }
    }

    fn shown(&self, subject: &Subject) -> Shown {
        let pipeline = subject.pipeline.as_deref();
        let timed = pipeline.is_some_and(|pipeline| pipeline.program.root.time.is_some());
        Shown {
            output: self.output,
            streams: self.streams.clone(),
            key: pipeline.is_some() && (self.source.key.is_none() || self.output == Output::Json),
            time: timed || self.source.time.is_some(),
            held: if self.records.as_os_str() == "-" { 1 } else { BLOCK },
        }
    }
}

impl Source {
    /// How long the state of a quiet key lives. Without arrival times, for ever.
    fn ttl(&self, subject: &Subject) -> Option<i64> {
        let ttl = subject.pipeline.as_ref()?.program.state_ttl.as_ref()?;
        self.time.as_ref().map(|_| ttl.micros())
    }
}

/// A trace while it goes on.
struct Trace<'a> {
    arguments: &'a Arguments,
    subject: &'a Subject,
    reader: Reader,
    printer: Printer,
    keys: Keys,
    scratch: Scratch,
    notes: &'a mut Notes,
    /// How many ticks failed, and the line of the first.
    failed: Option<(u64, u64)>,
}

impl Trace<'_> {
    fn all(&mut self, records: impl BufRead, out: &mut impl Write) -> Result<(), CliError> {
        let file = self.arguments.file();
        let mut lines = Lines::new(records);
        while let Some((line, payload)) = lines.next().map_err(|error| TraceError::Unreadable(file.clone(), error))? {
            self.reader.read(line, payload).map_err(|error| TraceError::Record(file.clone(), line, error))?;
            self.record(line, out)?;
            if self.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// One record, which has been read, through its monitor.
    fn record(&mut self, line: u64, out: &mut impl Write) -> Result<(), CliError> {
        let plan = &self.subject.loaded.plan;
        let input = self.reader.input();
        self.notes.key(input.key(), self.arguments.source.key.as_deref());
        if self.arguments.source.key.as_ref().is_some_and(|key| key.as_bytes() != input.key()) {
            return Ok(());
        }
        self.notes.inputs(input.row());
        let tick = Tick { line, key: input.key(), time: input.time() };
        let key = self.keys.at(tick.key, tick.time.arrival, plan);
        match key.monitor.tick(plan, input.row(), tick.time, &mut self.scratch) {
            Ok(row) => self.printer.row(&tick, row, out)?,
            Err(TickError::MonitorFailed(_)) => self.printer.over(&tick, key.ended.unwrap_or_default(), out)?,
            Err(TickError::Failed(failure)) => {
                key.ended = Some(line);
                let (count, first) = self.failed.unwrap_or((0, line));
                self.failed = Some((count + 1, first));
                let failed = Failed { subject: self.subject, records: &self.arguments.file(), failure: &failure };
                self.printer.failed(&tick, &failed, out)?;
            }
            Err(error) => return Err(TraceError::Refused(line, error).into()),
        }
        self.notes.refused(line, plan);
        Ok(())
    }

    /// Whether nothing more can be said: in JSON, after the failure of the only monitor.
    fn is_over(&self) -> bool {
        self.failed.is_some() && self.subject.pipeline.is_none() && self.arguments.output == Output::Json
    }

    /// Notes what stands in no row. What no record has is known only where all were read.
    fn close(&mut self, all: bool) {
        let plan = &self.subject.loaded.plan;
        self.notes.windows(plan, &self.scratch.take_window_counts());
        self.notes.unkeyed(self.subject, &self.arguments.source);
        if all && !self.is_over() {
            self.notes.unseen(plan, self.arguments.source.key.as_deref());
        }
        self.notes.counts(self.reader.duplicates(), self.printer.nulls());
    }
}

#[cfg(test)]
mod tests;

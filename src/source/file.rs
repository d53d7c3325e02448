//! Files of records, one a line; for trials and tests. A folder's files are a split each.
//!
//! Owns: what is a record in a file: a line without its line end; blank lines are none.
//! May not: decode records.

use super::queue::{Closed, Feeder, QueueLane, QueueLimits, queue};
use crate::env::{Env, first_of};
use crate::error::Code;
use crate::flow::{ErrorClass, Page, Record, SourceError, SplitId};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::watch;

/// How much is read at once.
const CHUNK: usize = 256 << 10;
/// The longest line: what a Kinesis record may carry.
pub const LONGEST_LINE: usize = 10 << 20;
/// The path that stands for the standard input.
pub const STANDARD_INPUT: &str = "-";

/// One file that is read as a split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSplit {
    /// Its split: the file's name.
    pub id: SplitId,
    /// Where it is; `-` for the standard input.
    pub path: PathBuf,
}

/// The splits of a path: the file, or the files of the folder in the order of their names. Hidden files and folders in it
/// are none.
///
/// # Errors
/// Nothing is there, or it cannot be read.
pub fn splits(path: &Path) -> Result<Vec<FileSplit>, SourceError> {
    let name = |path: &Path| path.file_name().map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned());
    if path.as_os_str() == STANDARD_INPUT {
        return Ok(vec![FileSplit { id: SplitId::new("stdin"), path: path.to_owned() }]);
    }
    let unreadable = |error: &io::Error| failure(path, &format!("cannot be read: {error}"));
    if !std::fs::metadata(path).map_err(|error| unreadable(&error))?.is_dir() {
        return Ok(vec![FileSplit { id: SplitId::new(&name(path)), path: path.to_owned() }]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(|error| unreadable(&error))? {
        let file = entry.map_err(|error| unreadable(&error))?.path();
        if file.is_file() && !name(&file).starts_with('.') {
            files.push(FileSplit { id: SplitId::new(&name(&file)), path: file });
        }
    }
    files.sort_by(|one, other| one.id.cmp(&other.id));
    if files.is_empty() { Err(failure(path, "is a folder without files")) } else { Ok(files) }
}

fn failure(path: &Path, what: &str) -> SourceError {
    let message = format!("{} {what}", path.display()).into();
    SourceError { class: ErrorClass::Fatal, code: Code::UNREADABLE_FILE, message }
}

/// Starts to read a file. Once `stop` says so, or its sender is gone, no more is read: the lane ends behind what it has.
#[must_use]
pub fn open(env: &Env, split: &FileSplit, limits: QueueLimits, stop: watch::Receiver<bool>) -> QueueLane {
    let (feeder, lane) = queue(limits);
    env.tasks().spawn("file fetcher", Box::pin(fetch(env.clone(), split.clone(), feeder, stop)));
    lane
}

async fn fetch(env: Env, split: FileSplit, feeder: Feeder, mut stop: watch::Receiver<bool>) {
    let work = async {
        let reader: Pin<Box<dyn AsyncRead + Send>> = if split.path.as_os_str() == STANDARD_INPUT {
            Box::pin(tokio::io::stdin())
        } else {
            match tokio::fs::File::open(&split.path).await {
                Ok(file) => Box::pin(file),
                Err(error) => return Err(failure(&split.path, &format!("cannot be read: {error}"))),
            }
        };
        Lines::new(&split, env.clone()).read(reader, &feeder).await
    };
    let stopped = async {
        // An error is a sender that is gone: the same.
        drop(stop.wait_for(|stop| *stop).await);
    };
    match first_of(work, stopped).await {
        Some(Err(error)) => feeder.fail(error),
        Some(Ok(())) | None => drop(feeder),
    }
}

/// Lines of one file, as they become pages.
struct Lines<'a> {
    split: &'a FileSplit,
    env: Env,
    stream: Arc<str>,
    shard: Arc<str>,
    /// Bytes behind the last line end.
    rest: Vec<u8>,
    line: u64,
    number: String,
}

impl<'a> Lines<'a> {
    fn new(split: &'a FileSplit, env: Env) -> Self {
        let shard = split.id.as_str().into();
        Self { split, env, stream: "main".into(), shard, rest: Vec::new(), line: 0, number: String::new() }
    }

    async fn read(mut self, mut reader: impl AsyncRead + Unpin, feeder: &Feeder) -> Result<(), SourceError> {
        loop {
            let had = self.rest.len();
            self.rest.reserve(CHUNK);
            let read = reader.read_buf(&mut self.rest).await;
            if read.map_err(|error| failure(&self.split.path, &format!("cannot be read further: {error}")))? == 0 {
                let mut page = self.page();
                let last = std::mem::take(&mut self.rest);
                self.push(&mut page, &last);
                return closed(feeder.send(page).await);
            }
            let page = self.complete_lines(had);
            if self.rest.len() > LONGEST_LINE {
                let what = format!("has a line of more than {} MiB, line {}", LONGEST_LINE >> 20, self.line.saturating_add(1));
                return Err(failure(&self.split.path, &what));
            }
            if feeder.send(page).await.is_err() {
                return Ok(());
            }
        }
    }

    fn page(&self) -> Page {
        Page::new(Arc::clone(&self.stream), Arc::clone(&self.shard))
    }

    /// Takes the lines that are whole; before `had` there is no line end.
    fn complete_lines(&mut self, had: usize) -> Page {
        let mut page = self.page();
        let bytes = std::mem::take(&mut self.rest);
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', bytes.get(had..).unwrap_or_default());
        for end in ends.map(|at| at.saturating_add(had)) {
            self.push(&mut page, bytes.get(start..end).unwrap_or_default());
            start = end.saturating_add(1);
        }
        self.rest = bytes;
        self.rest.drain(..start);
        page
    }

    fn push(&mut self, page: &mut Page, line: &[u8]) {
        self.line = self.line.saturating_add(1);
        let payload = line.strip_suffix(b"\r").unwrap_or(line);
        if payload.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.number.clear();
        // Writing to a text cannot fail.
        let _written = write!(self.number, "{}", self.line);
        page.push(&Record {
            stream: &self.stream,
            shard: &self.shard,
            partition_key: None,
            sequence_number: &self.number,
            sub_sequence: None,
            arrival: self.env.clock().wall_micros(),
            payload,
        });
    }
}

/// A loop that reads no more is no failure.
fn closed(sent: Result<(), Closed>) -> Result<(), SourceError> {
    sent.or(Ok(()))
}

#[cfg(test)]
mod tests;

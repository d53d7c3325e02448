//! Files of records, one a line; for trials and tests. A folder's files are a split each.
//!
//! Owns: what is a record in a file: a line without its line end; blank lines are none.
//! May not: decode records.

use super::fetching::Fetching;
use super::places::{Ended, Places};
use super::queue::{Feeder, QueueLane, queue};
use super::simple::Reader;
use crate::env::{Env, first_of};
use crate::error::Code;
use crate::flow::{ErrorClass, Page, Record, SourceError, SplitId};
use std::fmt::{self, Write as _};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncSeekExt};
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

/// A place in a file: behind so many lines and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePlace {
    line: u64,
    offset: u64,
}

impl fmt::Display for FilePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} byte {}", self.line, self.offset)
    }
}

impl FromStr for FilePlace {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.strip_prefix("line ").and_then(|text| text.split_once(" byte ")).ok_or(())?;
        let number = |text: &str| text.parse().map_err(drop);
        Ok(Self { line: number(numbers.0)?, offset: number(numbers.1)? })
    }
}

/// Files as splits, by name.
#[derive(Clone, Debug)]
pub struct FileReader {
    /// Where fetchers run.
    pub env: Env,
    /// The files.
    pub splits: Vec<FileSplit>,
}

impl Reader for FileReader {
    fn open(&self, split: &SplitId, behind: Option<&str>, fetching: Fetching) -> Result<QueueLane, SourceError> {
        let fatal = |message: String| SourceError { class: ErrorClass::Fatal, code: Code::UNREADABLE_FILE, message: message.into() };
        let file = self.splits.iter().find(|file| file.id == *split).ok_or_else(|| fatal(format!("file {split} is gone")))?;
        let place = behind.map_or(Ok(FilePlace::default()), str::parse);
        let place = place.map_err(|()| fatal(format!("{} is no place in file {split}", behind.unwrap_or_default())))?;
        Ok(open(&self.env, file, place, fetching))
    }

    fn start(&self) -> Arc<str> {
        FilePlace::default().to_string().into()
    }
}

/// Starts to read a file from a place on.
#[must_use]
pub fn open(env: &Env, split: &FileSplit, from: FilePlace, fetching: Fetching) -> QueueLane {
    let Fetching { limits, stop, places } = fetching;
    let (feeder, lane) = queue(limits);
    let lines = Lines { place: from, ..Lines::new(split.clone(), env.clone(), places) };
    env.tasks().spawn("file fetcher", Box::pin(fetch(lines, feeder, stop)));
    lane
}

async fn fetch(mut lines: Lines, feeder: Feeder, mut stop: watch::Receiver<bool>) {
    let places = lines.places.clone();
    let read = first_of(lines.read_all(&feeder), Fetching::stopped(&mut stop)).await;
    places.end(if matches!(read, Some(Ok(()))) { Ended::Complete } else { Ended::Stopped });
    if let Some(Err(error)) = read {
        feeder.fail(error);
    }
}

/// Lines of one file, as they become pages.
struct Lines {
    split: FileSplit,
    env: Env,
    stream: Arc<str>,
    shard: Arc<str>,
    places: Places,
    /// Behind the last whole line.
    place: FilePlace,
    /// Bytes behind it.
    rest: Vec<u8>,
    number: String,
}

impl Lines {
    fn new(split: FileSplit, env: Env, places: Places) -> Self {
        let (stream, shard) = ("main".into(), split.id.as_str().into());
        Self { split, env, stream, shard, places, place: FilePlace::default(), rest: Vec::new(), number: String::new() }
    }

    async fn read_all(&mut self, feeder: &Feeder) -> Result<(), SourceError> {
        if self.split.path.as_os_str() == STANDARD_INPUT {
            return self.read(tokio::io::stdin(), feeder).await;
        }
        let path = self.split.path.clone();
        let unreadable = |error: io::Error| failure(&path, &format!("cannot be read: {error}"));
        let mut file = tokio::fs::File::open(&path).await.map_err(unreadable)?;
        if self.place.offset > 0 {
            file.seek(io::SeekFrom::Start(self.place.offset)).await.map_err(unreadable)?;
        }
        self.read(file, feeder).await
    }

    async fn read(&mut self, mut reader: impl AsyncRead + Unpin, feeder: &Feeder) -> Result<(), SourceError> {
        loop {
            let had = self.rest.len();
            self.rest.reserve(CHUNK);
            let read = reader.read_buf(&mut self.rest).await;
            let at_end = read.map_err(|error| failure(&self.split.path, &format!("cannot be read further: {error}")))? == 0;
            let page = if at_end { self.last_line() } else { self.complete_lines(had) };
            if self.rest.len() > LONGEST_LINE {
                let what = format!("has a line of more than {} MiB, line {}", LONGEST_LINE >> 20, self.place.line.saturating_add(1));
                return Err(failure(&self.split.path, &what));
            }
            let (records, behind) = (page.len(), self.place.to_string().into());
            // A loop that reads no more is no failure.
            if feeder.send(page, || self.places.note(records, behind)).await.is_err() || at_end {
                return Ok(());
            }
        }
    }

    fn page(&self) -> Page {
        Page::new(Arc::clone(&self.stream), Arc::clone(&self.shard))
    }

    /// Takes what stands behind the last line end.
    fn last_line(&mut self) -> Page {
        let mut page = self.page();
        let last = std::mem::take(&mut self.rest);
        if !last.is_empty() {
            self.push(&mut page, &last);
            self.place.offset = self.place.offset.saturating_add(last.len() as u64);
        }
        page
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
        self.place.offset = self.place.offset.saturating_add(start as u64);
        self.rest = bytes;
        self.rest.drain(..start);
        page
    }

    fn push(&mut self, page: &mut Page, line: &[u8]) {
        self.place.line = self.place.line.saturating_add(1);
        let payload = line.strip_suffix(b"\r").unwrap_or(line);
        if payload.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        self.number.clear();
        // Writing to a text cannot fail.
        let _written = write!(self.number, "{}", self.place.line);
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

#[cfg(test)]
mod tests;

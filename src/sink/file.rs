//! Files and the standard output: a line a row, written by the loop itself.
//!
//! Owns: opening and writing them.
//! May not: read, rotate or cut a file: what stands in it stays, and rows are added behind it.

use crate::error::{Code, Retry};
use crate::runtime::{NativeDestination, OutputError, Rows};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

/// A file, or the standard output.
pub struct LineDestination {
    name: Arc<str>,
    place: String,
    to: To,
}

enum To {
    File(File),
    Writer(Box<dyn Write + Send>),
}

impl LineDestination {
    /// Opens a file for an output of this name; where there is none, it is made.
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn file(name: &Arc<str>, path: &Path) -> Result<Self, OutputError> {
        let place = path.display().to_string();
        match OpenOptions::new().create(true).append(true).open(path) {
            Ok(file) => Ok(Self { name: Arc::clone(name), place, to: To::File(file) }),
            Err(error) => Err(failed(name, &place, "cannot be opened", &error)),
        }
    }

    /// The standard output, or what stands in for it.
    #[must_use]
    pub fn stdout(name: &Arc<str>, writer: Box<dyn Write + Send>) -> Self {
        Self { name: Arc::clone(name), place: "the standard output".to_owned(), to: To::Writer(writer) }
    }

    fn failed(&self, what: &str, error: &io::Error) -> OutputError {
        failed(&self.name, &self.place, what, error)
    }
}

fn failed(name: &Arc<str>, place: &str, what: &str, error: &io::Error) -> OutputError {
    let code = if error.kind() == io::ErrorKind::BrokenPipe { Code::READER_GONE } else { Code::OUTPUT_FAILED };
    OutputError { output: Arc::clone(name), code, retry: Retry::Never, message: format!("{place} {what}: {error}").into() }
}

impl NativeDestination for LineDestination {
    fn write(&mut self, rows: &Rows) -> Result<(), OutputError> {
        let written = match &mut self.to {
            To::File(file) => file.write_all(rows.lines()),
            To::Writer(writer) => writer.write_all(rows.lines()).and_then(|()| writer.flush()),
        };
        written.map_err(|error| self.failed("cannot be written", &error))
    }

    fn close(&mut self) -> Result<(), OutputError> {
        let closed = match &mut self.to {
            To::File(file) => match file.sync_data() {
                // Pipes and devices have no medium.
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
                other => other,
            },
            To::Writer(writer) => writer.flush(),
        };
        closed.map_err(|error| self.failed("cannot be written to the end", &error))
    }
}

impl fmt::Debug for LineDestination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineDestination").field("name", &self.name).field("place", &self.place).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::LineDestination;
    use crate::runtime::{NativeDestination, Rows};

    fn rows(text: &str) -> Rows {
        let mut rows = Rows::default();
        rows.push("", |bytes| bytes.extend_from_slice(text.as_bytes()));
        rows
    }

    #[test]
    fn rows_are_added_behind_what_a_file_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for text in ["{\"n\":1}", "{\"n\":2}"] {
            let mut file = LineDestination::file(&"rows".into(), &path).unwrap();
            file.write(&rows(text)).unwrap();
            file.close().unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), "{\"n\":1}\n{\"n\":2}\n");
    }

    #[test]
    fn a_file_that_cannot_be_opened_is_named_with_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let error = LineDestination::file(&"rows".into(), &folder.path().join("no/such")).unwrap_err();
        assert!(error.to_string().starts_with("output rows: ") && error.to_string().contains("no/such cannot be opened"), "{error}");
    }
}

//! `millrace fmt`: lays roots out in the one canonical way.
//!
//! Owns: which files are read and written.
//! May not: know the layout; `lang` does.

use super::{CliError, read, subject};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Roots (`.dsrv`), written back in place; - reads the standard input and prints.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Writes nothing; says which files are not laid out so, and fails if there is one.
    #[arg(long)]
    check: bool,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let mut other = 0;
    for file in &arguments.files {
        if file.as_os_str() != "-" && !subject::is_root(file) {
            return Err(CliError::OtherFile(file.clone(), "fmt lays out roots, and a root's file ends in .dsrv"));
        }
        let bytes = read(file).map_err(|error| CliError::Unreadable(file.clone(), error))?;
        let text = String::from_utf8(bytes).map_err(|error| CliError::Unreadable(file.clone(), std::io::Error::other(error)))?;
        let formatted = crate::lang::format(&text).map_err(|errors| CliError::Root(file.clone(), Box::new(errors)))?;
        if arguments.check {
            if formatted != text {
                writeln!(out, "{}: not formatted", file.display())?;
                other += 1;
            }
        } else if file.as_os_str() == "-" {
            write!(out, "{formatted}")?;
        } else if formatted != text {
            replace(file, &formatted).map_err(|error| CliError::Unwritable(file.clone(), error))?;
            writeln!(out, "{}: formatted", file.display())?;
        }
    }
    if other == 0 { Ok(()) } else { Err(CliError::NotFormatted(other)) }
}

/// Writes beside the file and renames, so that a crash leaves the old text or the new one.
fn replace(file: &Path, text: &str) -> std::io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".millrace-fmt");
    let beside = file.with_file_name(name);
    std::fs::write(&beside, text)?;
    std::fs::set_permissions(&beside, std::fs::metadata(file)?.permissions())?;
    std::fs::rename(&beside, file).inspect_err(|_| {
        // The error that is told is the first one.
        let _left_behind = std::fs::remove_file(&beside);
    })
}

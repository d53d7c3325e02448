//! `millrace check`: roots and pipelines, without running them.
//!
//! Owns: which file is what, how findings are printed, for people and as JSON (`docs/check.md`).
//! May not: know a rule; `lang` and `api` do.

use super::{CliError, Output, read, subject};
use crate::api::StreamPipeline;
use crate::api::manifest::{self, ManifestError};
use crate::api::revision::{Program, Revision, RevisionError};
use crate::error::{Code, Meaning};
use crate::lang::diagnostic::{self, Diagnostic, Report};
use crate::program::{self, Loaded, ProgramError};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Roots (`.dsrv`) and files with one `StreamPipeline` each (anything else); - for a pipeline on the standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Prints the digest of each pipeline's program, and nothing else where all is well.
    #[arg(long)]
    digest: bool,
    /// How findings are printed.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// What was found in one file. Its JSON form is a contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Verdict {
    file: String,
    kind: &'static str,
    valid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    findings: Vec<Finding>,
    #[serde(skip)]
    drawn: String,
}

/// One finding. `path` names a field of a manifest; line and column (from 1, in characters) count in the root's text.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    code: String,
    severity: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let mut invalid = 0;
    for file in &arguments.files {
        let bytes = read(file).map_err(|error| CliError::Unreadable(file.clone(), error))?;
        let verdict = if subject::is_root(file) { root(file, &bytes) } else { pipeline(file, &bytes) };
        invalid += usize::from(!verdict.valid);
        print(arguments, &verdict, out)?;
    }
    if invalid == 0 { Ok(()) } else { Err(CliError::Checked(invalid)) }
}

fn print(arguments: &Arguments, verdict: &Verdict, out: &mut impl Write) -> Result<(), CliError> {
    if arguments.output == Output::Json {
        let line = serde_json::to_string(verdict).map_err(std::io::Error::from)?;
        return Ok(writeln!(out, "{line}")?);
    }
    write!(out, "{}", verdict.drawn)?;
    match (&verdict.digest, verdict.valid) {
        (Some(digest), true) if arguments.digest => writeln!(out, "{digest}")?,
        (_, true) if !arguments.digest => writeln!(out, "{}: valid", verdict.file)?,
        _ => {}
    }
    Ok(())
}

/// Holds one root against the language.
fn root(file: &Path, bytes: &[u8]) -> Verdict {
    let name = file.display().to_string();
    let mut verdict = Verdict { file: name.clone(), kind: "root", valid: true, digest: None, findings: Vec::new(), drawn: String::new() };
    match std::str::from_utf8(bytes) {
        Ok(text) => verdict.judge(text, (&name, None), program::of_root(text)),
        Err(error) => verdict.note(Code::INVALID_YAML, None, format!("it is no text in UTF-8 ({error})")),
    }
    verdict
}

/// Holds one pipeline against its schema, its root against the language, and the names in the one against the other.
fn pipeline(file: &Path, bytes: &[u8]) -> Verdict {
    let name = file.display().to_string();
    let mut verdict = Verdict { file: name, kind: "pipeline", valid: true, digest: None, findings: Vec::new(), drawn: String::new() };
    match manifest::read(bytes) {
        Ok(pipeline) => program(&pipeline, &mut verdict),
        Err(ManifestError::Invalid(problems)) => {
            for problem in problems {
                verdict.note(Code::INVALID_SPEC, Some(problem.path), problem.message);
            }
        }
        // A root under another name is the likeliest of what is no YAML.
        Err(error @ ManifestError::Yaml(_)) => verdict.note(error.code(), None, format!("{error} (a root's file ends in .dsrv)")),
        Err(error) => verdict.note(error.code(), None, error.to_string()),
    }
    verdict
}

fn program(pipeline: &StreamPipeline, verdict: &mut Verdict) {
    if let Some(text) = &pipeline.spec.root.inline {
        let place = subject::place_in(&verdict.file);
        verdict.judge(text, (&place, Some("spec.root.inline")), program::load(&pipeline.spec, text));
    }
    match Program::of(&pipeline.spec, None).and_then(|program| Revision::of(&program)) {
        Ok(revision) => verdict.digest = Some(revision.digest().to_string()),
        // The manifest is valid; only its digest needs a cluster.
        Err(RevisionError::TextMissing(_)) => {}
        Err(error) => verdict.note(error.code(), None, error.to_string()),
    }
}

impl Verdict {
    /// Adds what is wrong with a program. `at` is what places in its root are named after, and its field in a manifest.
    fn judge(&mut self, text: &str, at: (&str, Option<&str>), loaded: Result<Loaded, ProgramError>) {
        match loaded {
            Ok(loaded) => self.warn(text, at, &loaded.root.warnings),
            Err(ProgramError::Root(errors)) => {
                self.valid = false;
                self.drawn.push_str(&errors.render(at.0));
                self.findings.extend(errors.reports().into_iter().map(|report| Finding::of(report, at.1)));
            }
            Err(ProgramError::Names { problems, warnings }) => {
                self.warn(text, at, &warnings);
                for problem in problems {
                    self.note(Code::NAMES_DIFFER, Some(problem.path), problem.message);
                }
            }
            Err(ProgramError::Binding { error, warnings }) => {
                self.warn(text, at, &warnings);
                self.note(error.code(), None, error.to_string());
            }
        }
    }

    fn warn(&mut self, text: &str, (file, path): (&str, Option<&str>), warnings: &[Diagnostic]) {
        self.drawn.push_str(&diagnostic::render(text, file, warnings));
        self.findings.extend(diagnostic::reports(text, warnings).into_iter().map(|report| Finding::of(report, path)));
    }

    /// Notes what makes the file invalid.
    fn note(&mut self, code: Code, path: Option<String>, message: String) {
        self.valid = false;
        let path = path.filter(|path| !path.is_empty());
        let place = path.as_deref().map(|path| format!("{path}: ")).unwrap_or_default();
        self.drawn.push_str(&format!("error[{code}]: {}: {place}{message}\n", self.file));
        let code = code.to_string();
        self.findings.push(Finding {
            code,
            severity: "error",
            message,
            path,
            line: None,
            column: None,
            end_line: None,
            end_column: None,
            hint: None,
        });
    }
}

impl Finding {
    fn of(report: Report, path: Option<&str>) -> Self {
        Self {
            code: report.code,
            severity: report.severity,
            message: report.message,
            path: path.map(str::to_owned),
            line: Some(report.line),
            column: Some(report.column),
            end_line: Some(report.end_line),
            end_column: Some(report.end_column),
            hint: report.hint,
        }
    }
}

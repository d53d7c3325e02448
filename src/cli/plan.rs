//! `millrace plan`: what becomes of state when one program takes another's place.
//!
//! Owns: how that is printed, for people and as JSON (`docs/plan.md`).
//! May not: decide; `dataflow::transfer` does for streams, the classes beside the fields do for the rest of a manifest.

use super::subject::{Pipeline, Subject};
use super::{CliError, Output};
use crate::api::class::{self, Class};
use crate::api::manifest::{self, Problem};
use crate::api::pipeline::{CutoverMode, KeyBy};
use crate::dataflow::{Decision, Transfer};
use crate::program::ports;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// What runs: a root (`.dsrv`), or a file with a `StreamPipeline` (anything else; - for the standard input).
    old: PathBuf,
    /// What is to take its place.
    new: PathBuf,
    /// How it is printed.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

/// What a cutover does. Its JSON form is a contract.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    old: Side,
    new: Side,
    changed: bool,
    key_changed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<CutoverMode>,
    streams: Vec<Stream>,
    gone: Vec<String>,
    interface: Vec<String>,
    changes: Vec<Change>,
    refused: Vec<Refused>,
    #[serde(skip)]
    keys: Option<String>,
}

#[derive(Debug, Serialize)]
struct Side {
    file: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
}

#[derive(Debug, Serialize)]
struct Stream {
    #[serde(rename = "stream")]
    name: String,
    decision: String,
    reason: String,
    exact: bool,
}

/// A field of the manifest that differs.
#[derive(Debug, Serialize)]
struct Change {
    path: String,
    class: &'static str,
}

/// A field that may not change so.
#[derive(Debug, Serialize)]
struct Refused {
    path: String,
    message: String,
}

pub(super) fn run(arguments: &Arguments, out: &mut impl Write) -> Result<(), CliError> {
    let (old, new) = match (Subject::open(&arguments.old), Subject::open(&arguments.new)) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(old), Err(new)) => return Err(CliError::Both(Box::new((old, new)))),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let pipelines = old.pipeline.as_deref().zip(new.pipeline.as_deref());
    let refused = pipelines.map(|(old, new)| refused(old, new)).unwrap_or_default();
    let report = Report::of(&old, &new, &refused);
    match arguments.output {
        Output::Text => report.print(out)?,
        Output::Json => writeln!(out, "{}", serde_json::to_string(&report).map_err(std::io::Error::from)?)?,
    }
    if refused.is_empty() { Ok(()) } else { Err(CliError::Refused(new.file, refused)) }
}

/// What the rules on changes say against it. Each manifest by itself keeps every rule.
fn refused(old: &Pipeline, new: &Pipeline) -> Vec<Problem> {
    manifest::check(&new.document, Some(&old.document)).err().unwrap_or_default()
}

impl Side {
    fn of(subject: &Subject) -> Self {
        let digest = subject.pipeline.as_ref().map(|pipeline| pipeline.digest.to_string());
        Self { file: subject.file.display().to_string(), kind: subject.kind(), digest }
    }
}

impl Report {
    fn of(old: &Subject, new: &Subject, refused: &[Problem]) -> Self {
        let pipelines = old.pipeline.as_deref().zip(new.pipeline.as_deref());
        let changed = pipelines.map_or(old.text != new.text, |(old, new)| old.digest != new.digest);
        let keys = pipelines.and_then(|(old, new)| keys(old, new));
        let transfer = Transfer::new(&old.loaded.plan, &new.loaded.plan);
        let mode = pipelines.map(|(_, new)| new.manifest.spec.cutover.as_ref().and_then(|cutover| cutover.mode).unwrap_or_default());
        let mut interface = differing(&ports(&old.loaded.plan), &ports(&new.loaded.plan));
        let fields = pipelines.map(|(old, new)| fields(old, new, changed)).unwrap_or_default();
        let program = fields.iter().filter(|(_, class)| *class == Class::Program);
        interface.extend(program.map(|(path, _)| path).filter(|path| is_interface(path)).cloned());
        Self {
            old: Side::of(old),
            new: Side::of(new),
            changed,
            key_changed: keys.is_some(),
            mode,
            streams: streams(&transfer, keys.is_some(), mode),
            gone: transfer.gone.iter().map(ToString::to_string).collect(),
            interface,
            changes: fields.into_iter().map(|(path, class)| Change { path, class: class.word() }).collect(),
            refused: refused.iter().map(|Problem { path, message }| Refused { path: path.clone(), message: message.clone() }).collect(),
            keys,
        }
    }

    fn print(&self, out: &mut impl Write) -> std::io::Result<()> {
        if !self.changed && self.changes.is_empty() {
            return writeln!(out, "nothing changes");
        }
        if self.changed {
            self.print_streams(out)?;
        } else {
            writeln!(out, "the program is the same: no cutover")?;
        }
        if self.changed && self.mode == Some(CutoverMode::Generation) {
            writeln!(out, "cutover.mode is Generation: of what is kept or carried only delays move, all else starts afresh")?;
        }
        line(out, "interface changed", self.interface.iter().map(String::as_str))?;
        let of = |wanted: Class| self.changes.iter().filter(move |change| change.class == wanted.word()).map(|change| change.path.as_str());
        let known = |path: &&str| is_interface(path) || is_state(path);
        line(out, "changed in the program as well", of(Class::Program).filter(|path| !known(path)))?;
        line(out, "a rollout of the pods", of(Class::Pods))?;
        line(out, "at once", of(Class::Live))
    }

    fn print_streams(&self, out: &mut impl Write) -> std::io::Result<()> {
        let names = self.streams.iter().map(|stream| &stream.name).chain(&self.gone);
        let width = names.map(String::len).max().unwrap_or_default();
        for Stream { name, decision, reason, .. } in &self.streams {
            writeln!(out, "{name:width$}  {decision:5}  {reason}")?;
        }
        for stream in &self.gone {
            writeln!(out, "{stream:width$}  gone")?;
        }
        if let Some(keys) = &self.keys {
            writeln!(out, "keyBy is another ({keys}): all state starts afresh")?;
        }
        let count = |wanted: Decision| self.streams.iter().filter(|stream| stream.decision == wanted.to_string()).count();
        let (kept, carried, reset) = (count(Decision::Keep), count(Decision::Carry), count(Decision::Reset));
        writeln!(out, "a cutover: {kept} kept, {carried} carried, {reset} reset, {} gone", self.gone.len())
    }
}

/// A line of names, where there is one.
fn line<'a>(out: &mut impl Write, what: &str, names: impl Iterator<Item = &'a str>) -> std::io::Result<()> {
    let names: Vec<_> = names.collect();
    if names.is_empty() { Ok(()) } else { writeln!(out, "{what}: {}", names.join(", ")) }
}

/// Both keys in words, where they differ.
fn keys(old: &Pipeline, new: &Pipeline) -> Option<String> {
    let word = |key: &Option<KeyBy>| {
        let field = key.as_ref().and_then(|key| key.field.as_deref());
        field.map_or_else(|| "the partition key".to_owned(), |field| format!("field {field}"))
    };
    let (old, new) = (&old.program.key_by, &new.program.key_by);
    (old != new).then(|| format!("{} before, {} now", word(old), word(new)))
}

fn streams(transfer: &Transfer, key_changed: bool, mode: Option<CutoverMode>) -> Vec<Stream> {
    let moves_whole = !key_changed && mode != Some(CutoverMode::Generation);
    let all = transfer.streams.iter().map(|one| {
        let (decision, reason) = if key_changed { (Decision::Reset, "another keyBy") } else { (one.decision, one.reason.as_str()) };
        Stream { name: one.stream.to_string(), decision: decision.to_string(), reason: reason.to_owned(), exact: one.exact && moves_whole }
    });
    all.collect()
}

/// The names that only one of two has, or under another meaning.
fn differing(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    names.into_iter().filter(|name| old.get(*name) != new.get(*name)).cloned().collect()
}

const INPUTS: &str = "spec.root.inputs";

/// The fields that differ. What is only written differently in a program that is the same is no change.
fn fields(old: &Pipeline, new: &Pipeline, changed: bool) -> Vec<(String, Class)> {
    let spec = |pipeline: &Pipeline| serde_json::to_value(&pipeline.manifest.spec).unwrap_or_default();
    let found = class::changes(&spec(old), &spec(new)).into_iter().filter(|(_, class)| changed || *class != Class::Program);
    let each = |(path, class): (String, Class)| {
        if path != INPUTS {
            return vec![(path, class)];
        }
        let inputs = differing(&old.program.root.inputs, &new.program.root.inputs);
        inputs.into_iter().map(|name| (format!("{INPUTS}.{name}"), class)).collect()
    };
    found.flat_map(each).collect()
}

/// Whether a field of the program says what goes in or out.
fn is_interface(path: &str) -> bool {
    !is_state(path) && !path.starts_with("spec.root.limits") && !path.starts_with("spec.state")
}

/// Whether a field says what is computed, of which keys: that is what the streams show.
fn is_state(path: &str) -> bool {
    ["spec.root.inline", "spec.root.configMapRef", "spec.keyBy"].iter().any(|start| path.starts_with(start))
}

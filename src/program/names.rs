//! Names that a manifest and its root share: streams of outputs, inputs, Kinesis streams of bindings.
//!
//! Owns: holding the one against the other.
//! May not: judge either by itself; `api` and `lang` do.

use crate::api::manifest::Problem;
use crate::api::pipeline::{DeadLetter, KinesisDestination, KinesisStream, Output, StreamPipelineSpec};
use crate::api::revision::Program;
use crate::lang::checked::{Checked, StreamKind};
use crate::lang::types::Type;
use std::collections::BTreeMap;

/// What names something in a root.
pub(super) struct Named<'a> {
    /// What stands before the path of a field.
    above: &'static str,
    /// The path of the dead letters.
    dead_letter_at: &'static str,
    outputs: Vec<(String, &'a Output)>,
    dead_letter: Option<&'a DeadLetter>,
    inputs: Option<&'a BTreeMap<String, String>>,
    streams: Vec<&'a str>,
}

impl<'a> From<&'a StreamPipelineSpec> for Named<'a> {
    fn from(spec: &'a StreamPipelineSpec) -> Self {
        Self {
            above: "spec.",
            dead_letter_at: "failure.deadLetter",
            outputs: spec.outputs.iter().enumerate().map(|(index, output)| (index.to_string(), output)).collect(),
            dead_letter: spec.failure.as_ref().and_then(|failure| failure.dead_letter.as_ref()),
            inputs: spec.root.inputs.as_ref(),
            streams: spec.source.kinesis.iter().flatten().map(KinesisStream::name).collect(),
        }
    }
}

/// A revision has its outputs in another order than the manifest: they go by their names.
impl<'a> From<&'a Program> for Named<'a> {
    fn from(program: &'a Program) -> Self {
        Self {
            above: "",
            dead_letter_at: "deadLetter",
            outputs: program.outputs.iter().map(|output| (output.name.clone(), output)).collect(),
            dead_letter: program.dead_letter.as_ref(),
            inputs: Some(&program.root.inputs),
            streams: program.streams.iter().map(|stream| stream.name.as_str()).collect(),
        }
    }
}

/// Names that mean nothing in the root.
pub(super) fn problems(named: &Named<'_>, root: &Checked) -> Vec<Problem> {
    let mut found = Vec::new();
    for (label, output) in &named.outputs {
        let at = |member: &str| format!("{}outputs[{label}].{member}", named.above);
        for (place, stream) in output.streams.iter().flatten().enumerate() {
            found.extend(out_stream(root, at(&format!("streams[{place}]")), stream));
        }
        if let Some(stream) = &output.emit_when {
            found.extend(emit_when(root, at("emitWhen"), stream));
        }
        found.extend(output.kinesis.as_ref().and_then(|kinesis| partition_key(root, at("kinesis.partitionKey.stream"), kinesis)));
    }
    let dead_letter = named.dead_letter.and_then(|place| place.kinesis.as_ref());
    let at = || format!("{}{}.kinesis.partitionKey.stream", named.above, named.dead_letter_at);
    found.extend(dead_letter.and_then(|kinesis| partition_key(root, at(), kinesis)));
    found.extend(bindings(named, root));
    found
}

/// The streams that outputs and dead letters name beside those that leave: they are read, whether or not an equation does.
pub(super) fn read<'a>(named: &Named<'a>) -> Vec<&'a str> {
    let outputs = || named.outputs.iter().map(|(_, output)| *output);
    let kinesis = outputs().filter_map(|output| output.kinesis.as_ref());
    let kinesis = kinesis.chain(named.dead_letter.and_then(|place| place.kinesis.as_ref()));
    let keys = kinesis.filter_map(|kinesis| kinesis.partition_key.as_ref()?.stream.as_deref());
    outputs().filter_map(|output| output.emit_when.as_deref()).chain(keys).collect()
}

fn problem(path: String, message: String) -> Problem {
    Problem { path, message }
}

/// The declared names of some kinds, for a message.
fn declared(root: &Checked, kinds: &[StreamKind]) -> String {
    let names: Vec<_> = root.streams.iter().filter(|stream| kinds.contains(&stream.kind)).take(20).map(|stream| &*stream.name).collect();
    if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) }
}

fn out_stream(root: &Checked, path: String, name: &str) -> Option<Problem> {
    match root.find(name) {
        Some((_, stream)) if stream.kind == StreamKind::Out => None,
        Some(_) => Some(problem(path, format!("{name} is no out stream of the root: declare it with out to let it leave"))),
        None => Some(problem(path, format!("{name} is no out stream of the root: {}", declared(root, &[StreamKind::Out])))),
    }
}

fn emit_when(root: &Checked, path: String, name: &str) -> Option<Problem> {
    match root.find(name) {
        Some((_, stream)) if matches!(stream.ty, Type::Bool | Type::Any) => None,
        Some((_, stream)) => Some(problem(path, format!("{name} is {}, and a condition must be Bool", stream.ty))),
        None => Some(problem(path, format!("{name} is no stream of the root: {}", declared(root, &[StreamKind::Out, StreamKind::Aux])))),
    }
}

fn partition_key(root: &Checked, path: String, kinesis: &KinesisDestination) -> Option<Problem> {
    let name = kinesis.partition_key.as_ref()?.stream.as_deref()?;
    if root.find(name).is_some() {
        return None;
    }
    Some(problem(path, format!("{name} is no stream of the root: {}", declared(root, &[StreamKind::Out, StreamKind::Aux]))))
}

/// Each binding names an input of the root, and of several streams one that is read.
fn bindings(named: &Named<'_>, root: &Checked) -> Vec<Problem> {
    let mut found = Vec::new();
    for (name, at) in named.inputs.into_iter().flatten() {
        let path = format!("{}root.inputs.{name}", named.above);
        if !root.find(name).is_some_and(|(_, stream)| stream.kind == StreamKind::In) {
            found.push(problem(path.clone(), format!("{name} is no input of the root: {}", declared(root, &[StreamKind::In]))));
        }
        let prefix = at.split_once(':').map(|(prefix, _)| prefix).filter(|prefix| !prefix.contains(['/', '@']));
        if let Some(prefix) = prefix.filter(|prefix| !named.streams.contains(prefix)) {
            found.push(problem(path, format!("{prefix} is no stream of spec.source.kinesis; there is {}", named.streams.join(", "))));
        }
    }
    found
}

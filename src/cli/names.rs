//! Names that a manifest and its root share: streams of outputs, inputs, Kinesis streams of bindings.
//!
//! Owns: holding the one against the other.
//! May not: judge either by itself; `api` and `lang` do.

use crate::api::manifest::Problem;
use crate::api::pipeline::{KinesisDestination, KinesisStream, StreamPipelineSpec};
use crate::lang::checked::{Checked, StreamKind};
use crate::lang::types::Type;

/// Names in the manifest that mean nothing in the root.
pub(super) fn problems(spec: &StreamPipelineSpec, root: &Checked) -> Vec<Problem> {
    let mut found = Vec::new();
    for (index, output) in spec.outputs.iter().enumerate() {
        let at = |member: &str| format!("spec.outputs[{index}].{member}");
        for (place, stream) in output.streams.iter().flatten().enumerate() {
            found.extend(out_stream(root, at(&format!("streams[{place}]")), stream));
        }
        if let Some(stream) = &output.emit_when {
            found.extend(emit_when(root, at("emitWhen"), stream));
        }
        found.extend(output.kinesis.as_ref().and_then(|kinesis| partition_key(root, at("kinesis.partitionKey.stream"), kinesis)));
    }
    let dead_letter = spec.failure.as_ref().and_then(|failure| failure.dead_letter.as_ref()).and_then(|place| place.kinesis.as_ref());
    found.extend(
        dead_letter.and_then(|kinesis| partition_key(root, "spec.failure.deadLetter.kinesis.partitionKey.stream".to_owned(), kinesis)),
    );
    found.extend(bindings(spec, root));
    found
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
fn bindings(spec: &StreamPipelineSpec, root: &Checked) -> Vec<Problem> {
    let streams: Vec<_> = spec.source.kinesis.iter().flatten().map(KinesisStream::name).collect();
    let mut found = Vec::new();
    for (name, at) in spec.root.inputs.iter().flatten() {
        let path = format!("spec.root.inputs.{name}");
        if !root.find(name).is_some_and(|(_, stream)| stream.kind == StreamKind::In) {
            found.push(problem(path.clone(), format!("{name} is no input of the root: {}", declared(root, &[StreamKind::In]))));
        }
        let prefix = at.split_once(':').map(|(prefix, _)| prefix).filter(|prefix| !prefix.contains(['/', '@']));
        if let Some(prefix) = prefix.filter(|prefix| !streams.contains(prefix)) {
            found.push(problem(path, format!("{prefix} is no stream of spec.source.kinesis; there is {}", streams.join(", "))));
        }
    }
    found
}
